/**
 * The process transport: NDJSON frames over a child's standard input and output (extension-protocol.md §1, §2).
 * Standard error is its log. The child is a process group of its own, and always ends as one.
 */
import { dirname } from "node:path";
import { errorText, systemCode } from "../base/errors.ts";
import { killGroup } from "../base/process.ts";
import { ellipsis, oneLine } from "../base/text.ts";
import type { Program, StartProgram } from "../platform/program.ts";
import type { Channel, ChannelHandlers } from "./channel.ts";
import type { HostFrame } from "./frame.ts";
import { LineReader } from "./lines.ts";
import { logReader } from "./log-stream.ts";

export interface ProcessChannelOptions {
  /**
   * Absolute path of the executable. It starts in its own folder: an interpreter reads settings of the folder that it
   * starts in, and the session's may be hostile.
   */
  path: string;
  env: Record<string, string | undefined>;
  maxFrameBytes: number;
  /** `programStarter()` of src/base/process.ts. */
  start: StartProgram;
}

/** How long after a child's exit its last output may arrive, in ms: a grandchild may hold the pipe open for good. */
const DRAIN_MS = 50;

export function processChannel(options: ProcessChannelOptions): Channel {
  let program: Program | undefined;
  let finished: Promise<void> = Promise.resolve();

  return {
    open(handlers: ChannelHandlers): void {
      const started = options.start(options.path, [], {
        cwd: dirname(options.path),
        env: extensionEnvironment(options.env),
      });
      program = started;
      const frames = new LineReader(options.maxFrameBytes, {
        line: (line) => deliver(line, handlers),
        tooLong: () => handlers.onProblem(`sent a line longer than ${options.maxFrameBytes} bytes`),
      });
      const log = logReader((line) => handlers.onLog(line));
      started.read((chunk, stream) => (stream === "stdout" ? frames.push(chunk) : log.push(chunk)));
      finished = started.exited.then(
        async ({ code, signal }) => {
          // Whatever it left running goes with it, and with that the pipes close.
          await killGroup(started.pid);
          await settled(started.drained, DRAIN_MS);
          started.release();
          log.end();
          handlers.onClose({
            reason:
              signal === null ? `exited with status ${code ?? "unknown"}` : `was ended by signal ${signal}`,
            ...(code === null ? {} : { exitCode: code }),
            ...(signal === null ? {} : { signal }),
          });
        },
        (error: unknown) => handlers.onClose({ reason: startFailure(options.path, error) }),
      );
    },

    send(frame: HostFrame): void {
      program?.write(`${JSON.stringify(frame)}\n`);
    },

    async close(graceMs: number): Promise<void> {
      program?.endInput();
      await settled(finished, graceMs);
      await killGroup(program?.pid);
      await finished;
    },

    async kill(): Promise<void> {
      await killGroup(program?.pid);
      await finished;
    },
  };
}

function deliver(line: Buffer, handlers: ChannelHandlers): void {
  let value: unknown;
  try {
    value = JSON.parse(STRICT_UTF8.decode(line));
  } catch {
    const start = ellipsis(oneLine(line.subarray(0, 200).toString("utf8")), 60);
    handlers.onProblem(`sent a line that is not JSON, where only frames may be: ${start}`);
    return;
  }
  handlers.onMessage(value);
}

const STRICT_UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });

function startFailure(path: string, error: unknown): string {
  switch (systemCode(error)) {
    case "ENOENT":
      return `could not be started: ${path}, or the program named in its first line, does not exist`;
    case "EACCES":
      return `could not be started: ${path} is not executable (chmod +x ${path})`;
    case "ENOEXEC":
      return `could not be started: ${path} is no program and has no #! line`;
    default:
      return `could not be started: ${errorText(error)}`;
  }
}

/**
 * The environment of an extension: what an interpreter needs to start, and none of the user's keys. Names are a list of
 * what passes, since nobody can list what must not.
 */
export function extensionEnvironment(env: Record<string, string | undefined>): Record<string, string> {
  const result: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    if (value !== undefined && (PASSED.has(name) || name.startsWith("LC_"))) result[name] = value;
  }
  return result;
}

const PASSED = new Set([
  "PATH",
  "HOME",
  "USER",
  "LOGNAME",
  "SHELL",
  "LANG",
  "TZ",
  "TERM",
  "TMPDIR",
  "PYENV_ROOT",
  "PYTHONDONTWRITEBYTECODE",
  "SYSTEMROOT",
]);

function settled(promise: Promise<void>, ms: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    void promise.then(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}
