/**
 * One regular expression over a text that comes in pieces: each piece is searched once, together with as much of what came
 * before as a match may be long. So the work for a piece has a bound, however long the text is.
 */
import { errorText } from "../base/errors.ts";
import { costOfPattern, type PatternCost } from "./pattern-cost.ts";

/** Characters that are searched for the first time at once. */
export const STEP = 64;
/** The most that is kept of a text, and the most that a match may be long. */
export const MAX_WINDOW = 2000;
/** The least, with which a pattern is of use. */
const MIN_WINDOW = 100;
/** The steps that a search may take in the worst case: about a second, and who needs that once is not asked again. */
const MAX_STEPS = 1e9;
const MAX_SOURCE = 2000;
/** How much must follow a match before its assertions about what follows are believed. */
const LOOKAHEAD = 32;

export interface StreamPattern {
  source: string;
  /**
   * Searches a text's end.
   * @param fresh how many characters at the end have not been searched before
   * @param isWhole whether nothing follows any more
   * @param isCut whether there was more before `text`: then its first character is only what the second one follows
   */
  find(text: string, fresh: number, isWhole: boolean, isCut: boolean): boolean;
}

/**
 * Compiles a JavaScript regular expression; `^` and `$` are ends of lines, and `(?i)` in front ignores case. Throws, with
 * the way out, for what is none, matches the empty text, or could take for ever.
 */
export function compileStreamPattern(source: string): StreamPattern {
  if (source.length > MAX_SOURCE) throw new Error(`it is longer than ${MAX_SOURCE} characters`);
  const ignoreCase = source.startsWith("(?i)");
  const body = ignoreCase ? source.slice(4) : source;
  let expression: RegExp;
  try {
    expression = new RegExp(body, ignoreCase ? "gim" : "gm");
  } catch (error) {
    throw new Error(errorText(error));
  }
  const window = windowFor(costOfPattern(body));
  if (window < MIN_WINDOW) {
    throw new Error(
      "it has too many repeats or choices: write several patterns, or \\s{1,4} instead of \\s+",
    );
  }
  if ("".search(expression) === 0) throw new Error("it matches the empty text, so it would always match");
  const looksAhead = /[$]|\\[bB]|\(\?[=!]/.test(body);

  return {
    source,
    find(text, fresh, isWhole, isCut) {
      expression.lastIndex = Math.max(isCut ? 1 : 0, text.length - fresh - window);
      for (;;) {
        const match = expression.exec(text);
        if (!match) return false;
        const end = match.index + match[0].length;
        // What comes next may show that it is none; then it is still in sight.
        const mayWait =
          looksAhead && !isWhole && text.length - end < LOOKAHEAD && match.index > text.length - window;
        if (!mayWait) return true;
        expression.lastIndex = match.index + 1;
      }
    },
  };
}

/** How long the text may be that it searches, so that it takes no more than the steps it has; less what is new in it. */
function windowFor({ repeats, choices }: PatternCost): number {
  let steps = MAX_STEPS / 2 ** choices / Math.min(8, 1 + choices);
  // From each place, n repeats share the rest of the text among them.
  for (let factor = 2; factor <= repeats + 1; factor++) steps *= factor;
  return Math.min(MAX_WINDOW, Math.floor(steps ** (1 / (repeats + 1))) - STEP);
}
