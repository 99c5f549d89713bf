/**
 * Splits a byte stream into lines with a hard limit on what is held. Works on bytes, so that a character split over
 * two reads stays whole, and joins chunks once a line is complete, so that a long line costs linear time.
 */
export interface LineHandlers {
  /** A line without its `\n` or `\r\n`; never an empty one, never with a byte-order mark at the stream's start. */
  line(line: Buffer): void;
  /** A line went over the limit; the rest of it is skipped. */
  tooLong(): void;
}

const NEWLINE = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const EMPTY = Buffer.alloc(0);

export class LineReader {
  readonly #limit: number;
  readonly #handlers: LineHandlers;
  /** The start of a line whose end has not come yet; grows by doubling, so that one-byte reads stay cheap. */
  #held: Buffer = EMPTY;
  #length = 0;
  #skipping = false;
  #first = true;

  /** @param limit the longest line in bytes, its line end not counted */
  constructor(limit: number, handlers: LineHandlers) {
    this.#limit = limit;
    this.#handlers = handlers;
  }

  push(chunk: Buffer): void {
    let start = 0;
    for (;;) {
      const end = chunk.indexOf(NEWLINE, start);
      const part = chunk.subarray(start, end === -1 ? chunk.length : end);
      if (end === -1) return this.#hold(part);
      if (this.#length === 0 && !this.#skipping) this.#emit(part);
      else {
        this.#hold(part);
        this.end();
      }
      start = end + 1;
    }
  }

  /** The line so far is whole: a stream that has ended makes a last line without a line end one, too. */
  end(): void {
    const line = this.#held.subarray(0, this.#length);
    const skipped = this.#skipping;
    this.#skipping = false;
    this.#held = EMPTY;
    this.#length = 0;
    if (!skipped) this.#emit(line);
  }

  #hold(part: Buffer): void {
    if (part.length === 0 || this.#skipping) return;
    const length = this.#length + part.length;
    // One byte more than the limit may be the carriage return of a line end.
    if (length > this.#limit + 1) {
      this.#skipping = true;
      this.#held = EMPTY;
      this.#length = 0;
      this.#handlers.tooLong();
      return;
    }
    if (length > this.#held.length) {
      const grown = Buffer.alloc(Math.max(length, this.#held.length * 2));
      this.#held.copy(grown, 0, 0, this.#length);
      this.#held = grown;
    }
    part.copy(this.#held, this.#length);
    this.#length = length;
  }

  #emit(bytes: Buffer): void {
    let line = bytes;
    if (line.length > 0 && line[line.length - 1] === CARRIAGE_RETURN) line = line.subarray(0, -1);
    if (this.#first && line[0] === 0xef && line[1] === 0xbb && line[2] === 0xbf) line = line.subarray(3);
    this.#first = false;
    if (line.length > this.#limit) this.#handlers.tooLong();
    else if (line.length > 0) this.#handlers.line(line);
  }
}
