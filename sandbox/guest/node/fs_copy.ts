/** `cp`: whole trees, with a filter of the extension's own. Each step is a call of its own, so the broker decides on each. */
import { codedError, invalidArgument } from "./errors.ts";
import { type Options, toPath } from "./fs_arguments.ts";
import {
  chmod,
  copyFile,
  entries,
  joined,
  lstat,
  mkdir,
  readlink,
  realpath,
  stat,
  symlink,
  unlink,
  utimes,
} from "./fs_places.ts";
import type { Steps } from "./fs_run.ts";
import type { Dirent, Stats } from "./fs_stats.ts";

interface Paths {
  dirname(path: string): string;
  resolve(...parts: string[]): string;
  isAbsolute(path: string): boolean;
  sep: string;
}
const paths = (): Paths => require("node:path") as Paths;

export function* cp(from: unknown, to: unknown, given?: unknown): Steps<void> {
  const source = toPath(from, "src");
  const dest = toPath(to, "dest");
  if (given !== undefined && given !== null && typeof given !== "object") {
    throw invalidArgument("options", "of type object", given);
  }
  const options: Options = { force: true, ...given };
  if (options.filter && !(yield { settle: options.filter(source, dest) }).value) return;
  const look = options.dereference ? stat : lstat;
  const info = (yield* look(source)) as Stats;
  const there = (yield* look(dest, { throwIfNoEntry: false })) as Stats | undefined;
  yield* checkPair(source, info, dest, there, options);
  const parent = paths().dirname(paths().resolve(dest));
  yield* mkdir(parent, { recursive: true });
  yield* copy(source, info, dest, there, options);
}

function failure(code: string, message: string, path: string): Error {
  return Object.assign(codedError(Error, code, `${message} ${path}`), { syscall: "cp", path });
}

function* checkPair(
  source: string,
  info: Stats,
  dest: string,
  there: Stats | undefined,
  options: Options,
): Steps<void> {
  const { ino, dev } = info as unknown as { ino: number; dev: number };
  if (there) {
    const other = there as unknown as { ino: number; dev: number };
    if (other.ino === ino && other.dev === dev) {
      throw failure(
        "ERR_FS_CP_EINVAL",
        "Invalid src or dest: cp returned EINVAL (src and dest cannot be the same)",
        dest,
      );
    }
    if (info.isDirectory() && !there.isDirectory()) {
      throw failure(
        "ERR_FS_CP_DIR_TO_NON_DIR",
        "Cannot overwrite non-directory with directory: cp returned EISDIR",
        dest,
      );
    }
    if (!info.isDirectory() && there.isDirectory()) {
      throw failure(
        "ERR_FS_CP_NON_DIR_TO_DIR",
        "Cannot overwrite directory with non-directory: cp returned ENOTDIR",
        dest,
      );
    }
  }
  if (!info.isDirectory()) return;
  if (!options.recursive) {
    throw failure(
      "ERR_FS_EISDIR",
      `Recursive option not enabled, cannot copy a directory: cp returned EISDIR (${source} is a directory (not copied))`,
      source,
    );
  }
  // Also through links: the folder must not be copied into itself.
  const { resolve, sep, dirname } = paths();
  const root = `${yield* realpath(source)}`;
  for (let at = resolve(dest); ; at = dirname(at)) {
    let real: string | undefined;
    try {
      real = `${yield* realpath(at)}`;
    } catch {
      // It is not there yet.
    }
    if (real !== undefined) {
      if (real !== root && !real.startsWith(`${root}${sep}`)) return;
      throw failure(
        "ERR_FS_CP_EINVAL",
        `Invalid src or dest: cp returned EINVAL (cannot copy ${source} to a subdirectory of self ${dest})`,
        dest,
      );
    }
    if (dirname(at) === at) return;
  }
}

function* copy(
  source: string,
  info: Stats,
  dest: string,
  there: Stats | undefined,
  options: Options,
): Steps<void> {
  if (info.isDirectory()) return yield* copyFolder(source, info, dest, there, options);
  if (info.isSymbolicLink()) return yield* copyLink(source, dest, there, options);
  if (!info.isFile() && !info.isCharacterDevice() && !info.isBlockDevice()) {
    const [code, what] = info.isSocket()
      ? ["ERR_FS_CP_SOCKET", "socket"]
      : ["ERR_FS_CP_FIFO_PIPE", "FIFO pipe"];
    throw failure(code as string, `Cannot copy a ${what}: cp returned EINVAL (cannot copy a ${what})`, dest);
  }
  if (there && !options.force) {
    if (!options.errorOnExist) return;
    throw failure("ERR_FS_CP_EEXIST", "Target already exists: cp returned EEXIST (already exists)", dest);
  }
  if (there) yield* unlink(dest);
  yield* copyFile(source, dest, options.mode ?? 0);
  if (options.preserveTimestamps) {
    const { atime, mtime } = info as unknown as { atime: Date; mtime: Date };
    yield* utimes(dest, atime, mtime);
  }
}

function* copyFolder(
  source: string,
  info: Stats,
  dest: string,
  there: Stats | undefined,
  options: Options,
): Steps<void> {
  if (!there) yield* mkdir(dest);
  const look = options.dereference ? stat : lstat;
  for (const entry of (yield* entries(source, "opendir", undefined, true, false)) as Dirent[]) {
    const from = joined(source, entry.name as string);
    const to = joined(dest, entry.name as string);
    if (options.filter && !(yield { settle: options.filter(from, to) }).value) continue;
    const inner = (yield* look(from)) as Stats;
    const innerThere = (yield* look(to, { throwIfNoEntry: false })) as Stats | undefined;
    yield* checkPair(from, inner, to, innerThere, options);
    yield* copy(from, inner, to, innerThere, options);
  }
  if (!there) yield* chmod(dest, Number(info.mode) & 0o1777);
}

function* copyLink(source: string, dest: string, there: Stats | undefined, options: Options): Steps<void> {
  const { dirname, isAbsolute, resolve } = paths();
  let target = `${yield* readlink(source)}`;
  if (!options.verbatimSymlinks && !isAbsolute(target)) target = resolve(dirname(source), target);
  if (there) yield* unlink(dest);
  yield* symlink(target, dest);
}
