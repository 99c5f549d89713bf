/** The ids of entries, in the order of their places: 8 hexadecimal digits take 12 bytes or so, any other text what it takes. */
import { randomHex } from "../base/random.ts";
import { Column } from "./columns.ts";

const SHORT = /^[0-9a-f]{8}$/;

/** Odd, and unknown to who makes a file: it spreads ids that count up, or were chosen to meet in the table. */
const FACTOR = Number.parseInt(randomHex(4), 16) | 1;

export class Ids {
  #length = 0;
  readonly #numbers = new Column((length) => new Float64Array(length));
  /** Places + 1 of short ids, where their hashes lead; 0 where there is none. At most half of it is used. */
  #table = new Int32Array(128);
  #short = 0;
  readonly #places = new Map<string, number>();
  readonly #texts = new Map<number, string>();

  get length(): number {
    return this.#length;
  }

  at(place: number): string | undefined {
    if (!Number.isInteger(place) || place < 0 || place >= this.#length) return undefined;
    return this.#texts.get(place) ?? this.#numbers.get(place)!.toString(16).padStart(8, "0");
  }

  placeOf(id: string): number | undefined {
    if (!SHORT.test(id)) return this.#places.get(id);
    const place = this.#table[this.#slotOf(Number.parseInt(id, 16))]!;
    return place === 0 ? undefined : place - 1;
  }

  /** Adds an id that is not there, and gives its place. */
  push(id: string): number {
    const place = this.#length++;
    if (!SHORT.test(id)) {
      this.#places.set(id, place);
      this.#texts.set(place, id);
      return place;
    }
    const number = Number.parseInt(id, 16);
    this.#numbers.set(place, number);
    if (++this.#short * 2 > this.#table.length) this.#grow();
    this.#table[this.#slotOf(number)] = place + 1;
    return place;
  }

  /** Where an id is in the table, or would be. */
  #slotOf(number: number): number {
    const mask = this.#table.length - 1;
    for (let slot = Math.imul(number, FACTOR) >>> Math.clz32(mask); ; slot++) {
      const place = this.#table[slot & mask]!;
      if (place === 0 || this.#numbers.get(place - 1) === number) return slot & mask;
    }
  }

  #grow(): void {
    const old = this.#table;
    this.#table = new Int32Array(old.length * 2);
    for (const place of old) {
      if (place > 0) this.#table[this.#slotOf(this.#numbers.get(place - 1)!)] = place;
    }
  }
}
