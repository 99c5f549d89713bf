/** The lines of a file with their places, in pieces: what is in memory does not grow with the file. */
import { readSync } from "node:fs";
import { pause } from "../base/slices.ts";
import { LINE_LIMIT } from "./schema.ts";

export interface Line {
  /** Undefined if it is too long to be read. */
  text: string | undefined;
  /** Its first byte in the file. */
  at: number;
  /** In bytes, without the line's end. */
  size: number;
  /** Whether a line's end follows. */
  isEnded: boolean;
}

/** Bytes for one turn: parsing that many takes a few milliseconds. */
const CHUNK = 256 * 1024;

/** Finds lines in bytes that come one piece after the other. Empty ones are lines, too. */
export class LineSplitter {
  readonly #onLine: (line: Line) => void;
  readonly #limit: number;
  /** Where the line begins that is not complete. */
  #at: number;
  #size = 0;
  #pieces: Buffer[] = [];

  constructor(at: number, onLine: (line: Line) => void, limit = LINE_LIMIT) {
    this.#at = at;
    this.#onLine = onLine;
    this.#limit = limit;
  }

  /** Takes a piece that stays as it is only until this returns. */
  add(bytes: Buffer): void {
    let from = 0;
    for (;;) {
      const end = bytes.indexOf(10, from);
      if (end < 0) break;
      this.#finish(bytes.subarray(from, end), true);
      from = end + 1;
    }
    if (from < bytes.length) this.#keep(bytes.subarray(from));
  }

  /** A last line without an end is one if there is something in it. */
  end(): void {
    if (this.#size > 0) this.#finish(Buffer.alloc(0), false);
  }

  #keep(bytes: Buffer): void {
    this.#size += bytes.length;
    if (this.#size <= this.#limit) this.#pieces.push(Buffer.from(bytes));
    else this.#pieces = [];
  }

  #finish(rest: Buffer, isEnded: boolean): void {
    const size = this.#size + rest.length;
    let text: string | undefined;
    if (size <= this.#limit) {
      text = (this.#pieces.length === 0 ? rest : Buffer.concat([...this.#pieces, rest])).toString("utf8");
    }
    const at = this.#at;
    this.#at = at + size + (isEnded ? 1 : 0);
    this.#size = 0;
    this.#pieces = [];
    this.#onLine({ text, at, size, isEnded });
  }
}

/** Calls `onLine` for each line from the byte `from` on, and lets others have their turn in between. Gives the file's end. */
export async function scanLines(
  fd: number,
  from: number,
  onLine: (line: Line) => void,
  signal?: AbortSignal,
): Promise<number> {
  const splitter = new LineSplitter(from, onLine);
  const chunk = Buffer.allocUnsafe(CHUNK);
  let at = from;
  for (;;) {
    signal?.throwIfAborted();
    const count = readSync(fd, chunk, 0, CHUNK, at);
    if (count === 0) break;
    splitter.add(chunk.subarray(0, count));
    at += count;
    if (count === CHUNK) await pause();
  }
  splitter.end();
  return at;
}

/** As `scanLines`, at once: for the little that another program has added. */
export function scanLinesNow(fd: number, from: number, onLine: (line: Line) => void): number {
  const splitter = new LineSplitter(from, onLine);
  const chunk = Buffer.allocUnsafe(CHUNK);
  let at = from;
  for (let count = 1; count > 0; at += count) {
    count = readSync(fd, chunk, 0, CHUNK, at);
    splitter.add(chunk.subarray(0, count));
  }
  splitter.end();
  return at;
}

/** The bytes of a file from `at` on; fewer than `size` where it ends. */
export function readAt(fd: number, at: number, size: number): Buffer {
  const bytes = Buffer.allocUnsafe(size);
  let done = 0;
  while (done < size) {
    const count = readSync(fd, bytes, done, size - done, at + done);
    if (count === 0) break;
    done += count;
  }
  return bytes.subarray(0, done);
}
