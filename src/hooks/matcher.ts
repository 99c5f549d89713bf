/**
 * `matcher`: a regular expression, looked for anywhere in a tool's name, or in the compact JSON of an event without a tool.
 */
import { compilePattern } from "../agent/tools/pattern.ts";

/** How much of an event's JSON is searched, in characters: a regular expression can't be interrupted. */
const MAX_SEARCHED = 64 * 1024;

export type Matcher = (text: string) => boolean;

/**
 * Compiles a matcher; an empty one matches everything. Throws with the reason for what is no regular expression, and for a
 * repeat inside a repeat, which could freeze the program even on a short text.
 */
export function compileMatcher(source: string): Matcher {
  if (source === "") return () => true;
  const pattern = compilePattern(source, {});
  const limit = Math.min(pattern.maxLength, MAX_SEARCHED);
  return (text) => pattern.find(text.slice(0, limit)) !== -1;
}
