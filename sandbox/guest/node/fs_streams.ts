/** `ReadStream` and `WriteStream`. Made when the first is asked for: `node:stream` is large, and most extensions need none. */
import { Buffer } from "node:buffer";
import type { Readable, ReadableOptions, Writable, WritableOptions } from "node:stream";
import { abortError, invalidArgument, outOfRange, requireInteger } from "./errors.ts";
import { type Options, toOptions, toPath } from "./fs_arguments.ts";
import { close, fsync, open, read, writeSome, writev } from "./fs_content.ts";
import { runAsync } from "./fs_run.ts";

type Done = (error?: Error | null) => void;

/** What both kinds have. */
interface AnyStream {
  readonly closed: boolean;
  on(event: string, listener: () => void): unknown;
  once(event: string, listener: () => void): unknown;
  emit(event: string, ...values: unknown[]): boolean;
  destroy(error?: Error): unknown;
}

interface StreamModule {
  Readable: new (options?: ReadableOptions) => Readable;
  Writable: new (options?: WritableOptions) => Writable;
}

/** Where the stream's descriptor comes from, and what becomes of it. Both kinds of streams have one. */
class Source {
  fd: number | null = null;
  readonly path: string | undefined;
  readonly autoClose: boolean;
  readonly options: Options;
  readonly #flags: unknown;
  readonly #handle: { close(): Promise<void> } | undefined;

  constructor(path: unknown, options: Options, flags: string) {
    const { fd } = options;
    this.options = options;
    this.autoClose = options.autoClose ?? true;
    this.#flags = options.flags ?? flags;
    if (typeof fd === "object" && fd !== null) {
      this.#handle = fd;
      this.fd = fd.fd;
    } else if (fd !== undefined && fd !== null) {
      requireInteger("fd", fd, 0, 2 ** 31 - 1);
      this.fd = fd;
    } else {
      this.path = toPath(path);
    }
    for (const name of ["start", "end"]) {
      if (options[name] === undefined || options[name] === Number.POSITIVE_INFINITY) continue;
      requireInteger(name, options[name], 0);
    }
    const { start = 0, end = Number.POSITIVE_INFINITY } = options;
    if (start > end) throw outOfRange("start", `<= "end" (here: ${end})`, start);
  }

