/**
 * `node:buffer`. A Buffer here is a Uint8Array with Node's methods and memory of its own: nothing is pooled and everything new
 * is zero, `allocUnsafe` included.
 */

import { later } from "./buffer_blob.ts";
import {
  asBytes,
  checkRange,
  clampIndex,
  compareBytes,
  encoding,
  fillNumber,
  isAscii,
  isUint8Array,
  isUtf8,
  isView,
  requireBytes,
  search,
  swap,
  view,
} from "./buffer_bytes.ts";
import { numberMethods } from "./buffer_numbers.ts";
import { bytesOf, encodingOf, lengthOf, textOf, writeText } from "./encodings.ts";
import { codedError, invalidArgument, invalidValue, outOfRange, requireString } from "./errors.ts";
import { named } from "./named.ts";

export const kMaxLength: number = 2 ** 32;
export const kStringMaxLength: number = 2 ** 29 - 24;
export const constants = { MAX_LENGTH: kMaxLength, MAX_STRING_LENGTH: kStringMaxLength };
export const INSPECT_MAX_BYTES = 50;

class NodeBuffer extends Uint8Array {
  get parent(): ArrayBufferLike {
    return this.buffer;
  }

  get offset(): number {
    return this.byteOffset;
  }

  override toString(name?: unknown, start?: unknown, end?: unknown): string {
    if (name === undefined && start === undefined && end === undefined) return textOf(this, "utf8");
    const { length } = this;
    const from = Math.trunc(Number(start)) || 0;
    let to = end === undefined ? length : Math.trunc(Number(end)) || 0;
    if (from >= length) return "";
    to = Math.min(to, length);
    const first = Math.max(from, 0);
    if (to <= first) return "";
    const coding = encoding(name);
    return textOf(first === 0 && to === length ? this : view(this, first, to), coding);
  }

  override toLocaleString(name?: unknown, start?: unknown, end?: unknown): string {
    return this.toString(name, start, end);
  }

  toJSON(): { type: "Buffer"; data: number[] } {
    return { type: "Buffer", data: Array.from(this) };
  }

  equals(other: unknown): boolean {
    requireBytes("otherBuffer", other);
    return this === other || (this.length === other.length && compareBytes(this, other) === 0);
  }

  compare(target: unknown, ...range: unknown[]): number {
    requireBytes("target", target);
    const [targetStart = 0, targetEnd = target.length, start = 0, end = this.length] = range as number[];
    checkRange("targetStart", targetStart, target.length);
    checkRange("targetEnd", targetEnd, target.length);
    checkRange("sourceStart", start, this.length);
    checkRange("sourceEnd", end, this.length);
    if (start >= end) return targetStart >= targetEnd ? 0 : -1;
    if (targetStart >= targetEnd) return 1;
    return compareBytes(view(this, start, end), view(target, targetStart, targetEnd));
  }

  copy(target: unknown, targetStart?: unknown, start?: unknown, end?: unknown): number {
    if (!isView(target)) throw invalidArgument("target", "an instance of Buffer or Uint8Array", target);
    const into = asBytes(target);
    const to = Math.trunc(Number(targetStart)) || 0;
    const from = Math.trunc(Number(start)) || 0;
    const until = end === undefined ? this.length : Math.trunc(Number(end)) || 0;
    if (to < 0) throw outOfRange("targetStart", ">= 0", targetStart);
    if (from < 0 || from > this.length) throw outOfRange("sourceStart", `>= 0 && <= ${this.length}`, start);
    if (until < 0) throw outOfRange("sourceEnd", ">= 0", end);
    const length = Math.min(until, this.length) - from;
    const count = Math.min(length, into.length - to);
    if (count <= 0) return 0;
    into.set(view(this, from, from + count), to);
    return count;
  }

  override slice(start?: unknown, end?: unknown): NodeBuffer & Uint8Array<ArrayBuffer> {
    return this.subarray(start, end);
  }

