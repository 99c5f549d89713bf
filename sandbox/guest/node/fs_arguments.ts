/** What Node's functions take, brought to the form that the broker takes; and Node's errors for what they don't take. */
import { Buffer } from "node:buffer";
import { codedError, invalidArgument, invalidValue, outOfRange, requireInteger } from "./errors.ts";
import { constants } from "./fs_constants.ts";

export interface Flags {
  read?: boolean;
  write?: boolean;
  append?: boolean;
  create?: boolean;
  exclusive?: boolean;
  truncate?: boolean;
  folder?: boolean;
  noFollow?: boolean;
  sync?: boolean;
}

// biome-ignore lint/suspicious/noExplicitAny: options come from the extension and are looked at one by one
export type Options = Record<string, any>;

const BAD_PATH = "must be a string, Uint8Array, or URL without null bytes";

export function toPath(value: unknown, name = "path"): string {
  let path = value;
  if (typeof path === "object" && path !== null && "href" in path && "protocol" in path) {
    path = (require("node:url") as { fileURLToPath(url: unknown): string }).fileURLToPath(path);
  } else if (path instanceof Uint8Array) {
    path = Buffer.from(path.buffer, path.byteOffset, path.byteLength).toString();
  }
  if (typeof path !== "string") {
    throw invalidArgument(name, "of type string or an instance of Buffer or URL", value);
  }
  if (path.includes("\0")) throw invalidValue(name, path, BAD_PATH);
  return path;
}

/** Options that may also be just an encoding. */
export function toOptions(value: unknown, defaults: Options = {}): Options {
  if (value === undefined || value === null || typeof value === "function") return defaults;
  if (typeof value === "string") return checked({ ...defaults, encoding: value });
  if (typeof value !== "object") {
    throw invalidArgument("options", "of type string or an instance of Object", value);
  }
  return checked({ ...defaults, ...value });
}

function checked(options: Options): Options {
  const { encoding } = options;
  if (encoding && encoding !== "buffer" && !Buffer.isEncoding(encoding)) {
    throw invalidValue("encoding", encoding, "is invalid encoding");
  }
  const { signal } = options;
  if (signal !== undefined && (typeof signal !== "object" || signal === null || !("aborted" in signal))) {
    throw invalidArgument("options.signal", "an instance of AbortSignal", signal);
  }
  return options;
}

const READ: Flags = { read: true };
const UPDATE: Flags = { read: true, write: true };
const WRITE: Flags = { write: true, create: true, truncate: true };
const APPEND: Flags = { write: true, append: true, create: true };
const sync = { sync: true };
const exclusive = { exclusive: true };
const read = { read: true };

const FLAGS: Readonly<Record<string, Flags>> = {
  r: READ,
  rs: { ...READ, ...sync },
  sr: { ...READ, ...sync },
  "r+": UPDATE,
  "rs+": { ...UPDATE, ...sync },
  "sr+": { ...UPDATE, ...sync },
  w: WRITE,
  wx: { ...WRITE, ...exclusive },
  xw: { ...WRITE, ...exclusive },
  "w+": { ...WRITE, ...read },
  "wx+": { ...WRITE, ...read, ...exclusive },
  "xw+": { ...WRITE, ...read, ...exclusive },
  a: APPEND,
  ax: { ...APPEND, ...exclusive },
  xa: { ...APPEND, ...exclusive },
  as: { ...APPEND, ...sync },
  sa: { ...APPEND, ...sync },
  "a+": { ...APPEND, ...read },
  "ax+": { ...APPEND, ...read, ...exclusive },
  "xa+": { ...APPEND, ...read, ...exclusive },
  "as+": { ...APPEND, ...read, ...sync },
  "sa+": { ...APPEND, ...read, ...sync },
};

export function toFlags(value: unknown, name = "flags"): Flags {
  if (value === undefined || value === null) return READ;
  if (typeof value === "number") {
    requireInteger(name, value, -(2 ** 31), 2 ** 31 - 1);
    return flagsOfNumber(value);
  }
  if (typeof value === "string" && Object.hasOwn(FLAGS, value)) return FLAGS[value] as Flags;
  throw invalidValue(name, value);
}

