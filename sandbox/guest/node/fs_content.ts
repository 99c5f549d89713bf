/** Functions about what is in files: whole ones, and open ones by descriptor. A large file goes in pieces. */

import { log } from "xdev:system";
import { invalidArgument, outOfRange, requireInteger } from "./errors.ts";
import {
  type Flags,
  fromBytes,
  type Options,
  requireFd,
  toBytes,
  toFd,
  toFlags,
  toId,
  toMode,
  toOptions,
  toPath,
  toPosition,
  toTime,
} from "./fs_arguments.ts";
import { ask, type Steps } from "./fs_run.ts";
import { type BigIntStats, makeStats, type Stats } from "./fs_stats.ts";

/** The bytes that one call reads or writes. */
const PIECE = 512 * 1024;

/** A descriptor, or undefined for what is a path. Of a FileHandle, its descriptor. */
function descriptorOf(file: unknown): number | undefined {
  if (typeof file === "number") {
    requireFd(file);
    return file;
  }
  const { fd } = (typeof file === "object" && file !== null ? file : {}) as { fd?: unknown };
  return typeof fd === "number" && !(file instanceof Uint8Array) ? fd : undefined;
}

export function* readFile(file: unknown, given?: unknown): Steps<string | Buffer> {
  const options = toOptions(given, { flag: "r" });
  const fd = descriptorOf(file);
  if (fd !== undefined) return fromBytes(yield* readRest(fd), options.encoding);
  const path = toPath(file);
  const flags = toFlags(options.flag);
  const { value, bytes } = yield* ask("fs.readFile", { path, flags });
  if (value.id === undefined) return fromBytes(bytes, options.encoding);
  const opened = toFd(value.id);
  try {
    return fromBytes(yield* readRest(opened), options.encoding);
  } finally {
    yield* close(opened);
  }
}

function* readRest(fd: number): Steps<Uint8Array> {
  const id = toId(fd, "read");
  const pieces: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const { bytes } = yield* ask("fs.read", { id, length: PIECE, position: null });
    if (!bytes || bytes.byteLength === 0) break;
    pieces.push(bytes);
    length += bytes.byteLength;
  }
  if (pieces.length === 1) return pieces[0] as Uint8Array;
  const all = new Uint8Array(length);
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.byteLength;
  }
  return all;
}

export const writeFile = (file: unknown, data: unknown, options?: unknown) => write(file, data, options, "w");
export const appendFile = (file: unknown, data: unknown, options?: unknown) =>
  write(file, data, options, "a");

function* write(file: unknown, data: unknown, given: unknown, flag: string): Steps<void> {
  const options = toOptions(given, { encoding: "utf8", mode: 0o666, flag, flush: false });
  const fd = descriptorOf(file);
  if (fd !== undefined) {
    if (isSource(data)) return yield* writeSource(fd, data, options.encoding);
    return yield* writeAll(fd, toBytes(data, options.encoding), null);
  }
  const path = toPath(file);
  const flags = toFlags(options.flag ?? flag);
  const mode = toMode(options.mode, 0o666);
  const bytes = isSource(data) ? undefined : toBytes(data, options.encoding);
  if (bytes && bytes.byteLength <= PIECE) {
    yield* ask("fs.writeFile", { path, flags, mode, flush: Boolean(options.flush) }, bytes);
    return;
  }
  const opened = yield* open(path, options.flag ?? flag, mode);
  try {
    if (bytes) yield* writeAll(opened, bytes, null);
    else yield* writeSource(opened, data as Source, options.encoding);
    if (options.flush) yield* fsync(opened);
  } finally {
    yield* close(opened);
  }
}

type Source = AsyncIterable<unknown> | Iterable<unknown>;

/** `fs.promises.writeFile` also takes streams and iterables. */
function isSource(data: unknown): data is Source {
  return (
    typeof data === "object" &&
    data !== null &&
    !ArrayBuffer.isView(data) &&
    (Symbol.asyncIterator in data || Symbol.iterator in data)
  );
}

function* writeSource(fd: number, source: Source, encoding: unknown): Steps<void> {
  const iterator: AsyncIterator<unknown> | Iterator<unknown> =
    Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]();
  for (;;) {
    const { value: next } = yield { settle: iterator.next() };
    // A promise stays one in the synchronous form.
    if (typeof next?.then === "function") {
      throw invalidArgument(
        "data",
        "of type string or an instance of Buffer, TypedArray, or DataView",
        source,
      );
    }
    if (next.done) return;
    yield* writeAll(fd, toBytes(next.value, encoding), null);
  }
}

function* writeAll(fd: number, bytes: Uint8Array, position: number | null): Steps<void> {
  if (isOutput(fd)) return log(fd === 1 ? "info" : "error", String(fromBytes(bytes, "utf8")));
  const id = toId(fd, "write");
  let done = 0;
  do {
    const piece = bytes.subarray(done, done + PIECE);
    yield* ask("fs.write", { id, position: position === null ? null : position + done }, piece);
    done += piece.byteLength;
  } while (done < bytes.byteLength);
}

/** Standard output and error are the extension's log. */
const isOutput = (fd: number): boolean => fd === 1 || fd === 2;

export function* open(given: unknown, flags?: unknown, mode?: unknown): Steps<number> {
  const path = toPath(given);
  const how: Flags = toFlags(flags);
  const { value } = yield* ask("fs.open", { path, flags: how, mode: toMode(mode, 0o666) });
  return toFd(value);
}

