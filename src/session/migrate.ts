/**
 * Files of version 1 (a list: entries have no ids, a compaction names the first kept one by its place) and version 2 (a message
 * of an extension has the role `hookMessage`), as version 3.
 */
import { sha256Hash } from "../platform/hash.ts";
import type { RawEntry } from "./schema.ts";

/** The id of the entry at `place` (from 0) in a file that gives it none: the same each time that the file is read. */
export function idOfPlace(sessionId: string, place: number): string {
  return sha256Hash().update(`${sessionId} ${place}`).digest("hex").slice(0, 8);
}

/** Changes an entry of an older version into one of version 3. `idAt` gives the id of the entry at a place. */
export function upgradeEntry(
  entry: RawEntry,
  version: number,
  idAt: (place: number) => string | undefined,
): void {
  if (version < 2 && entry.type === "compaction" && typeof entry.firstKeptEntryIndex === "number") {
    // The header is counted.
    entry.firstKeptEntryId ??= idAt(entry.firstKeptEntryIndex - 1) ?? entry.id;
    delete entry.firstKeptEntryIndex;
  }
  const message = entry.message as { role?: unknown } | null | undefined;
  if (version < 3 && entry.type === "message" && message?.role === "hookMessage") message.role = "custom";
}

/** Messages without content, as some agents wrote them, have none; so say it in the form that their role wants. */
export function fillContent(entry: RawEntry): void {
  if (entry.type !== "message") return;
  const message = entry.message as { role?: unknown; content?: unknown } | null | undefined;
  if (typeof message !== "object" || message === null || (message.content ?? undefined) !== undefined) return;
  if (message.role === "system") message.content = "";
  else if (["user", "assistant", "toolResult"].includes(String(message.role))) message.content = [];
}
