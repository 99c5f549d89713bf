import { constants, rmSync } from "node:fs";
import {
  type FileHandle,
  lstat,
  mkdir,
  open,
  readlink,
  realpath,
  rename,
  stat,
  unlink,
} from "node:fs/promises";
import { basename, dirname, isAbsolute, join, parse, relative, resolve, sep } from "node:path";
import { systemCode } from "./errors.ts";
import { randomHex } from "./random.ts";
import { homeFolder } from "./user-folders.ts";

/** Resolves `path` against `base` (absolute), with a leading `~` as the home directory. Touches no disk. */
export function resolvePath(path: string, base: string): string {
  if (path === "~" || path.startsWith("~/")) return join(homeFolder(), path.slice(1));
  return isAbsolute(path) ? resolve(path) : resolve(base, path);
}

/**
 * The canonical form of a path: links resolved as far as the path exists, the rest appended. It is the only form
 * in which paths are compared. Throws what `realpath` throws for anything but a missing file (ELOOP, EACCES, …).
 */
export async function canonicalPath(path: string): Promise<string> {
  return canonical(resolve(path), 40, 0);
}

/**
 * `links`: how many dangling links may still be followed; the kernel's limit for links is 40, too. `missing`: how many names above
 * were looked for in vain.
 */
async function canonical(absolute: string, links: number, missing: number): Promise<string> {
  try {
    return await realpath(absolute);
  } catch (error) {
    const code = systemCode(error);
    if ((code !== "ENOENT" && code !== "ENOTDIR") || links === 0) throw error;
    const parent = dirname(absolute);
    if (parent === absolute) return absolute;
    // A link whose target does not exist yet: who writes to it makes that target.
    const target = await readlink(absolute).catch(() => undefined);
    if (target !== undefined) {
      return canonical(resolve(await canonical(parent, links, 0), target), links - 1, 0);
    }
    const above = missing < STEPS ? parent : await lowestThere(parent);
    return join(await canonical(above, links, missing + 1), absolute.slice(above.length));
  }
}

/** Names at a path's end that are looked for one after the other: few are missing as a rule. */
const STEPS = 3;

/**
 * The longest beginning of a path that leads to something. A path may have two thousand names, and each look goes through all
 * of those before it: so it is halved, since below a name that is missing there is nothing.
 */
async function lowestThere(absolute: string): Promise<string> {
  const ends = [parse(absolute).root.length];
  for (let at = absolute.indexOf(sep, ends[0]); at >= 0; at = absolute.indexOf(sep, at + 1)) ends.push(at);
  let there = 0;
  let gone = ends.push(absolute.length);
  while (gone - there > 1) {
    const middle = (there + gone) >> 1;
    const isThere = await lstat(absolute.slice(0, ends[middle])).then(
      () => true,
      () => false,
    );
    if (isThere) there = middle;
    else gone = middle;
  }
  return absolute.slice(0, ends[there]);
}

/** Whether `path` is `root` or lies below it. Both must be canonical. */
export function isInside(path: string, root: string): boolean {
  const rest = relative(root, path);
  return rest === "" || (rest !== ".." && !rest.startsWith(`..${sep}`) && !isAbsolute(rest));
}

/**
 * Writes a whole file so that a reader sees the old or the new content and never a part: a temporary file in the same
 * folder, fsync, rename. A link is followed, so the file it names is replaced and the link stays. The old file's
 * mode is kept; a new one gets `mode` (default 0666 less the umask). Missing folders are made.
 */
export async function writeFileAtomic(
  path: string,
  data: string | Uint8Array,
  options: { mode?: number } = {},
): Promise<void> {
  const target = await canonicalPath(path);
  const folder = dirname(target);
  await mkdir(folder, { recursive: true });
  const old = await stat(target).catch((error: unknown) => {
    if (systemCode(error) === "ENOENT") return undefined;
    throw error;
  });
  const temporary = join(folder, `.${basename(target)}.${randomHex(6)}.tmp`);
  let handle: FileHandle | undefined;
  unfinished(temporary, true);
  try {
    handle = await open(temporary, "wx", options.mode ?? 0o666);
    if (old) await handle.chmod(old.mode & 0o7777);
    await handle.writeFile(data);
    await handle.sync();
    await handle.close();
    handle = undefined;
    await rename(temporary, target);
  } catch (error) {
    await handle?.close().catch(() => {});
    await unlink(temporary).catch(() => {});
    throw error;
  } finally {
    unfinished(temporary, false);
  }
}

/**
 * The bytes of a small file. Throws an error that says so for anything but a regular file (a FIFO would never end, a device
 * never be full) and for one of more than `limit` bytes.
 */
export async function readSmallFile(path: string, limit: number): Promise<Buffer> {
  const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    const info = await file.stat();
    if (!info.isFile()) throw new Error("it is not a regular file");
    if (info.size > limit) throw new Error(`it is larger than ${limit} bytes`);
    // One byte more shows a file that grew, or one of /proc, whose size is 0.
    const buffer = Buffer.alloc(Math.max(info.size, 4096) + 1);
    const { bytesRead } = await file.read(buffer, 0, buffer.length, 0);
    if (bytesRead === buffer.length) throw new Error("it changed while it was read");
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

const temporaries = new Set<string>();

/** Keeps account of temporary files, so that an exit in the middle of a write leaves none. */
function unfinished(path: string, isNow: boolean): void {
  if (temporaries.size === 0 && isNow) process.on("exit", removeUnfinished);
  if (isNow) temporaries.add(path);
  else temporaries.delete(path);
  if (temporaries.size === 0) process.off("exit", removeUnfinished);
}

function removeUnfinished(): void {
  for (const path of temporaries) rmSync(path, { force: true });
}
