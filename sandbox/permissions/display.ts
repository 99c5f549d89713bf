/**
 * Text from an extension on a screen where the user decides. What must hold: it stays within its place. It can't add a line, move
 * the cursor, change the direction or the colour, hide a part of itself, look like a word of ours, or push our words away.
 */
import { stripControls, visible } from "../../src/base/text.ts";

/** Format, private and unassigned characters, and those that are drawn as nothing. */
const INVISIBLE = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/gu;

/** An author's sentence: in quotes, on one line, at most `columns` wide with them. */
export function quoted(text: string, columns: number): string {
  const plain = stripControls(text.slice(0, 4 * columns + 1000))
    .replace(/[\s\p{Z}]+/gu, " ")
    .replace(INVISIBLE, "")
    // Of marks that are drawn over their letter one is enough; a heap of them reaches into other lines.
    .replace(/(\p{M})\p{M}+/gu, "$1")
    .replace(/["“”„‟«»]/g, "'")
    .trim();
  return `"${cut(plain, columns - 2)}"`;
}

/** A path, host or name: nothing is left out of it, what can't be seen is written out. */
export function exact(text: string, columns: number): string {
  const shown = visible(text)
    .replace(/[\n\t]/g, (char) => (char === "\n" ? "\\n" : "\\t"))
    .replace(
      /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?<=\p{M})\p{M}/gu,
      (char) => `\\u{${char.codePointAt(0)!.toString(16)}}`,
    )
    .replace(/\p{Zs}/gu, (char) => (char === " " ? char : `\\u{${char.codePointAt(0)!.toString(16)}}`));
  return cutMiddle(shown, columns);
}

/** Columns that a text without controls takes on a terminal; rather too many than too few. */
export function widthOf(text: string): number {
  let width = 0;
  for (const char of text) width += char.codePointAt(0)! < 0x1100 ? 1 : 2;
  return width;
}

function cut(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text;
  let kept = "";
  let width = 2;
  for (const char of text) {
    width += widthOf(char);
    if (width > columns) break;
    kept += char;
  }
  return `${kept}…`;
}

/** Of a path the beginning and the end tell the most. */
function cutMiddle(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text;
  const half = Math.floor((columns - 2) / 2);
  const front = cut(text, half + 2).replace(/…$/, "");
  const back = [...cut([...text].reverse().join(""), half + 2).replace(/…$/, "")].reverse().join("");
  return `${front}…${back}`;
}

/** Lines of at most `columns`, from words that are not broken; the first begins with `first`, the others with `rest`. */
export function wrap(words: readonly string[], first: string, rest: string, columns: number): string[] {
  const lines: string[] = [];
  let line = first;
  let isEmpty = true;
  for (const word of words) {
    if (!isEmpty && widthOf(line) + 1 + widthOf(word) > columns) {
      lines.push(line);
      line = rest;
      isEmpty = true;
    }
    line += isEmpty ? word : ` ${word}`;
    isEmpty = false;
  }
  return [...lines, line];
}
