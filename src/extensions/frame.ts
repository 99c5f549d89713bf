/**
 * The whole host–extension contract. Both sides and both transports import it; a message that is not declared here
 * does not exist. Sources: extension-protocol.md (§2–§4) and wire-notes.md.
 *
 * What arrives from an extension is hostile: `parseInbound` is the only way in, and it copies the known members into
 * fresh objects. Members typed `unknown` (`revise`, `patch`, `result`, `params`) are looked at by whoever acts on them.
 */
import * as v from "valibot";
import { measure } from "../base/data-size.ts";

/** The compatibility gate (§1): a `capabilities` frame with another `protocol` is a load failure. */
export const PROTOCOL_VERSION = 1;

/** What this host understands beyond v1 (wire-notes.md, "Features beyond v1"); sent in `hello`. */
export const HOST_FEATURES = ["call", "cancel", "update", "result", "concurrent", "register"] as const;
export type Feature = (typeof HOST_FEATURES)[number];

/** The longest line or message in bytes, unless `extensionHost.maxFrameBytes` says otherwise. */
export const DEFAULT_MAX_FRAME_BYTES = 8 * 1024 * 1024;

const text = v.nullish(v.string());
const name = v.pipe(v.string(), v.minLength(1), v.maxLength(128));
// valibot takes an array for an object.
const noList = v.check((value: unknown) => !Array.isArray(value), "an object");
const jsonObject = v.pipe(v.unknown(), noList, v.record(v.string(), v.unknown()));

const toolSpec = v.object({
  name,
  label: text,
  description: text,
  parameters: v.nullish(jsonObject),
  hidden: v.nullish(v.boolean()),
  defaultInactive: v.nullish(v.boolean()),
  /** What the system prompt says of it while it is active: a line, and rules. */
  promptSnippet: v.nullish(v.pipe(v.string(), v.maxLength(2000))),
  promptGuidelines: v.nullish(v.pipe(v.array(v.pipe(v.string(), v.maxLength(2000))), v.maxLength(50))),
  /** Whether other tools may run beside it; `parallel` by default. */
  executionMode: v.nullish(v.picklist(["sequential", "parallel"])),
  /** It makes the arguments fit for its schema itself, and checks them then. */
  prepares: v.nullish(v.boolean()),
  /** Whether it draws its calls and its results (the event `render`). */
  drawsCall: v.nullish(v.boolean()),
  drawsResult: v.nullish(v.boolean()),
});
export type ToolSpec = v.InferOutput<typeof toolSpec>;

/** A list of at most 1000 items, empty if it was not sent. The length first: checking each of a million takes seconds. */
const list = <T extends v.GenericSchema>(item: T) =>
  v.nullish(
    v.pipe(
      v.unknown(),
      v.check((value) => !Array.isArray(value) || value.length <= 1000, "at most 1000 items"),
      v.array(item),
    ),
    [],
  );

const commandSpec = v.union([
  v.pipe(
    name,
    v.transform((command) => ({
      name: command,
      description: undefined as string | null | undefined,
      completions: [] as string[],
      completes: undefined as boolean | null | undefined,
    })),
  ),
  // `completions`: what may follow the command, offered as it is typed. `completes`: it is asked (the event `completions`).
  v.object({
    name,
    description: text,
    completions: list(v.pipe(v.string(), v.maxLength(1000))),
    completes: v.nullish(v.boolean()),
  }),
]);
export type CommandSpec = v.InferOutput<typeof commandSpec>;

const named = v.union([
  name,
  v.pipe(
    v.object({ name }),
    v.transform((item) => item.name),
  ),
]);

/** An option of the command line (`--name`). */
const flagSpec = v.union([
  v.pipe(
    name,
    v.transform((flag) => ({
      name: flag,
      description: undefined as string | null | undefined,
      type: "boolean" as "boolean" | "string",
      default: undefined as boolean | string | null | undefined,
    })),
  ),
  v.object({
    name,
    description: text,
    type: v.nullish(v.picklist(["boolean", "string"]), "boolean"),
    default: v.nullish(v.union([v.boolean(), v.pipe(v.string(), v.maxLength(10_000))])),
  }),
]);
export type FlagSpec = v.InferOutput<typeof flagSpec>;

/** A key of the keyboard, as `ctrl+shift+x`. */
const shortcutSpec = v.union([
  v.pipe(
    name,
    v.transform((key) => ({ name: key, description: undefined as string | null | undefined })),
  ),
  v.object({ name, description: text }),
]);

/** The name of a channel of the bus that extensions share. */
export const channelName = v.pipe(v.string(), v.minLength(1), v.maxLength(200));

