/** What `/ext` shows of an extension. Its size does not grow with the number of calls. */

/** The round trips that the percentiles are made of: the latest ones. */
const SAMPLES = 512;

export interface Figures {
  calls: number;
  denials: number;
  /** Of a round trip, in ms; undefined before the first. */
  p50?: number;
  p99?: number;
}

export class Statistics {
  denials = 0;
  #calls = 0;
  readonly #samples = new Float64Array(SAMPLES);

  /** A round trip took so many ms. */
  count(ms: number): void {
    this.#samples[this.#calls % SAMPLES] = ms;
    this.#calls++;
  }

  figures(): Figures {
    const { denials } = this;
    const known = Math.min(this.#calls, SAMPLES);
    if (known === 0) return { calls: 0, denials };
    const sorted = this.#samples.slice(0, known).sort();
    const at = (part: number) => sorted[Math.min(known - 1, Math.floor(known * part))];
    return { calls: this.#calls, denials, p50: at(0.5), p99: at(0.99) };
  }
}
