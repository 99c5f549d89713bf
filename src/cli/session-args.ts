/** The options of a run that say which session it goes on with. */
import { type Command, Option } from "commander";

/** Which session a run goes on with (run-session.ts). `sessionDir` and `path` are as the user wrote them. */
export type SessionChoice =
  /** Nothing is written. */
  | { kind: "none" }
  | ((
      | { kind: "new" | "continue" }
      /** `id` is the beginning of one, "" if the user gave none. */
      | { kind: "resume"; id: string }
      | { kind: "file" | "fork"; path: string }
    ) & { sessionDir?: string });

/** Also an option of `xdev sessions`. */
export const SESSION_DIR = [
  "--session-dir <dir>",
  "the folder of the session files, instead of one in the data dir",
] as const;

export function addSessionFlags(program: Command): void {
  program
    .addOption(
      new Option("-c, --continue", "go on with the session of this folder that was used last").conflicts([
        "resume",
        "session",
        "fork",
      ]),
    )
    .addOption(
      new Option("-r, --resume [id]", "go on with the session whose id begins so").conflicts([
        "session",
        "fork",
      ]),
    )
    .addOption(
      new Option("--session <path>", "go on with the session in this file, or begin one there").conflicts(
        "fork",
      ),
    )
    .option(
      "--fork <path>",
      "begin a new session with all that this one holds; a file, or the beginning of an id",
    )
    .option("--no-session", "keep nothing")
    .option(...SESSION_DIR);
}

/** Of the options of a run, and of a command that is like one. */
export function sessionChoice(options: Record<string, unknown>): SessionChoice {
  const given = options as {
    continue?: boolean;
    resume?: string | true;
    session?: string | false;
    fork?: string;
    sessionDir?: string;
  };
  if (given.session === false) return { kind: "none" };
  const inDir = given.sessionDir === undefined ? {} : { sessionDir: given.sessionDir };
  if (given.continue) return { kind: "continue", ...inDir };
  if (given.resume !== undefined) {
    return { kind: "resume", id: given.resume === true ? "" : given.resume, ...inDir };
  }
  if (given.session !== undefined) return { kind: "file", path: given.session, ...inDir };
  if (given.fork !== undefined) return { kind: "fork", path: given.fork, ...inDir };
  return { kind: "new", ...inDir };
}