  override subarray(start?: unknown, end?: unknown): NodeBuffer & Uint8Array<ArrayBuffer> {
    const from = clampIndex(start, this.length, 0);
    const to = clampIndex(end, this.length, this.length);
    return new NodeBuffer(
      this.buffer as ArrayBuffer,
      this.byteOffset + from,
      Math.max(0, to - from),
    ) as never;
  }

  write(text: unknown, ...rest: unknown[]): number {
    requireString("argument", text);
    let [offset, length, name] = rest;
    if (typeof offset === "string") [offset, length, name] = [0, undefined, offset];
    else if (typeof length === "string") [length, name] = [undefined, length];
    const from = offset === undefined ? 0 : (offset as number);
    checkRange("offset", from, this.length);
    let room = this.length - from;
    if (length !== undefined) {
      checkRange("length", length as number, this.length);
      room = Math.min(room, length as number);
    }
    return writeText(view(this, from, from + room), text, encoding(name));
  }

  override fill(value: unknown, ...rest: unknown[]): this {
    let [offset, end, name] = rest;
    if (typeof offset === "string") [offset, end, name] = [undefined, undefined, offset];
    else if (typeof end === "string") [end, name] = [undefined, end];
    const from = (offset ?? 0) as number;
    const to = (end ?? this.length) as number;
    checkRange("offset", from, Infinity);
    checkRange("end", to, this.length);
    if (from >= to) return this;
    const target = view(this, from, to);
    if (typeof value === "string" || isView(value)) {
      const pattern = typeof value === "string" ? bytesOf(value, encoding(name)) : asBytes(value);
      if (pattern.length === 0) {
        if (value !== "") throw invalidValue("value", value);
        fillNumber(target, 0);
      } else if (pattern.length === 1) fillNumber(target, pattern[0] as number);
      else for (let i = 0; i < target.length; i++) target[i] = pattern[i % pattern.length] as number;
    } else {
      fillNumber(target, typeof value === "boolean" ? Number(value) : (value as number) & 255);
    }
    return this;
  }

  override indexOf(value: unknown, offset?: unknown, name?: unknown): number {
    return search(this, value, offset, name, true);
  }

  override lastIndexOf(value: unknown, offset?: unknown, name?: unknown): number {
    return search(this, value, offset, name, false);
  }

  override includes(value: unknown, offset?: unknown, name?: unknown): boolean {
    return this.indexOf(value, offset, name) !== -1;
  }

  swap16(): this {
    return swap(this, 2);
  }

  swap32(): this {
    return swap(this, 4);
  }

  swap64(): this {
    return swap(this, 8);
  }

  [Symbol.for("nodejs.util.inspect.custom")](): string {
    const shown = textOf(view(this, 0, Math.min(INSPECT_MAX_BYTES, this.length)), "hex");
    const more = this.length - INSPECT_MAX_BYTES;
    const pairs = shown.replace(/../g, " $&");
    return `<Buffer${pairs}${more > 0 ? ` ... ${more} more byte${more > 1 ? "s" : ""}` : ""}>`;
  }
}

function checkSize(size: unknown): asserts size is number {
  if (typeof size !== "number") throw invalidArgument("size", "of type number", size);
  if (!(size >= 0 && size <= kMaxLength)) throw outOfRange("size", `>= 0 && <= ${kMaxLength}`, size);
}

function alloc(size: unknown, fill?: unknown, name?: unknown): NodeBuffer {
  checkSize(size);
  const buffer = new NodeBuffer(size);
  if (fill === undefined || fill === 0 || size === 0) return buffer;
  return typeof name === "string" ? buffer.fill(fill, name) : buffer.fill(fill);
}

function own(bytes: Uint8Array): NodeBuffer {
  return new NodeBuffer(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.length);
}

function isAnyBuffer(value: unknown): value is ArrayBuffer {
  return (
    value instanceof ArrayBuffer || Object.prototype.toString.call(value) === "[object SharedArrayBuffer]"
  );
}

