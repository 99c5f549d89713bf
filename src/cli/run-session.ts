/** Which session a run goes on with: a new one, one that is there, a copy, or none that is kept. Loads the store. */
import { stat } from "node:fs/promises";
import { XdevError } from "../base/errors.ts";
import { resolvePath } from "../base/files.ts";
import type { SessionStore } from "../session/store.ts";
import type { SessionChoice } from "./session-args.ts";

export interface RunSession {
  store: SessionStore;
  reason: "startup" | "resume" | "fork";
  /** The file that a fork comes from. */
  previousFile?: string;
  /** What to tell the user about the choice. */
  notice?: string;
}

export interface SessionPlaces {
  dataDir: string;
  /** Where the run works. */
  cwd: string;
  /** What paths on the command line are relative to. */
  startFolder: string;
}

/** Throws `XdevError`: `usage`, `no-session`, `ambiguous-session`, `session-in-use`, `not-a-session`. */
export async function openRunSession(choice: SessionChoice, places: SessionPlaces): Promise<RunSession> {
  const { dataDir, cwd, startFolder } = places;
  const { SessionStore } = await import("../session/store.ts");
  if (choice.kind === "none") return { store: SessionStore.inMemory({ cwd, dataDir }), reason: "startup" };
  const sessionDir =
    choice.sessionDir === undefined ? undefined : resolvePath(choice.sessionDir, startFolder);
  const inDir = sessionDir === undefined ? {} : { sessionDir };
  const fresh = (file?: string): RunSession => ({
    store: SessionStore.create({ dataDir, cwd, ...inDir, ...(file === undefined ? {} : { file }) }),
    reason: "startup",
  });
  const resume = async (file: string): Promise<RunSession> => ({
    store: await SessionStore.open(file, { dataDir }),
    reason: "resume",
  });
  switch (choice.kind) {
    case "new":
      return fresh();
    case "continue": {
      const { latestSession } = await import("../session/list.ts");
      const latest = await latestSession(dataDir, { cwd, ...inDir });
      if (latest) return resume(latest.path);
      return { ...fresh(), notice: "there is no session of this folder to continue: a new one begins" };
    }
    case "resume": {
      const { findSession } = await import("../session/list.ts");
      if (choice.id === "") throw await whichSession(dataDir, { cwd, ...inDir });
      return resume(await findSession(dataDir, choice.id, { cwd, ...inDir }));
    }
    case "file": {
      const file = resolvePath(choice.path, startFolder);
      if (await isThere(file)) return resume(file);
      if (isLikeAnId(choice.path)) {
        throw new XdevError("usage", `there is no session file ${choice.path}`, {
          hint: `-r ${choice.path} goes on with the session of that id`,
        });
      }
      return fresh(file);
    }
    case "fork": {
      const named = resolvePath(choice.path, startFolder);
      const { findSession } = await import("../session/list.ts");
      const file = (await isThere(named))
        ? named
        : await findSession(dataDir, choice.path, { cwd, ...inDir });
      const { forkSession } = await import("../session/copy.ts");
      const source = await SessionStore.open(file, { dataDir, access: "read" });
      try {
        return {
          store: forkSession(source, { upTo: "all", cwd, ...inDir }),
          reason: "fork",
          previousFile: file,
        };
      } finally {
        source.close();
      }
    }
  }
}

/** The beginning of an id, and not a name that somebody would give a file. */
function isLikeAnId(path: string): boolean {
  return /^[0-9a-f]{8}(?:-[0-9a-f]+)+$/i.test(path);
}

async function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

async function whichSession(
  dataDir: string,
  options: { cwd: string; sessionDir?: string },
): Promise<XdevError> {
  const { listSessions } = await import("../session/list.ts");
  const here = (await listSessions(dataDir, options)).slice(0, 5);
  const lines = here.map(
    ({ id, name, firstMessage }) => `${id}  ${(name ?? firstMessage ?? "").slice(0, 60)}`,
  );
  return new XdevError("usage", "--resume takes the beginning of a session's id", {
    hint: lines.length > 0 ? `the last of this folder:\n${lines.join("\n")}` : "xdev sessions lists them",
  });
}
