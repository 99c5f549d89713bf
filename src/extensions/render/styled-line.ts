/**
 * Lines that an extension has drawn itself, made harmless for a terminal: of its control sequences only styles (SGR) and links (OSC 8)
 * stay, no line is wider than it may be, and no style goes on behind its end.
 */
import { getGraphemeSegmenter, visibleWidth } from "@earendil-works/pi-tui/dist/utils.js";
import { redact } from "../../base/log.ts";
import { clean } from "./columns.ts";

/** So many lines are drawn of one thing, and so much of a line is looked at, in UTF-16 units. */
export const MAX_DRAWN_LINES = 500;
const MAX_LINE = 4000;
/** As in columns.ts: more is a heap of combining marks. */
const MAX_CLUSTER = 40;

const KEPT =
  /(\u001b\[[0-9;:]{0,60}m)|\u001b\]8;[\w=:;-]{0,60};((?:https?|file):\/\/[!-~]{1,2000})?(?:\u0007|\u001b\\)/g;
const END_LINK = "\u001b]8;;\u001b\\";
const RESET = "\u001b[0m";

/** @param width in terminal columns, 1 or more */
export function styledLine(text: string, width: number): string {
  const line = redact(text.slice(0, MAX_LINE));
  let drawn = "";
  let left = width;
  let isStyled = false;
  let isLinked = false;
  let at = 0;
  const add = (plain: string): void => {
    if (left <= 0 || plain === "") return;
    const cleaned = clean(plain, MAX_LINE).replaceAll("\n", " ");
    for (const { segment } of getGraphemeSegmenter().segment(cleaned)) {
      const columns = visibleWidth(segment);
      if (columns > left) {
        left = 0;
        return;
      }
      drawn += segment.length > MAX_CLUSTER ? "\ufffd" : segment;
      left -= columns;
    }
  };
  for (const match of line.matchAll(KEPT)) {
    add(line.slice(at, match.index));
    at = match.index + match[0].length;
    const [, style, address] = match;
    if (style !== undefined) {
      drawn += style;
      isStyled = true;
    } else if (address !== undefined) {
      drawn += `\u001b]8;;${address}\u001b\\`;
      isLinked = true;
    } else if (isLinked) {
      drawn += END_LINK;
      isLinked = false;
    }
  }
  add(line.slice(at));
  return drawn + (isLinked ? END_LINK : "") + (isStyled ? RESET : "");
}
