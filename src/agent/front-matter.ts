/** The YAML between `---` lines at the head of a Markdown file. `yaml` loads only for a head that is more than plain lines. */
import { oneLine } from "../base/text.ts";
import { cutHead, parseHead, plainLines } from "./front-matter-head.ts";

export interface MarkedText {
  /** Empty without front matter. */
  data: Record<string, unknown>;
  /** What follows it, trimmed, with `\n` as its line ends. */
  body: string;
}

/** Takes a file's text apart. A head that nothing closes is text. Throws, with the line, for what is no YAML mapping. */
export async function splitFrontMatter(text: string): Promise<MarkedText> {
  const { head, body } = cutHead(text);
  if (head === undefined) return { data: {}, body: body.trim() };
  return { data: plainLines(head) ?? parseHead(head, await import("yaml")), body: body.trim() };
}

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
