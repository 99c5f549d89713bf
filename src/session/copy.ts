/** New sessions from what is in others: a branch of one (fork, clone), or all of it in another folder. */

import { type SessionOptions, SessionStore } from "./store.ts";

export interface CopyOptions {
  /** The last entry of the branch that is copied; null copies none, "all" the whole tree. Without it: the leaf. */
  upTo?: string | null | "all";
  /** Of the new session; without it that of the source. */
  cwd?: string;
  sessionDir?: string;
  id?: string;
}

/**
 * A new session with the branch of `source` that ends at `upTo`, entries with their ids; its header names the file that it comes
 * from. It has a file as soon as there is an answer in it. Labels of those entries come along. Throws `XdevError` `no-entry`.
 */
export function forkSession(source: SessionStore, options: CopyOptions = {}): SessionStore {
  const { upTo = source.leafId, cwd = source.cwd, id } = options;
  const copy = newStore(source, { cwd, ...(id === undefined ? {} : { id }), ...dirOf(source, options) });
  const all = upTo === "all";
  const ids = all ? [...source.ids()] : source.getBranchIds(upTo);
  // In memory there are no blobs to refer to: what is large is there as it is.
  const entryOf = (entryId: string) =>
    copy.file === undefined ? source.getEntry(entryId) : source.rawEntry(entryId);
  copy.adopt(
    (function* () {
      for (const entryId of ids) yield JSON.stringify(entryOf(entryId));
    })(),
  );
  if (!all) {
    for (const entryId of ids) {
      const label = source.getLabel(entryId);
      if (label !== copy.getLabel(entryId)) copy.setLabel(entryId, label);
    }
    if (source.name !== undefined && copy.name === undefined) copy.setName(source.name);
  }
  return copy;
}

/** The branch that goes on, as a session of its own. */
export function cloneSession(source: SessionStore, options: Omit<CopyOptions, "upTo"> = {}): SessionStore {
  return forkSession(source, options);
}

/** Beside the source, unless it is for another folder or told otherwise. */
function dirOf(source: SessionStore, { cwd, sessionDir }: CopyOptions): Pick<SessionOptions, "sessionDir"> {
  if (sessionDir !== undefined) return { sessionDir };
  return cwd === undefined && source.folder !== undefined ? { sessionDir: source.folder } : {};
}

function newStore(source: SessionStore, options: Omit<SessionOptions, "dataDir">): SessionStore {
  if (source.file === undefined) return SessionStore.inMemory(options);
  const parentSession = source.isOnDisk ? { parentSession: source.file } : {};
  return SessionStore.create({ ...options, ...parentSession, dataDir: source.dataDir });
}
