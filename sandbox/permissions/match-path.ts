/**
 * Which canonical paths a permission means. A pattern is looked up once, when the rights are made, so that it means the same
 * for as long as the session goes on: a link that is made later changes nothing.
 *
 * A pattern may lead through a link that is there by then (`~/proj` to a disk elsewhere): it means the link's target, unless
 * somebody else than the user may have made that link. So it means nothing if it leads
 * - out of the folder that the user works in, out of `$TMP` or out of `$DATA`, where repositories, other users and the
 *   extension itself put links;
 * - through a place that the extension may write to by another of its permissions;
 * - out of what another pattern around it means: an extension that has `~/proj` is not asked about `~/proj/x`, since that is a part of
 *   it, and must not get by that what a link there leads to;
 * - and, if it is an absolute path, through any folder in which this user can make links. What is granted by an absolute path was
 *   canonical when it was granted; if it leads elsewhere now, something else was put in its place. `$HOME/…` is the way to name a
 *   link of one's own.
 */
import { access, constants, lstat, realpath } from "node:fs/promises";
import { join, parse, sep } from "node:path";
import { canonicalPath, isInside } from "../../src/base/files.ts";
import type { Folders } from "../broker/broker.ts";
import { coversValue } from "./values.ts";

/** A path and all below it, canonical; `*` for all paths. */
export type Root = string;

const VARIABLES: ReadonlyMap<string, "cwd" | "home" | "data" | "tmp"> = new Map([
  ["$CWD", "cwd"],
  ["$HOME", "home"],
  ["$DATA", "data"],
  ["$TMP", "tmp"],
]);

/** A pattern in normal form as an absolute path, links not looked at. */
export function expandPath(pattern: string, folders: Folders): string {
  const [, variable = "", rest = ""] = /^(\$[A-Z]+)(.*)$/s.exec(pattern) ?? [];
  const folder = VARIABLES.get(variable);
  return folder === undefined ? pattern : join(folders[folder], rest);
}

export function coversPath(roots: Iterable<Root>, path: string): boolean {
  for (const root of roots) if (root === "*" || isInside(path, root)) return true;
  return false;
}

/**
 * What patterns mean now. `writable` are the patterns of the extension's permission `write`. Those that can't be looked up, or must
 * not be followed, are left out.
 */
export async function resolveRoots(
  patterns: readonly string[],
  writable: readonly string[],
  folders: Folders,
): Promise<Root[]> {
  const found = await Promise.all(
    patterns.map(async (pattern) => {
      if (pattern === "*") return pattern;
      const written = expandPath(pattern, folders);
      const target = await canonicalPath(written).catch(() => undefined);
      if (target === undefined) return undefined;
      const others = writable
        .filter((one) => one !== pattern)
        .map((one) => (one === "*" ? one : expandPath(one, folders)));
      if (target === written) return target;
      if (!isOfTheUser(written, target, others, folders)) return undefined;
      if (await leadsOutOf(patterns, pattern, target, folders)) return undefined;
      return pattern.startsWith("$") || (await isOfTheSystem(written)) ? target : undefined;
    }),
  );
  return found.filter((root) => root !== undefined);
}

/** What a denial means: the path as it is written and what it leads to now. */
export async function resolveDenied(patterns: readonly string[], folders: Folders): Promise<Root[]> {
  const found = await Promise.all(
    patterns.map(async (pattern) => {
      if (pattern === "*") return [pattern];
      const written = expandPath(pattern, folders);
      return [written, await canonicalPath(written).catch(() => written)];
    }),
  );
  return found.flat();
}

/** Whether a pattern leads out of another one that contains it as it is written. */
async function leadsOutOf(
  patterns: readonly string[],
  pattern: string,
  target: string,
  folders: Folders,
): Promise<boolean> {
  const around = patterns.filter(
    (one) => one !== pattern && one !== "*" && coversValue("read", one, pattern),
  );
  const roots = around.map((one) => canonicalPath(expandPath(one, folders)).catch(() => undefined));
  return (await Promise.all(roots)).some((root) => root !== undefined && !isInside(target, root));
}

/** Whether only the user can have put the link there by which `written` leads to `target`. */
function isOfTheUser(written: string, target: string, writable: readonly Root[], folders: Folders): boolean {
  const shared = [folders.cwd, folders.tmp, folders.data];
  if (shared.some((folder) => isInside(written, folder) && !isInside(target, folder))) return false;
  return !coversPath(writable, written);
}

/** Whether every link in an absolute path lies where this user can't make one: `/etc`, `/tmp` and the like on macOS. */
async function isOfTheSystem(path: string): Promise<boolean> {
  const { root } = parse(path);
  let folder = root;
  for (const segment of path.slice(root.length).split(sep)) {
    const next = join(folder, segment);
    const info = await lstat(next).catch(() => undefined);
    if (!info) return true;
    if (info.isSymbolicLink()) {
      const isWritable = await access(folder, constants.W_OK).then(
        () => true,
        () => false,
      );
      if (isWritable) return false;
    }
    folder = info.isSymbolicLink() ? await realpath(next).catch(() => next) : next;
  }
  return true;
}
