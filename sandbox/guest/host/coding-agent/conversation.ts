/** A conversation for a model: messages of extensions, summaries and programs as those that every model knows, and all as one text. */
import { toModelMessages } from "../../../../src/agent/messages.ts";

type Messages = Parameters<typeof toModelMessages>[0];

interface Block {
  type: string;
  text?: string;
  name?: string;
  arguments?: unknown;
}
interface Message {
  role: string;
  content: string | readonly Block[];
}

/** Of a tool's result so much is enough to know what happened, in characters. */
const MAX_RESULT_CHARS = 2000;

/** The messages as a model gets them (`user`, `assistant`, `toolResult`); what none is to see is left out. */
export const convertToLlm = (messages: Messages): ReturnType<typeof toModelMessages> =>
  toModelMessages(messages);

/**
 * The conversation as one text, to be summarised and not continued. Take `convertToLlm`'s messages. Thinking and images are left
 * out, results of tools are cut.
 */
export function serializeConversation(messages: readonly Message[]): string {
  return messages.flatMap(sections).join("\n\n");
}

function sections({ role, content }: Message): string[] {
  const blocks: readonly Block[] = typeof content === "string" ? [{ type: "text", text: content }] : content;
  const text = blocks.flatMap((block) => (block.type === "text" ? [block.text ?? ""] : []));
  if (role === "user") return section("User", text.join(""));
  if (role === "toolResult") return section("Tool result", shortened(text.join("")));
  if (role !== "assistant") return [];
  const calls = blocks.filter((block) => block.type === "toolCall").map(callText);
  return [...section("Assistant", text.join("\n")), ...section("Assistant tool calls", calls.join("; "))];
}

function section(title: string, text: string): string[] {
  return text === "" ? [] : [`[${title}]: ${text}`];
}

function callText({ name, arguments: args }: Block): string {
  const given = Object.entries((args ?? {}) as Record<string, unknown>);
  return `${name}(${given.map(([key, value]) => `${key}=${JSON.stringify(value)}`).join(", ")})`;
}

function shortened(text: string): string {
  if (text.length <= MAX_RESULT_CHARS) return text;
  return `${text.slice(0, MAX_RESULT_CHARS)}\n\n[... ${text.length - MAX_RESULT_CHARS} more characters truncated]`;
}
