/** A rate with a burst of two seconds' worth: whoever goes on at twice the rate is over it after two seconds. */
export class Rate {
  readonly #perSecond: number;
  #left: number;
  #at = performance.now();

  constructor(perSecond: number) {
    this.#perSecond = perSecond;
    this.#left = perSecond * 2;
  }

  /** Counts `amount`; false if that is too much. */
  take(amount: number): boolean {
    const now = performance.now();
    this.#left = Math.min(this.#left + ((now - this.#at) * this.#perSecond) / 1000, this.#perSecond * 2);
    this.#at = now;
    this.#left -= amount;
    return this.#left >= 0;
  }
}
