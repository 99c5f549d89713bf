/** The globals of the Compression Streams standard, over `node:zlib`. */

import type { Transform } from "node:stream";
import zlib from "node:zlib";
import { streams } from "./lazy_streams.ts";
import type { ReadableStreamDefaultController } from "./streams.ts";

type Make = () => Transform;

const FORMATS: Readonly<Record<string, { compress: Make; decompress: Make }>> = {
  deflate: { compress: () => zlib.createDeflate(), decompress: () => zlib.createInflate() },
  "deflate-raw": { compress: () => zlib.createDeflateRaw(), decompress: () => zlib.createInflateRaw() },
  gzip: { compress: () => zlib.createGzip(), decompress: () => zlib.createGunzip() },
};

function formatOf(name: unknown): { compress: Make; decompress: Make } {
  const format = Object.hasOwn(FORMATS, String(name)) ? FORMATS[String(name)] : undefined;
  if (!format) throw new TypeError(`Unsupported compression format: '${name}'`);
  return format;
}

class Codec {
  readonly readable: unknown;
  readonly writable: unknown;

  constructor(codec: Transform) {
    const { ReadableStream, WritableStream } = streams();
    let controller: ReadableStreamDefaultController<Uint8Array>;
    this.readable = new ReadableStream<Uint8Array>(
      {
        start(given) {
          controller = given;
        },
        pull() {
          codec.resume();
        },
        cancel() {
          codec.destroy();
        },
      },
      { highWaterMark: 0 },
    );
    codec.pause();
    codec.on("data", (chunk: Uint8Array) => {
      controller.enqueue(new Uint8Array(chunk));
      codec.pause();
    });
    codec.on("end", () => controller.close());
    codec.on("error", (cause) =>
      controller.error(new TypeError("The compressed data was not valid", { cause })),
    );
    const settle = (resolve: () => void, reject: (error: unknown) => void) => (error?: unknown) =>
      error ? reject(error) : resolve();
    this.writable = new WritableStream({
      write(chunk: unknown) {
        const isBytes = ArrayBuffer.isView(chunk) || chunk instanceof ArrayBuffer;
        if (!isBytes) throw new TypeError("A compression stream takes bytes");
        const bytes = ArrayBuffer.isView(chunk)
          ? new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength)
          : new Uint8Array(chunk);
        return new Promise<void>((resolve, reject) => codec.write(bytes, settle(resolve, reject)));
      },
      close() {
        codec.end();
      },
      abort(reason) {
        codec.destroy();
        controller.error(reason);
      },
    });
  }
}

export class CompressionStream extends Codec {
  /** `gzip`, `deflate` or `deflate-raw`. */
  constructor(format: string) {
    super(formatOf(format).compress());
  }
}

export class DecompressionStream extends Codec {
  constructor(format: string) {
    super(formatOf(format).decompress());
  }
}

// Short names in a built text are not what they are called.
for (const [name, Class] of Object.entries({ CompressionStream, DecompressionStream })) {
  Object.defineProperty(Class, "name", { value: name, configurable: true });
  Object.defineProperty(Class.prototype, Symbol.toStringTag, { value: name, configurable: true });
}
