/** What a hook prints (wire-notes.md, "Shell hooks"): nothing, or one JSON object. */
import * as v from "valibot";

const text = v.nullish(v.string());

const replySchema = v.looseObject({
  block: v.nullish(v.boolean()),
  reason: text,
  input: v.nullish(v.custom<Record<string, unknown>>(isObject, "is not an object")),
  text,
});

export type HookReply = v.InferOutput<typeof replySchema>;

const KNOWN = new Set(Object.keys(replySchema.entries));

/** Undefined for nothing. Throws with the reason for what is neither, and for a known member of a wrong type. */
export function parseReply(output: Uint8Array): HookReply | undefined {
  let content: string;
  try {
    content = new TextDecoder("utf-8", { fatal: true }).decode(output).trim();
  } catch {
    throw new Error("its output is not UTF-8");
  }
  if (content === "") return undefined;
  let value: unknown;
  try {
    value = JSON.parse(content);
  } catch {
    throw new Error("its output is neither empty nor a JSON object");
  }
  if (!isObject(value)) throw new Error("its output is JSON, but no object");
  const result = v.safeParse(replySchema, value);
  if (result.success) return result.output;
  const issue = result.issues[0];
  throw new Error(`"${issue.path?.[0]?.key ?? ""}" in its output has the wrong type`);
}

/** Members that mean nothing here: the language of another agent, perhaps, in which they would deny. */
export function unknownMembers(reply: HookReply): string[] {
  return Object.keys(reply).filter((key) => !KNOWN.has(key));
}

/** Whether a reply has members, and none that means something here. */
export function isForeign(reply: HookReply): boolean {
  const keys = Object.keys(reply);
  return keys.length > 0 && !keys.some((key) => KNOWN.has(key));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
