/** Tests a line; the position of the first match, or -1. */
export interface LinePattern {
  find(line: string): number;
  /** False if no line of the text can match: cheap, for what is searched whole. */
  mayMatch(text: string): boolean;
  /** How many characters of a line are searched. */
  readonly maxLength: number;
}

/**
 * Compiles what the model searches for: a JavaScript regular expression, or a literal text. Throws, with the way out, if it
 * is no regular expression or one that could run for ever.
 *
 * A regular expression can't be interrupted while it runs, on no runtime, so a bad one would freeze the whole agent.
 * Two measures: a repeat inside a repeat, the usual cause of exponential time, is refused; and the more repeats there
 * are, the less of a long line is searched, since n repeats take the length to the power of n + 1 in the worst
 * case. What remains: alternatives that overlap inside a repeat, `(a|a)*`, are still exponential, and many repeats in
 * a row can take a second on one unlucky line.
 */
export function compilePattern(
  pattern: string,
  options: { ignoreCase?: boolean | undefined; literal?: boolean | undefined },
): LinePattern {
  if (pattern === "") throw new Error("pattern is empty");
  // Ripgrep's way to say it, which models know well.
  const inline = !options.literal && pattern.startsWith("(?i)");
  const source = inline ? pattern.slice(4) : pattern;
  const ignoreCase = inline || options.ignoreCase === true;
  const plain = options.literal || !/[\\^$.*+?()[\]{}|]/.test(source);
  if (plain && !ignoreCase)
    return {
      find: (line) => line.indexOf(source),
      mayMatch: (text) => text.includes(source),
      maxLength: Number.POSITIVE_INFINITY,
    };

  const repeats = plain ? { count: 0, nested: false } : countRepeats(source);
  if (repeats.nested) {
    throw new Error(
      "pattern has a repeat inside a repeat, as in (a+)+, which can take for ever: simplify it, or use grep -E in bash",
    );
  }
  const expression = compile(plain ? source.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&") : source, ignoreCase);
  return {
    find: (line) => line.search(expression),
    mayMatch: () => true,
    maxLength: repeats.count === 0 ? Number.POSITIVE_INFINITY : repeats.count === 1 ? 10_000 : 1000,
  };
}

function compile(source: string, ignoreCase: boolean): RegExp {
  try {
    return new RegExp(source, ignoreCase ? "i" : "");
  } catch (error) {
    throw new Error(`${(error as Error).message}. Set literal to search for the text as it is.`);
  }
}

/** Counts repeats, and finds whether a group that has one in it is itself repeated without a small bound. */
export function countRepeats(source: string): { count: number; nested: boolean } {
  const open: { repeats: number }[] = [{ repeats: 0 }];
  let nested = false;
  let closed = 0;
  for (let i = 0; i < source.length; i++) {
    const char = source[i];
    const before = closed;
    closed = 0;
    if (char === "\\") i++;
    else if (char === "[") i = skipClass(source, i);
    else if (char === "(") open.push({ repeats: 0 });
    else if (char === ")") {
      closed = open.length > 1 ? open.pop()!.repeats : 0;
      open.at(-1)!.repeats += closed;
    } else {
      const repeat = repeatAt(source, i);
      if (repeat === "many" && before > 0) nested = true;
      if (repeat !== "none") open.at(-1)!.repeats++;
    }
  }
  return { count: open.reduce((sum, group) => sum + group.repeats, 0), nested };
}

/** How a quantifier at `at` repeats: not at all (or a fixed number of times), within small bounds, or without. */
function repeatAt(source: string, at: number): "none" | "few" | "many" {
  if (source[at] === "*" || source[at] === "+") return "many";
  const bounds = /^\{(\d+),(\d*)\}/.exec(source.slice(at, at + 24));
  if (!bounds || bounds[1] === bounds[2]) return "none";
  return bounds[2] === "" || Number(bounds[2]) > 16 ? "many" : "few";
}

function skipClass(source: string, start: number): number {
  let end = start + 1;
  while (end < source.length && source[end] !== "]") end += source[end] === "\\" ? 2 : 1;
  return end;
}
