/**
 * What modules may return from events (extension-api.md, "Events"), as schemas: nothing of it acts before one of them has seen
 * it. Members that a schema does not name are dropped.
 */
import type { AgentMessage } from "@earendil-works/pi-agent-core";
import * as v from "valibot";

const text = v.string();
const flag = v.nullish(v.boolean());
const list = <T extends v.GenericSchema>(item: T, most: number) =>
  v.pipe(
    v.unknown(),
    v.check((value) => Array.isArray(value) && value.length <= most, `a list of at most ${most}`),
    v.array(item),
  );

const textBlock = v.looseObject({ type: v.literal("text"), text });
const imageBlock = v.looseObject({ type: v.literal("image"), data: text, mimeType: text });
const image = v.object({ type: v.literal("image"), data: text, mimeType: text });
const plainContent = v.union([text, list(v.variant("type", [textBlock, imageBlock]), 10_000)]);
const answerContent = list(
  v.variant("type", [
    textBlock,
    v.looseObject({ type: v.literal("thinking"), thinking: text }),
    v.looseObject({
      type: v.literal("toolCall"),
      id: text,
      name: text,
      arguments: v.record(v.string(), v.unknown()),
    }),
  ]),
  10_000,
);
const amount = v.pipe(v.number(), v.finite());
const usage = v.looseObject({
  input: amount,
  output: amount,
  cacheRead: amount,
  cacheWrite: amount,
  totalTokens: amount,
  cost: v.looseObject({ total: amount }),
});

/** A message as the conversation has it. What it is of is `role`, and each has what a request makes use of. */
const message = v.variant("role", [
  v.looseObject({ role: v.literal("system"), content: v.union([text, list(textBlock, 10_000)]) }),
  v.looseObject({ role: v.literal("user"), content: plainContent }),
  v.looseObject({
    role: v.literal("assistant"),
    content: answerContent,
    api: text,
    provider: text,
    model: text,
    usage,
    stopReason: text,
  }),
  v.looseObject({
    role: v.literal("toolResult"),
    toolCallId: text,
    toolName: text,
    content: plainContent,
    isError: v.boolean(),
  }),
  v.looseObject({ role: v.literal("custom"), customType: text, content: plainContent }),
  v.looseObject({ role: v.literal("aside"), extension: text, text }),
  v.looseObject({ role: v.literal("compactionSummary"), summary: text }),
  v.looseObject({ role: v.literal("branchSummary"), summary: text }),
  v.looseObject({ role: v.literal("bashExecution"), command: text, output: text }),
  v.looseObject({ role: v.literal("pythonExecution"), code: text, output: text }),
]);

const customMessage = v.object({
  customType: v.pipe(text, v.minLength(1), v.maxLength(200)),
  content: plainContent,
  display: v.nullish(v.boolean(), true),
  details: v.optional(v.unknown()),
});
export type CustomMessageResult = v.InferOutput<typeof customMessage>;

const execution = v.object({
  result: v.object({
    output: v.pipe(text, v.maxLength(4_000_000)),
    exitCode: v.nullish(v.pipe(v.number(), v.integer())),
    cancelled: v.nullish(v.boolean(), false),
    truncated: v.nullish(v.boolean(), false),
    fullOutputPath: v.nullish(text),
  }),
});

const paths = v.nullish(list(v.pipe(text, v.maxLength(4096)), 1000), []);

/** By the event's name. */
export const EVENT_RESULTS = {
  session_before_switch: v.object({ cancel: flag }),
  session_before_branch: v.object({ cancel: flag, skipConversationRestore: flag }),
  session_before_compact: v.object({
    cancel: flag,
    compaction: v.nullish(
      v.object({
        summary: v.pipe(text, v.minLength(1)),
        firstKeptEntryId: v.nullish(text),
        tokensBefore: v.nullish(amount),
        details: v.optional(v.unknown()),
      }),
    ),
  }),
  "session.compacting": v.object({
    context: v.nullish(list(text, 1000), []),
    prompt: v.nullish(text),
    preserveData: v.optional(v.unknown()),
  }),
  session_before_tree: v.object({
    cancel: flag,
    summary: v.nullish(v.object({ summary: v.pipe(text, v.minLength(1)), details: v.optional(v.unknown()) })),
  }),
  input: v.object({ handled: flag, text: v.nullish(text), images: v.nullish(list(image, 100)) }),
  before_agent_start: v.object({
    messages: v.nullish(list(customMessage, 100), []),
    systemPrompt: v.nullish(text),
  }),
  context: v.object({ messages: list(message, 100_000) }),
  before_provider_request: v.object({ payload: v.unknown() }),
  message_end: v.object({ message }),
  user_bash: execution,
  user_python: execution,
  resources_discover: v.object({ skillPaths: paths, promptPaths: paths, themePaths: paths }),
} as const;

export type AskedEvent = keyof typeof EVENT_RESULTS;
export type EventResult<E extends AskedEvent> = v.InferOutput<(typeof EVENT_RESULTS)[E]>;

/** What a module returned, checked. Throws with what is wrong with it. */
export function parseResult<E extends AskedEvent>(event: E, value: unknown): EventResult<E> {
  const result = v.safeParse(EVENT_RESULTS[event] as v.GenericSchema, value, { abortEarly: true });
  if (result.success) return result.output as EventResult<E>;
  const [issue] = result.issues;
  const path = v.getDotPath(issue);
  throw new Error(`its result is not what ${event} has${path ? `: ${path}` : ""}: ${issue.message}`);
}

/**
 * What `message_end` may make of a message: other content, of the same role. The tool calls of an answer stay what they are, or an
 * extension could have the agent run what the model never asked for. Throws with what is wrong.
 */
export function replacedMessage(before: AgentMessage, after: unknown): AgentMessage {
  const { role } = before;
  const { message: checked } = parseResult("message_end", { message: after });
  if (checked.role !== role) throw new Error(`message_end: a message of role ${role} stays one`);
  const changed = { ...before, ...checked } as AgentMessage;
  if (role === "assistant" && JSON.stringify(toolCalls(before)) !== JSON.stringify(toolCalls(changed))) {
    throw new Error("message_end: the tool calls of an answer can't be changed");
  }
  if (before.role === "toolResult" && changed.role === "toolResult") {
    changed.toolCallId = before.toolCallId;
    changed.toolName = before.toolName;
    if (typeof changed.content === "string") changed.content = [{ type: "text", text: changed.content }];
  }
  changed.timestamp = before.timestamp;
  return changed;
}

function toolCalls(message: AgentMessage): unknown[] {
  return message.role === "assistant" ? message.content.filter(({ type }) => type === "toolCall") : [];
}
