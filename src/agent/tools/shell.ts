import { access, constants } from "node:fs/promises";
import { isAbsolute, join } from "node:path";
import { errorText } from "../../base/errors.ts";
import { sleep } from "../../base/time.ts";

/** How long output and processes may outlive the shell: what a well-behaved pipeline needs to end, and no more. */
const LINGER_MS = 100;
/** How long output may come without a pause for the rest of the program. */
const SLICE_MS = 20;

export interface ShellOptions {
  cwd: string;
  env: Record<string, string>;
  timeoutMs: number;
  signal: AbortSignal | undefined;
  /** If it returns a promise, no more is read from the program until that resolves. */
  onData(chunk: Buffer, stream: "stdout" | "stderr"): Promise<void> | undefined;
}

export interface ShellEnd {
  reason: "exit" | "timeout" | "abort";
  /** The shell's exit status, or null and the signal that ended it. */
  code: number | null;
  signal: NodeJS.Signals | null;
  /** Names of the background processes that were still alive after the shell, and were killed. */
  killed: string[];
}

/**
 * Runs a command in a shell and a process group of its own, and leaves nothing of that group behind: neither after the
 * time-out or an abort, nor in the background. (A program that makes itself a session of its own, as daemons do, is no
 * longer in the group and stays.) Rejects if the shell can't be started.
 */
export async function runShell(shell: string, command: string, options: ShellOptions): Promise<ShellEnd> {
  // Loaded here because a run may need no shell.
  const { killGroup, livingMembers, programStarter } = await import("../../base/process.ts");
  const start = await programStarter();
  // One pipe for both streams is the only way to see their true order. On the command's own first line, so that line
  // numbers in the shell's messages stay right; a syntax error there comes through the other pipe.
  // A bash at the first level whose input is a socket, as a pipe is here, takes itself for one behind rshd and runs ~/.bashrc.
  const env = { SHLVL: "1", ...options.env };
  const child = start(shell, ["-c", `exec 2>&1; ${command}`], { cwd: options.cwd, env });
  child.endInput();

  let sliceStart = performance.now();
  child.read((chunk, stream) => {
    const wait = options.onData(chunk, stream);
    if (wait) return wait;
    if (performance.now() - sliceStart <= SLICE_MS) return undefined;
    // A flood would keep the loop from its timers, and the user's abort with them, for up to a second.
    return sleep(1).then(() => {
      sliceStart = performance.now();
    });
  });
  const closed = child.drained;
  const exited = child.exited.catch((error: unknown) => {
    throw new Error(`cannot run ${shell} in ${options.cwd}: ${errorText(error)}`);
  });
  const stop = stopSignal(options);
  try {
    const first = await Promise.race([exited, stop.reason]);
    if (typeof first === "string") {
      await killGroup(child.pid);
      await settledWithin(closed, LINGER_MS);
      return { reason: first, code: null, signal: null, killed: [] };
    }
    const deadline = performance.now() + LINGER_MS;
    await settledWithin(closed, LINGER_MS);
    let left = await livingMembers(child.pid!);
    while (left.length > 0 && performance.now() < deadline) {
      await sleep(10);
      left = await livingMembers(child.pid!);
    }
    // Even if nothing is left: this is what makes the wrapper forget the group.
    await killGroup(child.pid, left.length > 0 ? undefined : 0);
    if (left.length > 0) await settledWithin(closed, LINGER_MS);
    return { reason: "exit", ...first, killed: left };
  } finally {
    stop.clear();
    child.release();
  }
}

/** The first of time-out and abort. */
function stopSignal({ timeoutMs, signal }: ShellOptions) {
  let clear = () => {};
  const reason = new Promise<"timeout" | "abort">((resolve) => {
    const onAbort = () => resolve("abort");
    const timer = setTimeout(() => resolve("timeout"), timeoutMs);
    signal?.addEventListener("abort", onAbort, { once: true });
    if (signal?.aborted) onAbort();
    clear = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
    };
  });
  return { reason, clear: () => clear() };
}

async function settledWithin(promise: Promise<void>, ms: number): Promise<void> {
  const timer = new AbortController();
  await Promise.race([promise, sleep(ms, timer.signal).catch(() => {})]);
  timer.abort();
}

/**
 * The shell that runs commands: bash from PATH, else `/bin/bash`, else `sh`. Relative entries of PATH are passed over: the
 * working folder may be a stranger's repository.
 */
export async function findShell(env: Record<string, string>): Promise<string> {
  const folders = (env.PATH ?? "").split(":").filter((folder) => isAbsolute(folder));
  const candidates = [...folders.map((folder) => join(folder, "bash")), "/bin/bash", "/bin/sh"];
  for (const file of candidates) {
    if (
      await access(file, constants.X_OK).then(
        () => true,
        () => false,
      )
    )
      return file;
  }
  return "sh";
}
