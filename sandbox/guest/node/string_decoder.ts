/** `node:string_decoder`: text from bytes that arrive in pieces, no character torn. */
import { Buffer } from "node:buffer";
import { type Encoding, encodingOf, textOf } from "./encodings.ts";
import { codedError, invalidArgument } from "./errors.ts";
import { named } from "./named.ts";

/** How many bytes at the end of `bytes` are the beginning of a character that is not complete. */
function unfinished(bytes: Uint8Array, encoding: Encoding): number {
  const { length } = bytes;
  switch (encoding) {
    case "utf8": {
      for (let back = 1; back <= Math.min(3, length); back++) {
        const byte = bytes[length - back] as number;
        if (byte < 0x80) return 0;
        if (byte < 0xc0) continue;
        const size =
          byte >= 0xf0 && byte < 0xf5
            ? 4
            : byte >= 0xe0 && byte < 0xf0
              ? 3
              : byte >= 0xc2 && byte < 0xe0
                ? 2
                : 1;
        if (size <= back) return 0;
        // The second byte may already make it invalid.
        if (back > 1) {
          const second = bytes[length - back + 1] as number;
          if ((byte === 0xe0 && second < 0xa0) || (byte === 0xed && second > 0x9f)) return 0;
          if ((byte === 0xf0 && second < 0x90) || (byte === 0xf4 && second > 0x8f)) return 0;
        }
        return back;
      }
      return 0;
    }
    case "utf16le": {
      const odd = length % 2;
      const high = bytes[length - odd - 1];
      return odd + (length >= 2 && high !== undefined && high >= 0xd8 && high <= 0xdb ? 2 : 0);
    }
    case "base64":
    case "base64url":
      return length % 3;
    default:
      return 0;
  }
}

class Decoder {
  declare encoding: Encoding;
  declare rest: Uint8Array;

  write(value: unknown): string {
    if (typeof value === "string") return value;
    if (!ArrayBuffer.isView(value)) {
      throw invalidArgument("buf", "an instance of Buffer, TypedArray, or DataView", value);
    }
    let bytes = new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
    if (this.rest.length > 0) {
      const joined = new Uint8Array(this.rest.length + bytes.length);
      joined.set(this.rest);
      joined.set(bytes, this.rest.length);
      bytes = joined;
    }
    const keep = unfinished(bytes, this.encoding);
    this.rest = bytes.slice(bytes.length - keep);
    return textOf(bytes.subarray(0, bytes.length - keep), this.encoding);
  }

  end(value?: unknown): string {
    const text = value === undefined ? "" : this.write(value);
    const { rest } = this;
    this.rest = new Uint8Array(0);
    return text + textOf(rest, this.encoding);
  }

  text(value: Uint8Array, offset: number): string {
    this.rest = new Uint8Array(0);
    return this.write(value.subarray(offset));
  }

  get lastNeed(): number {
    return this.rest.length === 0 ? 0 : this.lastTotal - this.rest.length;
  }

  get lastTotal(): number {
    const [first = 0] = this.rest;
    if (this.rest.length === 0) return 0;
    if (this.encoding === "utf8") return first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (this.encoding === "utf16le") return this.rest.length < 2 ? 2 : 4;
    return 3;
  }

  get lastChar(): Buffer {
    const bytes = Buffer.alloc(4);
    bytes.set(this.rest);
    return bytes;
  }
}

/** A function, since it is inherited from by `StringDecoder.call(this)`. */
export const StringDecoder = function StringDecoder(this: Decoder, name?: string): void {
  const encoding = encodingOf(name);
  if (!encoding) throw codedError(TypeError, "ERR_UNKNOWN_ENCODING", `Unknown encoding: ${name}`);
  this.encoding = encoding;
  Object.defineProperty(this, "rest", { value: new Uint8Array(0), writable: true });
} as unknown as new (
  name?: string,
) => Decoder;

for (const name of ["write", "end", "text", "lastNeed", "lastTotal", "lastChar"]) {
  Object.defineProperty(StringDecoder.prototype, name, {
    ...(Object.getOwnPropertyDescriptor(Decoder.prototype, name) as PropertyDescriptor),
    enumerable: true,
  });
}

export default named({ StringDecoder });