/** §3, and what in-process extensions register beyond it. Every list is there, empty if it was not sent. */
const capabilities = v.object({
  tools: list(toolSpec),
  commands: list(commandSpec),
  events: list(name),
  renderers: list(jsonObject),
  failOpen: v.nullish(v.boolean(), false),
  /** It listens to `tool_call` and has no handler of it any more: it lets every call pass. */
  passive: v.nullish(v.boolean(), false),
  features: list(v.string()),
  label: text,
  flags: list(flagSpec),
  shortcuts: list(shortcutSpec),
  messageRenderers: list(named),
  entryRenderers: list(named),
  /** It may draw the calls of any tool, and change Markdown before it is drawn. */
  drawsTools: v.nullish(v.boolean(), false),
  transformsMarkdown: v.nullish(v.boolean(), false),
  /** What it hears of the bus. */
  channels: list(channelName),
  providers: list(named),
});
export type Capabilities = v.InferOutput<typeof capabilities>;

const id = v.nullish(v.union([v.string(), v.number()]));

/** For `parseInbound`, and for the test of its short cut. */
export const inbound = v.variant("type", [
  v.object({
    type: v.literal("capabilities"),
    protocol: v.nullish(v.unknown()),
    payload: v.pipe(v.unknown(), noList, capabilities),
  }),
  // Feature `register`: what it registers from now on, whole.
  v.object({ type: v.literal("register"), payload: v.pipe(v.unknown(), noList, capabilities) }),
  v.object({
    type: v.literal("response"),
    id,
    allow: v.nullish(v.boolean()),
    reason: text,
    revise: v.optional(v.unknown()),
    patch: v.optional(v.unknown()),
    result: v.optional(v.unknown()),
    error: text,
    failOpen: v.nullish(v.boolean()),
  }),
  v.object({ type: v.literal("action"), action: v.string(), text, payload: v.optional(v.unknown()) }),
  v.object({ type: v.literal("log"), text, level: text }),
  v.object({ type: v.literal("update"), id, payload: v.optional(v.unknown()) }),
  v.object({ type: v.literal("call"), id, method: v.string(), params: v.optional(v.unknown()) }),
]);

/** A frame from an extension, after the schema has seen it. */
export type InboundFrame = v.InferOutput<typeof inbound>;
export type ResponseFrame = Extract<InboundFrame, { type: "response" }>;
export type CallFrame = Extract<InboundFrame, { type: "call" }>;
export type ActionFrame = Extract<InboundFrame, { type: "action" }>;

/** A frame from the host. */
export type HostFrame =
  | { type: "hello"; protocol: number; xdevVersion: string; features: readonly string[] }
  | { type: "event"; id: string; event: AnyEvent; payload: unknown }
  | { type: "cancel"; id: string }
  | { type: "return"; id: string | number; result?: unknown; error?: string };

/** Events that an extension can receive (wire-notes.md, "Events a v1 extension can receive"). */
export const EVENT_NAMES = [
  "session_start",
  "turn_end",
  "tool_call",
  "tool_result",
  "tool_invoke",
  "command",
] as const;
export type EventName = (typeof EVENT_NAMES)[number];

/** Events of the in-process API (extension-api.md): what a module may listen to. A process gets none of those beyond v1. */
export const API_EVENTS = [
  "session_start",
  "session_before_switch",
  "session_switch",
  "session_before_branch",
  "session_before_fork",
  "session_branch",
  "session_fork",
  "session_before_compact",
  "session.compacting",
  "session_compact",
  "session_before_tree",
  "session_tree",
  "session_shutdown",
  "input",
  "before_agent_start",
  "context",
  "before_provider_request",
  "after_provider_response",
  "provider_stream_event",
  "agent_start",
  "agent_end",
  "turn_start",
  "turn_end",
  "message_start",
  "message_update",
  "message_end",
  "tool_call",
  "tool_result",
  "tool_execution_start",
  "tool_execution_update",
  "tool_execution_end",
  "model_select",
  "thinking_level_select",
  "auto_compaction_start",
  "auto_compaction_end",
  "auto_retry_start",
  "auto_retry_end",
  "ttsr_triggered",
  "todo_reminder",
  "user_bash",
  "user_python",
  "resources_discover",
  "session_info_changed",
  "session_compact_failed",
  "agent_settled",
  "ui_prompt_start",
  "ui_prompt_end",
] as const;
export type ApiEvent = (typeof API_EVENTS)[number];

/**
 * What is asked of an extension besides: to run a shortcut, to complete the arguments of a command, to draw something, to hear
 * what others emitted, and for what a model provider of its does (providers.ts). Each comes only to who has registered what it is about.
 */
export const SERVICE_EVENTS = [
  "shortcut",
  "completions",
  "render",
  "bus",
  "provider_stream",
  "provider_auth",
] as const;
export type ServiceEvent = (typeof SERVICE_EVENTS)[number];

export type AnyEvent = EventName | ApiEvent | ServiceEvent;

/** Events that others of this family send and xdev does not: who listens to one has misspelt nothing. */
export const FAMILY_EVENTS: ReadonlySet<string> = new Set([
  "project_trust",
  "mcp_servers_change",
  "context_with_system",
  "cache_warming_decision",
  "before_provider_headers",
  "agent_before_settle",
  "goal_updated",
  "credential_disabled",
  "session",
]);

/**
 * Checks one decoded message of an extension. Gives the frame, or `{ problem }`: a text for a person that says what is
 * wrong with it. Never throws.
 */
