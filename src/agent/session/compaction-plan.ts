/**
 * Where a conversation is cut: what is summarised, and what is kept as it is. A tool call and its result are on the same side,
 * always.
 */
import type { AgentMessage } from "@earendil-works/pi-agent-core";
import { messagesOf } from "../../session/context.ts";
import type { SessionEntry } from "../../session/types.ts";

export interface FileLists {
  readFiles: string[];
  modifiedFiles: string[];
}

export interface CompactionPlan {
  messagesToSummarize: AgentMessage[];
  /** The first entry that is kept; undefined: none is. */
  firstKeptEntryId: string | undefined;
  /** Whether the cut is within what followed one message of the user. */
  isSplitTurn: boolean;
  previousSummary: string | undefined;
  files: FileLists;
}

interface Item {
  entryId: string;
  message: AgentMessage;
}

/**
 * @param entries those of the context, oldest first; a compaction may lead
 * @param keep about how much is kept, in tokens
 * @param always where it is cut if all of it would be kept: before the user's last message, or else (`all`) behind everything
 */
export function planCompaction(
  entries: readonly SessionEntry[],
  keep: number,
  tokensOf: (message: AgentMessage) => number,
  always: "last-turn" | "all",
): CompactionPlan | undefined {
  const [first] = entries;
  const previous = first?.type === "compaction" ? first : undefined;
  const items = itemsOf(previous ? entries.slice(1) : entries);
  if (items.length === 0) return undefined;
  const cut = findCut(items, keep, tokensOf, always);
  if (cut === undefined || cut === 0) return undefined;
  const messagesToSummarize = items.slice(0, cut).map(({ message }) => message);
  return {
    messagesToSummarize,
    firstKeptEntryId: items[cut]?.entryId,
    isSplitTurn: cut < items.length && items[cut]!.message.role === "assistant",
    previousSummary: previous?.summary,
    files: filesOf(messagesToSummarize, previous?.details),
  };
}

/** The messages with their entries, without what was left out of the context later. */
function itemsOf(entries: readonly SessionEntry[]): Item[] {
  const omitted = new Map<string, boolean>();
  for (const entry of entries) {
    if (entry.type === "context_edit") omitted.set(entry.targetId, entry.replacement === null);
  }
  return entries.flatMap((entry) => {
    if (entry.type === "compaction" || omitted.get(entry.id)) return [];
    return messagesOf(entry)
      .filter(({ role }) => role !== "system")
      .map((message) => ({ entryId: entry.id, message }));
  });
}

function findCut(
  items: readonly Item[],
  keep: number,
  tokensOf: (message: AgentMessage) => number,
  always: "last-turn" | "all",
): number | undefined {
  const isPossible = possibleCuts(items);
  let tokens = 0;
  let at = items.length;
  while (at > 0 && tokens < keep) tokens += tokensOf(items[--at]!.message);
  if (at === 0 && tokens <= keep) {
    const lastTurn = items.findLastIndex(({ message }) => message.role === "user");
    if (lastTurn > 0 && isPossible[lastTurn]) return lastTurn;
    return always === "all" ? items.length : undefined;
  }
  for (let place = at; place < items.length; place++) if (isPossible[place]) return place;
  for (let place = at - 1; place > 0; place--) if (isPossible[place]) return place;
  return undefined;
}

/** Before which messages the conversation may be cut: before none that answers a call which would be cut off. */
function possibleCuts(items: readonly Item[]): boolean[] {
  const possible: boolean[] = [];
  const open = new Set<string>();
  for (let at = items.length - 1; at >= 0; at--) {
    const { message } = items[at]!;
    if (message.role === "toolResult") open.add(message.toolCallId);
    else if (message.role === "assistant") {
      for (const block of message.content) if (block.type === "toolCall") open.delete(block.id);
    }
    possible[at] = open.size === 0 && message.role !== "toolResult";
  }
  return possible;
}

/** Whether the kept part may begin with this entry. */
export function mayBeginWith(entries: readonly SessionEntry[], entryId: string): boolean {
  const items = itemsOf(entries);
  const at = items.findIndex((item) => item.entryId === entryId);
  return at !== -1 && possibleCuts(items)[at] === true;
}

/** The files that were read and changed, with those that an earlier summary knows of. */
export function filesOf(messages: readonly AgentMessage[], earlier: unknown): FileLists {
  const known = (earlier ?? {}) as { readFiles?: unknown; modifiedFiles?: unknown };
  const read = new Set<string>(texts(known.readFiles));
  const modified = new Set<string>(texts(known.modifiedFiles));
  for (const message of messages) {
    if (message.role !== "assistant") continue;
    for (const block of message.content) {
      if (block.type !== "toolCall") continue;
      const { path } = block.arguments as { path?: unknown };
      if (typeof path !== "string") continue;
      if (block.name === "read") read.add(path);
      else if (block.name === "write" || block.name === "edit") modified.add(path);
    }
  }
  for (const path of modified) read.delete(path);
  return { readFiles: [...read].sort(), modifiedFiles: [...modified].sort() };
}

function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}
