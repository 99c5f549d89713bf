import type { Readable } from "node:stream";

/** Bytes that come when they are asked for. */
export interface Bytes {
  /** The next ones, at least one; undefined at the end. Rejects with what went wrong, from then on each time. */
  read(): Promise<Uint8Array | undefined>;
}

/** What a stream gives, pulled: while nobody asks, nothing is read, and who sends has to wait. */
export class StreamBytes implements Bytes {
  readonly #stream: Readable;
  readonly #queue: Uint8Array[] = [];
  #end: { error?: unknown } | undefined;
  #wake = (): void => {};

  /** `onArrival` is called whenever something comes. `cutOff` is the error when the stream closes before its end. */
  constructor(stream: Readable, cutOff: () => unknown, onArrival: () => void = () => {}) {
    this.#stream = stream;
    const end = (how: { error?: unknown }): void => {
      this.#end ??= how;
      this.#wake();
    };
    stream.pause();
    stream.on("data", (chunk: Uint8Array) => {
      stream.pause();
      if (chunk.byteLength > 0) this.#queue.push(chunk);
      onArrival();
      this.#wake();
    });
    stream.on("end", () => end({}));
    stream.on("error", (error) => end({ error }));
    stream.on("close", () => end({ error: cutOff() }));
  }

  async read(): Promise<Uint8Array | undefined> {
    for (;;) {
      const chunk = this.#queue.shift();
      if (chunk) return chunk;
      if (this.#end) {
        if ("error" in this.#end) throw this.#end.error;
        return undefined;
      }
      const arrived = new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#stream.resume();
      await arrived;
    }
  }
}

/** Reads lines and counted bytes, for a protocol that has both. */
export class ByteReader {
  readonly #source: Bytes;
  #rest: Uint8Array = new Uint8Array(0);

  constructor(source: Bytes) {
    this.#source = source;
  }

  /**
   * The next line as Latin-1 without its CRLF; undefined if the end comes before one. Gives `"too long"` as an error's message
   * through `fail` if there are more than `max` bytes.
   */
  async line(max: number, fail: (what: string) => Error): Promise<string | undefined> {
    let from = 0;
    for (;;) {
      const at = this.#rest.indexOf(10, from);
      if (at >= 0 && at <= max) {
        if (this.#rest[at - 1] !== 13) throw fail("a line that does not end in CRLF");
        const line = Buffer.from(this.#rest.buffer, this.#rest.byteOffset, at - 1).toString("latin1");
        this.#rest = this.#rest.subarray(at + 1);
        return line;
      }
      if (at >= 0 || this.#rest.byteLength > max) throw fail("a line that is too long");
      from = this.#rest.byteLength;
      const more = await this.#source.read();
      if (!more) return undefined;
      this.#rest = from === 0 ? more : Buffer.concat([this.#rest, more]);
    }
  }

  /** At least one byte and at most `max`; undefined at the end. */
  async some(max: number): Promise<Uint8Array | undefined> {
    const bytes = this.#rest.byteLength > 0 ? this.#rest : await this.#source.read();
    if (!bytes) return undefined;
    this.#rest = bytes.subarray(max);
    return bytes.subarray(0, max);
  }
}
