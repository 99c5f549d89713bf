/** Between Node's streams and the web's. Bundled into `stream`. */

interface Emitter {
  on(name: string, listener: (value: never) => void): void;
  off(name: string, listener: (value: never) => void): void;
  once(name: string, listener: (value: never) => void): void;
}

interface NodeReadable extends Emitter {
  pause(): void;
  resume(): void;
  destroy(reason?: unknown): void;
  push(chunk: unknown): boolean;
  readableObjectMode?: boolean;
  readableHighWaterMark: number;
}

interface NodeWritable extends Emitter {
  write(chunk: unknown): boolean;
  end(): void;
  destroy(reason?: unknown): void;
  writableNeedDrain: boolean;
}

type Options = { objectMode?: boolean; signal?: AbortSignal } & object;
type Class<T> = new (options: Record<string, unknown>) => T;
type Done = (error?: unknown) => void;

export function fromReadable(
  Readable: Class<NodeReadable>,
  stream: ReadableStream<unknown>,
  options: Options = {},
): NodeReadable {
  const reader = stream.getReader();
  let ended = false;
  const readable = new Readable({
    ...options,
    read() {
      reader.read().then(
        ({ done, value }) => {
          ended ||= done;
          readable.push(done ? null : value);
        },
        (reason: unknown) => {
          ended = true;
          readable.destroy(reason);
        },
      );
    },
    destroy(error: unknown, done: Done) {
      if (ended) return done(error);
      ended = true;
      reader.cancel(error).then(
        () => done(error),
        (reason: unknown) => done(error ?? reason),
      );
    },
  });
  return readable;
}

export function fromWritable(
  Writable: Class<NodeWritable>,
  stream: WritableStream<unknown>,
  options: Options = {},
): NodeWritable {
  const writer = stream.getWriter();
  let closed = false;
  return new Writable({
    ...options,
    write(chunk: unknown, _encoding: string, done: Done) {
      writer.ready.then(() => writer.write(chunk)).then(() => done(), done);
    },
    final(done: Done) {
      closed = true;
      writer.close().then(() => done(), done);
    },
    destroy(error: unknown, done: Done) {
      if (closed) return done(error);
      closed = true;
      const ending = error ? writer.abort(error) : writer.close();
      ending.then(
        () => done(error),
        (reason: unknown) => done(error ?? reason),
      );
    },
  });
}

export function toReadable(stream: NodeReadable): ReadableStream<unknown> {
  let ended = false;
  return new ReadableStream<unknown>({
    start(controller) {
      stream.pause();
      stream.on("data", (chunk: unknown) => {
        // A Buffer is no plain array of bytes to those who ask for one.
        const value =
          chunk instanceof Uint8Array ? new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.length) : chunk;
        controller.enqueue(value);
        if ((controller.desiredSize ?? 0) <= 0) stream.pause();
      });
      stream.once("end", () => {
        ended = true;
        controller.close();
      });
      stream.once("error", (reason: unknown) => {
        ended = true;
        controller.error(reason);
      });
      stream.once("close", () => {
        if (!ended) controller.error(new Error("Premature close"));
        ended = true;
      });
      stream.pause();
    },
    pull: () => stream.resume(),
    cancel: (reason) => {
      ended = true;
      stream.destroy(reason);
    },
  });
}

export function toWritable(stream: NodeWritable): WritableStream<unknown> {
  return new WritableStream<unknown>({
    start(controller) {
      stream.on("error", (reason: unknown) => controller.error(reason));
    },
    async write(chunk) {
      if (stream.write(chunk)) return;
      await new Promise<void>((resolve) => {
        stream.once("drain", () => resolve());
      });
    },
    close: () =>
      new Promise<void>((resolve, reject) => {
        stream.once("finish", () => resolve());
        stream.once("error", (reason: unknown) => reject(reason));
        stream.end();
      }),
    abort: (reason) => stream.destroy(reason),
  });
}
