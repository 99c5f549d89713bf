/**
 * The process transport: NDJSON frames over a child's standard input and output (extension-protocol.md §1, §2).
 * Standard error is its log. The child is a process group of its own, and always ends as one.
 */
import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { dirname } from "node:path";
import { errorText, systemCode } from "../base/errors.ts";
import { killGroup, startProcess } from "../base/process.ts";
import type { Channel, ChannelEnd, ChannelHandlers } from "./channel.ts";
import type { HostFrame } from "./frame.ts";
import { LineReader } from "./lines.ts";

export interface ProcessChannelOptions {
  /** Absolute path of the executable. It starts in its own folder: an interpreter reads settings of the folder that it starts in, and the session's may be hostile. */
  path: string;
  env: Record<string, string | undefined>;
  maxFrameBytes: number;
}

/** How long after a child's exit its last output may arrive, in ms: a grandchild may hold the pipe open for good. */
const DRAIN_MS = 50;
const MAX_LOG_LINE_BYTES = 16 * 1024;

export function processChannel(options: ProcessChannelOptions): Channel {
  let child: ChildProcessWithoutNullStreams | undefined;
  let exited: Promise<void> = Promise.resolve();

  return {
    open(handlers: ChannelHandlers): void {
      const started = startProcess(options.path, [], {
        cwd: dirname(options.path),
        env: extensionEnvironment(options.env),
      });
      child = started;
      const closed = once((end: ChannelEnd) => handlers.onClose(end));
      const frames = new LineReader(options.maxFrameBytes, {
        line: (line) => deliver(line, handlers),
        tooLong: () => handlers.onProblem(`sent a line longer than ${options.maxFrameBytes} bytes`),
      });
      const log = new LineReader(MAX_LOG_LINE_BYTES, {
        line: (line) => handlers.onLog(decodeLossy(line)),
        tooLong: () => handlers.onLog("(a line too long for the log)"),
      });
      started.stdout.on("data", (chunk: Buffer) => frames.push(chunk));
      started.stderr.on("data", (chunk: Buffer) => log.push(chunk));
      // A child that closed its input is not dead yet; its exit, or the sender's clock, decides.
      started.stdin.on("error", () => {});
      started.stdout.on("error", () => {});
      started.stderr.on("error", () => {});

      exited = new Promise((resolve) => {
        started.on("error", (error) => {
          closed({ reason: startFailure(options.path, error) });
          resolve();
        });
        started.on("exit", (code, signal) => {
          const end: ChannelEnd = {
            reason:
              signal === null ? `exited with status ${code ?? "unknown"}` : `was ended by signal ${signal}`,
            ...(code === null ? {} : { exitCode: code }),
            ...(signal === null ? {} : { signal }),
          };
          // Whatever it left running goes with it, and with that the pipes close.
          void killGroup(started.pid).then(() => {
            const finish = () => {
              log.end();
              closed(end);
              resolve();
            };
            const timer = setTimeout(finish, DRAIN_MS);
            started.once("close", () => {
              clearTimeout(timer);
              finish();
            });
          });
        });
      });
    },

    send(frame: HostFrame): void {
      if (child?.stdin.writable) child.stdin.write(`${JSON.stringify(frame)}\n`);
    },

    async close(graceMs: number): Promise<void> {
      child?.stdin.end();
      await settled(exited, graceMs);
      await killGroup(child?.pid);
      await exited;
    },

    async kill(): Promise<void> {
      await killGroup(child?.pid);
      await exited;
    },
  };
}

function deliver(line: Buffer, handlers: ChannelHandlers): void {
  let value: unknown;
  try {
    value = JSON.parse(STRICT_UTF8.decode(line));
  } catch {
    handlers.onProblem("sent a line that is not JSON");
    return;
  }
  handlers.onMessage(value);
}

const STRICT_UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });

function decodeLossy(line: Buffer): string {
  return line.toString("utf8");
}

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

function once<T>(listener: (value: T) => void): (value: T) => void {
  let called = false;
  return (value) => {
    if (called) return;
    called = true;
    listener(value);
  };
}

function settled(promise: Promise<void>, ms: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    void promise.then(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}
