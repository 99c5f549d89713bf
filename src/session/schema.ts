/** What the lines of a session file may be: checked before anything relies on a member. What is not checked is passed on as it is. */
import * as v from "valibot";
import type { EntryType, SessionEntry, SessionHeader, TitleLine } from "./types.ts";

/** A line is read, and written, up to this many bytes: a session is no place for more. */
export const LINE_LIMIT = 64 * 1024 * 1024;

const name = v.pipe(v.string(), v.maxLength(512));
const id = v.pipe(v.string(), v.minLength(1), v.maxLength(128));
const blocks = v.pipe(v.array(v.looseObject({ type: name })), v.maxLength(100_000));
const content = v.union([v.string(), blocks]);

export const MESSAGE_SCHEMAS: Readonly<Record<string, v.GenericSchema>> = {
  user: v.looseObject({ content }),
  system: v.looseObject({ content }),
  assistant: v.looseObject({ content: blocks }),
  toolResult: v.looseObject({ content: blocks, toolCallId: v.string(), toolName: v.string() }),
  custom: v.looseObject({ content, customType: name }),
  bashExecution: v.looseObject({ command: v.string(), output: v.string() }),
  pythonExecution: v.looseObject({ code: v.string(), output: v.string() }),
  compactionSummary: v.looseObject({ summary: v.string() }),
  branchSummary: v.looseObject({ summary: v.string() }),
  aside: v.looseObject({ extension: v.string(), text: v.string() }),
};

/** A message of a role that we don't know is none that we could give to a model. */
const message = v.pipe(
  v.looseObject({ role: name }),
  v.check((value) => Object.hasOwn(MESSAGE_SCHEMAS, value.role) && v.is(MESSAGE_SCHEMAS[value.role]!, value)),
);

export const ENTRY_SCHEMAS: Readonly<Record<EntryType, v.GenericSchema>> = {
  message: v.looseObject({ message }),
  model_change: v.looseObject({ provider: name, modelId: name }),
  thinking_level_change: v.looseObject({ thinkingLevel: name }),
  compaction: v.looseObject({ summary: v.string(), firstKeptEntryId: id, tokensBefore: v.number() }),
  branch_summary: v.looseObject({ summary: v.string(), fromId: v.string() }),
  custom: v.looseObject({ customType: name }),
  custom_message: v.looseObject({ customType: name, content }),
  label: v.looseObject({ targetId: id, label: v.nullish(v.string()) }),
  session_info: v.looseObject({ name: v.optional(v.string()) }),
  reset_boundary: v.looseObject({}),
  usage: v.looseObject({
    kind: v.string(),
    provider: v.string(),
    model: v.string(),
    usage: v.looseObject({}),
  }),
  context_edit: v.looseObject({ targetId: id, replacement: v.nullable(v.looseObject({ content })) }),
};

export function isEntryType(type: string): type is EntryType {
  return Object.hasOwn(ENTRY_SCHEMAS, type);
}

/** Whether an entry of a known type has the members that its type wants. */
export function isValidEntry(entry: { type: string }): entry is SessionEntry {
  return isEntryType(entry.type) && v.is(ENTRY_SCHEMAS[entry.type], entry);
}

/** What every line but the first is at least; before version 2 it has no id. */
const line = v.looseObject({
  type: name,
  id: v.optional(id),
  parentId: v.nullish(v.string()),
  timestamp: v.optional(v.string()),
});
export type RawEntry = v.InferOutput<typeof line>;

export function isRawEntry(value: unknown): value is RawEntry {
  return v.is(line, value);
}

const header = v.looseObject({
  type: v.literal("session"),
  version: v.optional(v.number(), 1),
  id,
  timestamp: v.optional(v.string(), ""),
  cwd: v.optional(v.pipe(v.string(), v.maxLength(32_768)), ""),
  parentSession: v.optional(v.string()),
  preview: v.optional(v.string()),
});

/** The header in a line's value, or undefined. */
export function asHeader(value: unknown): SessionHeader | undefined {
  const result = v.safeParse(header, value);
  return result.success ? (result.output as SessionHeader) : undefined;
}

const title = v.looseObject({
  type: v.literal("title"),
  v: v.number(),
  title: v.string(),
  source: v.optional(v.string()),
  updatedAt: v.optional(v.string(), ""),
});

export function asTitleLine(value: unknown): TitleLine | undefined {
  const result = v.safeParse(title, value);
  return result.success ? (result.output as TitleLine) : undefined;
}

/** Whether a model has said something: a request that failed is no answer. */
export function hasAnswer(entry: RawEntry): boolean {
  const { role, content } = (entry.message ?? {}) as { role?: unknown; content?: unknown };
  return entry.type === "message" && role === "assistant" && Array.isArray(content) && content.length > 0;
}
