/** What a list shows of a session: the beginning of its first user message, found in the file's first bytes. */
import { ellipsis } from "../base/text.ts";
import { parseJson } from "./entry-text.ts";
import type { SessionHeader } from "./types.ts";

/** A list reads so many bytes of a file's beginning, and of its end. */
export const HEAD = 4096;
export const TAIL = 512;
/** In UTF-16 units. */
const LENGTH = 200;
/** A line that begins later than this may show too little of its message. */
const LATEST = HEAD - 1024;

/** The text of a message as one line; undefined if it is not the user's. */
export function userText(entry: unknown): string | undefined {
  const { type, message } = (entry ?? {}) as {
    type?: unknown;
    message?: { role?: unknown; content?: unknown };
  };
  if (type !== "message" || message?.role !== "user") return undefined;
  const { content } = message;
  if (typeof content === "string") return shorten(content);
  if (!Array.isArray(content)) return undefined;
  const texts = content.flatMap((block: { type?: unknown; text?: unknown } | null) =>
    block?.type === "text" && typeof block.text === "string" ? [block.text] : [],
  );
  return shorten(texts.join(" ")) || "(an image)";
}

/** The same of a line of which only the beginning is there. */
export function userTextOfPart(line: string): string | undefined {
  if (!line.startsWith('{"type":"message"') || !line.includes('"role":"user"')) return undefined;
  const [, text] = /"(?:content|text)":"((?:[^"\\]|\\(?:u[0-9a-fA-F]{4}|[^u]))*)/.exec(line) ?? [];
  const value = text === undefined ? undefined : parseJson(`"${text}"`);
  return typeof value === "string" ? shorten(value.replace(/\ufffd+$/, "")) : undefined;
}

/** What the header has to say of the first user message, if a list would not find it otherwise. */
export function previewOf(header: SessionHeader, lines: readonly string[]): string | undefined {
  let at = Buffer.byteLength(JSON.stringify(header));
  for (const line of lines) {
    if (line.startsWith('{"type":"message"') && line.includes('"role":"user"')) {
      const text = userText(parseJson(line));
      if (text !== undefined) return at > LATEST ? text : undefined;
    }
    at += Buffer.byteLength(line) + 1;
  }
  return undefined;
}

function shorten(text: string): string {
  const start = text.slice(0, LENGTH * 2);
  const isPlain = !start.includes("\n") && !start.includes("\t") && !start.includes("  ");
  return ellipsis((isPlain ? start : start.replace(/\s+/g, " ")).trim(), LENGTH);
}
