/**
 * How a worker that waits gets its answer: through shared memory that only boot and whoever started the worker hold. The
 * answer goes through it in pieces; the worker asks for each next one with the message `["more"]`. See sandbox/guest/sync-call.ts for
 * the other end.
 */
import type { CallReturn } from "../../sandbox/guest/protocol.ts";

/** Bytes of one piece. Most answers fit. */
const PIECE_BYTES = 64 * 1024;
/**
 * Int32 numbers in front: state (1 when there is something to read), text bytes, other bytes or -1, 1 for an error, bytes of
 * this piece; messages that the host has dealt with, and KiB of them.
 */
const HEADER_BYTES = 28;

const encoder = new TextEncoder();

export class SyncReply {
  readonly shared = new SharedArrayBuffer(HEADER_BYTES + PIECE_BYTES);
  readonly #header = new Int32Array(this.shared, 0, HEADER_BYTES / 4);
  readonly #piece = new Uint8Array(this.shared, HEADER_BYTES);
  #rest: Uint8Array[] = [];

  /** Gives the answer to the worker that waits for one. */
  answer(reply: CallReturn): void {
    const isError = reply.error !== undefined;
    const text = encoder.encode(isError ? reply.error : reply.text);
    const bytes = isError ? undefined : reply.bytes;
    this.#header[1] = text.length;
    this.#header[2] = bytes ? bytes.length : -1;
    this.#header[3] = isError ? 1 : 0;
    this.#rest = bytes ? [text, bytes] : [text];
    this.more();
  }

  /** The host has dealt with a message of so many characters and bytes: the worker may send another. */
  handled(length: number): void {
    Atomics.add(this.#header, 6, length >>> 10);
    Atomics.add(this.#header, 5, 1);
    Atomics.notify(this.#header, 5);
  }

  /** Puts the next piece there. */
  more(): void {
    let length = 0;
    while (this.#rest.length > 0 && length < PIECE_BYTES) {
      const first = this.#rest[0]!;
      const part = first.subarray(0, PIECE_BYTES - length);
      this.#piece.set(part, length);
      length += part.length;
      if (part.length < first.length) this.#rest[0] = first.subarray(part.length);
      else this.#rest.shift();
    }
    this.#header[4] = length;
    Atomics.store(this.#header, 0, 1);
    Atomics.notify(this.#header, 0);
  }
}
