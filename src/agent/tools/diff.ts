import { countOf, type Replacement } from "./replacements.ts";

const CONTEXT = 3;

/** Lines `from` up to and without `to` (from 0) of the old text become `lines`. */
export interface Change {
  from: number;
  to: number;
  lines: string[];
}

/**
 * The replacements as a unified diff without file names, and the first changed line (from 1, in the new text). It is made
 * from the known places of the changes, so it costs no comparison of the whole texts.
 */
export function unifiedDiff(
  text: string,
  replacements: readonly Replacement[],
): { diff: string; firstChangedLine: number } {
  const changes = lineChanges(text, replacements);
  const lines = unifiedHunks(text.split("\n"), changes, CONTEXT);
  return { diff: lines.join("\n"), firstChangedLine: (changes[0]?.from ?? 0) + 1 };
}

/** Changes, in rising order, as the lines of a unified diff: those that are close to one another make one hunk. */
export function unifiedHunks(old: readonly string[], changes: readonly Change[], context: number): string[] {
  const output: string[] = [];
  let shift = 0;
  for (const hunk of hunksOf(changes, context)) {
    const start = Math.max(0, hunk[0]!.from - context);
    const end = Math.min(old.length, hunk.at(-1)!.to + context);
    const body: string[] = [];
    let at = start;
    let grown = 0;
    for (const change of hunk) {
      body.push(...old.slice(at, change.from).map((line) => ` ${line}`));
      body.push(...old.slice(change.from, change.to).map((line) => `-${line}`));
      body.push(...change.lines.map((line) => `+${line}`));
      at = change.to;
      grown += change.lines.length - (change.to - change.from);
    }
    body.push(...old.slice(at, end).map((line) => ` ${line}`));
    output.push(`@@ -${start + 1},${end - start} +${start + 1 + shift},${end - start + grown} @@`, ...body);
    shift += grown;
  }
  return output;
}

/** Changes whose lines around them touch one another belong together. */
export function hunksOf(changes: readonly Change[], context: number): Change[][] {
  const hunks: Change[][] = [];
  for (const change of changes) {
    const last = hunks.at(-1);
    if (last && change.from - last.at(-1)!.to <= 2 * context) last.push(change);
    else hunks.push([change]);
  }
  return hunks;
}

/** Whole-line changes: replacements that touch the same line become one. */
function lineChanges(text: string, replacements: readonly Replacement[]): Change[] {
  const changes: Change[] = [];
  let line = 0;
  let counted = 0;
  for (let i = 0; i < replacements.length; ) {
    const first = replacements[i]!;
    // Not lastIndexOf(…, -1): that looks at position 0.
    const begin = first.start === 0 ? 0 : text.lastIndexOf("\n", first.start - 1) + 1;
    let changed = text.slice(begin, first.start) + first.text;
    let end = first.end;
    i++;
    for (; i < replacements.length && replacements[i]!.start <= lineEnd(text, end); i++) {
      const next = replacements[i]!;
      changed += text.slice(end, next.start) + next.text;
      end = next.end;
    }
    const stop = lineEnd(text, end);
    changed += text.slice(end, stop);
    line += countOf(text.slice(counted, begin), "\n");
    counted = begin;
    const oldLines = text.slice(begin, stop).split("\n");
    changes.push(withoutCommon(line, oldLines, changed.split("\n")));
  }
  return changes;
}

/** Whole lines that are equal at either end are context, not change (an insertion touches the line before it). */
function withoutCommon(line: number, old: string[], lines: string[]): Change {
  let from = 0;
  const shorter = Math.min(old.length, lines.length);
  while (from < shorter && old[from] === lines[from]) from++;
  let back = 0;
  while (back < shorter - from && old[old.length - 1 - back] === lines[lines.length - 1 - back]) back++;
  return { from: line + from, to: line + old.length - back, lines: lines.slice(from, lines.length - back) };
}

function lineEnd(text: string, position: number): number {
  const end = text.indexOf("\n", position);
  return end === -1 ? text.length : end;
}
