/**
 * Sessions: conversations as append-only trees in JSONL files that the agents of this family share. Import it when a session is
 * needed, not before (`await import`).
 *
 *     const store = SessionStore.create({ dataDir, cwd });         // no file until there is an answer
 *     const store = await SessionStore.open(path, { dataDir });    // takes the lock; XdevError "session-in-use"
 *     const store = SessionStore.inMemory({ cwd });                // --no-session
 *     const id = store.append({ type: "message", message });       // a child of the leaf, which it becomes
 *     store.branch(entryId);                                       // the next entry follows that one
 *     const { messages, model, thinkingLevel } = store.buildContext();
 *     await store.close();
 */
export { type CopyOptions, cloneSession, forkSession } from "./copy.ts";
export { deleteSession } from "./delete.ts";
export { findSession, latestSession, listSessions, type SessionSummary, summaryOf } from "./list.ts";
export { cwdSlug, sessionFolder, sessionsFolder } from "./paths.ts";
export { type OpenOptions, type SessionOptions, SessionStore } from "./store.ts";
export type * from "./types.ts";
