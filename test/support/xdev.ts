import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

/** The compiled program; `scripts/test` builds it first. */
export const XDEV = fileURLToPath(new URL("../../dist/xdev", import.meta.url));
export const EXAMPLES = fileURLToPath(new URL("../../src/docs/examples/", import.meta.url));

export interface Outcome {
  status: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

export interface StartOptions {
  cwd?: string;
  /** Besides PATH; nothing else of the test's own environment is passed. */
  env?: Record<string, string>;
  /** Piped to standard input; none by default. */
  input?: string;
  program?: string;
  uid?: number;
  gid?: number;
}

/** Starts the program as a user would. */
export function start(
  args: readonly string[],
  options: StartOptions = {},
): { child: ChildProcess; ended: Promise<Outcome> } {
  const child = spawn(options.program ?? XDEV, args, {
    cwd: options.cwd ?? "/",
    env: {
      PATH: process.env.PATH ?? "",
      HOME: "/nonexistent",
      TMPDIR: process.env.TMPDIR ?? "/tmp",
      ...options.env,
    },
    stdio: [options.input === undefined ? "ignore" : "pipe", "pipe", "pipe"],
    ...(options.uid === undefined ? {} : { uid: options.uid, gid: options.gid }),
  });
  const ended = new Promise<Outcome>((resolve, reject) => {
    let stdout = "";
    let stderr = "";
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      stdout += text;
    });
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
    });
    child.on("error", reject);
    child.on("close", (status, signal) => resolve({ status, signal, stdout, stderr }));
  });
  child.stdin?.on("error", () => {});
  if (options.input !== undefined) child.stdin?.end(options.input);
  return { child, ended };
}

/** Runs the program to its end. */
export function xdev(args: readonly string[], options: StartOptions = {}): Promise<Outcome> {
  return start(args, options).ended;
}

/** The events of `--mode json`. */
export function events(outcome: Outcome): Record<string, unknown>[] {
  return outcome.stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
}

/** The tool results among the events, as `[tool, isError, text]`. */
export function toolResults(outcome: Outcome): [string, boolean, string][] {
  return events(outcome).flatMap((event) => {
    const message = event.message as
      | { role: string; toolName: string; isError: boolean; content: { text?: string }[] }
      | undefined;
    if (event.type !== "message_end" || message?.role !== "toolResult") return [];
    return [[message.toolName, message.isError, message.content.map(({ text }) => text ?? "").join("")]];
  });
}
