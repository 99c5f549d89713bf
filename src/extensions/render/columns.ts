/**
 * Text of others, measured and cut in terminal columns. The measure is pi-tui's, so that print mode and the terminal
 * agree. Its sub-path is imported: the package's own entry loads the whole interface.
 */
import { getGraphemeSegmenter, visibleWidth } from "@earendil-works/pi-tui/dist/utils.js";
import { redact } from "../../base/log.ts";
import { ellipsis, stripControls } from "../../base/text.ts";
import type { Align } from "../renderers.ts";

/** What is looked at of a text and of a single line, in UTF-16 units: what is drawn of one is shorter. */
const MAX_TEXT = 4000;
const MAX_LINE = 1000;

/** So much more is cleaned, so that what is cut away afterwards has no half of a secret before it. */
const SLACK = 4;

/** The longest emoji has fewer; more than that is a heap of combining marks, drawn over the lines above and below. */
const MAX_CLUSTER = 40;

/**
 * Characters that draw nothing, or whose width terminals don't agree on (format characters, Hangul fillers), except
 * the joiners and tags that emoji and scripts need.
 */
const UNMEASURABLE = /[[\p{Format}\u115f\u1160\u3164\uffa0]--[\u200c\u200d\u{e0020}-\u{e007f}]]/gv;

/** Most data, one column each; segmenting and measuring costs much more than this look. */
const ASCII = /^[ -~]*$/;

/**
 * Text from outside that can be drawn and measured: no escape sequence, no control character but `\n`, no known secret
 * and no lone surrogate, which is measured as nothing and drawn as U+FFFD.
 */
export function clean(text: string, limit = MAX_TEXT): string {
  const plain = stripControls(text.slice(0, SLACK * limit))
    .replace(/[\u2028\u2029]/g, "\n")
    .replaceAll("\t", "  ")
    .replace(UNMEASURABLE, "")
    .toWellFormed();
  // Before it is cut and wrapped: half a secret is not recognized.
  return ellipsis(redact(plain), limit);
}

/** As `clean`, on one line. */
export function cleanLine(text: string): string {
  return clean(text, MAX_LINE)
    .replace(/\s*\n\s*/g, " ")
    .trim();
}

/** Terminal columns of a cleaned text. */
export function columnsOf(text: string): number {
  if (ASCII.test(text)) return text.length;
  let columns = 0;
  for (const cluster of clusters(text)) columns += visibleWidth(cluster);
  return columns;
}

/** A cleaned line cut to at most `columns` (1 or more), with an ellipsis where something is missing. */
export function fit(text: string, columns: number): string {
  if (ASCII.test(text)) return text.length <= columns ? text : `${text.slice(0, columns - 1)}…`;
  let whole = "";
  let beforeEllipsis = "";
  let used = 0;
  for (const cluster of clusters(text)) {
    used += visibleWidth(cluster);
    if (used > columns) return `${beforeEllipsis}…`;
    whole += cluster;
    if (used < columns) beforeEllipsis = whole;
  }
  return whole;
}

/** A line that fits `columns`, filled up with spaces. */
export function pad(text: string, columns: number, align: Align): string {
  const missing = Math.max(0, columns - columnsOf(text));
  const left = align === "left" ? 0 : align === "right" ? missing : Math.floor(missing / 2);
  return " ".repeat(left) + text + " ".repeat(missing - left);
}

/**
 * A cleaned text as lines of at most `columns` (1 or more), broken at spaces where there are some. Over `most` lines, the
 * last is an ellipsis.
 */
export function wrap(text: string, columns: number, most: number): string[] {
  const lines: string[] = [];
  for (const paragraph of text.split("\n")) {
    for (const line of wrapParagraph(paragraph, columns)) {
      if (lines.length === most) return [...lines.slice(0, -1), "…"];
      lines.push(line);
    }
  }
  return lines;
}

function* wrapParagraph(text: string, columns: number): Generator<string> {
  let line = "";
  let used = 0;
  let isContinued = false;
  for (const cluster of clusters(text)) {
    // A wide character has no place on a line of one column.
    const piece = visibleWidth(cluster) > columns ? "…" : cluster;
    const needed = visibleWidth(piece);
    while (used > 0 && used + needed > columns) {
      const space = line.lastIndexOf(" ");
      const head = line.slice(0, space).trimEnd();
      const breaksAtSpace = piece !== " " && space > 0 && head.trim() !== "";
      yield breaksAtSpace ? head : line.trimEnd();
      line = breaksAtSpace ? line.slice(space + 1) : "";
      used = columnsOf(line);
      isContinued = true;
    }
    if (piece === " " && line === "" && isContinued) continue; // where it was broken
    line += piece;
    used += needed;
  }
  yield line.trimEnd();
}

/** What a terminal draws as one: graphemes. */
function* clusters(text: string): Generator<string> {
  if (ASCII.test(text)) return yield* text;
  for (const { segment } of getGraphemeSegmenter().segment(text)) {
    if (segment.length > MAX_CLUSTER) yield "\ufffd";
    else if (segment.length > 1 && segment.startsWith(" ")) {
      // A space with a mark on it: lines are broken at spaces, and what is left of it is then measured by itself.
      yield " ";
      yield segment.slice(1);
    } else yield segment;
  }
}
