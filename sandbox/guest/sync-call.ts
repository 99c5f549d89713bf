/**
 * The worker's end of a system call that waits (the other end is src/platform/sync-reply.ts). Everything used here is captured
 * before any guest runs; the shared memory never leaves this module.
 */
import { type CallReturn, MAX_CALL_BYTES } from "./protocol.ts";

const { wait, store, load } = Atomics;
const Int32 = Int32Array;
const Bytes = Uint8Array;
const TooMany = RangeError;
const { apply } = Reflect;
const decode = TextDecoder.prototype.decode;
const decoder = new TextDecoder();
const typedArray = Object.getPrototypeOf(Uint8Array.prototype) as object;
const { set, subarray } = typedArray as Record<"set" | "subarray", (...args: unknown[]) => unknown>;
const lengthOf = Object.getOwnPropertyDescriptor(typedArray, "length")?.get as () => number;

const HEADER_BYTES = 28;

/**
 * A copy of bytes that the guest gave. Throws a TypeError for anything but a typed array of bytes, and a RangeError for more than
 * a call may carry: the host would have to take them before it could refuse them.
 */
export function copyBytes(bytes: unknown): Uint8Array | undefined {
  if (bytes === undefined) return undefined;
  // Both throw for what only looks like one, and a proxy of one.
  const length = apply(lengthOf, bytes, []);
  if (length > MAX_CALL_BYTES) throw new TooMany(`a call may carry at most ${MAX_CALL_BYTES} bytes`);
  const copy = new Bytes(length);
  apply(set, copy, [bytes]);
  return copy;
}

/** Gives what waits for an answer in `shared`; `more` asks for the next piece of one. */
export function answerReader(shared: SharedArrayBuffer, more: () => void): (ask: () => void) => CallReturn {
  const header = new Int32(shared, 0, HEADER_BYTES / 4);
  const piece = new Bytes(shared, HEADER_BYTES);
  const next = (ask: () => void): void => {
    store(header, 0, 0);
    ask();
    while (wait(header, 0, 0) === "timed-out");
  };
  return (ask) => {
    next(ask);
    const textLength = header[1] as number;
    const bytesLength = header[2] as number;
    const isError = header[3] === 1;
    const total = textLength + (bytesLength === -1 ? 0 : bytesLength);
    const all = new Bytes(total);
    for (let at = 0; ; next(more)) {
      const length = header[4] as number;
      apply(set, all, [apply(subarray, piece, [0, length]), at]);
      at += length;
      if (at >= total || length === 0) break;
    }
    const text = apply(decode, decoder, [apply(subarray, all, [0, textLength])]) as string;
    if (isError) return { error: text };
    if (bytesLength === -1) return { text };
    const bytes = new Bytes(bytesLength);
    apply(set, bytes, [apply(subarray, all, [textLength, total])]);
    return { text, bytes };
  };
}

/** Messages, and KiB, that may be on their way to the host; a longer one goes alone. */
const OPEN_MESSAGES = 64;
const OPEN_KIB = 4096;

/**
 * Gives what is to be called before each message with its length: it waits until the host has dealt with enough of those
 * before. A guest that sends in a loop then fills no memory but its own, and the host's loop has its turn.
 */
export function credit(shared: SharedArrayBuffer): (length: number) => void {
  const header = new Int32(shared, 0, HEADER_BYTES / 4);
  let sent = 0;
  let sentKib = 0;
  return (length) => {
    const kib = length >>> 10;
    for (;;) {
      const handled = load(header, 5);
      const open = (sent - handled) | 0;
      const openKib = (sentKib - load(header, 6)) | 0;
      if (open <= 0 || (open < OPEN_MESSAGES && openKib + kib <= OPEN_KIB)) break;
      wait(header, 5, handled);
    }
    sent = (sent + 1) | 0;
    sentKib = (sentKib + kib) | 0;
  };
}
