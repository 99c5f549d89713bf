/**
 * The sessions there are. A list reads the first 4 KB of each file, and the last 4 KB for a name that was given later; it never
 * depends on how long a session is.
 */
import { closeSync, fstatSync, openSync, readdirSync, readSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { systemCode, XdevError } from "../base/errors.ts";
import { pause } from "../base/slices.ts";
import { parseJson } from "./entry-text.ts";
import { idOfFileName, sessionFolder, sessionsFolder } from "./paths.ts";
import { HEAD, TAIL, userText, userTextOfPart } from "./preview.ts";
import { asHeader, asTitleLine } from "./schema.ts";
import type { SessionHeader } from "./types.ts";

export interface SessionSummary {
  path: string;
  id: string;
  /** "" if the file does not say. */
  cwd: string;
  name: string | undefined;
  /** The beginning of the first user message. */
  firstMessage: string | undefined;
  /** ISO 8601. */
  created: string;
  /** When something was last added, in ms since 1970. */
  modified: number;
  /** In bytes. */
  size: number;
  parentSession: string | undefined;
}

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
  const reader = new SummaryReader();
  let files = 0;
  for (const path of sessionFiles(dataDir, options)) {
    if (++files % 64 === 0) await pause();
    options.signal?.throwIfAborted();
    const summary = reader.read(path);
    if (summary && belongs(summary, options.cwd)) summaries.push(summary);
  }
  return summaries.sort((a, b) => b.modified - a.modified || (a.path < b.path ? 1 : -1));
}

/** What a list says of one file; undefined if it is no session. */
export function summaryOf(path: string): SessionSummary | undefined {
  return new SummaryReader().read(path);
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
  for (const name of namesIn(folder)) if (name.endsWith(".jsonl")) yield join(folder, name);
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (systemCode(error) === undefined) throw error;
    return [];
  }
}

/** Reads the two ends of files into the same memory, one after the other. */
class SummaryReader {
  readonly #bytes = Buffer.allocUnsafe(Math.max(HEAD, TAIL));

  read(path: string): SessionSummary | undefined {
    let fd: number | undefined;
    try {
      fd = openSync(path, "r");
      const info = fstatSync(fd);
      if (!info.isFile()) return undefined;
      const count = readSync(fd, this.#bytes, 0, HEAD, 0);
      const head = readHead(this.#bytes.toString("utf8", 0, count), info.size > count);
      if (!head) return undefined;
      const { header, title } = head;
      let name = head.name;
      if (info.size > HEAD) {
        const at = Math.max(HEAD, info.size - TAIL);
        const length = readSync(fd, this.#bytes, 0, TAIL, at);
        name = nameIn(this.#bytes.toString("latin1", 0, length), this.#bytes) ?? name;
      }
      const isTitleNewer = title?.title && (!name || title.updatedAt > name.timestamp);
      return {
        path,
        id: header.id,
        cwd: header.cwd,
        name: (isTitleNewer ? title.title : name?.name)?.trim() || undefined,
        firstMessage: header.preview ?? head.firstMessage,
        created: header.timestamp,
        modified: info.mtimeMs,
        size: info.size,
        parentSession: header.parentSession,
      };
    } catch (error) {
      if (systemCode(error) === undefined) throw error;
      return undefined;
    } finally {
      if (fd !== undefined) closeSync(fd);
    }
  }
}

interface Name {
  name: string | undefined;
  timestamp: string;
}

interface Head {
  header: SessionHeader;
  title: ReturnType<typeof asTitleLine>;
  name: Name | undefined;
  firstMessage: string | undefined;
}

function readHead(text: string, isCut: boolean): Head | undefined {
  const lines = text.split("\n");
  const part = isCut ? lines.pop() : undefined;
  const first = parseJson(lines[0] ?? "");
  const title = asTitleLine(first);
  const header = asHeader(title ? parseJson(lines[1] ?? "") : first);
  if (!header) return undefined;
  let name: Name | undefined;
  let firstMessage: string | undefined;
  for (const line of lines.slice(title ? 2 : 1)) {
    if (line.startsWith('{"type":"session_info"')) name = asName(parseJson(line)) ?? name;
    else firstMessage ??= line.includes('"role":"user"') ? userText(parseJson(line)) : undefined;
  }
  if (part !== undefined) firstMessage ??= userTextOfPart(part);
  return { header, title, name, firstMessage };
}

/** The last name in a part of a file, whose first line may have lost its beginning. */
function nameIn(latin1: string, bytes: Buffer): Name | undefined {
  let at = latin1.length;
  while (at > 0) {
    at = latin1.lastIndexOf('{"type":"session_info"', at - 1);
    if (at < 0) return undefined;
    const end = latin1.indexOf("\n", at);
    if ((at === 0 || latin1[at - 1] === "\n") && end > 0) {
      const name = asName(parseJson(bytes.toString("utf8", at, end)));
      if (name) return name;
    }
  }
  return undefined;
}

function asName(value: unknown): Name | undefined {
  const { name, timestamp } = (value ?? {}) as Record<string, unknown>;
  if (typeof name !== "string" && name !== undefined) return undefined;
  return { name, timestamp: typeof timestamp === "string" ? timestamp : "" };
}
