/**
 * Whether JSON text holds too many values to be parsed, found out a piece at a time: parsing 8 MB of brackets takes a second, and the
 * agent's loop would stand still for it. What is no JSON at all is left to the parser.
 */

/** Characters that are looked at between two turns of the loop; text within strings is skipped and hardly counts. */
const PIECE_STEPS = 30_000;
const QUOTE = 0x22;

/** Resolves with true if there are more than `most` values and members. Takes a turn of the loop for each piece. */
export async function holdsTooMany(text: string, most: number): Promise<boolean> {
  const count = new ValueCount(text, most);
  for (;;) {
    const found = count.go(PIECE_STEPS);
    if (found !== undefined) return found;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

export class ValueCount {
  readonly #text: string;
  readonly #most: number;
  #at = 0;
  #values = 1;
  #isInString = false;
  /** Where the next of them are, so that each is looked for once. */
  #backslash = -1;
  #quote = -1;

  constructor(text: string, most: number) {
    this.#text = text;
    this.#most = most;
  }

  /** At most so many steps; undefined if that was not all. */
  go(steps: number): boolean | undefined {
    const text = this.#text;
    for (let left = steps; left > 0; left--) {
      if (this.#at >= text.length) return false;
      if (this.#isInString) {
        this.#skip();
        continue;
      }
      const code = text.charCodeAt(this.#at++);
      if (code === QUOTE) this.#isInString = true;
      else if (code === 0x2c || code === 0x5b || code === 0x7b) {
        this.#values++;
        if (this.#values > this.#most) return true;
      }
    }
    return undefined;
  }

  /** To the end of the string, or behind its next escape. */
  #skip(): void {
    const text = this.#text;
    if (this.#backslash < this.#at) this.#backslash = next(text, "\\", this.#at);
    if (this.#quote < this.#at) this.#quote = next(text, '"', this.#at);
    if (this.#backslash < this.#quote) this.#at = this.#backslash + 2;
    else {
      this.#at = this.#quote + 1;
      this.#isInString = false;
    }
  }
}

/** Where it stands next; behind the end if nowhere. */
function next(text: string, character: string, from: number): number {
  const found = text.indexOf(character, from);
  return found === -1 ? text.length : found;
}
