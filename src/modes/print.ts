/** Print mode: the answer on standard output and nothing else; what happens meanwhile on standard error. */
import { log, redact } from "../base/log.ts";
import { isTerminal, outputStream, print } from "../base/output.ts";
import { ellipsis, oneLine, stripControls } from "../base/text.ts";
import type { DrawResult } from "../extensions/render/lookup.ts";
import { failureOf, type Mode } from "./mode.ts";

export interface PrintModeOptions {
  /** How the results of a tool are drawn; undefined if nothing but progress is shown of it. */
  renderers?: (toolName: string) => DrawResult | undefined;
  /** Where the answer goes; standard output if not said. */
  answer?: "stdout" | "stderr";
}

/** For standard error that is no terminal, in columns: a program or a file has room. */
const UNBOUNDED_WIDTH = 200;

export function createPrintMode({ renderers, answer: output = "stdout" }: PrintModeOptions = {}): Mode {
  // A progress line helps a person; a program that reads standard error gets it with --verbose.
  const progress = (text: string) => {
    if (isTerminal("stderr")) print("stderr", `${stripControls(redact(text))}\n`);
    else log.debug(text);
  };
  const show = (toolName: string, draw: DrawResult, result: unknown) => {
    const isTTY = isTerminal("stderr");
    const text = texts(result).join("\n");
    const { details } = (result ?? {}) as { details?: unknown };
    const space = {
      width: isTTY ? outputStream("stderr").columns : UNBOUNDED_WIDTH,
      color: isTTY && hasColor(process.env),
    };
    const lines = draw({ text, details }, space);
    progress(`✓ ${toolName}`);
    // Renderers have made every line harmless, and its styles are theirs.
    if (isTTY) print("stderr", lines.map((line) => `${line}\n`).join(""));
    else for (const line of lines) log.debug(line);
  };
  return {
    begin() {},
    event(event) {
      if (event.type === "tool_execution_start") {
        progress(`· ${event.toolName} ${ellipsis(JSON.stringify(event.args) ?? "", 160)}`);
      } else if (event.type === "tool_execution_end" && event.isError) {
        progress(`✗ ${event.toolName}: ${ellipsis(oneLine(texts(event.result).join(" ")), 300)}`);
      } else if (event.type === "tool_execution_end") {
        const draw = renderers?.(event.toolName);
        if (draw) show(event.toolName, draw, event.result);
      } else if (event.type === "auto_retry_start") {
        const seconds = Math.round(event.delayMs / 100) / 10;
        progress(`… trying again in ${seconds} s: ${ellipsis(oneLine(event.errorMessage), 300)}`);
      } else if (event.type === "auto_compaction_start") {
        progress("… summarising the conversation, which has become too long for the model");
      } else if (event.type === "extension_error") {
        log.debug(`extension ${event.extensionPath}: its ${event.event} handler failed: ${event.error}`);
      }
    },
    notice: (text) => log.warn(text),
    say: (text) => print(output, `${stripControls(text).trimEnd()}\n`),
    finish(messages, end) {
      const last = messages.findLast((message) => message.role === "assistant");
      const answer =
        last?.role === "assistant"
          ? last.content.flatMap((item) => (item.type === "text" ? [item.text] : [])).join("\n")
          : "";
      if (answer.trim() !== "") print(output, `${stripControls(answer).trimEnd()}\n`);
      const failure = failureOf(messages, end);
      if (failure !== undefined) log.error(failure);
      return failure === undefined;
    },
  };
}

/** The text items of a tool result. */
function texts(result: unknown): string[] {
  const content = (result as { content?: unknown } | null | undefined)?.content;
  if (!Array.isArray(content)) return [];
  return content.flatMap((item: { type?: unknown; text?: unknown }) =>
    typeof item.text === "string" ? [item.text] : [],
  );
}

/** As https://no-color.org asks. */
function hasColor(env: Record<string, string | undefined>): boolean {
  return !env.NO_COLOR && env.TERM !== "dumb";
}
