/** What goes out in rpc and json mode, as data that may leave the program and costs what it says. */
import type { Api, Model } from "@earendil-works/pi-ai";
import type { SessionEvent } from "../agent/agent-session-types.ts";
import { slimPart } from "../agent/stream-part.ts";
import { redactTexts } from "../base/log.ts";
import type { TreeNode } from "../session/types.ts";

/** A part of a stream without the message so far: with it, a long answer would cost the square of its length. */
export function wireEvent(event: SessionEvent): unknown {
  if (event.type === "message_update") {
    const { type, message, assistantMessageEvent } = event;
    const usage = message.role === "assistant" ? { usage: message.usage } : {};
    return { type, ...usage, assistantMessageEvent: slimPart(assistantMessageEvent) };
  }
  if (event.type === "model_select") {
    const { model, previousModel } = event;
    return { ...event, model: wireModel(model), previousModel: previousModel && wireModel(previousModel) };
  }
  return event;
}

/** Without its headers: the user's models.yml may have put a key into them. */
export function wireModel({ headers: _, ...model }: Model<Api>): Omit<Model<Api>, "headers"> {
  return model;
}

/** A tree as JSON. A session is as deep as it is long, and `JSON.stringify` has only the stack for that. */
export function treeJson(tree: readonly TreeNode[]): string {
  const parts: string[] = ["["];
  const open: { nodes: readonly TreeNode[]; at: number; tail: string }[] = [
    { nodes: tree, at: 0, tail: "]" },
  ];
  for (let level = open.at(-1); level; level = open.at(-1)) {
    const node = level.nodes[level.at];
    if (!node) {
      parts.push(level.tail);
      open.pop();
      continue;
    }
    if (level.at++ > 0) parts.push(",");
    const { children, ...members } = node;
    parts.push(JSON.stringify(members, redactTexts).slice(0, -1), ',"children":[');
    open.push({ nodes: children, at: 0, tail: "]}" });
  }
  return parts.join("");
}
