/** What the model sees of a branch: compactions, summaries, messages of extensions and edits, as this family of agents reads them. */
import type { AgentMessage } from "@earendil-works/pi-agent-core";
import type {} from "./context-messages.ts";
import type { ContextEditEntry, SessionContext, SessionEntry } from "./types.ts";

/** A branch, from its beginning: what is known of each entry, and the entry itself when it is asked for. */
export interface Branch {
  readonly length: number;
  typeAt(place: number): string;
  roleAt(place: number): string | undefined;
  entryAt(place: number): SessionEntry;
}

/** The entries that the model, or a reader, gets of a branch: those since the last reset, and of a compaction what it kept. */
export function contextEntries(branch: Branch): SessionEntry[] {
  const reset = lastOf(branch, "reset_boundary", branch.length);
  const compaction = lastOf(branch, "compaction", branch.length);
  const chosen: SessionEntry[] = [];
  let next = reset + 1;
  if (compaction > reset) {
    const entry = branch.entryAt(compaction);
    chosen.push(entry);
    if (entry.type === "compaction" && entry.firstKeptEntryId !== entry.id) {
      const kept: SessionEntry[] = [];
      let isFound = false;
      for (let place = compaction - 1; place > reset && !isFound; place--) {
        const before = branch.entryAt(place);
        isFound = before.id === entry.firstKeptEntryId;
        if (branch.roleAt(place) !== "system") kept.push(before);
      }
      if (isFound) chosen.push(...kept.reverse());
    }
    next = compaction + 1;
  }
  for (let place = next; place < branch.length; place++) chosen.push(branch.entryAt(place));
  return chosen;
}

export function buildContext(branch: Branch): SessionContext {
  const entries = contextEntries(branch);
  const edits = new Map<string, ContextEditEntry>();
  for (const entry of entries) if (entry.type === "context_edit") edits.set(entry.targetId, entry);
  const messages = entries.flatMap((entry, place) =>
    // An older compaction among the entries that the last one kept has no say.
    entry.type === "compaction" && place > 0 ? [] : edited(messagesOf(entry), edits.get(entry.id)),
  );
  return { messages, ...choices(branch) };
}

/** The messages that an entry stands for. */
export function messagesOf(entry: SessionEntry): AgentMessage[] {
  const timestamp = new Date(entry.timestamp).getTime();
  switch (entry.type) {
    case "message":
      return [entry.message];
    case "custom_message": {
      const { customType, content, display, details } = entry;
      return [{ role: "custom", customType, content, display, details, timestamp }];
    }
    case "branch_summary":
      if (!entry.summary) return [];
      return [{ role: "branchSummary", summary: entry.summary, fromId: entry.fromId, timestamp }];
    case "compaction": {
      const { summary, tokensBefore, systemMessage } = entry;
      const message: AgentMessage = { role: "compactionSummary", summary, tokensBefore, timestamp };
      return systemMessage ? [systemMessage, message] : [message];
    }
    default:
      return [];
  }
}

const EDITABLE = ["user", "assistant", "toolResult", "custom"];

function edited(messages: AgentMessage[], edit: ContextEditEntry | undefined): AgentMessage[] {
  if (!edit) return messages;
  const { replacement } = edit;
  if (replacement === null) return [];
  return messages.map((message) => {
    if (!EDITABLE.includes(message.role)) return message;
    const needsBlocks = message.role === "assistant" || message.role === "toolResult";
    const content =
      needsBlocks && typeof replacement.content === "string"
        ? [{ type: "text", text: replacement.content }]
        : replacement.content;
    return { ...message, content } as AgentMessage;
  });
}

/** The model and the thinking level at the branch's end; the model that answered last, if none was chosen since. */
function choices(branch: Branch): Pick<SessionContext, "model" | "thinkingLevel"> {
  let model: SessionContext["model"] | undefined;
  let thinkingLevel: string | undefined;
  for (let place = branch.length - 1; place >= 0 && !(model && thinkingLevel !== undefined); place--) {
    const type = branch.typeAt(place);
    if (type === "thinking_level_change" && thinkingLevel === undefined) {
      const entry = branch.entryAt(place);
      if (entry.type === "thinking_level_change") thinkingLevel = entry.thinkingLevel;
    } else if (!model && (type === "model_change" || branch.roleAt(place) === "assistant")) {
      const entry = branch.entryAt(place);
      if (entry.type === "model_change") model = { provider: entry.provider, modelId: entry.modelId };
      else if (entry.type === "message" && entry.message.role === "assistant") {
        model = { provider: entry.message.provider, modelId: entry.message.model };
      }
    }
  }
  return { model: model ?? null, thinkingLevel: thinkingLevel ?? "off" };
}

function lastOf(branch: Branch, type: string, before: number): number {
  for (let place = before - 1; place >= 0; place--) if (branch.typeAt(place) === type) return place;
  return -1;
}
