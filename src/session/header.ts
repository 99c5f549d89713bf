/** The header of a session that has none yet. */
import { XdevError } from "../base/errors.ts";
import { idOfFileName, isSessionId, newSessionId } from "./paths.ts";
import { SESSION_VERSION, type SessionHeader } from "./types.ts";

/** Throws `XdevError` `bad-session-id`. */
export function newHeader(options: { cwd: string; id?: string; parentSession?: string }): SessionHeader {
  const id = options.id ?? newSessionId();
  if (!isSessionId(id)) {
    throw new XdevError("bad-session-id", `${JSON.stringify(id)} can't be the id of a session`, {
      hint: "letters, digits, '.', '_' and '-'",
    });
  }
  const { cwd, parentSession } = options;
  return {
    type: "session",
    version: SESSION_VERSION,
    id,
    timestamp: new Date().toISOString(),
    cwd,
    ...(parentSession === undefined ? {} : { parentSession }),
  };
}

/** For a file whose header is gone. */
export function placeholderHeader(path: string): SessionHeader {
  const id = idOfFileName(path) ?? newSessionId();
  return { type: "session", version: SESSION_VERSION, id, timestamp: new Date().toISOString(), cwd: "" };
}
