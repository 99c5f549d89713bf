/** Schemas that file operations share, and the plain form of what `stat` gives. */
import { type BigIntStats, constants } from "node:fs";
import * as v from "valibot";

/** Longer ones are refused with `ENAMETOOLONG` when they are used. */
export const pathParam = v.pipe(v.string(), v.maxLength(65_536));
export const idParam = v.pipe(v.number(), v.safeInteger(), v.minValue(1));
export const sizeParam = v.pipe(v.number(), v.safeInteger(), v.minValue(0));
/** Null: where the file's own position is. */
export const positionParam = v.nullable(sizeParam);
/** Permission bits. Those that make others run a program as the user are refused. */
export const modeParam = v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(0o7777));
/** Seconds since 1970. */
export const timeParam = v.pipe(v.number(), v.finite(), v.minValue(-1e11), v.maxValue(1e11));

/** How a file is opened; the guest reads Node's strings and numbers. */
export const flagsParam = v.strictObject({
  read: v.optional(v.boolean(), false),
  write: v.optional(v.boolean(), false),
  append: v.optional(v.boolean(), false),
  create: v.optional(v.boolean(), false),
  exclusive: v.optional(v.boolean(), false),
  truncate: v.optional(v.boolean(), false),
  /** Fail with `ENOTDIR` on anything but a folder. */
  folder: v.optional(v.boolean(), false),
  /** Fail with `ELOOP` on a link. */
  noFollow: v.optional(v.boolean(), false),
  sync: v.optional(v.boolean(), false),
});

export type OpenFlags = v.InferOutput<typeof flagsParam>;

/** Those that the runtime is given: what creates and truncates is not among them. */
export function accessFlags(flags: OpenFlags): number {
  const access = flags.read && flags.write ? constants.O_RDWR : flags.write ? constants.O_WRONLY : 0;
  return access | (flags.append ? constants.O_APPEND : 0) | (flags.sync ? (constants.O_SYNC ?? 0) : 0);
}

/** What `stat` gives, as JSON: numbers that could be too large for it, and times in ns, as decimal text. */
export function statData(info: BigIntStats): Record<string, number | string> {
  const data: Record<string, number | string> = { mode: Number(info.mode) };
  for (const key of ["dev", "ino", "nlink", "uid", "gid", "rdev", "size", "blksize", "blocks"] as const) {
    data[key] = String(info[key] ?? 0n);
  }
  for (const key of ["atimeNs", "mtimeNs", "ctimeNs", "birthtimeNs"] as const) {
    data[key] = String(info[key] ?? 0n);
  }
  return data;
}

/** A `Dirent`'s type. */
export type EntryType = "file" | "dir" | "link" | "fifo" | "socket" | "char" | "block" | "unknown";

export function entryType(entry: {
  isFile(): boolean;
  isDirectory(): boolean;
  isSymbolicLink(): boolean;
  isFIFO(): boolean;
  isSocket(): boolean;
  isCharacterDevice(): boolean;
  isBlockDevice(): boolean;
}): EntryType {
  if (entry.isFile()) return "file";
  if (entry.isDirectory()) return "dir";
  if (entry.isSymbolicLink()) return "link";
  if (entry.isFIFO()) return "fifo";
  if (entry.isSocket()) return "socket";
  if (entry.isCharacterDevice()) return "char";
  return entry.isBlockDevice() ? "block" : "unknown";
}
