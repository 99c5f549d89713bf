import type { Stats } from "node:fs";
import { constants } from "node:fs";
import { type FileHandle, open, readdir, stat } from "node:fs/promises";
import { basename, dirname, extname, join, relative, resolve } from "node:path";
import { systemCode } from "../../base/errors.ts";
import { isInside, resolvePath } from "../../base/files.ts";

/** How results name a path: relative to the working folder where it lies inside, else absolute. */
export function displayPath(path: string, cwd: string): string {
  if (!isInside(path, resolve(cwd))) return path;
  return relative(cwd, path) || ".";
}

/** The status of a path that must exist. A missing one is an error that names what the model may have meant. */
export async function existing(path: string, cwd: string): Promise<Stats> {
  try {
    return await stat(path);
  } catch (error) {
    throw await explain(error, path, cwd);
  }
}

/** The folder that a search or a listing starts in, and its path in full. */
export async function existingFolder(path: string | undefined, cwd: string): Promise<string> {
  const absolute = resolvePath(path ?? ".", cwd);
  if (!(await existing(absolute, cwd)).isDirectory()) {
    throw new Error(`${displayPath(absolute, cwd)} is a file, not a folder`);
  }
  return absolute;
}

/**
 * Opens a regular file for reading, and only that: a FIFO, a socket or a device would hang or have effects. It is looked
 * at before it is opened and again afterwards, and opened without waiting, in case it was exchanged in between.
 */
export async function openRegular(
  path: string,
  cwd: string,
  options: { listed?: boolean } = {},
): Promise<{ handle: FileHandle; stats: Stats }> {
  // `listed`: the folder has just said that it is a regular file. Of thousands of files that saves a third of the time.
  if (!options.listed) refuseIrregular(await existing(path, cwd), path, cwd);
  let handle: FileHandle;
  try {
    handle = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  } catch (error) {
    throw await explain(error, path, cwd);
  }
  try {
    const stats = await handle.stat();
    refuseIrregular(stats, path, cwd);
    return { handle, stats };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

export function refuseIrregular(stats: Stats, path: string, cwd: string): void {
  if (stats.isFile()) return;
  const name = displayPath(path, cwd);
  if (stats.isDirectory()) throw new Error(`${name} is a folder; ls lists it`);
  throw new Error(`${name} is not a regular file (a device, pipe or socket)`);
}

/** A system error as a sentence for the model. */
export async function explain(error: unknown, path: string, cwd: string): Promise<Error> {
  const name = displayPath(path, cwd);
  switch (systemCode(error)) {
    case "ENOENT":
      return new Error(await missing(path, cwd), { cause: error });
    case "ENOTDIR":
      return new Error(`${name}: a part of this path is a file, not a folder`, { cause: error });
    case "EACCES":
    case "EPERM":
      return new Error(`${name}: permission denied`, { cause: error });
    case "ELOOP":
      return new Error(`${name} is a symbolic link that leads back to itself`, { cause: error });
    case "EISDIR":
      return new Error(`${name} is a folder`, { cause: error });
    default:
      return error instanceof Error ? error : new Error(String(error));
  }
}

async function missing(path: string, cwd: string): Promise<string> {
  const name = displayPath(path, cwd);
  const folder = dirname(path);
  let names: string[];
  try {
    names = await readdir(folder);
  } catch {
    return `${name} does not exist, nor does its folder`;
  }
  const near = nearest(basename(path), names).map((found) => displayPath(join(folder, found), cwd));
  return near.length === 0 ? `${name} does not exist` : `${name} does not exist. Similar: ${near.join(", ")}`;
}

/** Up to three of `names` that a person would take for `wanted`, best first. */
export function nearest(wanted: string, names: readonly string[]): string[] {
  const limit = Math.max(2, Math.floor(wanted.length / 3));
  const scored: { name: string; score: number }[] = [];
  for (const name of names) {
    const score = distance(wanted.toLowerCase(), name.toLowerCase(), limit);
    const sameStem = stem(name) === stem(wanted);
    if (sameStem || score <= limit) scored.push({ name, score: sameStem ? Math.min(score, 1) : score });
  }
  scored.sort((a, b) => a.score - b.score || (a.name < b.name ? -1 : 1));
  return scored.slice(0, 3).map((entry) => entry.name);
}

function stem(name: string): string {
  return basename(name, extname(name)).toLowerCase();
}

/** Levenshtein distance; any number above `limit` when it is certain to be above it. */
function distance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) > limit) return limit + 1;
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(change, row[j]! + 1, next[j - 1]! + 1));
    }
    row = next;
  }
  return row[b.length]!;
}
