/** What the user runs himself: `!command` and `!!command` in a shell, `$code` and `$$code` in the session's Python. */
import { stripControls } from "../base/text.ts";
import type { BashExecutionMessage, PythonExecutionMessage } from "./executions.ts";
import type { PythonSession } from "./python.ts";
import { exitStatus } from "./tools/bash.ts";
import { findShell, runShell } from "./tools/shell.ts";
import { TailOutput } from "./tools/tail-output.ts";
import { throttle } from "./tools/throttle.ts";

export interface UserCommand {
  kind: "bash" | "python";
  /** The command or the code, without its prefix. */
  source: string;
  /** `!!` and `$$`. */
  excludeFromContext: boolean;
}

/** Undefined for any other text, and where nothing stands behind the prefix. */
export function parseUserCommand(text: string): UserCommand | undefined {
  const prefixed = /^(!!?|\$\$?)([\s\S]*)$/.exec(text.trim());
  const [, prefix = "", rest = ""] = prefixed ?? [];
  const source = rest.trim();
  if (source === "") return undefined;
  return { kind: prefix[0] === "!" ? "bash" : "python", source, excludeFromContext: prefix.length === 2 };
}

export interface ExecutionOptions {
  /** Keeps the result from the model. */
  excludeFromContext?: boolean;
  signal?: AbortSignal | undefined;
  /** The output so far (its end, if it is long), at most ten times a second. */
  onUpdate?: (output: string) => void;
  /** All of the output as it comes, without escape sequences; one that is split over two parts stays. */
  onOutput?: (text: string) => void;
  /** For what is longer than a result holds; made on first use. */
  scratch(): Promise<string>;
}

const UPDATE_MS = 100;
/** A timer can't wait longer. The user ends his own commands. */
const NO_TIMEOUT = 2 ** 31 - 1;

/** Runs a command by the user's shell. Rejects only if the shell can't be started: a failure is its result. */
export async function runUserBash(
  command: string,
  options: ExecutionOptions & { cwd: string; env: Record<string, string> },
): Promise<BashExecutionMessage> {
  const { cwd, env, signal } = options;
  const { end, ...output } = await collect(options, async (onData) =>
    runShell(await findShell(env), command, { cwd, env, timeoutMs: NO_TIMEOUT, signal, onData }),
  );
  if (end.killed.length > 0) {
    const names = stripControls([...new Set(end.killed)].join(", "));
    output.output = withNote(output.output, `killed what was left in the background: ${names}`);
  }
  const cancelled = end.reason !== "exit";
  return {
    role: "bashExecution",
    command,
    ...output,
    exitCode: cancelled ? undefined : exitStatus(end),
    cancelled,
    ...common(options),
  };
}

/** Runs code in the session's Python. Rejects with `XdevError` `no-python` if there is none. */
export async function runUserPython(
  code: string,
  python: PythonSession,
  options: ExecutionOptions,
): Promise<PythonExecutionMessage> {
  const { signal } = options;
  const { end, ...output } = await collect(options, (onData) => python.run(code, { signal, onData }));
  if (end.isLost) {
    output.output = withNote(output.output, "the Python process has ended, and what it had defined is gone");
  }
  const exitCodes = { done: 0, error: 1, aborted: undefined, exit: undefined };
  return {
    role: "pythonExecution",
    code,
    ...output,
    exitCode: exitCodes[end.reason],
    cancelled: end.reason === "aborted",
    ...common(options),
  };
}

type OnData = (chunk: Buffer, stream: "stdout" | "stderr") => Promise<void> | undefined;

/** Runs something and keeps the end of its output, and all of it in a file if it is long. */
async function collect<End>(
  { scratch, onUpdate, onOutput }: ExecutionOptions,
  work: (onData: OnData) => Promise<End>,
) {
  const tail = new TailOutput(scratch);
  const progress = throttle(UPDATE_MS, () => onUpdate?.(tail.view().text));
  const decoders = { stdout: new TextDecoder(), stderr: new TextDecoder() };
  let end: End;
  try {
    end = await work((chunk, stream) => {
      if (onOutput) onOutput(stripControls(decoders[stream].decode(chunk, { stream: true })));
      const wait = tail.add(chunk, stream);
      progress.run();
      return wait;
    });
  } finally {
    progress.stop();
    await tail.end();
  }
  const { text, details } = tail.view();
  const { truncated, fullOutputPath } = details;
  return { end, output: text, truncated, ...(fullOutputPath === undefined ? {} : { fullOutputPath }) };
}

function common({ excludeFromContext }: ExecutionOptions) {
  return { timestamp: Date.now(), ...(excludeFromContext ? { excludeFromContext } : {}) };
}

function withNote(text: string, note: string): string {
  return `${text === "" ? "" : `${text}\n\n`}[${note}]`;
}
