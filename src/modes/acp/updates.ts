/**
 * What a session tells, as updates of the Agent Client Protocol. Everything that a model, a tool or an extension wrote is data for
 * the editor to show; keys that the program knows are taken out of it.
 */
import { existsSync, readFileSync, statSync } from "node:fs";
import type {
  AvailableCommand,
  ContentBlock,
  SessionUpdate,
  ToolCallContent,
  ToolKind,
} from "@agentclientprotocol/sdk";
import type { AgentMessage, AgentSession, SessionEvent } from "../../agent/agent-session-types.ts";
import { resolvePath } from "../../base/files.ts";
import { redact, redactTexts } from "../../base/log.ts";
import { ellipsis, oneLine } from "../../base/text.ts";

type Args = Record<string, unknown>;

/** The kinds of our own tools; those of extensions are `other`. */
const KINDS: Readonly<Record<string, ToolKind>> = {
  read: "read",
  write: "edit",
  edit: "edit",
  bash: "execute",
  grep: "search",
  find: "search",
  ls: "read",
  todo: "think",
};
/** The largest text that goes into a diff as what was there before, in bytes; and the longest output of a tool, in characters. */
const DIFF_BYTES = 1024 * 1024;
const OUTPUT_CHARS = 100_000;
const TITLE_CHARS = 200;

export const textBlock = (text: string): ContentBlock => ({ type: "text", text: redact(text) });

/** The texts of a value without secrets; keys and numbers stay. */
export function redactDeep<T>(value: T): T {
  return JSON.parse(JSON.stringify(value, redactTexts)) as T;
}

const contentText = (text: string): ToolCallContent => ({ type: "content", content: textBlock(text) });

/** The updates for an event, in order; none for what an editor has no place for. */
export function updatesFor(event: SessionEvent, cwd: string): SessionUpdate[] {
  switch (event.type) {
    case "message_update": {
      const { assistantMessageEvent: part } = event;
      if (part.type === "text_delta") return [chunk("agent_message_chunk", part.delta)];
      if (part.type === "thinking_delta") return [chunk("agent_thought_chunk", part.delta)];
      return [];
    }
    case "tool_execution_start":
      return [
        {
          sessionUpdate: "tool_call",
          toolCallId: event.toolCallId,
          ...describeCall(event.toolName, event.args as Args, cwd),
          status: "in_progress",
          content: diffsOf(event.toolName, event.args as Args, cwd, true),
        },
      ];
    case "tool_execution_update":
      return [
        {
          sessionUpdate: "tool_call_update",
          toolCallId: event.toolCallId,
          content: resultContent(event.partialResult),
        },
      ];
    case "tool_execution_end": {
      // The diff that came with the call stays what the call shows, unless it failed.
      const keepsDiff = !event.isError && (event.toolName === "edit" || event.toolName === "write");
      const update: SessionUpdate = {
        sessionUpdate: "tool_call_update",
        toolCallId: event.toolCallId,
        status: event.isError ? "failed" : "completed",
        ...(keepsDiff ? {} : { content: resultContent(event.result) }),
      };
      const plan = event.toolName === "todo" && !event.isError ? planOf(event.result) : undefined;
      return plan ? [update, plan] : [update];
    }
    case "command_output":
      return [chunk("agent_message_chunk", event.text)];
    case "session_info_changed":
      return [{ sessionUpdate: "session_info_update", title: event.name ?? null }];
    default:
      return [];
  }
}

/** The conversation so far, for an editor that opens it. */
export function replayOf(messages: readonly AgentMessage[], cwd: string): SessionUpdate[] {
  const results = new Map(
    messages.flatMap((message) =>
      message.role === "toolResult" ? [[message.toolCallId, message] as const] : [],
    ),
  );
  return messages.flatMap((message): SessionUpdate[] => {
    if (message.role === "user") return blocksOf(message.content).map((block) => userChunk(block));
    if (message.role !== "assistant") return [];
    return message.content.flatMap((part): SessionUpdate[] => {
      if (part.type === "text") return [chunk("agent_message_chunk", part.text)];
      if (part.type === "thinking") return [chunk("agent_thought_chunk", part.thinking)];
      if (part.type !== "toolCall") return [];
      const result = results.get(part.id);
      const args = part.arguments as Args;
      const diffs = diffsOf(part.name, args, cwd, false);
      return [
        {
          sessionUpdate: "tool_call",
          toolCallId: part.id,
          ...describeCall(part.name, args, cwd),
          status: result && !result.isError ? "completed" : "failed",
          content: diffs.length > 0 && !result?.isError ? diffs : resultContent(result),
        },
      ];
    });
  });
}