export function parseInbound(value: unknown): { frame: InboundFrame } | { problem: string } {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return { problem: "sent a frame that is not a JSON object" };
  }
  const type = Object.hasOwn(value, "type") ? (value as { type: unknown }).type : undefined;
  if (typeof type !== "string") return { problem: "sent a frame without a type" };
  const size = measure(value);
  if (size) return { problem: `sent a frame that ${size}` };
  if (!INBOUND_TYPES.has(type)) {
    return { problem: `sent a frame of unknown type ${JSON.stringify(type.slice(0, 40))}` };
  }
  const response = type === "response" ? plainResponse(value as Record<string, unknown>) : undefined;
  if (response) return { frame: response };
  try {
    const result = v.safeParse(inbound, value, ONE_ISSUE);
    if (result.success) return { frame: result.output };
    const issue = result.issues[0];
    const path = v.getDotPath(issue);
    return {
      problem: `sent a malformed ${type} frame${path ? `: ${path.slice(0, 80)}` : ""}: expected ${issue.expected ?? "another value"}`,
    };
  } catch {
    return { problem: `sent a ${type} frame that could not be read` };
  }
}

/**
 * What the schema makes of a response whose members all have their types, for a tenth of the time: every tool call waits for
 * one. Undefined for everything else, which is the schema's to accept or to refuse. A test holds it against the schema.
 */
export function plainResponse(value: Record<string, unknown>): ResponseFrame | undefined {
  const frame: Record<string, unknown> = { type: "response" };
  for (const key of Object.keys(value)) {
    const member = value[key];
    switch (key) {
      case "id":
      case "reason":
      case "error":
        if (typeof member !== "string") return undefined;
        break;
      case "allow":
      case "failOpen":
        if (typeof member !== "boolean") return undefined;
        break;
      case "revise":
      case "patch":
      case "result":
        break;
      default:
        continue;
    }
    frame[key] = member;
  }
  return frame as ResponseFrame;
}

/** valibot would otherwise keep an issue for every bad element. */
const ONE_ISSUE = { abortEarly: true } as const;

const INBOUND_TYPES = new Set(["capabilities", "register", "response", "action", "log", "update", "call"]);

/** Tool result content as it crosses the boundary: what a `tool_invoke` or `tool_result` reply may carry. */
const contentSchema = v.array(
  v.variant("type", [
    v.object({ type: v.literal("text"), text: v.string() }),
    v.object({ type: v.literal("image"), data: v.string(), mimeType: v.string() }),
  ]),
);
export type Content = v.InferOutput<typeof contentSchema>;

/** `response.result` (feature `result`) for `tool_invoke`, `tool_result`, and the payload of their `update` frames. */
const toolOutcomeSchema = v.pipe(
  v.unknown(),
  noList,
  v.object({
    content: v.nullish(contentSchema),
    details: v.optional(v.unknown()),
    isError: v.nullish(v.boolean()),
    terminate: v.nullish(v.boolean()),
  }),
);
export type ToolOutcome = v.InferOutput<typeof toolOutcomeSchema>;

/** A tool outcome from an extension, or undefined if it is none. */
export function parseToolOutcome(value: unknown): ToolOutcome | undefined {
  const result = v.safeParse(toolOutcomeSchema, value, ONE_ISSUE);
  return result.success ? result.output : undefined;
}

const patchSchema = v.object({ text: v.nullish(v.string()), isError: v.nullish(v.boolean()) });

/**
 * A `patch` (wire-notes.md, "Replies"): a string is new text, an object may have `text` and `isError`; absent, null,
 * `{}`, `[]` and `""` mean "no change", which is undefined here. Anything else is `{ problem }`.
 */
export function parsePatch(
  value: unknown,
): { text?: string; isError?: boolean } | { problem: string } | undefined {
  if (isNoChange(value)) return undefined;
  if (typeof value === "string") return { text: value };
  const result = Array.isArray(value) ? undefined : v.safeParse(patchSchema, value, ONE_ISSUE);
  if (!result?.success) return { problem: "patch is neither a text nor an object with text or isError" };
  const patch: { text?: string; isError?: boolean } = {};
  if (typeof result.output.text === "string") patch.text = result.output.text;
  if (typeof result.output.isError === "boolean") patch.isError = result.output.isError;
  return patch;
}

/**
 * A `revise` (wire-notes.md, "Replies"): a JSON object, a fresh one without a prototype's members; undefined for
 * "no change". Anything else is `{ problem }`.
 */
export function parseRevise(
  value: unknown,
): { arguments: Record<string, unknown> } | { problem: string } | undefined {
  if (isNoChange(value)) return undefined;
  if (typeof value !== "object" || Array.isArray(value)) return { problem: "revise is not a JSON object" };
  return { arguments: value as Record<string, unknown> };
}

function isNoChange(value: unknown): boolean {
  if (value === undefined || value === null || value === "") return true;
  if (typeof value !== "object") return false;
  return Array.isArray(value) ? value.length === 0 : Object.keys(value).length === 0;
}
