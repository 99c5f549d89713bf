/** Print mode: the answer on standard output and nothing else; what happens meanwhile on standard error. */
import { log, redact } from "../base/log.ts";
import { ellipsis, stripControls } from "../base/text.ts";
import { failureOf, type Mode } from "./mode.ts";

export function createPrintMode(): Mode {
  // A progress line helps a person; a program that reads standard error gets it with --verbose.
  const progress = (text: string) => {
    if (process.stderr.isTTY) process.stderr.write(`${stripControls(redact(text))}\n`);
    else log.debug(text);
  };
  return {
    event(event) {
      if (event.type === "tool_execution_start") {
        progress(`· ${event.toolName} ${ellipsis(JSON.stringify(event.args) ?? "", 160)}`);
      } else if (event.type === "tool_execution_end" && event.isError) {
        progress(`✗ ${event.toolName}: ${ellipsis(resultText(event.result), 300)}`);
      }
    },
    notice: (text) => log.warn(text),
    say: (text) => void process.stdout.write(`${stripControls(text).trimEnd()}\n`),
    finish(messages, maxTurns) {
      const last = messages.findLast((message) => message.role === "assistant");
      const answer =
        last?.role === "assistant"
          ? last.content.flatMap((item) => (item.type === "text" ? [item.text] : [])).join("\n")
          : "";
      if (answer.trim() !== "") process.stdout.write(`${stripControls(answer).trimEnd()}\n`);
      const failure = failureOf(messages, maxTurns);
      if (failure !== undefined) log.error(failure);
      return failure === undefined;
    },
  };
}

function resultText(result: unknown): string {
  const content = (result as { content?: unknown })?.content;
  if (!Array.isArray(content)) return "";
  return content
    .flatMap((item: { type?: unknown; text?: unknown }) => (typeof item.text === "string" ? [item.text] : []))
    .join(" ");
}
