import { Readable } from "node:stream";
import { constants, createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from "node:zlib";
import { CallError } from "./broker.ts";
import { type Bytes, StreamBytes } from "./net-bytes.ts";
import { findHeader, type Headers } from "./net-headers.ts";

/** More than one after the other is for those who want to be a nuisance. */
const MAX_CODINGS = 2;

/**
 * A body as it was before it was compressed. It comes out in pieces, as it is asked for: however much a few bytes
 * stand for, no more of it is in memory than a piece. A body in a coding that is not known stays what it is.
 */
export function decoded(body: Bytes, headers: Headers): Bytes {
  const text = findHeader(headers, "content-encoding") ?? "";
  const codings = text
    .toLowerCase()
    .split(",")
    .map((coding) => coding.trim())
    .filter((coding) => coding !== "" && coding !== "identity");
  if (codings.length > MAX_CODINGS)
    throw new CallError("EPROTO", "the server's response has too many codings");
  if (!codings.every((coding) => /^(?:x-)?gzip$|^deflate$|^br$/.test(coding))) return body;
  return codings.reduceRight((bytes, coding) => decompressed(bytes, coding), body);
}

function decompressed(body: Bytes, coding: string): Bytes {
  let output: Bytes | undefined;
  const start = async (): Promise<Bytes> => {
    const first = await body.read();
    // No bytes at all are what many send for "nothing".
    if (!first) return { read: async () => undefined };
    const decoder = decoderFor(coding, first);
    const input = Readable.from(all(first, body), { objectMode: false, highWaterMark: 16_384 });
    input.on("error", (error) => decoder.destroy(error));
    decoder.on("close", () => input.destroy());
    input.pipe(decoder);
    return new StreamBytes(decoder, () => broken());
  };
  return {
    async read() {
      try {
        output ??= await start();
        return await output.read();
      } catch (error) {
        throw error instanceof CallError ? error : broken();
      }
    },
  };
}

async function* all(first: Uint8Array, body: Bytes): AsyncGenerator<Uint8Array> {
  for (let bytes: Uint8Array | undefined = first; bytes; bytes = await body.read()) yield bytes;
}

function decoderFor(coding: string, first: Uint8Array) {
  // A body that was cut off gives what there was of it, as with browsers.
  const zlib = { flush: constants.Z_SYNC_FLUSH, finishFlush: constants.Z_SYNC_FLUSH };
  if (coding === "br") {
    return createBrotliDecompress({
      flush: constants.BROTLI_OPERATION_FLUSH,
      finishFlush: constants.BROTLI_OPERATION_FLUSH,
    });
  }
  if (coding !== "deflate") return createGunzip(zlib);
  // Both were called "deflate": with a header (RFC 1950), whose lowest four bits are 8, and without.
  return ((first[0] ?? 0) & 0x0f) === 8 ? createInflate(zlib) : createInflateRaw(zlib);
}

const broken = (): CallError => new CallError("EPROTO", "the server's response could not be decompressed");
