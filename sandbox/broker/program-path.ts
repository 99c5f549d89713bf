/** Which file a program's name means, found once: what the rights are asked about is what runs. */
import { access, constants, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { canonicalPath, isInside } from "../../src/base/files.ts";
import { findProgram as findAlongPath } from "../permissions/match-run.ts";
import { type CallContext, CallError } from "./broker.ts";
import { isExposed } from "./program-exposed.ts";

export interface FoundProgram {
  /** Canonical: this file is started. It may be missing, which only who may run it is told (`assertExecutable`). */
  path: string;
  /** What it is told that it was started as: programs that are many in one (busybox, version managers) go by that. */
  argv0: string;
}

/**
 * Looks a program up, along the user's PATH (never the extension's) as permissions do if its name has no separator, else from
 * `cwd`. Throws `ENOENT` for one that is not in PATH, and `EACCES` for one that the extension could write itself: a grant for that would be
 * one for everything.
 */
export async function findProgram(name: string, cwd: string, context: CallContext): Promise<FoundProgram> {
  const written = name.includes("/") ? resolve(cwd, name) : undefined;
  const path = written === undefined ? await alongPath(name, context) : await canonical(written, name);
  const { dataDir, data } = context.folders;
  // Nothing in the agent's data dir is reachable, and that holds for programs, too.
  if (isInside(path, dataDir) && !isInside(path, data)) throw spawnError("EACCES", name);
  if (await isExposed(path, context)) {
    throw new CallError(
      "EACCES",
      `EACCES: spawn ${short(name)}: the extension may write this file itself, so that a permission to run it would be one to run anything: it takes the permission run for sh`,
      details(name),
    );
  }
  return { path, argv0: written === undefined ? name : await startedAs(written, path, context) };
}

async function canonical(written: string, name: string): Promise<string> {
  return canonicalPath(written).catch(() => {
    throw spawnError("EACCES", name);
  });
}

async function alongPath(name: string, { folders, env }: CallContext): Promise<string> {
  const path = await findAlongPath(name, { folders, searchPath: env.PATH });
  if (path === undefined) throw spawnError("ENOENT", name);
  return path;
}

/** Throws what `spawn` would for a file that can't be started. */
export async function assertExecutable(path: string, name: string): Promise<void> {
  const problem = await startProblem(path);
  if (problem) throw spawnError(problem, name);
}

/** A link that the extension could have made must not choose which of the programs in one file it is. */
async function startedAs(written: string, path: string, context: CallContext): Promise<string> {
  const folder = await canonicalPath(dirname(written)).catch(() => undefined);
  const link = folder === undefined ? undefined : join(folder, basename(written));
  return link === undefined || (await isExposed(link, context)) ? path : written;
}

async function startProblem(path: string): Promise<"ENOENT" | "EACCES" | undefined> {
  const info = await stat(path).catch(() => undefined);
  if (!info) return "ENOENT";
  if (!info.isFile()) return "EACCES";
  return access(path, constants.X_OK).then(
    () => undefined,
    () => "EACCES" as const,
  );
}

/** An error as Node's `spawn` gives it. */
export function spawnError(code: string, name: string): CallError {
  return new CallError(code, `spawn ${short(name)} ${code}`, details(name));
}

const short = (name: string): string => name.slice(0, 200);
const details = (name: string) => ({ syscall: `spawn ${short(name)}`, path: short(name) });
