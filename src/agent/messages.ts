/** Messages of ours beside the model's: how they are kept, and what the model is told of them. */
import type { AgentMessage } from "@earendil-works/pi-agent-core";
import type { Message } from "@earendil-works/pi-ai";
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
      case "aside": {
        const { extension, text, timestamp } = message;
        const content = `<aside from="${extension}">\n${text}\n</aside>\n(A note beside the task; it asks for no answer.)`;
        return [{ role: "user", content, timestamp }];
      }
      case "bashExecution":
      case "pythonExecution":
        if (message.excludeFromContext) return [];
        return [{ role: "user", content: executionText(message), timestamp: message.timestamp }];
      default:
        return [message];
    }
  });
}