const FROM = "of type string or an instance of Buffer, ArrayBuffer, or Array or an Array-like Object";

function from(value: unknown, second?: unknown, third?: unknown): NodeBuffer {
  if (typeof value === "string") return own(bytesOf(value, encoding(second)));
  if (typeof value !== "object" || value === null) throw invalidArgument("first argument", FROM, value);
  if (isAnyBuffer(value)) {
    const start = second === undefined ? 0 : Number(second) || 0;
    const room = value.byteLength - start;
    if (room < 0)
      throw codedError(RangeError, "ERR_BUFFER_OUT_OF_BOUNDS", '"offset" is outside of buffer bounds');
    const length = third === undefined ? room : Math.max(0, Number(third) || 0);
    if (length > room)
      throw codedError(RangeError, "ERR_BUFFER_OUT_OF_BOUNDS", '"length" is outside of buffer bounds');
    return new NodeBuffer(value, start, length);
  }
  const convertible = (value as { valueOf?: unknown }).valueOf;
  const primitive = typeof convertible === "function" ? Reflect.apply(convertible, value, []) : undefined;
  if (primitive !== undefined && primitive !== null && primitive !== value) {
    if (typeof primitive === "string" || typeof primitive === "object") return from(primitive, second, third);
  }
  const list = value as { length?: unknown; type?: unknown; data?: unknown };
  if (isView(value) || Array.isArray(value)) return fromList(value as unknown as ArrayLike<number>);
  if (list.type === "Buffer" && Array.isArray(list.data)) return fromList(list.data);
  if (list.length !== undefined || isAnyBuffer((value as { buffer?: unknown }).buffer)) {
    return typeof list.length === "number" ? fromList(value as ArrayLike<number>) : new NodeBuffer(0);
  }
  const convert = (value as { [Symbol.toPrimitive]?: unknown })[Symbol.toPrimitive];
  if (typeof convert === "function") {
    const text: unknown = Reflect.apply(convert, value, ["string"]);
    if (typeof text === "string") return own(bytesOf(text, encoding(second)));
  }
  throw invalidArgument("first argument", FROM, value);
}

function fromList(list: ArrayLike<number>): NodeBuffer {
  const length = Number(list.length);
  const buffer = new NodeBuffer(Math.max(0, length) || 0);
  if (buffer.length > 0) buffer.set(list);
  return buffer;
}

function concat(list: unknown, totalLength?: number): NodeBuffer {
  if (!Array.isArray(list)) throw invalidArgument("list", "an instance of Array", list);
  list.forEach((one, i) => {
    if (!isUint8Array(one)) throw invalidArgument(`list[${i}]`, "an instance of Buffer or Uint8Array", one);
  });
  const parts = list as Uint8Array[];
  if (totalLength !== undefined) checkRange("length", totalLength, kMaxLength);
  const buffer = new NodeBuffer(totalLength ?? parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    if (at >= buffer.length) break;
    const fitting = part.length > buffer.length - at ? view(part, 0, buffer.length - at) : part;
    buffer.set(fitting, at);
    at += fitting.length;
  }
  return buffer;
}

function byteLength(value: unknown, name?: unknown): number {
  if (typeof value === "string") return lengthOf(value, encodingOf(name) ?? "utf8");
  if (isView(value) || isAnyBuffer(value)) return value.byteLength;
  throw invalidArgument("string", "of type string or an instance of Buffer or ArrayBuffer", value);
}

