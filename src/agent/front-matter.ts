/** The YAML between `---` lines at the head of a Markdown file. `yaml` loads only for a head that is more than plain lines. */
import { oneLine } from "../base/text.ts";

/** Aliases that expand to more than this are refused by the parser. */
const MAX_ALIASES = 100;

export interface MarkedText {
  /** Empty without front matter. */
  data: Record<string, unknown>;
  /** What follows it, trimmed, with `\n` as its line ends. */
  body: string;
}

/** Takes a file's text apart. A head that nothing closes is text. Throws, with the line, for what is no YAML mapping. */
export async function splitFrontMatter(text: string): Promise<MarkedText> {
  const lines = text.replace(/^\ufeff/, "").replace(/\r\n?/g, "\n");
  const head = /^---[ \t]*\n(?:([\s\S]*?)\n)?---[ \t]*(?:\n|$)/.exec(lines);
  if (!head) return { data: {}, body: lines.trim() };
  const body = lines.slice(head[0].length).trim();
  const plain = plainLines(head[1] ?? "");
  if (plain) return { data: plain, body };
  const { LineCounter, parseDocument } = await import("yaml");
  const counter = new LineCounter();
  const document = parseDocument(head[1] ?? "", {
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
  return { data: data as Record<string, unknown>, body };
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

/** A member as a text on one line; undefined if it is not there, empty, or no text. Numbers and true are texts, too. */
export function lineOf(data: Record<string, unknown>, key: string): string | undefined {
  const value = Object.hasOwn(data, key) ? data[key] : undefined;
  if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean") return undefined;
  const text = oneLine(String(value)).trim();
  return text === "" ? undefined : text;
}

/** A member that is one text or a list of them, as a list. Throws for anything else. */
export function listOf(data: Record<string, unknown>, key: string): string[] {
  const value = Object.hasOwn(data, key) ? data[key] : undefined;
  const list: unknown[] = value === undefined || value === null ? [] : Array.isArray(value) ? value : [value];
  return list.map((each) => {
    if (typeof each !== "string") throw new Error(`${key} is neither a text nor a list of texts`);
    return each;
  });
}
