/** Functions about places by path: their names, folders, what is known of them and set on them. */
import { codedError, invalidArgument, invalidValue, requireInteger } from "./errors.ts";
import { fromName, type Options, toId, toMode, toOptions, toPath, toTime } from "./fs_arguments.ts";
import { constants } from "./fs_constants.ts";
import { ask, type Steps } from "./fs_run.ts";
import { type BigIntStats, Dirent, makeStats, StatFs, type Stats } from "./fs_stats.ts";

const isMissing = (error: unknown): boolean => {
  const { code } = error as { code?: unknown };
  return code === "ENOENT" || code === "ENOTDIR";
};

function* statWith(
  operation: string,
  given: unknown,
  options: Options | undefined,
): Steps<Stats | BigIntStats | undefined> {
  const path = toPath(given);
  try {
    const { value } = yield* ask(operation, { path });
    return makeStats(value, options?.bigint);
  } catch (error) {
    if (options?.throwIfNoEntry === false && isMissing(error)) return undefined;
    throw error;
  }
}

export const stat = (path: unknown, options?: Options) => statWith("fs.stat", path, options);
export const lstat = (path: unknown, options?: Options) => statWith("fs.lstat", path, options);

export function* statfs(given: unknown, options?: Options): Steps<StatFs> {
  const { value } = yield* ask("fs.statfs", { path: toPath(given) });
  return new StatFs(value, options?.bigint);
}

export function* access(given: unknown, mode: unknown = constants.F_OK): Steps<void> {
  const path = toPath(given);
  requireInteger("mode", mode, 0, 7);
  yield* ask("fs.access", { path, mode });
}

/** False for whatever goes wrong. */
export function* exists(given: unknown): Steps<boolean> {
  try {
    yield* ask("fs.access", { path: toPath(given), mode: 0 });
    return true;
  } catch {
    return false;
  }
}

export function* realpath(given: unknown, options?: unknown): Steps<string | Buffer> {
  const { encoding } = toOptions(options);
  const { value } = yield* ask("fs.realpath", { path: toPath(given) });
  return fromName(value, encoding);
}

export function* readlink(given: unknown, options?: unknown): Steps<string | Buffer> {
  const { encoding } = toOptions(options);
  const { value } = yield* ask("fs.readlink", { path: toPath(given) });
  return fromName(value, encoding);
}

export function* chmod(given: unknown, mode: unknown): Steps<void> {
  yield* ask("fs.chmod", { path: toPath(given), mode: toMode(mode, undefined) });
}

function* setTimes(operation: string, given: unknown, atime: unknown, mtime: unknown): Steps<void> {
  const path = toPath(given);
  yield* ask(operation, { path, atime: toTime(atime, "atime"), mtime: toTime(mtime, "mtime") });
}

export const utimes = (path: unknown, atime: unknown, mtime: unknown) =>
  setTimes("fs.utimes", path, atime, mtime);
export const lutimes = (path: unknown, atime: unknown, mtime: unknown) =>
  setTimes("fs.lutimes", path, atime, mtime);

export function* truncate(given: unknown, length: unknown = 0): Steps<void> {
  const path = toPath(given);
  requireInteger("len", length ?? 0);
  yield* ask("fs.truncate", { path, length: Math.max(0, (length as number) ?? 0) });
}

/** Who owns a file is not for an extension to change. */
// biome-ignore lint/correctness/useYield: it fails before any call
export function* chown(given: unknown): Steps<void> {
  throw notPermitted("chown", toPath(given));
}

// biome-ignore lint/correctness/useYield: it fails before any call
export function* fchown(fd: unknown): Steps<void> {
  toId(fd, "fchown");
  throw notPermitted("fchown");
}

function notPermitted(syscall: string, path?: string): Error {
  const place = path === undefined ? "" : ` '${path}'`;
  const error = codedError(Error, "EPERM", `EPERM: operation not permitted, ${syscall}${place}`);
  return Object.assign(error, { errno: -1, syscall }, path === undefined ? {} : { path });
}

export function* unlink(given: unknown): Steps<void> {
  yield* ask("fs.unlink", { path: toPath(given) });
}

export function* rm(given: unknown, options?: Options | null): Steps<void> {
  const path = toPath(given);
  if (options !== undefined && options !== null && typeof options !== "object") {
    throw invalidArgument("options", "of type object", options);
  }
  yield* ask("fs.rm", { path, recursive: Boolean(options?.recursive), force: Boolean(options?.force) });
}

export function* rmdir(given: unknown, options?: Options | null): Steps<void> {
  const path = toPath(given);
  if (options?.recursive) yield* ask("fs.rm", { path, recursive: true, force: false });
  else yield* ask("fs.rmdir", { path });
}

export function* rename(from: unknown, to: unknown): Steps<void> {
  yield* ask("fs.rename", { path: toPath(from, "oldPath"), dest: toPath(to, "newPath") });
}

export function* link(from: unknown, to: unknown): Steps<void> {
  yield* ask("fs.link", { path: toPath(from, "existingPath"), dest: toPath(to, "newPath") });
}

export function* symlink(to: unknown, given: unknown, type?: unknown): Steps<void> {
  const target = toPath(to, "target");
  const path = toPath(given);
  if (type !== undefined && type !== null && !["dir", "file", "junction"].includes(type as string)) {
    throw invalidValue("type", type, "must be one of: 'dir', 'file', 'junction', null, undefined");
  }
  yield* ask("fs.symlink", { target, path, folder: type === "dir" || type === "junction" });
}

export function* copyFile(from: unknown, to: unknown, mode: unknown = 0): Steps<void> {
  const path = toPath(from, "src");
  const dest = toPath(to, "dest");
  requireInteger("mode", mode, 0, 7);
  yield* ask("fs.copyFile", { path, dest, exclusive: (mode & 1) === 1 });
}

export function* mkdir(given: unknown, options?: unknown): Steps<string | undefined> {
  const path = toPath(given);
  const { recursive, mode } = (
    typeof options === "object" && options !== null ? options : { mode: options }
  ) as Options;
  if (recursive !== undefined && typeof recursive !== "boolean") {
    throw invalidArgument("options.recursive", "of type boolean", recursive);
  }
  const { value } = yield* ask("fs.mkdir", {
    path,
    recursive: recursive ?? false,
    mode: toMode(mode, 0o777) & 0o1777,
  });
  return value ?? undefined;
}

export function* mkdtemp(given: unknown, options?: unknown): Steps<string | Buffer> {
  const { encoding } = toOptions(options);
  const { value } = yield* ask("fs.mkdtemp", { prefix: toPath(given, "prefix") });
  return fromName(value, encoding);
}

export type Entries = (string | Buffer | Dirent)[];

export function* readdir(given: unknown, options?: unknown): Steps<Entries> {
  const path = toPath(given);
  const { encoding, withFileTypes, recursive } = toOptions(options);
  return yield* entries(path, "scandir", encoding, Boolean(withFileTypes), Boolean(recursive));
}

export function* entries(
  path: string,
  syscall: "scandir" | "opendir",
  encoding: unknown,
  withTypes: boolean,
  recursive: boolean,
): Steps<Entries> {
  const { value } = yield* ask("fs.readdir", { path, recursive, syscall });
  return (value as [string, string, string][]).map(([name, type, folder]) => {
    if (withTypes)
      return new Dirent(fromName(name, encoding), folder === "" ? path : joined(path, folder), type);
    return fromName(folder === "" ? name : joined(folder, name), encoding);
  });
}

export function joined(...parts: string[]): string {
  return (require("node:path") as { join(...parts: string[]): string }).join(...parts);
}
