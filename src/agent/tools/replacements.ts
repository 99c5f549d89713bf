export interface Edit {
  oldText: string;
  newText: string;
}

/** `old` characters at `start` become `text`. Positions count in the text with LF line endings. */
export interface Replacement {
  start: number;
  end: number;
  text: string;
}

export function toLf(text: string): string {
  return text.replaceAll("\r\n", "\n");
}

/**
 * Finds where each edit applies in `text` (LF line endings). All are matched against this text, not against one
 * another's result. Throws, with what to do, if one is not found or ambiguous, changes nothing, or overlaps another.
 * The result is sorted, and trimmed to what really changes.
 */
export function findReplacements(text: string, edits: readonly Edit[], name: string): Replacement[] {
  if (edits.length === 0) throw new Error("edits is empty");
  const found = edits.map((edit, index) => {
    const label = edits.length === 1 ? "oldText" : `edits[${index}].oldText`;
    const oldText = toLf(edit.oldText);
    const newText = toLf(edit.newText);
    if (oldText === "") throw new Error(`${label} is empty; write makes a new file`);
    if (oldText === newText) throw new Error(`${label} and newText are the same: nothing would change`);
    const start = text.indexOf(oldText);
    if (start === -1) throw new Error(`${label} was not found in ${name}.${whitespaceHint(text, oldText)}`);
    // From the next character on, not behind the match: two matches that overlap are ambiguous too.
    if (text.indexOf(oldText, start + 1) !== -1) throw new Error(ambiguous(text, oldText, label, name));
    return { index, start, end: start + oldText.length, text: newText };
  });
  found.sort((a, b) => a.start - b.start);
  for (let i = 1; i < found.length; i++) {
    const [before, after] = [found[i - 1]!, found[i]!];
    if (after.start < before.end) {
      throw new Error(
        `edits[${before.index}] and edits[${after.index}] overlap in ${name}; merge them into one`,
      );
    }
  }
  return found.map((replacement) => trim(text, replacement));
}

function ambiguous(text: string, oldText: string, label: string, name: string): string {
  const lines: number[] = [];
  let count = 0;
  for (let at = text.indexOf(oldText); at !== -1; at = text.indexOf(oldText, at + 1)) {
    if (count++ < 5) lines.push(lineOf(text, at));
  }
  const where = `${lines.join(", ")}${count > lines.length ? ", …" : ""}`;
  const times = count === 2 ? "twice" : `${count} times`;
  return `${label} was found ${times} in ${name} (lines ${where}); add lines around it to make it unique`;
}

/** The usual reason for a text that is not found is its indentation: say where it would match without. */
function whitespaceHint(text: string, oldText: string): string {
  const plain = (line: string) => line.trim().replace(/\s+/g, " ");
  const wanted = oldText.split("\n").map(plain);
  while (wanted[0] === "") wanted.shift();
  while (wanted.at(-1) === "") wanted.pop();
  const other = " It must match exactly, whitespace included.";
  if (wanted.length === 0) return other;
  const lines = text.split("\n").map(plain);
  const at = lines.findIndex((_, index) => wanted.every((line, offset) => lines[index + offset] === line));
  return at === -1 ? other : ` Line ${at + 1} differs only in whitespace: read it again and copy it exactly.`;
}

/** Leaves out what the two texts have in common at either end, so that lines given as context keep their bytes. */
function trim(text: string, { start, end, text: replacement }: Replacement): Replacement {
  let from = 0;
  const shorter = Math.min(end - start, replacement.length);
  while (from < shorter && text[start + from] === replacement[from]) from++;
  let back = 0;
  while (back < shorter - from && text[end - 1 - back] === replacement[replacement.length - 1 - back]) back++;
  return { start: start + from, end: end - back, text: replacement.slice(from, replacement.length - back) };
}

/**
 * Applies the replacements to `original`, whose LF form they were found in. Untouched text keeps its bytes, mixed line
 * endings included; new line breaks get the ending that most lines of the file have.
 */
export function applyReplacements(original: string, replacements: readonly Replacement[]): string {
  const crlf = countOf(original, "\r\n");
  const useCrlf = crlf > countOf(original, "\n") - crlf;
  const at = positionMap(original, crlf > 0);
  let result = "";
  let done = 0;
  for (const { start, end, text } of replacements) {
    result += original.slice(done, at(start)) + (useCrlf ? text.replaceAll("\n", "\r\n") : text);
    done = at(end);
  }
  return result + original.slice(done);
}

/** From positions in the LF form to positions in `original`; ask in rising order. */
function positionMap(original: string, hasCrlf: boolean): (position: number) => number {
  if (!hasCrlf) return (position) => position;
  let removed = 0;
  let next = original.indexOf("\r\n");
  return (position) => {
    // A pair that ends at or before this position has become one character.
    while (next !== -1 && next - removed < position) {
      removed++;
      next = original.indexOf("\r\n", next + 2);
    }
    return position + removed;
  };
}

export function countOf(text: string, part: string): number {
  let count = 0;
  for (let at = text.indexOf(part); at !== -1; at = text.indexOf(part, at + part.length)) count++;
  return count;
}

function lineOf(text: string, position: number): number {
  return countOf(text.slice(0, position), "\n") + 1;
}