const statics: Record<string, unknown> = named({
  from,
  alloc,
  allocUnsafe: (size: unknown) => alloc(size),
  allocUnsafeSlow: (size: unknown) => alloc(size),
  concat,
  byteLength,
  of: (...items: number[]) => fromList(items),
  copyBytesFrom(source: unknown, offset = 0, length?: number): NodeBuffer {
    if (!isView(source) || source instanceof DataView)
      throw invalidArgument("view", "an instance of TypedArray", source);
    const list = source as unknown as Uint8Array;
    const part = list.subarray(offset, length === undefined ? undefined : offset + length);
    return fromList(new Uint8Array(part.buffer, part.byteOffset, part.byteLength));
  },
  compare(a: unknown, b: unknown): number {
    requireBytes("buf1", a);
    requireBytes("buf2", b);
    return a === b ? 0 : compareBytes(a, b);
  },
  isBuffer: (value: unknown): boolean => value instanceof NodeBuffer,
  isEncoding: (name: unknown): boolean =>
    typeof name === "string" && name !== "" && encodingOf(name) !== undefined,
  poolSize: 8192,
});

/** Callable without `new`, as old packages do. */
function BufferFunction(value: unknown, second?: unknown, third?: unknown): NodeBuffer {
  return typeof value === "number" ? alloc(value) : from(value, second, third);
}

for (const [name, value] of Object.entries(statics)) {
  Object.defineProperty(BufferFunction, name, {
    value,
    writable: true,
    enumerable: true,
    configurable: true,
  });
}
for (const [name, value] of Object.entries(numberMethods)) {
  Object.defineProperty(NodeBuffer.prototype, name, {
    value,
    writable: true,
    enumerable: true,
    configurable: true,
  });
}
// `utf8Slice(start, end)`, `hexWrite(text, offset, length)`, …: no part of the documented API, and used all the same.
for (const [name, coding] of Object.entries({
  ascii: "ascii",
  base64: "base64",
  base64url: "base64url",
  hex: "hex",
  latin1: "latin1",
  ucs2: "utf16le",
  utf8: "utf8",
})) {
  Object.defineProperties(NodeBuffer.prototype, {
    [`${name}Slice`]: {
      configurable: true,
      writable: true,
      value(this: NodeBuffer, start?: number, end?: number): string {
        return this.toString(coding, start, end);
      },
    },
    [`${name}Write`]: {
      configurable: true,
      writable: true,
      value(this: NodeBuffer, text: string, offset = 0, length?: number): number {
        return this.write(text, offset, length, coding);
      },
    },
  });
}
Object.setPrototypeOf(BufferFunction, Uint8Array);
Object.defineProperty(BufferFunction, "prototype", { value: NodeBuffer.prototype });
Object.defineProperty(BufferFunction, "name", { value: "Buffer" });
Object.defineProperty(NodeBuffer.prototype, "constructor", {
  value: BufferFunction,
  writable: true,
  configurable: true,
});
Object.defineProperty(NodeBuffer.prototype, Symbol.for("nodejs.util.inspect.custom"), { enumerable: false });

export const Buffer = BufferFunction as unknown as typeof globalThis.Buffer;
export type Buffer = globalThis.Buffer;
export const SlowBuffer = Buffer;

export { isAscii, isUtf8 };

export function transcode(source: Uint8Array, fromName: string, toName: string): Buffer {
  requireBytes("source", source);
  const text = textOf(source, encoding(fromName));
  const target = encoding(toName);
  // What the narrow encodings have no letter for becomes a question mark.
  const most = target === "ascii" ? 127 : target === "latin1" ? 255 : undefined;
  const shown =
    most === undefined
      ? text
      : Array.from(text, (one) => ((one.codePointAt(0) ?? 0) > most ? "?" : one)).join("");
  return own(bytesOf(shown, target)) as never;
}

const { atob, btoa } = globalThis;

export { atob, btoa };

const exports = {
  Buffer,
  SlowBuffer,
  INSPECT_MAX_BYTES,
  kMaxLength,
  kStringMaxLength,
  constants,
  isUtf8,
  isAscii,
  transcode,
  atob,
  btoa,
};

for (const name of ["Blob", "File"]) {
  const get = (): unknown => (globalThis as Record<string, unknown>)[name];
  Object.defineProperty(exports, name, { get, enumerable: true });
}
const Blob = later("Blob");
const File = later("File");

export { Blob, File };

export default exports;
