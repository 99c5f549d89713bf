/** What two texts differ in, by lines: for people, with line numbers, and as a unified diff. */
import { type Change, hunksOf, unifiedHunks } from "../../../../src/agent/tools/diff.ts";

const CONTEXT = 4;
/** Steps of the search for what is common; texts that differ in more are shown as one change. */
const MAX_STEPS = 2000;

/**
 * The changes with the lines around them, each with its number, and the first changed line (from 1, in the new text); undefined if
 * nothing has changed. `renderDiff` gives it colours.
 */
export function generateDiffString(
  oldContent: string,
  newContent: string,
  contextLines: number = CONTEXT,
): { diff: string; firstChangedLine: number | undefined } {
  const old = linesOf(oldContent);
  const changes = changesBetween(old, linesOf(newContent));
  if (changes.length === 0) return { diff: "", firstChangedLine: undefined };
  const width = String(Math.max(old.length, linesOf(newContent).length)).length;
  const row = (sign: string, number: number | string, text: string) =>
    `${sign}${String(number).padStart(width)} ${text}`;
  const output: string[] = [];
  let shift = 0;
  let shown = 0;
  for (const hunk of hunksOf(changes, contextLines)) {
    const start = Math.max(0, hunk[0]!.from - contextLines);
    const end = Math.min(old.length, hunk.at(-1)!.to + contextLines);
    if (start > shown) output.push(row(" ", "", "..."));
    let at = start;
    for (const { from, to, lines } of hunk) {
      for (; at < from; at++) output.push(row(" ", at + 1, old[at]!));
      for (; at < to; at++) output.push(row("-", at + 1, old[at]!));
      lines.forEach((line, place) => void output.push(row("+", from + shift + place + 1, line)));
      shift += lines.length - (to - from);
    }
    for (; at < end; at++) output.push(row(" ", at + 1, old[at]!));
    shown = end;
  }
  if (shown < old.length) output.push(row(" ", "", "..."));
  return { diff: output.join("\n"), firstChangedLine: changes[0]!.from + 1 };
}

/** The changes as a patch of one file, as `diff -u` gives it. */
export function generateUnifiedPatch(
  path: string,
  oldContent: string,
  newContent: string,
  contextLines: number = CONTEXT,
): string {
  const old = markedLines(oldContent);
  const hunks = unifiedHunks(old, changesBetween(old, markedLines(newContent)), contextLines);
  return `--- ${path}\n+++ ${path}\n${hunks.map((line) => `${line}\n`).join("")}`;
}

function linesOf(text: string): string[] {
  return text === "" ? [] : text.replace(/\n$/, "").split("\n");
}

/** The last line says that it has no end, if it has none. */
function markedLines(text: string): string[] {
  const lines = linesOf(text);
  if (text !== "" && !text.endsWith("\n")) lines.push(`${lines.pop()}\n\\ No newline at end of file`);
  return lines;
}

/** The shortest way from one list of lines to the other (Myers), as far as it is found in a limited time. */
function changesBetween(old: readonly string[], lines: readonly string[]): Change[] {
  let head = 0;
  const shorter = Math.min(old.length, lines.length);
  while (head < shorter && old[head] === lines[head]) head++;
  let tail = 0;
  while (tail < shorter - head && old[old.length - 1 - tail] === lines[lines.length - 1 - tail]) tail++;
  const a = old.slice(head, old.length - tail);
  const b = lines.slice(head, lines.length - tail);
  if (a.length === 0 && b.length === 0) return [];
  const pairs = commonPairs(a, b) ?? [];
  const changes: Change[] = [];
  let [x, y] = [0, 0];
  for (const [atOld, atNew] of [...pairs, [a.length, b.length] as const]) {
    if (atOld > x || atNew > y) {
      changes.push({ from: head + x, to: head + atOld, lines: b.slice(y, atNew) });
    }
    [x, y] = [atOld + 1, atNew + 1];
  }
  return changes;
}

/** Places of lines that stay, in both lists; undefined if they differ in too much. */
function commonPairs(a: readonly string[], b: readonly string[]): (readonly [number, number])[] | undefined {
  const furthest = new Map<number, number>([[1, 0]]);
  const trace: Map<number, number>[] = [];
  for (let steps = 0; steps <= Math.min(a.length + b.length, MAX_STEPS); steps++) {
    trace.push(new Map(furthest));
    for (let k = -steps; k <= steps; k += 2) {
      let x = goesDown(furthest, k, steps) ? furthest.get(k + 1)! : furthest.get(k - 1)! + 1;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x++;
      furthest.set(k, x);
      if (x >= a.length && x - k >= b.length) return traceBack(trace, a.length, b.length);
    }
  }
  return undefined;
}

function goesDown(furthest: ReadonlyMap<number, number>, k: number, steps: number): boolean {
  return k === -steps || (k !== steps && (furthest.get(k - 1) ?? -1) < (furthest.get(k + 1) ?? -1));
}

function traceBack(trace: readonly Map<number, number>[], endA: number, endB: number) {
  const pairs: (readonly [number, number])[] = [];
  let [x, y] = [endA, endB];
  for (let steps = trace.length - 1; steps >= 0; steps--) {
    const furthest = trace[steps]!;
    const k = x - y;
    const before = goesDown(furthest, k, steps) ? k + 1 : k - 1;
    const startX = steps === 0 ? 0 : furthest.get(before)!;
    const startY = steps === 0 ? 0 : startX - before;
    while (x > startX && y > startY) pairs.push([--x, --y]);
    [x, y] = [startX, startY];
  }
  return pairs.reverse();
}
