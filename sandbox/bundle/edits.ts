/**
 * Changes to a text by position, collected in any order and applied at once. Lines keep their numbers (see `onLines`),
 * so that positions in errors and the source map stay right.
 */
export class Edits {
  readonly #edits: { start: number; end: number; text: string }[] = [];

  replace(start: number, end: number, text: string): void {
    this.#edits.push({ start, end, text });
  }

  /** Two insertions at one place come out in the order in which they were made. */
  insert(at: number, text: string): void {
    this.#edits.push({ start: at, end: at, text });
  }

  /** A change inside of a replaced stretch is dropped; two that overlap otherwise are a mistake of the caller. */
  apply(source: string): string {
    // At one place insertions come first, then the longest stretch.
    const rank = (edit: { start: number; end: number }) => (edit.end === edit.start ? Infinity : edit.end);
    const edits = [...this.#edits].sort((a, b) => {
      if (a.start !== b.start) return a.start - b.start;
      return rank(a) === rank(b) ? 0 : rank(b) - rank(a);
    });
    const parts: string[] = [];
    let at = 0;
    for (const { start, end, text } of edits) {
      if (start < at) {
        if (end <= at) continue;
        throw new Error(`edits overlap at ${start}`);
      }
      parts.push(source.slice(at, start), text);
      at = end;
    }
    parts.push(source.slice(at));
    return parts.join("");
  }
}

/** `text`, followed by as many line breaks as `replaced` had. */
export function onLines(text: string, replaced: string): string {
  return text + "\n".repeat(lineBreaks(replaced));
}

function lineBreaks(text: string): number {
  return text.match(/\r\n|[\n\r\u2028\u2029]/g)?.length ?? 0;
}
