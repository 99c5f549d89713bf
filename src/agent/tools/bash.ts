import { constants } from "node:os";
import { stripControls } from "../../base/text.ts";
import { formatMs } from "../../base/time.ts";
import type { BuiltinTool, ToolContext } from "./context.ts";
import { findShell, runShell, type ShellEnd } from "./shell.ts";
import { BASH, BASH_SECONDS } from "./specs.ts";
import { TailOutput } from "./tail-output.ts";
import { throttle } from "./throttle.ts";
import { defineTool, textResult } from "./tool.ts";

const MAX_SECONDS = 3600;
const UPDATE_MS = 100;

interface BashParams {
  command: string;
  timeout?: number;
}

/** `bash`: a shell command, its output as it comes, and no process left when the call is over. */
export function bashTool(context: ToolContext): BuiltinTool {
  let shell: Promise<string> | undefined;
  return defineTool<BashParams>({
    ...BASH,
    async run({ command, timeout }, { signal, update }) {
      const timeoutMs = limitSeconds(timeout) * 1000;
      shell ??= findShell(context.env);
      const output = new TailOutput(() => context.scratch());
      const progress = throttle(UPDATE_MS, () => {
        const view = output.view();
        update(view.text, view.details);
      });
      let end: ShellEnd;
      try {
        end = await runShell(await shell, command, {
          cwd: context.cwd,
          env: context.env,
          timeoutMs,
          signal,
          onData(chunk, stream) {
            const wait = output.add(chunk, stream);
            progress.run();
            return wait;
          },
        });
      } finally {
        progress.stop();
        await output.end();
      }

      const view = output.view();
      const notes = view.note === undefined ? [] : [view.note];
      if (end.reason === "abort") throw new Error("aborted");
      if (end.reason === "timeout") {
        notes.push(`timed out after ${formatMs(timeoutMs)}; the command was killed`);
        throw new Error(withNotes(view.text, notes));
      }
      if (end.killed.length > 0) {
        const names = stripControls([...new Set(end.killed)].join(", "));
        notes.push(`killed what was left in the background: ${names}`);
      }
      const exitCode = exitStatus(end);
      const failure = describeFailure(end);
      if (failure !== undefined) notes.push(failure);
      const text = withNotes(view.text === "" && failure === undefined ? "(no output)" : view.text, notes);
      const details = { ...view.details, exitCode, signal: end.signal, killed: end.killed };
      const result = textResult(text, details);
      return failure === undefined ? result : { ...result, isError: true };
    },
  });
}

function limitSeconds(seconds: number | undefined): number {
  return seconds !== undefined && seconds > 0 ? Math.min(seconds, MAX_SECONDS) : BASH_SECONDS;
}

function withNotes(text: string, notes: readonly string[]): string {
  if (notes.length === 0) return text;
  return `${text === "" ? "" : `${text}\n\n`}[${notes.join("]\n[")}]`;
}

/** The status as a shell shows it: a signal counts as 128 and its number. */
export function exitStatus({ code, signal }: ShellEnd): number {
  if (code !== null) return code;
  return 128 + (signal === null ? 0 : constants.signals[signal]);
}

function describeFailure(end: ShellEnd): string | undefined {
  const status = exitStatus(end);
  if (status === 0) return undefined;
  // The shell turns a signal that ended its child into the same number.
  const named = Object.entries(constants.signals).find(([, number]) => number === status - 128)?.[0];
  const signal = end.signal ?? named;
  return `exit status ${status}${signal === undefined ? "" : ` (${signal})`}`;
}
