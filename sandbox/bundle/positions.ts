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

export interface Segment {
  /** From 1, all but `source`, which is an index. */
  generatedLine: number;
  generatedColumn: number;
  source: number;
  line: number;
  column: number;
}

/** The segments of `mappings` that have a source, in their order. */
export function* segmentsOf(mappings: string): Generator<Segment> {
  let source = 0;
  let line = 1;
  let column = 1;
  let generatedLine = 1;
  let generatedColumn = 1;
  let at = 0;
  // Four at most are of interest; a fifth is the name.
  const numbers = [0, 0, 0, 0];
  while (at < mappings.length) {
    const char = mappings.charCodeAt(at);
    if (char === SEMICOLON) {
      generatedLine++;
      generatedColumn = 1;
      at++;
      continue;
    }
    if (char === COMMA) {
      at++;
      continue;
    }
    let count = 0;
    let value = 0;
    let shift = 0;
    for (; at < mappings.length; at++) {
      const digit = DIGITS[mappings.charCodeAt(at)] ?? -1;
      if (digit < 0) break;
      value += (digit & 31) << shift;
      shift += 5;
      if (digit & 32) continue;
      if (count < 4) numbers[count] = value & 1 ? -(value >> 1) : value >> 1;
      count++;
      value = 0;
      shift = 0;
    }
    if (count === 0) {
      // No digit: no map that we know.
      at++;
      continue;
    }
    generatedColumn += numbers[0]!;
    if (count < 4) continue;
    source += numbers[1]!;
    line += numbers[2]!;
    column += numbers[3]!;
    yield { generatedLine, generatedColumn, source, line, column };
  }
}

/** The author's place for a line and column (from 1) of the text that `map` describes. */
export function originalPlace(map: string, line: number, column: number): Place | undefined {
  if (map === "") return undefined;
  const { sources, mappings } = JSON.parse(map) as SourceMap;
  let found: Segment | undefined;
  for (const segment of segmentsOf(mappings)) {
    const { generatedLine, generatedColumn } = segment;
    // The last one that does not lie behind the place.
    if (generatedLine > line || (generatedLine === line && generatedColumn > column)) break;
    found = segment;
  }
  return found && { file: sources[found.source] ?? "", line: found.line, column: found.column };
}

/** `map` for the same text with `count` lines in front. */
export function withLinesInFront(map: string, count: number): string {
  if (map === "") return "";
  const parsed = JSON.parse(map) as SourceMap;
  return JSON.stringify({ ...parsed, mappings: ";".repeat(count) + parsed.mappings });
}

const COMMA = 44;
const SEMICOLON = 59;

/** The value of each digit by its character. */
const DIGITS: number[] = [];
[..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"].forEach((char, value) => {
  DIGITS[char.charCodeAt(0)] = value;
});
