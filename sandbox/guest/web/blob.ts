import { type ByteStream, streamOf } from "./lazy_streams.ts";

export type BlobPart = string | ArrayBuffer | ArrayBufferView | Blob;

/** The bytes of a blob, not copied. */
export let bytesOfBlob: (blob: Blob) => Uint8Array;
let setBytes: (blob: Blob, bytes: Uint8Array) => void;

/** `Blob` of the File API; its bytes are in memory. */
export class Blob {
  #bytes: Uint8Array;
  readonly #type: string;

  static {
    bytesOfBlob = (blob) => blob.#bytes;
    setBytes = (blob, bytes) => {
      blob.#bytes = bytes;
    };
  }

  constructor(parts?: Iterable<unknown>, options?: { type?: string; endings?: "transparent" | "native" }) {
    if (parts !== undefined && (typeof parts !== "object" || parts === null || !(Symbol.iterator in parts))) {
      throw new TypeError("Blob: the first argument must be an iterable of parts");
    }
    const native = options?.endings === "native";
    this.#bytes = concat([...(parts ?? [])].map((part) => bytesOfPart(part, native)));
    const type = String(options?.type ?? "");
    this.#type = /^[\x20-\x7e]*$/.test(type) ? type.toLowerCase() : "";
  }

  get size(): number {
    return this.#bytes.length;
  }

  get type(): string {
    return this.#type;
  }

  async arrayBuffer(): Promise<ArrayBuffer> {
    return (await this.bytes()).buffer as ArrayBuffer;
  }

  async bytes(): Promise<Uint8Array> {
    return new Uint8Array(this.#bytes);
  }

  async text(): Promise<string> {
    return new TextDecoder("utf-8", { ignoreBOM: true }).decode(this.#bytes);
  }

  slice(start?: number, end?: number, type?: string): Blob {
    const part = new Blob([], { type: type ?? "" });
    setBytes(part, this.#bytes.subarray(start ?? 0, end ?? this.#bytes.length));
    return part;
  }

  stream(): ByteStream {
    let at = 0;
    return streamOf(async () => {
      const piece = this.#bytes.slice(at, at + 65_536);
      at += piece.length;
      return piece.length > 0 ? piece : undefined;
    });
  }
}

/** `File` of the File API. */
export class File extends Blob {
  readonly #name: string;
  readonly #lastModified: number;

  constructor(parts: Iterable<unknown>, name: string, options?: { type?: string; lastModified?: number }) {
    if (name === undefined) throw new TypeError("File: two arguments are needed");
    super(parts, options);
    this.#name = String(name);
    this.#lastModified = Number(options?.lastModified ?? Date.now()) || 0;
  }

  get name(): string {
    return this.#name;
  }

  get lastModified(): number {
    return this.#lastModified;
  }

  get webkitRelativePath(): string {
    return "";
  }
}

function bytesOfPart(part: unknown, native: boolean): Uint8Array {
  if (part instanceof Blob) return bytesOfBlob(part);
  if (part instanceof ArrayBuffer) return new Uint8Array(part);
  if (ArrayBuffer.isView(part)) return new Uint8Array(part.buffer, part.byteOffset, part.byteLength);
  const text = String(part);
  return new TextEncoder().encode(native ? text.replace(/\r\n?/g, "\n") : text);
}

/** One copy of them all. */
export function concat(parts: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