/** What a prompt can begin with behind a slash. */
export function commandsOf(session: AgentSession): AvailableCommand[] {
  return session.commands().map(({ name, description, argumentHint }) => ({
    name,
    description: description ?? name,
    input: { hint: argumentHint ?? "" },
  }));
}

function chunk(kind: "agent_message_chunk" | "agent_thought_chunk", text: string): SessionUpdate {
  return { sessionUpdate: kind, content: textBlock(text) };
}

function userChunk(content: ContentBlock): SessionUpdate {
  return { sessionUpdate: "user_message_chunk", content };
}

function blocksOf(content: unknown): ContentBlock[] {
  if (typeof content === "string") return [textBlock(content)];
  if (!Array.isArray(content)) return [];
  return (content as { type: string; text?: string; data?: string; mimeType?: string }[]).flatMap(
    ({ type, text, data, mimeType }): ContentBlock[] => {
      if (type === "text" && text !== undefined) return [textBlock(text)];
      return type === "image" && data && mimeType ? [{ type: "image", data, mimeType }] : [];
    },
  );
}

function describeCall(name: string, args: Args, cwd: string) {
  const path = typeof args.path === "string" ? resolvePath(args.path, cwd) : undefined;
  const what = typeof args.command === "string" ? args.command : (args.pattern ?? args.path);
  const detail = typeof what === "string" ? `: ${oneLine(what)}` : "";
  return {
    title: redact(ellipsis(`${name}${detail}`, TITLE_CHARS)),
    kind: KINDS[name] ?? ("other" as const),
    rawInput: redactDeep(args) as unknown,
    ...(path === undefined ? {} : { locations: [{ path }] }),
  };
}

/** What a call of `edit` or `write` changes. `isNew`: it has not run yet, so that the file says what was there before. */
function diffsOf(name: string, args: Args, cwd: string, isNew: boolean): ToolCallContent[] {
  if (typeof args.path !== "string") return [];
  const path = resolvePath(args.path, cwd);
  if (name === "edit") {
    // One replacement may also stand for itself.
    const edits: unknown[] = Array.isArray(args.edits) ? args.edits : [args];
    return edits.flatMap((edit: unknown): ToolCallContent[] => {
      const { oldText, newText } = (edit ?? {}) as { oldText?: unknown; newText?: unknown };
      if (typeof oldText !== "string" || typeof newText !== "string") return [];
      return [{ type: "diff", path, oldText: redact(oldText), newText: redact(newText) }];
    });
  }
  if (name === "write" && typeof args.content === "string") {
    const oldText = isNew ? textBefore(path) : null;
    return [{ type: "diff", path, oldText, newText: redact(args.content) }];
  }
  return [];
}

/** Null for a file that is new, or too large to be shown. */
function textBefore(path: string): string | null {
  try {
    if (!existsSync(path)) return null;
    const info = statSync(path);
    return info.isFile() && info.size <= DIFF_BYTES ? redact(readFileSync(path, "utf8")) : null;
  } catch {
    return null;
  }
}

function resultContent(result: unknown): ToolCallContent[] {
  const { content } = (result ?? {}) as { content?: unknown };
  return blocksOf(content).map((block) =>
    block.type === "text"
      ? contentText(ellipsis(block.text, OUTPUT_CHARS))
      : { type: "content", content: block },
  );
}

const PLAN_STATES = { pending: "pending", in_progress: "in_progress", completed: "completed" } as const;

function planOf(result: unknown): SessionUpdate | undefined {
  const { details } = (result ?? {}) as { details?: { todos?: unknown } };
  if (!Array.isArray(details?.todos)) return undefined;
  const entries = (details.todos as { text: string; state: string }[]).flatMap(({ text, state }) => {
    const status = PLAN_STATES[state as keyof typeof PLAN_STATES];
    return status === undefined ? [] : [{ content: redact(text), priority: "medium" as const, status }];
  });
  return { sessionUpdate: "plan", entries };
}
