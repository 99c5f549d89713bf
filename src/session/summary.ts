/**
 * What a list says of a session: from its file's first 4 KB, and its last half KB for a name that was given later (`close` puts it
 * there). Of ten thousand files each step counts: of the 4 KB only what is looked at becomes text.
 */
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { systemCode } from "../base/errors.ts";
import { parseJson } from "./entry-text.ts";
import { HEAD, TAIL, userText, userTextOfPart } from "./preview.ts";
import { asTitleLine } from "./schema.ts";

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

/** What a list says of one file; undefined if it is no session, or can't be read. */
export function summaryOf(path: string): SessionSummary | undefined {
  return summaryReader()(path);
}

/** The same for many files, one after the other. */
export function summaryReader(): (path: string) => SessionSummary | undefined {
  const head = Buffer.allocUnsafe(HEAD);
  const tail = Buffer.allocUnsafe(TAIL);
  return (path) => {
    let fd: number | undefined;
    try {
      fd = openSync(path, "r");
      const { size, mtimeMs } = fstatSync(fd);
      const count = readSync(fd, head, 0, HEAD, 0);
      const lines = readHeader(head, count);
      if (!lines) return undefined;
      const { header, title } = lines;
      const text = (key: string) => (typeof header[key] === "string" ? header[key] : undefined);
      let name: Name | undefined;
      if (size > HEAD) {
        const length = readSync(fd, tail, 0, TAIL, Math.max(HEAD, size - TAIL));
        name = lastName(tail, length);
      }
      name ??= lastName(head, count);
      if (title && (!name || title.updatedAt > name.timestamp)) name = { name: title.title, timestamp: "" };
      return {
        path,
        id: header.id as string,
        cwd: text("cwd") ?? "",
        name: name?.name.trim() || undefined,
        firstMessage: text("preview") ?? firstMessage(head, lines.end, count, size > count),
        created: text("timestamp") ?? "",
        modified: mtimeMs,
        size,
        parentSession: text("parentSession"),
      };
    } catch (error) {
      if (systemCode(error) === undefined) throw error;
      return undefined;
    } finally {
      if (fd !== undefined) closeSync(fd);
    }
  };
}

interface Name {
  name: string;
  timestamp: string;
}

interface Header {
  header: Record<string, unknown>;
  title: ReturnType<typeof asTitleLine>;
  /** Where the line behind the header begins. */
  end: number;
}

const NEWLINE = 10;
const NAME = Buffer.from('{"type":"session_info"');
const USER = Buffer.from('"role":"user"');

function readHeader(bytes: Buffer, count: number): Header | undefined {
  let title: Header["title"];
  for (let at = 0, line = 0; line < 2; line++) {
    const end = bytes.indexOf(NEWLINE, at);
    if (end < 0 || end >= count) return undefined;
    const header = asObject(parseJson(bytes.toString("utf8", at, end)));
    if (header?.type === "session" && typeof header.id === "string") return { header, title, end: end + 1 };
    title = asTitleLine(header);
    if (!title) return undefined;
    at = end + 1;
  }
  return undefined;
}

/** The last name in a part of a file, whose first line may have lost its beginning. */
function lastName(bytes: Buffer, count: number): Name | undefined {
  for (let at = bytes.lastIndexOf(NAME, count); at >= 0; at = at > 0 ? bytes.lastIndexOf(NAME, at - 1) : -1) {
    const end = bytes.indexOf(NEWLINE, at);
    if ((at > 0 && bytes[at - 1] !== NEWLINE) || end < 0 || end >= count) continue;
    const entry = asObject(parseJson(bytes.toString("utf8", at, end)));
    if (!entry) continue;
    const { name, timestamp } = entry;
    return {
      name: typeof name === "string" ? name : "",
      timestamp: typeof timestamp === "string" ? timestamp : "",
    };
  }
  return undefined;
}

/** Looks at the lines that say they are the user's; the last one may be cut. */
function firstMessage(bytes: Buffer, from: number, count: number, isCut: boolean): string | undefined {
  for (let at = from; ; ) {
    const user = bytes.indexOf(USER, at);
    if (user < 0 || user >= count) return undefined;
    const start = bytes.lastIndexOf(NEWLINE, user) + 1;
    const found = bytes.indexOf(NEWLINE, user);
    const isWhole = found >= 0 && found < count;
    const line = bytes.toString("utf8", start, isWhole ? found : count);
    const text = isWhole || !isCut ? userText(parseJson(line)) : userTextOfPart(line);
    if (text !== undefined || !isWhole) return text;
    at = found + 1;
  }
}

function asObject(value: unknown): Record<string, unknown> | undefined {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
}
