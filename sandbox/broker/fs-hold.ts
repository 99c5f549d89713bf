/**
 * Acting on exactly the place that was decided on, whatever happens to the folders and links on the way to it meanwhile.
 *
 * On Linux a place is held by an `O_PATH` descriptor: it opens nothing (a FIFO does not block, a device does not notice) and
 * follows no last link. What was opened is the allowed place if the kernel's own name for it (`/proc/self/fd/N`) is the canonical
 * path that was allowed. From then on we act through that descriptor: `/proc/self/fd/N` opens that very file,
 * `/proc/self/fd/N/name` is `openat` in that very folder. A link that is put in the way later leads nowhere.
 *
 * Elsewhere there is no such name: what is there is remembered by device and inode, and compared again with what was opened,
 * whose path must still be canonical, before a byte is read or written. On macOS the kernel refuses every link in the path
 * of an open (`O_NOFOLLOW_ANY`). What names things without opening them (rename, unlink, mkdir, …) has a gap there between the
 * check and the act; sandbox/README.md says so.
 */
import { type BigIntStats, closeSync, constants, readlinkSync } from "node:fs";
import { lstat, realpath } from "node:fs/promises";
import { dirname, join } from "node:path";
import { closeFd, openFd, statFd } from "./fs-raw.ts";

const LINUX = process.platform === "linux";
const O_PATH = 0o10000000;
const O_CLOEXEC = LINUX ? 0o2000000 : 0;
const O_NOFOLLOW_ANY = process.platform === "darwin" ? 0x20000000 : 0;
const { O_NOFOLLOW = 0, O_NONBLOCK = 0, O_NOCTTY = 0, O_CREAT, O_EXCL } = constants;

/** The place is not what it was when it was decided on: decide again. */
export class Moved extends Error {}

export interface Held extends AsyncDisposable {
  /** The canonical path. */
  readonly path: string;
  readonly info: BigIntStats;
  /** A path that leads to what is held, for calls that follow links. */
  readonly act: string;
  /** In a held folder: a path to what is called `name` there, for calls that don't follow the last link. */
  at(name: string): string;
  /** Opens what is held. `flags`: access mode, `O_APPEND`, `O_SYNC`. Never blocks. */
  open(flags: number): Promise<number>;
  /** In a held folder: makes a new file. Fails with `EEXIST` if there is anything of this name. */
  create(name: string, flags: number, mode: number): Promise<number>;
}

/** Holds what is at a canonical path; a link there is held itself. Throws what `lstat` would throw, or `Moved`. */
export const hold: (path: string) => Promise<Held> = LINUX ? holdByDescriptor : holdByInode;

/** The same of a folder. Throws `ENOTDIR` if it is none. */
export async function holdFolder(path: string): Promise<Held> {
  const held = await hold(path);
  if (held.info.isDirectory()) return held;
  await held[Symbol.asyncDispose]();
  throw Object.assign(new Error("not a directory"), { code: "ENOTDIR" });
}

const openFlags = (flags: number): number => flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
const createFlags = (flags: number): number => openFlags(flags) | O_CREAT | O_EXCL | O_NOFOLLOW;

async function holdByDescriptor(path: string): Promise<Held> {
  return heldBy(await openFd(path, O_PATH | O_NOFOLLOW | O_CLOEXEC), path);
}

/**
 * Holds what is at a path without finding out first where that leads, on Linux: where no link is on the way, the kernel's name for
 * what is held is the path itself. Any other name may be one that another mount namespace has for another file (`/proc/PID/root`), or
 * that is hidden below a mount. Undefined for those, if `allow` says no, and if there is nothing: then it is to be found out step
 * by step. Nothing is told of what is there before `allow` was asked.
 * @param follow whether a link in the last place is followed
 */
export async function holdAllowed(
  path: string,
  follow: boolean,
  allow: (canonical: string) => boolean,
): Promise<Held | undefined> {
  if (!LINUX) return undefined;
  const flags = O_PATH | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW);
  const fd = await openFd(path, flags).catch(() => undefined);
  if (fd === undefined) return undefined;
  let isAllowed = false;
  try {
    isAllowed = nameOf(fd) === path && allow(path);
  } finally {
    if (!isAllowed) closeSync(fd);
  }
  return isAllowed ? heldBy(fd, path) : undefined;
}

/** The kernel's name for what is held; undefined for one that is no text. */
function nameOf(fd: number): string | undefined {
  try {
    const name = readlinkSync(linkOf(fd));
    // So are bytes read that are no UTF-8; some runtimes throw for them.
    return name.includes("\ufffd") ? undefined : name;
  } catch {
    return undefined;
  }
}

const linkOf = (fd: number): string => `/proc/self/fd/${fd}`;

async function heldBy(fd: number, path: string): Promise<Held> {
  const act = linkOf(fd);
  // The kernel answers these two from its memory, whatever file system the place is on: that is no wait.
  const release = (): void => closeSync(fd);
  try {
    const info = await statFd(fd);
    if (readlinkSync(act) !== path || info.nlink === 0n) throw new Moved();
    return {
      path,
      info,
      act,
      at: (child) => `${act}/${plainName(child)}`,
      open: (flags) => openFd(act, openFlags(flags)),
      create: (child, flags, mode) => openFd(`${act}/${plainName(child)}`, createFlags(flags), mode),
      [Symbol.asyncDispose]: async () => release(),
    };
  } catch (error) {
    release();
    throw error;
  }
}

/** How often it is looked at that a path is still canonical and leads to the same file: each must meet the right moment. */
const LOOKS = 4;

async function holdByInode(path: string): Promise<Held> {
  const info = await lstat(path, { bigint: true });
  const isLink = info.isSymbolicLink();
  await expectAt(path, info, isLink);

  /** Gives the descriptor if it is that of what is at `at`, and `at` is canonical. */
  const checked = async (fd: number, at: string, expected?: BigIntStats): Promise<number> => {
    try {
      const opened = await statFd(fd);
      if (expected && !sameFile(opened, expected)) throw new Moved();
      await expectAt(at, opened, false);
      return fd;
    } catch (error) {
      await closeFd(fd);
      throw error;
    }
  };
  return {
    path,
    info,
    act: path,
    at: (child) => join(path, plainName(child)),
    open: async (flags) =>
      checked(await openFd(path, openFlags(flags) | O_NOFOLLOW | O_NOFOLLOW_ANY), path, info),
    create: async (child, flags, mode) => {
      const at = join(path, plainName(child));
      return checked(await openFd(at, createFlags(flags) | O_NOFOLLOW_ANY, mode), at);
    },
    [Symbol.asyncDispose]: async () => {},
  };
}

async function expectAt(path: string, info: BigIntStats, isLink: boolean): Promise<void> {
  const canonical = isLink ? dirname(path) : path;
  for (let looks = 0; looks < LOOKS; looks++) {
    if ((await realpath(canonical)) !== canonical) throw new Moved();
    if (!sameFile(await lstat(path, { bigint: true }), info)) throw new Moved();
  }
}

export const sameFile = (a: BigIntStats, b: BigIntStats): boolean => a.dev === b.dev && a.ino === b.ino;

function plainName(name: string): string {
  if (name === "" || name === "." || name === ".." || /[/\0]/.test(name)) throw new Moved();
  return name;
}
