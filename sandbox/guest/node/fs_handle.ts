/** `FileHandle`: what `promises.open` gives. */
import { EventEmitter } from "node:events";
import type { Options } from "./fs_arguments.ts";
import { badDescriptor } from "./fs_arguments.ts";
import * as content from "./fs_content.ts";
import { runAsync, type Steps } from "./fs_run.ts";
import { createReadStream, createWriteStream } from "./fs_streams.ts";

export class FileHandle extends EventEmitter {
  #fd: number;
  #closing: Promise<void> | undefined;

  constructor(fd: number) {
    super();
    this.#fd = fd;
  }

  get fd(): number {
    return this.#fd;
  }

  async #run<T>(syscall: string, start: (fd: number) => Steps<T>, signal?: AbortSignal): Promise<T> {
    if (this.#fd === -1 || this.#closing) throw badDescriptor(syscall);
    return runAsync(start(this.#fd), signal);
  }

  readFile(options?: unknown): Promise<string | Buffer> {
    return this.#run("read", (fd) => content.readFile(fd, options), signalOf(options));
  }
  writeFile(data: unknown, options?: unknown): Promise<void> {
    return this.#run("write", (fd) => content.writeFile(fd, data, options), signalOf(options));
  }
  appendFile(data: unknown, options?: unknown): Promise<void> {
    return this.#run("write", (fd) => content.appendFile(fd, data, options), signalOf(options));
  }
  async read(...args: unknown[]): Promise<{ bytesRead: number; buffer: unknown }> {
    const { count, buffer } = await this.#run("read", (fd) => content.read(fd, ...args));
    return { bytesRead: count, buffer };
  }
  async write(...args: [unknown, ...unknown[]]): Promise<{ bytesWritten: number; buffer: unknown }> {
    const { count, buffer } = await this.#run("write", (fd) => content.writeSome(fd, ...args));
    return { bytesWritten: count, buffer };
  }
  async readv(buffers: unknown, position?: unknown): Promise<{ bytesRead: number; buffers: unknown }> {
    const { count } = await this.#run("read", (fd) => content.readv(fd, buffers, position));
    return { bytesRead: count, buffers };
  }
  async writev(buffers: unknown, position?: unknown): Promise<{ bytesWritten: number; buffers: unknown }> {
    const { count } = await this.#run("write", (fd) => content.writev(fd, buffers, position));
    return { bytesWritten: count, buffers };
  }
  stat(options?: Options) {
    return this.#run("fstat", (fd) => content.fstat(fd, options));
  }
  truncate(length?: unknown): Promise<void> {
    return this.#run("ftruncate", (fd) => content.ftruncate(fd, length));
  }
  sync(): Promise<void> {
    return this.#run("fsync", content.fsync);
  }
  datasync(): Promise<void> {
    return this.#run("fdatasync", content.fdatasync);
  }
  chmod(mode: unknown): Promise<void> {
    return this.#run("fchmod", (fd) => content.fchmod(fd, mode));
  }
  utimes(atime: unknown, mtime: unknown): Promise<void> {
    return this.#run("futime", (fd) => content.futimes(fd, atime, mtime));
  }

  createReadStream(options?: Options) {
    return createReadStream(undefined, { ...options, fd: this });
  }
  createWriteStream(options?: Options) {
    return createWriteStream(undefined, { ...options, fd: this });
  }
  readableWebStream(): unknown {
    const { Readable } = require("node:stream") as { Readable: { toWeb(stream: unknown): unknown } };
    return Readable.toWeb(this.createReadStream({ autoClose: false }));
  }
  /** The lines from where the file is read next; then it is closed. */
  async *readLines(options?: Options): AsyncGenerator<string, void> {
    let rest = "";
    for await (const chunk of this.createReadStream({ encoding: "utf8", ...options })) {
      rest += chunk;
      // A return at the end may be the first half of a line's end.
      const lines = rest.split(/\r\n|\n|\r(?!$)/);
      rest = lines.pop() as string;
      yield* lines;
    }
    if (rest !== "") yield rest.replace(/\r$/, "");
  }

  close(): Promise<void> {
    if (this.#fd === -1) return Promise.resolve();
    this.#closing ??= this.#close();
    return this.#closing;
  }
  async #close(): Promise<void> {
    const fd = this.#fd;
    try {
      await runAsync(content.close(fd));
    } finally {
      this.#fd = -1;
      this.emit("close");
    }
  }
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

const signalOf = (options: unknown): AbortSignal | undefined =>
  typeof options === "object" && options !== null ? (options as Options).signal : undefined;

export function* openHandle(path: unknown, flags?: unknown, mode?: unknown): Steps<FileHandle> {
  return new FileHandle(yield* content.open(path, flags, mode));
}
