/** Messages of ours beside the model's: how they are kept, and what the model is told of them. */
import type { AgentMessage } from "@earendil-works/pi-agent-core";
import type { Message } from "@earendil-works/pi-ai";
// The roles that a session's entries stand for.
import type {} from "../session/context-messages.ts";
import { executionText } from "./executions.ts";

/** A note of an extension that the model sees with the next request of a run, and that starts none (action `aside`). */
export interface AsideMessage {
  role: "aside";
  extension: string;
  text: string;
  timestamp: number;
}

declare module "@earendil-works/pi-agent-core" {
  interface CustomAgentMessages {
    aside: AsideMessage;
  }
}

/** The messages as the model gets them. Never throws. */
export function toModelMessages(messages: AgentMessage[]): Message[] {
  return messages.flatMap((message): Message[] => {
    switch (message.role) {
      case "aside":
        return [user(asideText(message), message.timestamp)];
      case "custom":
        return [{ role: "user", content: message.content, timestamp: message.timestamp }];
      case "compactionSummary":
        return [user(summaryText("What was said before this", message.summary), message.timestamp)];
      case "branchSummary":
        return [user(summaryText("Another branch of this conversation", message.summary), message.timestamp)];
      case "bashExecution":
      case "pythonExecution":
        return message.excludeFromContext ? [] : [user(executionText(message), message.timestamp)];
      case "system":
      case "user":
      case "assistant":
      case "toolResult":
        return [message];
      default:
        // A session of another agent may have more.
        return [];
    }
  });
}

export function asideText({ extension, text }: Pick<AsideMessage, "extension" | "text">): string {
  return `<aside from="${extension}">\n${text}\n</aside>\n(A note beside the task; it asks for no answer.)`;
}

function summaryText(what: string, summary: string): string {
  return `${what}, in a summary:\n<summary>\n${summary}\n</summary>`;
}

function user(content: string, timestamp: number): Message {
  return { role: "user", content, timestamp };
}

/** The text of a message's content, its blocks joined; "" for what has none. */
export function messageText(message: AgentMessage): string {
  if (!("content" in message)) return "";
  const { content } = message;
  if (typeof content === "string") return content;
  return content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("");
}
