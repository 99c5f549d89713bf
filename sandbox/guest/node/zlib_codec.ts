/** Deflate and inflate, a piece at a time, as Node drives zlib. With pako, so loaded with its first use. */
import * as pako from "pako";
import { codedError, outOfRange } from "./errors.ts";
import { constants } from "./zlib_constants.ts";

export type Mode = "deflate" | "gzip" | "deflateRaw" | "inflate" | "gunzip" | "inflateRaw" | "unzip";

export interface ZlibOptions {
  flush?: number;
  finishFlush?: number;
  chunkSize?: number;
  windowBits?: number;
  level?: number;
  memLevel?: number;
  strategy?: number;
  dictionary?: Uint8Array;
  maxOutputLength?: number;
  info?: boolean;
}

interface ZStream {
  input: Uint8Array;
  next_in: number;
  avail_in: number;
  output: Uint8Array;
  next_out: number;
  avail_out: number;
  msg: string;
}
type Step = (stream: ZStream, flush: number) => number;
const zlib = pako as unknown as {
  ZStream: new () => ZStream;
  zlibDeflateInit2(
    s: ZStream,
    level: number,
    method: number,
    bits: number,
    mem: number,
    strategy: number,
  ): number;
  zlibDeflateSetDictionary(s: ZStream, dictionary: Uint8Array): number;
  zlibDeflateReset(s: ZStream): number;
  zlibDeflate: Step;
  zlibInflateInit2(s: ZStream, bits: number): number;
  zlibInflateSetDictionary(s: ZStream, dictionary: Uint8Array): number;
  zlibInflateReset(s: ZStream): number;
  zlibInflate: Step;
};

const STREAM_END = 1;
const NEED_DICTIONARY = 2;
const DATA_ERROR = -3;
const BUF_ERROR = -5;
const FINISH = 4;
const NAMES: Readonly<Record<number, string>> = {
  2: "Z_NEED_DICT",
  [-1]: "Z_ERRNO",
  [-2]: "Z_STREAM_ERROR",
  [-3]: "Z_DATA_ERROR",
  [-4]: "Z_MEM_ERROR",
  [-5]: "Z_BUF_ERROR",
};

function failure(status: number, message: string): Error {
  const error = codedError(Error, NAMES[status] ?? "Z_ERRNO", message);
  return Object.assign(error, { errno: status });
}

function option(
  name: string,
  value: number | undefined,
  min: number,
  max: number,
  otherwise: number,
): number {
  if (value === undefined) return otherwise;
  if (!(value >= min && value <= max)) throw outOfRange(`options.${name}`, `>= ${min} and <= ${max}`, value);
  return value;
}

export class Codec {
  readonly #stream = new zlib.ZStream();
  readonly #deflates: boolean;
  readonly #gunzips: boolean;
  readonly #isRaw: boolean;
  readonly #chunkSize: number;
  readonly #dictionary: Uint8Array | undefined;
  #ended = false;

