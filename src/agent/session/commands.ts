/** What the user runs himself in a session: shell commands, and Python that goes on from command to command. */
import type { BashOptions, BashResult } from "../agent-session-types.ts";
import type { BashExecutionMessage, PythonExecutionMessage } from "../executions.ts";
import { parseResult } from "../extension-results.ts";
import type { PythonSession } from "../python.ts";
import type { Core } from "./core.ts";

interface Running {
  abort: AbortController;
  done: Promise<unknown>;
}

const running = new WeakMap<Core, Set<Running>>();
const pythons = new WeakMap<Core, PythonSession>();

type Kind = "bash" | "python";

export async function runCommand(
  core: Core,
  kind: Kind,
  source: string,
  { excludeFromContext = false, id }: BashOptions,
): Promise<BashResult> {
  core.mustBeOpen();
  const abort = new AbortController();
  const work = run(core, kind, source, excludeFromContext, id, abort.signal);
  const one: Running = { abort, done: work.catch(() => {}) };
  const all = running.get(core) ?? new Set();
  running.set(core, all.add(one));
  try {
    const message = await work;
    core.add(message);
    const { output, exitCode, cancelled, truncated, fullOutputPath } = message;
    return {
      output,
      exitCode,
      cancelled,
      truncated,
      ...(fullOutputPath === undefined ? {} : { fullOutputPath }),
    };
  } finally {
    all.delete(one);
  }
}

async function run(
  core: Core,
  kind: Kind,
  source: string,
  excludeFromContext: boolean,
  id: string | undefined,
  signal: AbortSignal,
): Promise<BashExecutionMessage | PythonExecutionMessage> {
  const { cwd, env = {}, scratch = noScratch } = core.options;
  const given = await askExtensions(core, kind, source, excludeFromContext, signal);
  if (given) return given;
  const options = {
    excludeFromContext,
    signal,
    scratch,
    onOutput: (delta: string) => {
      if (delta === "") return;
      core.emit({ type: "bash_execution_update", ...(id === undefined ? {} : { id }), delta });
    },
  };
  const { runUserBash, runUserPython } = await import("../user-commands.ts");
  return kind === "bash"
    ? runUserBash(source, { ...options, cwd, env })
    : runUserPython(source, await python(core), options);
}

async function noScratch(): Promise<string> {
  throw new Error("there is no folder for long outputs");
}

async function python(core: Core): Promise<PythonSession> {
  const known = pythons.get(core);
  if (known) return known;
  const { PythonSession } = await import("../python.ts");
  const made = new PythonSession({ cwd: core.options.cwd, env: core.options.env ?? {} });
  pythons.set(core, made);
  return made;
}

/** `user_bash`, `user_python`: a module may run it in our place. */
async function askExtensions(
  core: Core,
  kind: Kind,
  source: string,
  excludeFromContext: boolean,
  signal: AbortSignal,
): Promise<BashExecutionMessage | PythonExecutionMessage | undefined> {
  const event = kind === "bash" ? "user_bash" : "user_python";
  const text = kind === "bash" ? { command: source } : { code: source };
  let message: BashExecutionMessage | PythonExecutionMessage | undefined;
  await core.events?.ask(
    event,
    () => ({ ...text, excludeFromContext, cwd: core.options.cwd }),
    (result) => {
      const { output, exitCode, cancelled, truncated, fullOutputPath } = parseResult(event, result).result;
      const rest = {
        output,
        exitCode: exitCode ?? undefined,
        cancelled: cancelled ?? false,
        truncated: truncated ?? false,
        ...(fullOutputPath == null ? {} : { fullOutputPath }),
        timestamp: Date.now(),
        ...(excludeFromContext ? { excludeFromContext } : {}),
      };
      message =
        kind === "bash"
          ? { role: "bashExecution", command: source, ...rest }
          : { role: "pythonExecution", code: source, ...rest };
      return true;
    },
    { signal, isLong: true },
  );
  return message;
}

export function abortCommands(core: Core): void {
  for (const { abort } of running.get(core) ?? []) abort.abort();
}

export async function endUserCommands(core: Core): Promise<void> {
  abortCommands(core);
  await Promise.all([...(running.get(core) ?? [])].map(({ done }) => done));
  await pythons.get(core)?.close();
  pythons.delete(core);
}
