/** Numbers of entries, a few bytes for each: a session of 100 MB may have some hundred thousand entries. */

type Numbers = Int32Array | Float64Array | Uint16Array;

export class Column<T extends Numbers> {
  #values: T;
  readonly #make: (length: number) => T;

  constructor(make: (length: number) => T) {
    this.#make = make;
    this.#values = make(64);
  }

  get(place: number): number | undefined {
    return this.#values[place];
  }

  set(place: number, value: number): void {
    if (place >= this.#values.length) {
      const longer = this.#make(Math.max(place + 1, Math.ceil(this.#values.length * 1.5)));
      longer.set(this.#values);
      this.#values = longer;
    }
    this.#values[place] = value;
  }
}

/** Few different texts, each once: a text's number, and back. */
export class Words {
  readonly #numbers = new Map<string, number>();
  readonly #words: string[] = [];

  /** The number of a word; of the words beyond those that fit into 16 bits, all have the last one. */
  numberOf(word: string): number {
    const known = this.#numbers.get(word);
    if (known !== undefined) return known;
    if (this.#words.length === 0xffff) return 0xfffe;
    const number = this.#words.push(word) - 1;
    this.#numbers.set(word, number);
    return number;
  }

  word(number: number): string {
    return this.#words[number]!;
  }
}
