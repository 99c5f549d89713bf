/**
 * Source maps (https://tc39.es/ecma426), as far as needed: where a place in the linked text comes from, and the map of the
 * script, which is the linker's with some lines in front.
 */

interface SourceMap {
  version: number;
  sources: string[];
  names: string[];
  mappings: string;
}

export interface Place {
  file: string;
  /** From 1, both. */
  line: number;
  column: number;
}

/** The author's place for a line and column (from 1) of the text that `map` describes. */
export function originalPlace(map: string, line: number, column: number): Place | undefined {
  if (map === "") return undefined;
  const { sources, mappings } = JSON.parse(map) as SourceMap;
  let source = 0;
  let sourceLine = 0;
  let sourceColumn = 0;
  let found: Place | undefined;
  const lines = mappings.split(";");
  for (let i = 0; i < line && i < lines.length; i++) {
    let generated = 0;
    for (const segment of lines[i]!.split(",")) {
      const [columns, sourceStep, lineStep, columnStep] = decodeVlq(segment);
      if (columns === undefined) continue;
      generated += columns;
      if (sourceStep === undefined || lineStep === undefined || columnStep === undefined) continue;
      source += sourceStep;
      sourceLine += lineStep;
      sourceColumn += columnStep;
      // The last one that does not lie behind the place.
      if (i < line - 1 || generated < column) {
        found = { file: sources[source] ?? "", line: sourceLine + 1, column: sourceColumn + 1 };
      }
    }
  }
  return found;
}

/** `map` for the same text with `count` lines in front. */
export function withLinesInFront(map: string, count: number): string {
  if (map === "") return "";
  const parsed = JSON.parse(map) as SourceMap;
  return JSON.stringify({ ...parsed, mappings: ";".repeat(count) + parsed.mappings });
}

const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

function decodeVlq(text: string): number[] {
  const numbers: number[] = [];
  let value = 0;
  let shift = 0;
  for (const char of text) {
    const digit = DIGITS.indexOf(char);
    value += (digit & 31) << shift;
    if (digit & 32) {
      shift += 5;
    } else {
      numbers.push(value & 1 ? -(value >> 1) : value >> 1);
      value = 0;
      shift = 0;
    }
  }
  return numbers;
}