function flagsOfNumber(value: number): Flags {
  const has = (name: string): boolean => {
    const bits = constants[name] ?? 0;
    return bits !== 0 && (value & bits) === bits;
  };
  const access = value & 3;
  return {
    read: access !== 1,
    write: access === 1 || access === 2,
    append: has("O_APPEND"),
    create: has("O_CREAT"),
    exclusive: has("O_EXCL"),
    truncate: has("O_TRUNC"),
    folder: has("O_DIRECTORY"),
    noFollow: has("O_NOFOLLOW"),
    sync: has("O_SYNC") || has("O_DSYNC"),
  };
}

/** Permission bits: a number, or octal text. */
export function toMode(value: unknown, otherwise: number | undefined, name = "mode"): number {
  let mode = value ?? otherwise;
  if (typeof mode === "string") {
    if (!/^[0-7]+$/.test(mode)) {
      throw invalidValue(name, mode, "must be a 32-bit unsigned integer or an octal string");
    }
    mode = Number.parseInt(mode, 8);
  }
  requireInteger(name, mode, 0, 2 ** 32 - 1);
  return mode & 0o7777;
}

/** Seconds since 1970. */
export function toTime(value: unknown, name: string): number {
  if (typeof value === "string" && `${+value}` === value) return +value;
  if (typeof value === "number" && Number.isFinite(value)) return value < 0 ? Date.now() / 1000 : value;
  if (typeof value === "object" && value instanceof Date) return value.getTime() / 1000;
  throw invalidArgument(name, "an instance of Date or of type number", value);
}

/** The broker's number of what the extension knows as this descriptor: the first three are the standard ones. */
const FIRST_FD = 3;

export const toFd = (id: number): number => id - 1 + FIRST_FD;

export function toId(fd: unknown, syscall: string): number {
  requireFd(fd);
  if (fd < FIRST_FD) throw badDescriptor(syscall);
  return fd - FIRST_FD + 1;
}

export function requireFd(fd: unknown): asserts fd is number {
  requireInteger("fd", fd, 0, 2 ** 31 - 1);
}

export function badDescriptor(syscall: string): Error {
  const error = codedError(Error, "EBADF", `EBADF: bad file descriptor, ${syscall}`);
  return Object.assign(error, { errno: -9, syscall });
}

/** The bytes of what a file is written with. */
export function toBytes(data: unknown, encoding: unknown, name = "data"): Uint8Array {
  if (typeof data === "string") {
    return Buffer.from(data, (encoding === "buffer" ? "utf8" : (encoding ?? "utf8")) as BufferEncoding);
  }
  if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  throw invalidArgument(name, "of type string or an instance of Buffer, TypedArray, or DataView", data);
}

/** Bytes as the extension wants them: text in an encoding, or a Buffer of the same memory. */
export function fromBytes(bytes: Uint8Array | undefined, encoding: unknown): Buffer | string {
  const buffer = bytes ? Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength) : Buffer.alloc(0);
  return !encoding || encoding === "buffer" ? buffer : buffer.toString(encoding as BufferEncoding);
}

/** A name in an encoding. */
export function fromName(name: string, encoding: unknown): Buffer | string {
  if (!encoding || encoding === "utf8" || encoding === "utf-8") return name;
  return fromBytes(Buffer.from(name), encoding);
}

/** Where in a file; null for its own position. */
export function toPosition(value: unknown, name = "position"): number | null {
  if (value === undefined || value === null || value === -1) return null;
  if (typeof value === "bigint") {
    if (value < -1n || value > BigInt(Number.MAX_SAFE_INTEGER)) {
      throw outOfRange(name, `>= -1 && <= ${Number.MAX_SAFE_INTEGER}`, value);
    }
    return value === -1n ? null : Number(value);
  }
  if (typeof value !== "number") throw invalidArgument(name, "of type bigint or integer", value);
  requireInteger(name, value, -1);
  return value;
}
