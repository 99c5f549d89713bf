/**
 * From lines of a bundle to the author's, for messages of the guest. A source map is large and slow to read; this is as
 * much of it as a message needs: for each line of the bundle the file and the line of what stands there first.
 */
import { BUNDLE_URL } from "./frames.ts";
import { segmentsOf } from "./positions.ts";

export interface PlaceTable {
  files: string[];
  /** Two numbers for each line of the bundle: the file's index plus 1 (0: none of the author's), and the line in it. */
  lines: Uint32Array;
}

/** `map` is the source map of `bundle`, JSON text. */
export function placeTable(bundle: string, map: string): PlaceTable {
  if (map === "") return { files: [], lines: new Uint32Array(0) };
  const { sources, mappings } = JSON.parse(map) as { sources: string[]; mappings: string };
  const indents = indentsOf(bundle);
  const lines = new Uint32Array(indents.length * 2);
  for (const { generatedLine, generatedColumn, source, line } of segmentsOf(mappings)) {
    const at = generatedLine * 2 - 2;
    // The last one at or before the line's first character: in front of it may be what belongs to the line above.
    if (lines[at] !== 0 && generatedColumn > (indents[generatedLine - 1] ?? 0) + 1) continue;
    lines[at] = source + 1;
    lines[at + 1] = line;
  }
  return { files: sources, lines };
}

const PLACE = new RegExp(`${BUNDLE_URL}:(\\d{1,9})(?::\\d{1,9})?`, "g");

/** A name of a file is much longer than a place: a text that is full of places would grow by a thousand times. */
const MAX_PLACES = 20;

/** `text` with the author's `file:line` in the place of the first that are in the bundle; what is nobody's line stays. */
export function placesIn(text: string, { files, lines }: PlaceTable): string {
  let found = 0;
  return text.replace(PLACE, (all, number: string) => {
    if (++found > MAX_PLACES) return all;
    const at = Number(number) * 2 - 2;
    const file = files[(lines[at] ?? 0) - 1];
    return file === undefined ? all : `${file}:${lines[at + 1]}`;
  });
}

/** How many spaces each line begins with. */
function indentsOf(text: string): Uint32Array {
  let count = 1;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) count++;
  const indents = new Uint32Array(count);
  for (let line = 0, at = 0; line < count; line++) {
    let end = at;
    while (text[end] === " " || text[end] === "\t") end++;
    indents[line] = end - at;
    at = text.indexOf("\n", end) + 1;
  }
  return indents;
}
