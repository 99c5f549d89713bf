/** What the user runs himself: `!command` and `!!command` in a shell, `$code` and `$$code` in the session's Python. */
import type { BashExecutionMessage, PythonExecutionMessage } from "./executions.ts";
import type { PythonSession } from "./python.ts";

export interface UserCommand {
  kind: "bash" | "python";
  /** The command or the code, without its prefix. */
  source: string;
  /** `!!` and `$$`. */
  excludeFromContext: boolean;
}

/** Undefined for any other text, and where nothing stands behind the prefix. */
export function parseUserCommand(_text: string): UserCommand | undefined {
  throw new Error("not yet");
}

export interface ExecutionOptions {
  /** Keeps the result from the model. */
  excludeFromContext?: boolean;
  signal?: AbortSignal | undefined;
  /** The output so far (its end, if it is long), at most ten times a second. */
  onUpdate?: (output: string) => void;
  /** For what is longer than a result holds; made on first use. */
  scratch(): Promise<string>;
}

/** Runs a command by the user's shell. Rejects only if the shell can't be started: a failure is its result. */
export async function runUserBash(
  _command: string,
  _options: ExecutionOptions & { cwd: string; env: Record<string, string> },
): Promise<BashExecutionMessage> {
  throw new Error("not yet");
}

/** Runs code in the session's Python. Rejects with `XdevError` `no-python` if there is none. */
export async function runUserPython(
  _code: string,
  _python: PythonSession,
  _options: ExecutionOptions,
): Promise<PythonExecutionMessage> {
  throw new Error("not yet");
}
