/** Work on large data in slices, so that the event loop gets its turn in between. */
import { sha256Hash } from "../platform/hash.ts";

/** Bytes or characters for one turn: hashing that many takes about two milliseconds. */
export const SLICE = 1024 * 1024;

/** Lets everything else that waits have its turn. */
export function pause(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** The SHA-256 digest of bytes in hexadecimal. */
export async function sha256Slowly(bytes: Uint8Array): Promise<string> {
  const hash = sha256Hash();
  for (let at = 0; at < bytes.length; at += SLICE) {
    if (at > 0) await pause();
    hash.update(bytes.subarray(at, at + SLICE));
  }
  return hash.digest("hex");
}

/** The text of bytes in UTF-8. Throws a TypeError if they are none. */
export async function decodeSlowly(bytes: Uint8Array): Promise<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  let text = "";
  for (let at = 0; at < bytes.length; at += SLICE) {
    if (at > 0) await pause();
    text += decoder.decode(bytes.subarray(at, at + SLICE), { stream: true });
  }
  return text + decoder.decode();
}

/** A text in UTF-8, in pieces. */
export async function encodeSlowly(text: string): Promise<Uint8Array[]> {
  const pieces: Uint8Array[] = [];
  for (let at = 0; at < text.length; ) {
    if (at > 0) await pause();
    let end = Math.min(at + SLICE, text.length);
    // Not between the halves of a character.
    const last = text.charCodeAt(end - 1);
    if (end < text.length && last >= 0xd800 && last < 0xdc00) end--;
    pieces.push(Buffer.from(text.slice(at, end)));
    at = end;
  }
  return pieces;
}

/** How long one turn may be, in ms. */
const TURN_MS = 5;

/** All that an iterable gives, taken in short turns. */
export async function inTurns<T>(items: Iterable<T>): Promise<T[]> {
  const all: T[] = [];
  let since = performance.now();
  for (const item of items) {
    all.push(item);
    if (performance.now() - since < TURN_MS) continue;
    await pause();
    since = performance.now();
  }
  return all;
}

/** A list as JSON, made in short turns: none longer than its longest item takes. Throws what `JSON.stringify` does. */
export async function jsonSlowly(list: readonly unknown[]): Promise<string> {
  function* items() {
    for (const item of list) yield JSON.stringify(item) ?? "null";
  }
  return `[${(await inTurns(items())).join(",")}]`;
}
