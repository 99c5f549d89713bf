/**
 * `node:zlib`. The codecs are JavaScript, loaded with their first use, and run in the worker of the extension: the callback forms
 * come back later, but compute at once. Brotli can be read and not written; there is no Zstandard.
 */

import { Buffer } from "node:buffer";
import { codedError, invalidArgument, requireFunction, unsupported } from "./errors.ts";
import { named } from "./named.ts";
import type { Mode, transform, ZlibOptions } from "./zlib_codec.ts";
import { constants } from "./zlib_constants.ts";

export { constants };

type Input = string | ArrayBuffer | ArrayBufferView;
type Callback = (error: Error | null, result?: Buffer) => void;
declare const require: (name: string) => unknown;

function bytes(input: unknown): Uint8Array {
  if (typeof input === "string") return Buffer.from(input);
  if (ArrayBuffer.isView(input)) return new Uint8Array(input.buffer, input.byteOffset, input.byteLength);
  if (input instanceof ArrayBuffer) return new Uint8Array(input);
  throw invalidArgument(
    "buffer",
    "of type string or an instance of Buffer, TypedArray, DataView, or ArrayBuffer",
    input,
  );
}

function asBuffer(made: Uint8Array): Buffer {
  return Buffer.from(made.buffer as ArrayBuffer, made.byteOffset, made.length);
}

type Sync = (input: Input, options?: ZlibOptions) => Buffer;
type Async = (input: Input, options: ZlibOptions | Callback, callback?: Callback) => void;

function syncForm(mode: Mode): Sync {
  return (input, options = {}) => {
    const codec = require("internal/zlib") as { transform: typeof transform };
    return asBuffer(codec.transform(mode, bytes(input), options));
  };
}

function asyncForm(sync: Sync): Async {
  return (input, options, callback) => {
    const done = (typeof options === "function" ? options : callback) as Callback;
    requireFunction("callback", done);
    const given = bytes(input);
    setTimeout(() => {
      let result: Buffer;
      try {
        result = sync(given, typeof options === "function" ? {} : options);
      } catch (error) {
        return done(error as Error);
      }
      done(null, result);
    }, 0);
  };
}

export const deflateSync: Sync = syncForm("deflate");
export const gzipSync: Sync = syncForm("gzip");
export const deflateRawSync: Sync = syncForm("deflateRaw");
export const inflateSync: Sync = syncForm("inflate");
export const gunzipSync: Sync = syncForm("gunzip");
export const inflateRawSync: Sync = syncForm("inflateRaw");
export const unzipSync: Sync = syncForm("unzip");
export const deflate: Async = asyncForm(deflateSync);
export const gzip: Async = asyncForm(gzipSync);
export const deflateRaw: Async = asyncForm(deflateRawSync);
export const inflate: Async = asyncForm(inflateSync);
export const gunzip: Async = asyncForm(gunzipSync);
export const inflateRaw: Async = asyncForm(inflateRawSync);
export const unzip: Async = asyncForm(unzipSync);

function decodeBrotli(input: Uint8Array, options: ZlibOptions = {}): Uint8Array {
  const { decompress } = require("internal/brotli") as { decompress(bytes: Uint8Array): Uint8Array };
  let made: Uint8Array;
  try {
    made = decompress(input);
  } catch {
    throw Object.assign(codedError(Error, "ERR__ERROR_FORMAT", "Decompression failed"), { errno: -1 });
  }
  const most = options.maxOutputLength ?? Infinity;
  if (made.length > most) {
    throw codedError(RangeError, "ERR_BUFFER_TOO_LARGE", `Cannot create a Buffer larger than ${most} bytes`);
  }
  return made;
}

export const brotliDecompressSync: Sync = (input, options) => asBuffer(decodeBrotli(bytes(input), options));
export const brotliDecompress: Async = asyncForm(brotliDecompressSync);
const missing = (name: string) => (): never => {
  throw unsupported(`zlib.${name}`);
};
export const brotliCompressSync = missing("brotliCompressSync");
export const brotliCompress = missing("brotliCompress");
export const createBrotliCompress = missing("createBrotliCompress");

/** Makes one of the classes of zlib_streams.ts; callable with and without `new`. */
function streamForm(name: string): (options?: ZlibOptions) => unknown {
  const make = (options?: ZlibOptions): unknown => {
    const { classes } = require("internal/zlib-streams") as {
      classes: Record<string, new (options?: unknown) => unknown>;
    };
    const Class = classes[name] as new (options?: unknown) => unknown;
    return new Class(name === "BrotliDecompress" ? { decode: decodeBrotli } : options);
  };
  return Object.defineProperty(make, "name", { value: name });
}

export const Deflate = streamForm("Deflate");
export const Gzip = streamForm("Gzip");
export const DeflateRaw = streamForm("DeflateRaw");
export const Inflate = streamForm("Inflate");
export const Gunzip = streamForm("Gunzip");
export const InflateRaw = streamForm("InflateRaw");
export const Unzip = streamForm("Unzip");
export const BrotliDecompress = streamForm("BrotliDecompress");
export const createDeflate = Deflate;
export const createGzip = Gzip;
export const createDeflateRaw = DeflateRaw;
export const createInflate = Inflate;
export const createGunzip = Gunzip;
export const createInflateRaw = InflateRaw;
export const createUnzip = Unzip;
export const createBrotliDecompress = BrotliDecompress;

let table: Uint32Array | undefined;

/** Of the bytes, going on from `start`. */
export function crc32(input: Input, start = 0): number {
  if (!table) {
    table = new Uint32Array(256);
    for (let n = 0; n < 256; n++) {
      let value = n;
      for (let k = 0; k < 8; k++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
      table[n] = value;
    }
  }
  let crc = ~start;
  for (const byte of bytes(input)) crc = (table[(crc ^ byte) & 255] as number) ^ (crc >>> 8);
  return ~crc >>> 0;
}

export const codes: Readonly<Record<string, string | number>> = Object.freeze({
  Z_OK: 0,
  Z_STREAM_END: 1,
  Z_NEED_DICT: 2,
  Z_ERRNO: -1,
  Z_STREAM_ERROR: -2,
  Z_DATA_ERROR: -3,
  Z_MEM_ERROR: -4,
  Z_BUF_ERROR: -5,
  Z_VERSION_ERROR: -6,
});

export default named({
  // Old programs take them from the module itself.
  ...Object.fromEntries(Object.entries(constants).filter(([name]) => name.startsWith("Z_"))),
  brotliCompress,
  brotliCompressSync,
  brotliDecompress,
  BrotliDecompress,
  brotliDecompressSync,
  codes,
  constants,
  crc32,
  createBrotliCompress,
  createBrotliDecompress,
  createDeflate,
  createDeflateRaw,
  createGunzip,
  createGzip,
  createInflate,
  createInflateRaw,
  createUnzip,
  deflate,
  Deflate,
  deflateRaw,
  DeflateRaw,
  deflateRawSync,
  deflateSync,
  gunzip,
  Gunzip,
  gunzipSync,
  gzip,
  Gzip,
  gzipSync,
  inflate,
  Inflate,
  inflateRaw,
  InflateRaw,
  inflateRawSync,
  inflateSync,
  unzip,
  Unzip,
  unzipSync,
});
