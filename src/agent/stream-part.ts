/** A part of a streamed message for those who write it out: the message so far would cost the square of its length. */
import type { AssistantMessageEvent } from "@earendil-works/pi-ai";

/** A part without the message so far, as json mode and extensions get it. */
export function slimPart(event: AssistantMessageEvent): Record<string, unknown> {
  const { partial, ...part } = event as AssistantMessageEvent & { partial?: { content: unknown[] } };
  if (event.type !== "toolcall_start") return part;
  const call = event.partial.content[event.contentIndex];
  return call?.type === "toolCall" ? { ...part, id: call.id, toolName: call.name } : part;
}
