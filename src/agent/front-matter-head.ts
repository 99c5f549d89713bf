/** The head of a Markdown file, without the parser that some heads need. */
import { oneLine } from "../base/text.ts";

/** Aliases that expand to more than this are refused by the parser. */
const MAX_ALIASES = 100;

/** The YAML at a text's beginning, undefined if it has none, and the rest of it, with `\n` as its line ends. */
export function cutHead(text: string): { head: string | undefined; body: string } {
  const lines = text.replace(/^\ufeff/, "").replace(/\r\n?/g, "\n");
  const found = /^---[ \t]*\n(?:([\s\S]*?)\n)?---[ \t]*(?:\n|$)/.exec(lines);
  if (!found) return { head: undefined, body: lines };
  return { head: found[1] ?? "", body: lines.slice(found[0].length) };
}

/** What a head says, read by the parser. Throws, with the line, for what is no YAML mapping. */
export function parseHead(
  head: string,
  { LineCounter, parseDocument }: Pick<typeof import("yaml"), "LineCounter" | "parseDocument">,
): Record<string, unknown> {
  const counter = new LineCounter();
  const document = parseDocument(head, {
    lineCounter: counter,
    prettyErrors: false,
    uniqueKeys: true,
  });
  const [bad] = document.errors;
  // The head's first line is the file's second.
  if (bad) throw new Error(`line ${counter.linePos(bad.pos[0]).line + 1}: ${oneLine(bad.message)}`);
  const data: unknown = document.toJS({ maxAliasCount: MAX_ALIASES }) ?? {};
  if (typeof data !== "object" || data === null || Array.isArray(data)) {
    throw new Error("its front matter has no names and values");
  }
  return data as Record<string, unknown>;
}

/**
 * `name: text` on each line, as most heads are: read without the parser, which takes longer to load than all the files.
 * Undefined for everything that it could read otherwise.
 */
export function plainLines(head: string): Record<string, unknown> | undefined {
  const data: Record<string, unknown> = {};
  for (const line of head.split("\n")) {
    if (line === "") continue;
    const [, key, text, double, single] = PLAIN.exec(line) ?? [];
    if (key === undefined || key === "__proto__" || Object.hasOwn(data, key)) return undefined;
    if (text !== undefined && /:(?:\s|$)|\s#|^(?:null|true|false)$/i.test(text)) {
      if (text !== "true" && text !== "false") return undefined;
      data[key] = text === "true";
    } else data[key] = text ?? double ?? single;
  }
  return data;
}

/** A plain text that begins with a letter, or one in quotes with nothing in it that means something. */
const PLAIN =
  /^([A-Za-z][\w-]*): +(?:([A-Za-z](?:[^\p{C}\u2028\u2029]*[^\s\p{C}])?)|"([^"\\\p{C}]*)"|'([^'\p{C}]*)') *$/u;