export function* close(fd: unknown): Steps<void> {
  yield* ask("fs.close", { id: toId(fd, "close") });
}

export interface Transfer {
  /** Bytes. */
  count: number;
  buffer: unknown;
}

/** `(fd, buffer, offset, length, position)`, or options for what follows the buffer, or options alone. */
export function* read(fd: unknown, ...given: unknown[]): Steps<Transfer> {
  const id = toId(fd, "read");
  const buffer = viewOf(given[0])
    ? given[0]
    : ((given[0] as Options | undefined)?.buffer ?? new Uint8Array(16_384));
  const view = viewOf(buffer);
  if (!view) throw invalidArgument("buffer", "an instance of Buffer, TypedArray, or DataView", buffer);
  const rest = viewOf(given[0]) ? given[1] : given[0];
  const named = typeof rest === "object" && rest !== null ? (rest as Options) : undefined;
  const offset = named ? (named.offset ?? 0) : (rest ?? 0);
  requireInteger("offset", offset, 0);
  const length = (named ? named.length : given[2]) ?? view.byteLength - offset;
  const position = toPosition(named ? named.position : given[3]);
  if (typeof length !== "number") throw invalidArgument("length", "of type number", length);
  if (length === 0) return { count: 0, buffer };
  if (offset > view.byteLength) throw outOfRange("offset", `>= 0 && <= ${view.byteLength}`, offset);
  requireInteger("length", length, 0, view.byteLength - offset);
  const { bytes } = yield* ask("fs.read", { id, length, position });
  if (bytes) view.set(bytes, offset);
  return { count: bytes?.byteLength ?? 0, buffer };
}

/** `(fd, buffer, offset, length, position)`, `(fd, buffer, options)` or `(fd, text, position, encoding)`. */
export function* writeSome(fd: unknown, data: unknown, ...given: unknown[]): Steps<Transfer> {
  requireFd(fd);
  const view = viewOf(data);
  if (!view) {
    if (typeof data !== "string") {
      throw invalidArgument(
        "buffer",
        "of type string or an instance of Buffer, TypedArray, or DataView",
        data,
      );
    }
    const bytes = toBytes(data, given[1]);
    yield* writeAll(fd, bytes, toPosition(given[0]));
    return { count: bytes.byteLength, buffer: data };
  }
  const named = typeof given[0] === "object" && given[0] !== null ? (given[0] as Options) : undefined;
  const offset = named ? (named.offset ?? 0) : (given[0] ?? 0);
  requireInteger("offset", offset, 0, view.byteLength);
  const length = (named ? named.length : given[1]) ?? view.byteLength - offset;
  requireInteger("length", length, 0, view.byteLength - offset);
  const position = toPosition(named ? named.position : given[2]);
  if (length > 0) yield* writeAll(fd, view.subarray(offset, offset + length), position);
  return { count: length, buffer: data };
}

export function* readv(fd: unknown, buffers: unknown, position?: unknown): Steps<Transfer> {
  const list = viewsOf(buffers);
  let at = toPosition(position);
  let count = 0;
  for (const view of list) {
    const { count: got } = yield* read(fd, view, 0, view.byteLength, at);
    count += got;
    if (at !== null) at += got;
    if (got < view.byteLength) break;
  }
  return { count, buffer: buffers };
}

export function* writev(fd: unknown, buffers: unknown, position?: unknown): Steps<Transfer> {
  const list = viewsOf(buffers);
  let at = toPosition(position);
  let count = 0;
  for (const view of list) {
    yield* writeSome(fd, view, 0, view.byteLength, at);
    count += view.byteLength;
    if (at !== null) at += view.byteLength;
  }
  return { count, buffer: buffers };
}

function viewOf(value: unknown): Uint8Array | undefined {
  return ArrayBuffer.isView(value)
    ? new Uint8Array(value.buffer, value.byteOffset, value.byteLength)
    : undefined;
}

function viewsOf(buffers: unknown): Uint8Array[] {
  const views = Array.isArray(buffers) ? buffers.map(viewOf) : [undefined];
  if (views.includes(undefined))
    throw invalidArgument("buffers", "an instance of ArrayBufferView[]", buffers);
  return views as Uint8Array[];
}

export function* fstat(fd: unknown, options?: Options): Steps<Stats | BigIntStats> {
  const { value } = yield* ask("fs.fstat", { id: toId(fd, "fstat") });
  return makeStats(value, options?.bigint);
}

export function* ftruncate(fd: unknown, length: unknown = 0): Steps<void> {
  requireInteger("len", length ?? 0);
  yield* ask("fs.ftruncate", { id: toId(fd, "ftruncate"), length: Math.max(0, (length as number) ?? 0) });
}

export function* fsync(fd: unknown): Steps<void> {
  yield* ask("fs.fsync", { id: toId(fd, "fsync"), dataOnly: false });
}

export function* fdatasync(fd: unknown): Steps<void> {
  yield* ask("fs.fsync", { id: toId(fd, "fdatasync"), dataOnly: true });
}

export function* fchmod(fd: unknown, mode: unknown): Steps<void> {
  yield* ask("fs.fchmod", { id: toId(fd, "fchmod"), mode: toMode(mode, undefined) });
}

export function* futimes(fd: unknown, atime: unknown, mtime: unknown): Steps<void> {
  const id = toId(fd, "futime");
  yield* ask("fs.futimes", { id, atime: toTime(atime, "atime"), mtime: toTime(mtime, "mtime") });
}
