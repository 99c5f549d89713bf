/** One run of a hook's command (wire-notes.md, "Shell hooks"). What its end means is decided by who asked. */
import { constants } from "node:os";
import { errorText, XdevError } from "../base/errors.ts";
import { killGroup, programStarter } from "../base/process.ts";
import { ellipsis, stripControls } from "../base/text.ts";
import { formatMs, withTimeout } from "../base/time.ts";
import type { Program, ProgramEnd } from "../platform/program.ts";
import { type HookReply, parseReply } from "./reply.ts";

/** How long a hook may take, from its start, in ms. */
export const HOOK_LIMIT_MS = 10_000;
/** The longest reply, in bytes. */
const MAX_OUTPUT = 1024 * 1024;
/** What is kept of standard error, in bytes, and how much of it joins a message, in characters. */
const MAX_ERRORS = 16 * 1024;
const MAX_SHOWN = 500;
/** How long after the shell's exit what it left in the background may go on, in ms. */
const DRAIN_MS = 50;
/** How long after the end of its group the end of its output may take, in ms: only as long as we are busy. */
const DRAINED_MS = 2000;

export interface HookRunOptions {
  cwd: string;
  /** The user's own, whole: a hook is a command of the user's, as if typed in the shell that xdev was started from. */
  env: Record<string, string>;
  timeoutMs: number;
  signal?: AbortSignal | undefined;
}

/**
 * Runs a command by `sh -c` in a process group of its own, with the payload as JSON on its standard input, and leaves
 * nothing of the group behind. Gives what it replied, undefined if it printed nothing. Throws `XdevError`: `hook-failed`
 * with a reason that goes behind the hook's name, or `aborted`.
 */
export async function runHookCommand(
  command: string,
  payload: unknown,
  options: HookRunOptions,
): Promise<HookReply | undefined> {
  if (options.signal?.aborted) throw new XdevError("aborted", "aborted");
  const start = await programStarter();
  // By its path: a PATH with a relative entry would look for `sh` in the hook's folder.
  const program = start("/bin/sh", ["-c", command], options);
  const end = ending(program, options);
  const output = collect(program, end.tooLong);
  // A hook that does not read its input is no failure; one that waits for more than it gets runs into its limit.
  program.write(`${JSON.stringify(payload)}\n`);
  program.endInput();
  const drainedWithin = (ms: number) =>
    withTimeout(
      program.drained.then(() => true),
      ms,
      "the output",
    ).catch(() => false);
  let exit: ProgramEnd | XdevError;
  try {
    exit = await end.reason;
    if (!(exit instanceof XdevError)) await drainedWithin(DRAIN_MS);
    await killGroup(program.pid);
    if (exit instanceof XdevError) throw exit;
    // Half of a reply could read as none, which would allow the call.
    if (!(await drainedWithin(DRAINED_MS))) throw failed("left a process behind that holds its output open");
  } finally {
    program.release();
  }
  const status = exitProblem(exit);
  if (status !== undefined) {
    const said = ellipsis(stripControls(output.errors()).trim(), MAX_SHOWN);
    throw failed(said === "" ? status : `${status}: ${said}`);
  }
  try {
    return parseReply(output.bytes());
  } catch (error) {
    throw failed(errorText(error));
  }
}

function failed(reason: string): XdevError {
  return new XdevError("hook-failed", reason);
}

/** The first of exit, failure to start, time-out, too much output and abort. */
function ending(program: Program, { timeoutMs, signal }: HookRunOptions) {
  let tooLong = () => {};
  const reason = new Promise<ProgramEnd | XdevError>((resolve) => {
    const settle = (value: ProgramEnd | XdevError) => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
      resolve(value);
    };
    const onAbort = () => settle(new XdevError("aborted", "aborted"));
    const timer = setTimeout(() => settle(failed(`gave no answer within ${formatMs(timeoutMs)}`)), timeoutMs);
    signal?.addEventListener("abort", onAbort, { once: true });
    if (signal?.aborted) onAbort();
    tooLong = () => settle(failed("printed more than 1 MB"));
    program.exited.then(settle, (error: unknown) =>
      settle(failed(`could not be started: ${errorText(error)}`)),
    );
  });
  return { reason, tooLong: () => tooLong() };
}

function collect(program: Program, tooLong: () => void) {
  const chunks: Buffer[] = [];
  let length = 0;
  let errors = Buffer.alloc(0);
  program.read((chunk, stream) => {
    if (stream === "stderr") {
      errors = Buffer.concat([errors, chunk]).subarray(-MAX_ERRORS);
      return;
    }
    length += chunk.length;
    if (length <= MAX_OUTPUT) chunks.push(chunk);
    else tooLong();
  });
  return { bytes: () => Buffer.concat(chunks), errors: () => errors.toString("utf8") };
}

/** How it ended, unless with status 0. A shell turns the signal that ended its child into a status above 128. */
function exitProblem({ code, signal }: ProgramEnd): string | undefined {
  if (signal !== null) return `was ended by signal ${signal}`;
  if (code === 0) return undefined;
  const named = Object.entries(constants.signals).find(([, number]) => number === (code ?? 0) - 128)?.[0];
  const meaning = MEANINGS[code ?? 0] ?? named;
  return `exited with status ${code ?? "unknown"}${meaning === undefined ? "" : ` (${meaning})`}`;
}

/** What a shell says with a status. */
const MEANINGS: Record<number, string> = { 126: "not executable", 127: "command or interpreter not found" };