  constructor(mode: Mode, options: ZlibOptions) {
    this.#deflates = mode === "deflate" || mode === "gzip" || mode === "deflateRaw";
    this.#gunzips = mode === "gunzip" || mode === "unzip";
    this.#isRaw = mode === "inflateRaw";
    this.#chunkSize = Math.max(64, option("chunkSize", options.chunkSize, 64, Infinity, 16_384));
    this.#dictionary = options.dictionary;
    let bits = option("windowBits", options.windowBits || undefined, 8, 15, 15);
    const stream = this.#stream;
    if (this.#deflates) {
      const level = option("level", options.level, -1, 9, -1);
      const memory = option("memLevel", options.memLevel, 1, 9, 8);
      const strategy = option("strategy", options.strategy, 0, 4, 0);
      // zlib itself can't do 8 bits without a header.
      if (mode === "deflateRaw" && bits === 8) bits = 9;
      if (mode === "gzip") bits += 16;
      if (mode === "deflateRaw") bits = -bits;
      zlib.zlibDeflateInit2(stream, level, 8, bits, memory, strategy);
      if (options.dictionary) zlib.zlibDeflateSetDictionary(stream, options.dictionary);
    } else {
      if (mode === "gunzip") bits += 16;
      if (mode === "unzip") bits += 32;
      if (mode === "inflateRaw") bits = -bits;
      zlib.zlibInflateInit2(stream, bits);
      if (options.dictionary && this.#isRaw) zlib.zlibInflateSetDictionary(stream, options.dictionary);
    }
  }

  /** Whether what was compressed has come to its end: nothing more is read. */
  get ended(): boolean {
    return this.#ended;
  }

  reset(): void {
    this.#ended = false;
    if (this.#deflates) zlib.zlibDeflateReset(this.#stream);
    else zlib.zlibInflateReset(this.#stream);
  }

  /** Calls `take` with each piece of output. Throws errors with zlib's codes. */
  run(input: Uint8Array, flush: number, take: (piece: Uint8Array) => void): void {
    if (this.#ended) return;
    const stream = this.#stream;
    stream.input = input;
    stream.next_in = 0;
    stream.avail_in = input.length;
    for (;;) {
      stream.output = new Uint8Array(this.#chunkSize);
      stream.next_out = 0;
      stream.avail_out = this.#chunkSize;
      const status = this.#deflates ? zlib.zlibDeflate(stream, flush) : this.#inflate(stream, flush);
      const made = stream.next_out;
      const isFull = stream.avail_out === 0;
      if (made > 0) take(stream.output.subarray(0, made));
      if (status === STREAM_END) {
        if (this.#deflates || !this.#nextMember(stream)) {
          this.#ended = true;
          return;
        }
        continue;
      }
      if (status === NEED_DICTIONARY) {
        throw failure(status, this.#dictionary ? "Bad dictionary" : "Missing dictionary");
      }
      if (status === BUF_ERROR || status === 0) {
        // No progress is no error, unless that was to be all.
        if (isFull) continue;
        if (flush === FINISH && !this.#deflates) throw failure(BUF_ERROR, "unexpected end of file");
        return;
      }
      throw failure(status, stream.msg || "Zlib error");
    }
  }

  #inflate(stream: ZStream, flush: number): number {
    const status = zlib.zlibInflate(stream, flush);
    if (status !== NEED_DICTIONARY || !this.#dictionary) return status;
    const set = zlib.zlibInflateSetDictionary(stream, this.#dictionary);
    if (set === DATA_ERROR) throw failure(DATA_ERROR, "Bad dictionary");
    return set === 0 ? zlib.zlibInflate(stream, flush) : set;
  }

  /** A gzip file may be several, one behind the other; zeros and anything else at the end is none. */
  #nextMember(stream: ZStream): boolean {
    if (!this.#gunzips || stream.avail_in === 0 || stream.input[stream.next_in] !== 0x1f) return false;
    zlib.zlibInflateReset(stream);
    return true;
  }
}

/** All at once. Throws ERR_BUFFER_TOO_LARGE for more than `maxOutputLength`. */
export function transform(mode: Mode, input: Uint8Array, options: ZlibOptions): Uint8Array {
  const pieces: Uint8Array[] = [];
  let length = 0;
  const most = options.maxOutputLength ?? 2 ** 32;
  const codec = new Codec(mode, { ...options, chunkSize: options.chunkSize ?? 65_536 });
  codec.run(input, options.finishFlush ?? (constants.Z_FINISH as number), (piece) => {
    length += piece.length;
    if (length > most) {
      throw codedError(
        RangeError,
        "ERR_BUFFER_TOO_LARGE",
        `Cannot create a Buffer larger than ${most} bytes`,
      );
    }
    pieces.push(piece);
  });
  const output = new Uint8Array(length);
  let at = 0;
  for (const piece of pieces) {
    output.set(piece, at);
    at += piece.length;
  }
  return output;
}
