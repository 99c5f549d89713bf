import type * as Streams from "./streams.ts";

export type ByteStream = Streams.ReadableStream<Uint8Array>;

/** The streams' module, loaded when the first stream is made: most bodies are read without one. */
export function streams(): typeof Streams {
  return require("web:streams") as typeof Streams;
}

/** Whether it is a readable stream, whoever made it. */
export function isStream(value: unknown): value is ByteStream {
  const { getReader, tee } = (value ?? {}) as { getReader?: unknown; tee?: unknown };
  return typeof value === "object" && typeof getReader === "function" && typeof tee === "function";
}

/** A stream of what `pull` gives, until it gives nothing. */
export function streamOf(
  pull: () => Promise<Uint8Array | undefined>,
  cancel?: (reason: unknown) => void,
): ByteStream {
  const { ReadableStream } = streams();
  return new ReadableStream<Uint8Array>({
    type: "bytes",
    async pull(controller) {
      const bytes = await pull();
      if (bytes) return controller.enqueue(bytes as Uint8Array<ArrayBuffer>);
      controller.close();
      // Who reads into a buffer of his own gets it back.
      controller.byobRequest?.respond(0);
    },
    cancel(reason) {
      cancel?.(reason);
    },
  }) as ByteStream;
}
