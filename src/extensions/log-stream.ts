/**
 * A child's standard error as lines for its log. It is read to the end, so that a child that says much is never blocked, but
 * what comes too fast is only counted: a flood costs neither memory nor the event loop's time.
 */
import { LineReader } from "./lines.ts";

/** A longer line is one that is not shown, in bytes. */
const LINE_BYTES = 16 * 1024;
/** What is shown of a second. */
const SECOND_BYTES = 128 * 1024;
const SECOND_LINES = 2000;
/** How much is looked at before the limits are looked at again: a chunk may hold 200,000 lines. */
const SLICE_BYTES = 1024;
const NEWLINE = 0x0a;

export interface LogReader {
  /** Takes what has come. If it returns a promise, no more should be read until that resolves. */
  push(chunk: Buffer): Promise<void> | undefined;
  /** The child is gone. */
  end(): void;
}

export function logReader(onLine: (line: string) => void): LogReader {
  const limiter = new LineLimiter(onLine);
  return {
    push(chunk) {
      limiter.push(chunk);
      // A pipe is read for as long as there is something in it; timers and answers would wait until a flood is over.
      return limiter.dropping ? new Promise((resolve) => setImmediate(resolve)) : undefined;
    },
    end: () => limiter.end(),
  };
}

class LineLimiter {
  /** Whether the limit of this second is reached. */
  dropping = false;
  readonly #onLine: (line: string) => void;
  readonly #reader: LineReader;
  #second = { start: performance.now(), bytes: 0, lines: 0 };
  #dropped = 0;
  /** What comes next is the rest of a line whose start was dropped. */
  #torn = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(onLine: (line: string) => void) {
    this.#onLine = onLine;
    this.#reader = new LineReader(LINE_BYTES, {
      line: (line) => this.#show(line.toString("utf8")),
      tooLong: () => this.#show("(a line too long for the log)"),
    });
  }

  push(chunk: Buffer): void {
    for (let start = 0; start < chunk.length; start += SLICE_BYTES) {
      if (this.#isOver()) return this.#drop(chunk.subarray(start));
      this.#take(chunk.subarray(start, start + SLICE_BYTES));
    }
  }

  end(): void {
    if (!this.dropping) this.#reader.end();
    this.#notice();
  }

  #show(line: string): void {
    this.#second.lines++;
    this.#onLine(line);
  }

  #isOver(): boolean {
    const now = performance.now();
    if (now - this.#second.start >= 1000) this.#second = { start: now, bytes: 0, lines: 0 };
    return this.#second.bytes >= SECOND_BYTES || this.#second.lines >= SECOND_LINES;
  }

  #take(slice: Buffer): void {
    this.#second.bytes += slice.length;
    this.dropping = false;
    let rest = slice;
    if (this.#torn) {
      const end = slice.indexOf(NEWLINE);
      if (end === -1) return;
      this.#torn = false;
      this.#dropped++;
      rest = slice.subarray(end + 1);
    }
    this.#notice();
    this.#reader.push(rest);
  }

  #drop(bytes: Buffer): void {
    if (!this.dropping) {
      this.dropping = true;
      // The line that is begun is shown as far as it goes.
      if (!this.#torn) this.#reader.end();
    }
    for (let index = 0; index < bytes.length; index++) if (bytes[index] === NEWLINE) this.#dropped++;
    this.#torn = bytes[bytes.length - 1] !== NEWLINE;
    this.#timer ??= setTimeout(() => this.#notice(), 1000).unref();
  }

  #notice(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#dropped === 0) return;
    const count = this.#dropped;
    this.#dropped = 0;
    this.#onLine(`… ${count} line${count === 1 ? "" : "s"} dropped`);
  }
}
