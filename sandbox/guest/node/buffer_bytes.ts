/** What Buffer does with bytes, whoever has them. Bundled into `buffer`. */
import { bytesOf, type Encoding, encodingOf } from "./encodings.ts";
import { codedError, invalidArgument, outOfRange } from "./errors.ts";

export function encoding(name: unknown): Encoding {
  const found = encodingOf(name);
  if (!found) throw codedError(TypeError, "ERR_UNKNOWN_ENCODING", `Unknown encoding: ${name}`);
  return found;
}

export function isView(value: unknown): value is ArrayBufferView {
  return ArrayBuffer.isView(value);
}

/** The bytes of a view, not copied. */
export function asBytes(value: ArrayBufferView): Uint8Array {
  return value instanceof Uint8Array
    ? value
    : new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
}

const tag = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag)
  ?.get as () => string | undefined;
export const isUint8Array = (value: unknown): value is Uint8Array =>
  Reflect.apply(tag, value, []) === "Uint8Array";

export function requireBytes(name: string, value: unknown): asserts value is Uint8Array {
  if (!isUint8Array(value)) throw invalidArgument(name, "an instance of Buffer or Uint8Array", value);
}

/** An index as `slice` takes it. */
export function clampIndex(value: unknown, length: number, otherwise: number): number {
  if (value === undefined) return otherwise;
  const at = Math.trunc(Number(value)) || 0;
  return at < 0 ? Math.max(0, length + at) : Math.min(at, length);
}

const fillBytes = Uint8Array.prototype.fill;
export function fillNumber(target: Uint8Array, value: number): void {
  Reflect.apply(fillBytes, target, [value]);
}

/** A plain view: cheaper than a Buffer, and not for the outside. */
export function view(bytes: Uint8Array, start: number, end: number): Uint8Array {
  return new Uint8Array(bytes.buffer, bytes.byteOffset + start, end - start);
}

export function checkRange(name: string, value: unknown, max: number): void {
  if (typeof value !== "number") throw invalidArgument(name, "of type number", value);
  if (!Number.isInteger(value)) throw outOfRange(name, "an integer", value);
  if (value < 0 || value > max) throw outOfRange(name, `>= 0 && <= ${max}`, value);
}

export function compareBytes(a: Uint8Array, b: Uint8Array): -1 | 0 | 1 {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const left = a[i] as number;
    const right = b[i] as number;
    if (left !== right) return left < right ? -1 : 1;
  }
  return a.length === b.length ? 0 : a.length < b.length ? -1 : 1;
}

export function swap<T extends Uint8Array>(bytes: T, size: number): T {
  if (bytes.length % size !== 0) {
    throw codedError(
      RangeError,
      "ERR_INVALID_BUFFER_SIZE",
      `Buffer size must be a multiple of ${size * 8}-bits`,
    );
  }
  for (let i = 0; i < bytes.length; i += size) view(bytes, i, i + size).reverse();
  return bytes;
}

const { indexOf, lastIndexOf } = Uint8Array.prototype;

export function search(
  bytes: Uint8Array,
  value: unknown,
  at: unknown,
  name: unknown,
  forward: boolean,
): number {
  const [offset, coding] = typeof at === "string" ? [undefined, encoding(at)] : [at, encoding(name)];
  const { length } = bytes;
  let from = Number(offset);
  if (Number.isNaN(from)) from = forward ? 0 : length;
  from = Math.trunc(from);
  if (from < 0) from += length;
  if (typeof value === "number") {
    if (!forward && from < 0) return -1;
    const start = forward ? Math.max(0, from) : Math.min(from, length - 1);
    return length === 0 ? -1 : Reflect.apply(forward ? indexOf : lastIndexOf, bytes, [value & 255, start]);
  }
  if (typeof value !== "string" && !isUint8Array(value)) {
    throw invalidArgument(
      "value",
      "one of type number or string or an instance of Buffer or Uint8Array",
      value,
    );
  }
  const pattern = typeof value === "string" ? bytesOf(value, coding) : value;
  if (forward && from < 0) from = 0;
  if (pattern.length === 0) return Math.max(0, Math.min(from, length));
  const last = length - pattern.length;
  if (last < 0) return -1;
  const step = coding === "utf16le" ? 2 : 1;
  if (!forward) {
    for (let i = Math.min(from, last); i >= 0; i--) if (startsAt(bytes, pattern, i)) return i;
    return -1;
  }
  for (let i = from; i <= last; i++) {
    i = Reflect.apply(indexOf, bytes, [pattern[0], i]) as number;
    if (i < 0 || i > last) return -1;
    if ((step === 1 || i % 2 === 0) && startsAt(bytes, pattern, i)) return i;
  }
  return -1;
}

function startsAt(bytes: Uint8Array, pattern: Uint8Array, at: number): boolean {
  for (let i = 0; i < pattern.length; i++) if (bytes[at + i] !== pattern[i]) return false;
  return true;
}

export function isUtf8(value: unknown): boolean {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(value as Uint8Array<ArrayBuffer>);
    return true;
  } catch {
    return false;
  }
}

export function isAscii(value: unknown): boolean {
  const bytes = isView(value) ? asBytes(value) : new Uint8Array(value as ArrayBuffer);
  return bytes.every((byte) => byte < 128);
}
