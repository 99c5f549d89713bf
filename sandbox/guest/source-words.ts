/** The first rule of source-check.ts, which needs no parser: our own texts pass it in every worker, and most extensions make no others. */

const SourceError = SyntaxError;

/** Throws a SyntaxError if the word `import` stands in the text. */
export function checkWords(source: string): void {
  const at = findImport(source);
  if (at < 0) return;
  throw new SourceError(
    `The word import is refused in text that is evaluated, even in a string or a comment (at character ${at})`,
  );
}

/**
 * The position of the first `import` that an engine might take for the keyword, whatever stands around it; -1 if there is
 * none.
 */
export function findImport(source: string): number {
  for (let at = source.indexOf(WORD); at >= 0; at = source.indexOf(WORD, at + 1)) {
    const before = source[at - 1];
    if (isWordPart(before) || isWordPart(source[at + WORD.length]) || before === "#") continue;
    // `a.import` is a property; `...import` is not.
    if (before === "." && !(source[at - 2] === "." && source[at - 3] === ".")) continue;
    return at;
  }
  return -1;
}

const WORD = "import";

/** ASCII only: what else may be part of a word is not left to this list to know. */
function isWordPart(char: string | undefined): boolean {
  if (char === undefined) return false;
  return (
    (char >= "a" && char <= "z") ||
    (char >= "A" && char <= "Z") ||
    (char >= "0" && char <= "9") ||
    char === "_" ||
    char === "$"
  );
}
