/** What the parts of `crypto` take for bytes. Bundled into them. */
import { Buffer } from "node:buffer";
import { invalidArgument } from "./errors.ts";

/** A secret key, as `createSecretKey` makes it. */
export class KeyObject {
  readonly type = "secret";
  readonly #bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.#bytes = new Uint8Array(bytes);
  }

  static bytesOf(key: KeyObject): Uint8Array {
    return key.#bytes;
  }

  get symmetricKeySize(): number {
    return this.#bytes.length;
  }

  equals(other: KeyObject): boolean {
    return Buffer.from(this.#bytes).equals(other.#bytes);
  }

  export(options: { format?: string } = {}): unknown {
    const bytes = Buffer.from(this.#bytes);
    return options.format === "jwk" ? { kty: "oct", k: bytes.toString("base64url") } : bytes;
  }

  get [Symbol.toStringTag](): string {
    return "KeyObject";
  }
}

export function isKey(value: unknown): value is { export(): Uint8Array } {
  return (value as { [Symbol.toStringTag]?: string } | null)?.[Symbol.toStringTag] === "KeyObject";
}

/** Never longer than what was given: a view of it, or a copy of a text. */
export function toBytes(name: string, value: unknown, encoding?: string): Uint8Array {
  if (typeof value === "string") {
    return Buffer.from(value, (encoding === "buffer" ? undefined : encoding) as BufferEncoding | undefined);
  }
  if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  if (isKey(value)) return value.export();
  throw invalidArgument(name, "of type string or an instance of Buffer, TypedArray, or DataView", value);
}

export function encode(bytes: Uint8Array, encoding: string | undefined): Buffer | string {
  const buffer = Buffer.from(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.length);
  return encoding === undefined || encoding === "buffer"
    ? buffer
    : buffer.toString(encoding as BufferEncoding);
}