  open(stream: AnyStream, done: Done): void {
    if (this.fd !== null) return done();
    runAsync(open(this.path, this.#flags, this.options.mode)).then(
      (fd) => {
        this.fd = fd;
        done();
        stream.emit("open", fd);
        stream.emit("ready");
      },
      (error) => done(error),
    );
  }

  close(error: Error | null, done: Done): void {
    const { fd } = this;
    this.fd = null;
    if (fd === null || !this.autoClose) return done(error);
    const closing = this.#handle ? this.#handle.close() : runAsync(close(fd));
    closing.then(
      () => done(error),
      (failure) => done(error ?? failure),
    );
  }
}

function createClasses() {
  const { Readable, Writable } = require("node:stream") as StreamModule;

  class FsReadStream extends Readable {
    bytesRead = 0;
    readonly #source: Source;
    #position: number | null;
    readonly #end: number;

    constructor(path: unknown, given?: unknown) {
      const options = toOptions(given);
      const source = new Source(path, options, "r");
      super({
        highWaterMark: options.highWaterMark ?? 65_536,
        encoding: options.encoding ?? undefined,
        emitClose: options.emitClose ?? true,
        autoDestroy: source.autoClose,
        construct: (done) => source.open(this, done),
      } as ReadableOptions);
      this.#source = source;
      this.#end = options.end ?? Number.POSITIVE_INFINITY;
      this.#position = options.start ?? (source.path === undefined && options.end === undefined ? null : 0);
      endWith(this, options.signal);
    }

    get fd(): number | null {
      return this.#source.fd;
    }
    get path(): string | undefined {
      return this.#source.path;
    }
    get flags(): unknown {
      return this.#source.options.flags ?? "r";
    }
    get start(): number | undefined {
      return this.#source.options.start;
    }
    get end(): number {
      return this.#end;
    }
    get autoClose(): boolean {
      return this.#source.autoClose;
    }
    get pending(): boolean {
      return this.#source.fd === null;
    }

    override _read(size: number): void {
      const left = this.#position === null ? this.#end + 1 - this.bytesRead : this.#end + 1 - this.#position;
      const length = Math.min(size, left);
      if (length <= 0) return void this.push(null);
      const buffer = new Uint8Array(length);
      runAsync(read(this.#source.fd, buffer, 0, length, this.#position)).then(
        ({ count }) => {
          this.bytesRead += count;
          if (this.#position !== null) this.#position += count;
          this.push(count === 0 ? null : Buffer.from(buffer.buffer, 0, count));
        },
        (error) => this.destroy(error),
      );
    }

    override _destroy(error: Error | null, done: Done): void {
      this.#source.close(error, done);
    }

    close(done?: Done): void {
      closeStream(this, done);
    }
  }

  class FsWriteStream extends Writable {
    bytesWritten = 0;
    readonly #source: Source;
    #position: number | null;

    constructor(path: unknown, given?: unknown) {
      const options = toOptions(given);
      const source = new Source(path, options, "w");
      super({
        highWaterMark: options.highWaterMark ?? 16_384,
        defaultEncoding: options.encoding ?? "utf8",
        decodeStrings: true,
        emitClose: options.emitClose ?? true,
        autoDestroy: source.autoClose,
        construct: (done: Done) => source.open(this, done),
      } as WritableOptions);
      this.#source = source;
      this.#position = options.start ?? null;
      endWith(this, options.signal);
    }

    get fd(): number | null {
      return this.#source.fd;
    }
    get path(): string | undefined {
      return this.#source.path;
    }
    get flags(): unknown {
      return this.#source.options.flags ?? "w";
    }
    get start(): number | undefined {
      return this.#source.options.start;
    }
    get autoClose(): boolean {
      return this.#source.autoClose;
    }
    get pending(): boolean {
      return this.#source.fd === null;
    }

    override _write(chunk: Buffer, _encoding: string, done: Done): void {
      const position = this.#position;
      this.#wrote(writeSome(this.#source.fd, chunk, 0, chunk.byteLength, position), done);
    }

    override _writev(chunks: { chunk: Buffer; encoding: BufferEncoding }[], done: Done): void {
      const buffers = chunks.map(({ chunk }) => chunk);
      this.#wrote(writev(this.#source.fd, buffers, this.#position), done);
    }

    #wrote(steps: ReturnType<typeof writev>, done: Done): void {
      runAsync(steps).then(
        ({ count }) => {
          this.bytesWritten += count;
          if (this.#position !== null) this.#position += count;
          done();
        },
        (error) => done(error),
      );
    }

    override _final(done: Done): void {
      if (!this.#source.options.flush) return done();
      runAsync(fsync(this.#source.fd)).then(
        () => done(),
        (error) => done(error),
      );
    }

    override _destroy(error: Error | null, done: Done): void {
      this.#source.close(error, done);
    }

    close(done?: Done): void {
      if (!this.#source.autoClose) this.on("finish", () => this.destroy());
      if (done) closeStream(this, done, false);
      this.end();
    }

    destroySoon(): void {
      this.end();
    }
  }

  return { ReadStream: FsReadStream, WriteStream: FsWriteStream };
}

function endWith(stream: AnyStream, signal: AbortSignal | undefined): void {
  if (signal === undefined) return;
  if (typeof signal.addEventListener !== "function") {
    throw invalidArgument("options.signal", "an instance of AbortSignal", signal);
  }
  const end = (): void => void stream.destroy(abortError(signal.reason) as Error);
  if (signal.aborted) return end();
  signal.addEventListener("abort", end);
  stream.on("close", () => signal.removeEventListener("abort", end));
}

function closeStream(stream: AnyStream, done: Done | undefined, destroy = true): void {
  if (done) {
    if (stream.closed) queueMicrotask(() => done());
    else stream.once("close", () => done(null));
  }
  if (destroy) stream.destroy();
}

type Classes = ReturnType<typeof createClasses>;
let classes: Classes | undefined;
function loaded(): Classes {
  classes ??= createClasses();
  return classes;
}

/** A class that is made when it is used: called with and without `new`, inherited from, and asked by `instanceof`. */
function lazyClass<K extends keyof Classes>(name: K): Classes[K] {
  const real = (): Classes[K] => loaded()[name];
  const proxy: Classes[K] = new Proxy(function lazy() {} as unknown as Classes[K] & object, {
    get: (_target, key) => Reflect.get(real(), key),
    set: (_target, key, value) => Reflect.set(real(), key, value),
    has: (_target, key) => Reflect.has(real(), key),
    apply: (_target, _this, args) => Reflect.construct(real(), args),
    construct: (_target, args, newTarget) =>
      Reflect.construct(real(), args, newTarget === proxy ? real() : newTarget) as object,
  });
  return proxy;
}

export const ReadStream = lazyClass("ReadStream");
export const WriteStream = lazyClass("WriteStream");

export const createReadStream = (path: unknown, options?: unknown) =>
  new (loaded().ReadStream)(path, options);
export const createWriteStream = (path: unknown, options?: unknown) =>
  new (loaded().WriteStream)(path, options);
