/** zlib's classes: transforms of `node:stream`. Loaded when one is made. */
import { Buffer } from "node:buffer";
import { Transform } from "node:stream";
import type * as codecs from "./zlib_codec.ts";
import { constants } from "./zlib_constants.ts";

type Done = (error?: Error | null) => void;
declare const require: (name: string) => unknown;
const { Codec } = require("internal/zlib") as typeof codecs;

/** What `write` of a `flush()` is: no bytes, and how to flush. */
const flushes = new WeakMap<object, number>();

class ZlibStream extends Transform {
  bytesWritten = 0;
  readonly #codec: codecs.Codec;
  readonly #flush: number;
  readonly #finish: number;

  constructor(mode: codecs.Mode, options: codecs.ZlibOptions = {}) {
    super({ ...(options as object), decodeStrings: true } as never);
    this.#codec = new Codec(mode, options);
    this.#flush = options.flush ?? (constants.Z_NO_FLUSH as number);
    this.#finish = options.finishFlush ?? (constants.Z_FINISH as number);
  }

  override _transform(chunk: Uint8Array, _encoding: string, done: Done): void {
    this.bytesWritten += chunk.length;
    this.#run(chunk, flushes.get(chunk) ?? this.#flush, done);
  }

  override _flush(done: Done): void {
    this.#run(new Uint8Array(0), this.#finish, done);
  }

  #run(chunk: Uint8Array, flush: number, done: Done): void {
    try {
      this.#codec.run(chunk, flush, (piece) => {
        this.push(Buffer.from(piece.buffer as ArrayBuffer, piece.byteOffset, piece.length));
      });
    } catch (error) {
      return done(error as Error);
    }
    done();
  }

  /** Gives out what there is so far. */
  flush(kind?: number | (() => void), callback?: () => void): void {
    const [wanted, done] = typeof kind === "function" ? [undefined, kind] : [kind, callback];
    const chunk = Buffer.alloc(0);
    flushes.set(chunk, wanted ?? (constants.Z_FULL_FLUSH as number));
    this.write(chunk, () => done?.());
  }

  reset(): void {
    this.#codec.reset();
  }

  params(_level: number, _strategy: number, callback: () => void): void {
    queueMicrotask(callback);
  }

  close(callback?: () => void): void {
    if (callback) this.once("close", callback);
    this.destroy();
  }
}

const heir = (name: string, mode: codecs.Mode): typeof ZlibStream =>
  Object.defineProperty(
    class extends ZlibStream {
      constructor(options?: codecs.ZlibOptions) {
        super(mode, options);
      }
    },
    "name",
    { value: name },
  ) as unknown as typeof ZlibStream;

/** It takes everything before it gives anything: what decodes it knows no pieces. */
class BrotliDecompress extends Transform {
  readonly #chunks: Uint8Array[] = [];
  readonly #decode: (bytes: Uint8Array) => Uint8Array;

  constructor(options: { decode: (bytes: Uint8Array) => Uint8Array }) {
    super();
    this.#decode = options.decode;
  }

  override _transform(chunk: Uint8Array, _encoding: string, done: Done): void {
    this.#chunks.push(chunk);
    done();
  }

  override _flush(done: Done): void {
    try {
      this.push(this.#decode(Buffer.concat(this.#chunks)));
    } catch (error) {
      return done(error as Error);
    }
    done();
  }
}

export const classes: Readonly<Record<string, unknown>> = {
  Deflate: heir("Deflate", "deflate"),
  Gzip: heir("Gzip", "gzip"),
  DeflateRaw: heir("DeflateRaw", "deflateRaw"),
  Inflate: heir("Inflate", "inflate"),
  Gunzip: heir("Gunzip", "gunzip"),
  InflateRaw: heir("InflateRaw", "inflateRaw"),
  Unzip: heir("Unzip", "unzip"),
  BrotliDecompress,
};
