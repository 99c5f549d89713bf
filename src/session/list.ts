/**
 * The sessions there are. What a list says comes from the two ends of each file, however long it is (summary.ts), or from the
 * last list (list-cache.ts).
 */
import { readdirSync, statSync } from "node:fs";
import { join, resolve, sep } from "node:path";
import { systemCode, XdevError } from "../base/errors.ts";
import { pause } from "../base/slices.ts";
import { ListCache } from "./list-cache.ts";
import { idOfFileName, sessionFolder, sessionsFolder } from "./paths.ts";
import { type SessionSummary, summaryOf, summaryReader } from "./summary.ts";

export { type SessionSummary, summaryOf };

export interface ListOptions {
  /** Only sessions that were started there. */
  cwd?: string;
  /** The folder with the files, instead of those in the data dir. */
  sessionDir?: string;
  signal?: AbortSignal;
}

/** All sessions, the one used last first. Files that are no sessions, or can't be read, are left out. */
export async function listSessions(dataDir: string, options: ListOptions = {}): Promise<SessionSummary[]> {
  const summaries: SessionSummary[] = [];
  const read = summaryReader();
  const isAll = options.cwd === undefined && options.sessionDir === undefined;
  const cache = isAll ? new ListCache(dataDir) : undefined;
  let files = 0;
  for (const path of sessionFiles(dataDir, options)) {
    if (++files % 128 === 0) await pause();
    options.signal?.throwIfAborted();
    const summary = cache ? cached(cache, path, read) : read(path);
    if (summary && belongs(summary, options.cwd)) summaries.push(summary);
  }
  await cache?.save();
  return summaries.sort((a, b) => b.modified - a.modified || (a.path < b.path ? 1 : -1));
}

function cached(
  cache: ListCache,
  path: string,
  read: (path: string) => SessionSummary | undefined,
): SessionSummary | undefined {
  const info = statSync(path, { throwIfNoEntry: false });
  if (info === undefined) return undefined;
  const known = cache.get(path, info.mtimeMs, info.size);
  if (known) return known;
  const summary = read(path);
  if (summary) cache.add(summary);
  return summary;
}

/** The session that was used last, of those started in `cwd`. */
export async function latestSession(
  dataDir: string,
  options: ListOptions = {},
): Promise<SessionSummary | undefined> {
  const files: { path: string; modified: number }[] = [];
  for (const path of sessionFiles(dataDir, options)) {
    const modified = statSync(path, { throwIfNoEntry: false })?.mtimeMs;
    if (modified !== undefined) files.push({ path, modified });
    if (files.length % 64 === 0) await pause();
  }
  files.sort((a, b) => b.modified - a.modified || (a.path < b.path ? 1 : -1));
  for (const { path } of files) {
    const summary = summaryOf(path);
    if (summary && belongs(summary, options.cwd)) return summary;
  }
  return undefined;
}

/**
 * The file of the session whose id begins with `prefix`; of several, the one that was started in `cwd`, if it is only one. Throws
 * `XdevError` `no-session` and `ambiguous-session`.
 */
export async function findSession(
  dataDir: string,
  prefix: string,
  options: ListOptions = {},
): Promise<string> {
  const { cwd, ...anywhere } = options;
  const wanted = prefix.toLowerCase();
  const found = [...sessionFiles(dataDir, anywhere)].filter((path) =>
    idOfFileName(path)?.toLowerCase().startsWith(wanted),
  );
  const exact = found.filter((path) => idOfFileName(path)?.toLowerCase() === wanted);
  if (exact.length === 1) return exact[0]!;
  if (found.length === 1 && prefix !== "") return found[0]!;
  if (found.length === 0 || prefix === "") {
    throw new XdevError("no-session", `no session has an id that begins with ${JSON.stringify(prefix)}`, {
      hint: "xdev sessions lists them",
    });
  }
  const here = cwd === undefined ? [] : found.filter((path) => belongs(summaryOf(path), cwd));
  if (here.length === 1) return here[0]!;
  const ids = (here.length > 0 ? here : found).slice(0, 5).map((path) => idOfFileName(path));
  throw new XdevError(
    "ambiguous-session",
    `${found.length} sessions have an id that begins with ${JSON.stringify(prefix)}`,
    { hint: `more of it, such as ${ids.join(", ")}` },
  );
}

function belongs(summary: SessionSummary | undefined, cwd: string | undefined): boolean {
  return summary !== undefined && (cwd === undefined || summary.cwd === "" || summary.cwd === cwd);
}

function* sessionFiles(dataDir: string, { cwd, sessionDir }: ListOptions): Generator<string> {
  if (sessionDir !== undefined) yield* filesIn(resolve(sessionDir));
  else if (cwd !== undefined) yield* filesIn(sessionFolder(dataDir, cwd));
  else {
    const root = sessionsFolder(dataDir);
    for (const name of namesIn(root)) yield* filesIn(join(root, name));
  }
}

function* filesIn(folder: string): Generator<string> {
  for (const name of namesIn(folder)) if (name.endsWith(".jsonl")) yield `${folder}${sep}${name}`;
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (systemCode(error) === undefined) throw error;
    return [];
  }
}
