/** A line of a session file as an entry, and the other way round. */
import { XdevError } from "../base/errors.ts";
import type { BlobStore } from "./blobs.ts";
import { bringBack, bringBackForeign } from "./large.ts";
import { fillContent, upgradeEntry } from "./migrate.ts";
import { isEntryType, isRawEntry, isValidEntry, LINE_LIMIT, type RawEntry } from "./schema.ts";
import type { SessionEntry } from "./types.ts";

/** The value in a line, or undefined. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** An entry of any version as one of version 3; undefined if the value is none. */
export function asEntry(
  value: unknown,
  version: number,
  idAt: (place: number) => string | undefined,
): RawEntry | undefined {
  if (!isRawEntry(value) || (version >= 2 && value.id === undefined)) return undefined;
  if (version < 3) upgradeEntry(value, version, idAt);
  fillContent(value);
  nameModel(value);
  return value;
}

/** oh-my-pi names a model with one member. */
function nameModel(entry: RawEntry): void {
  if (entry.type !== "model_change" || entry.provider !== undefined || typeof entry.model !== "string")
    return;
  const slash = entry.model.indexOf("/");
  if (slash <= 0) return;
  entry.provider = entry.model.slice(0, slash);
  entry.modelId = entry.model.slice(slash + 1);
}

/** The type of an entry whose members are not what its own type wants: it has no effect. */
export const INVALID = "invalid";

/** Gives an entry that is not valid another type, so that nobody relies on its members. Says whether it was valid. */
export function checkType(entry: RawEntry): boolean {
  if (!isEntryType(entry.type) || isValidEntry(entry)) return true;
  entry.invalidType = entry.type;
  entry.type = INVALID;
  return false;
}

/** What the index knows of an entry that was read before. */
export interface Known {
  id: string;
  parentId: string | null;
  version: number;
  idAt(place: number): string | undefined;
}

/** The entry in a line, as version 3 and otherwise as it stands there, with references to blobs. */
export function readRaw(text: string, known: Known): RawEntry {
  const entry = asEntry(parseJson(text), known.version, known.idAt);
  if (!entry) throw new XdevError("session-changed", "the session's file was changed by another program");
  entry.id = known.id;
  entry.parentId = known.parentId;
  entry.timestamp ??= "";
  return entry;
}

/** The entry in a line. `missing` is told the number of blobs that are gone. */
export function readEntry(
  text: string,
  known: Known,
  blobs: BlobStore | undefined,
  missing: (count: number) => void,
): SessionEntry {
  const entry = readRaw(text, known);
  if (blobs) {
    let count = entry.blobs === undefined ? 0 : bringBack(entry, blobs);
    if (text.includes('"blob:sha256:') || text.includes('"blobtext:sha256:')) {
      count += bringBackForeign(entry, blobs);
    }
    if (count > 0) missing(count);
  }
  checkType(entry);
  return entry as unknown as SessionEntry;
}

/** The line for a new entry. Throws `XdevError` `bad-entry` for one that could not be read again. */
export function entryLine(entry: RawEntry): string {
  let line: string | undefined;
  try {
    line = JSON.stringify(entry);
  } catch (error) {
    throw new XdevError("bad-entry", `an entry of a session must be JSON: ${(error as Error).message}`);
  }
  if (!isEntryType(entry.type) || !isValidEntry(JSON.parse(line))) {
    throw new XdevError("bad-entry", `this is no entry of the type ${JSON.stringify(entry.type)}`);
  }
  if (line.length > LINE_LIMIT / 4) {
    throw new XdevError(
      "bad-entry",
      `an entry of a session has at most ${LINE_LIMIT / 4 / 1024 / 1024} million characters`,
    );
  }
  return line;
}
