/** What a session's entries mean: read from a file's text, as a branch, and as the messages that a model gets. */
import { type Branch, buildContext, contextEntries, messagesOf } from "../../../../../src/session/context.ts";
import { fillContent, upgradeEntry } from "../../../../../src/session/migrate.ts";
import type { RawEntry } from "../../../../../src/session/schema.ts";
import {
  type CompactionEntry,
  SESSION_VERSION,
  type SessionContext,
  type SessionEntry,
  type SessionHeader,
} from "../../../../../src/session/types.ts";

export type { SessionContext, SessionEntry, SessionHeader };
export type FileEntry = SessionHeader | SessionEntry;

export const CURRENT_SESSION_VERSION = SESSION_VERSION;

/** The lines of a session file that are entries; others are passed over. */
export function parseSessionEntries(content: string): FileEntry[] {
  return content.split("\n").flatMap((line): FileEntry[] => {
    if (line.trim() === "") return [];
    try {
      const entry: unknown = JSON.parse(line);
      const isEntry = typeof entry === "object" && entry !== null && "type" in entry;
      return isEntry && entry.type !== "title" ? [entry as FileEntry] : [];
    } catch {
      return [];
    }
  });
}

/** Makes entries of an older version ones of this version, in place: header first, as they are in the file. */
export function migrateSessionEntries(entries: FileEntry[]): void {
  const header = entries.find((entry): entry is SessionHeader => entry.type === "session");
  const version = header?.version ?? 1;
  if (header) header.version = SESSION_VERSION;
  const rest = entries.filter((entry): entry is SessionEntry => entry.type !== "session");
  if (version < 2) {
    let parent: string | null = null;
    rest.forEach((entry, place) => {
      entry.id ??= (place + 1).toString(16).padStart(8, "0");
      entry.parentId ??= parent;
      parent = entry.id;
    });
  }
  for (const entry of rest) {
    const raw = entry as unknown as RawEntry;
    fillContent(raw);
    upgradeEntry(raw, version, (place) => rest[place]?.id);
  }
}

/** The last compaction among them; null without one. */
export function getLatestCompactionEntry(entries: readonly SessionEntry[]): CompactionEntry | null {
  return entries.findLast((entry) => entry.type === "compaction") ?? null;
}

/** The messages that an entry stands for; none for most kinds. */
export const sessionEntryToContextMessages = (entry: SessionEntry): SessionContext["messages"] =>
  messagesOf(entry);

/** The entries from the beginning to `leafId` (the last one, if it is not given; none for null). */
export function branchOf(
  entries: readonly SessionEntry[],
  leafId: string | null | undefined = entries.at(-1)?.id,
  byId: ReadonlyMap<string, SessionEntry> = new Map(entries.map((entry) => [entry.id, entry])),
): SessionEntry[] {
  const branch: SessionEntry[] = [];
  const seen = new Set<string>();
  for (let id = leafId; id && !seen.has(id); ) {
    seen.add(id);
    const entry = byId.get(id);
    if (!entry) break;
    branch.push(entry);
    id = entry.parentId;
  }
  return branch.reverse();
}

function asBranch(entries: readonly SessionEntry[]): Branch {
  return {
    length: entries.length,
    typeAt: (place) => entries[place]!.type,
    roleAt(place) {
      const entry = entries[place]!;
      return entry.type === "message" ? entry.message.role : undefined;
    },
    entryAt: (place) => entries[place]!,
  };
}

type ById = ReadonlyMap<string, SessionEntry>;

/** What the model gets of a branch: messages, model and thinking level. */
export const buildSessionContext = (
  entries: readonly SessionEntry[],
  leafId?: string | null,
  byId?: ById,
): SessionContext => buildContext(asBranch(branchOf(entries, leafId, byId)));

/** The entries that the model gets something of: after a compaction, that and what it kept. */
export const buildContextEntries = (
  entries: readonly SessionEntry[],
  leafId?: string | null,
  byId?: ById,
): SessionEntry[] => contextEntries(asBranch(branchOf(entries, leafId, byId)));

/** The context, and which entry each message is of. Edits of entries (`context_edit`) are in `messages` alone. */
export function buildSessionProjection(
  entries: readonly SessionEntry[],
  leafId?: string | null,
  byId?: ById,
) {
  const projected = buildContextEntries(entries, leafId, byId).map((sourceEntry) => ({
    sourceEntry,
    messages: messagesOf(sourceEntry),
  }));
  return { entries: projected, ...buildSessionContext(entries, leafId, byId) };
}
