/**
 * What no grant can lift. What must hold, whatever the user allows: nothing of the agent's data dir is reached but the
 * extension's own storage, and nothing of the kernel's file systems through which a process reaches itself, others and devices.
 */
import { lstat, readdir, readlink, realpath } from "node:fs/promises";
import { isAbsolute, join, parse, resolve, sep } from "node:path";
import { isInside } from "../../src/base/files.ts";
import type { Folders } from "../broker/broker.ts";

type Access = "read" | "write";

/** `/.vol` names files by their number on macOS. */
const KERNEL_FOLDERS = ["/proc", "/sys", "/dev", "/.vol"];

/** Devices that anybody may use, and how. */
const HARMLESS_DEVICES: ReadonlyMap<string, readonly Access[]> = new Map<string, Access[]>([
  ["/dev/null", ["read", "write"]],
  ["/dev/zero", ["read"]],
  ["/dev/random", ["read"]],
  ["/dev/urandom", ["read"]],
]);

export type FloorVerdict = "granted" | "refused" | "open";

/**
 * The data dir, and what links in it lead to: a user may keep his sessions on another disk, or his settings with his dotfiles, and
 * they are no less secret there. Canonical.
 */
export async function guardedRoots(dataDir: string): Promise<string[]> {
  const entries = await readdir(dataDir, { withFileTypes: true }).catch(() => []);
  const links = entries.filter((entry) => entry.isSymbolicLink());
  const targets = links.map((link) => realpath(join(dataDir, link.name)).catch(() => undefined));
  return [dataDir, ...(await Promise.all(targets)).filter((target) => target !== undefined)];
}

/**
 * The links by which a path leads where it does, each by its canonical place. Who could put another in the place of one that leads to
 * the data dir would give the agent a data dir of his own.
 */
export async function linksTo(path: string): Promise<string[]> {
  const found: string[] = [];
  const { root } = parse(resolve(path));
  let rest = resolve(path).slice(root.length).split(sep);
  let folder = root;
  // The kernel follows 40 links, too.
  while (rest.length > 0 && found.length < 40) {
    const [name = "", ...others] = rest;
    const place = join(folder, name);
    const target = await readlink(place).catch(() => undefined);
    if (target === undefined) {
      folder = place;
      rest = others;
    } else {
      found.push(place);
      const next = resolve(folder, target);
      folder = parse(next).root;
      rest = [...next.slice(folder.length).split(sep), ...others];
    }
  }
  return found;
}

/**
 * What holds for a canonical path before any permission is looked at; `open` if that is up to the permissions. `guarded` are
 * `guardedRoots` of the data dir.
 */
export function floorVerdict(
  path: string,
  access: Access,
  folders: Folders,
  guarded: readonly string[] = [folders.dataDir],
): FloorVerdict {
  if (!isAbsolute(path) || path.includes("\0") || hasOddSegments(path)) return "refused";
  if (HARMLESS_DEVICES.get(path)?.includes(access)) return "granted";
  // Exact: on a file system that folds case, a path of another case may be the storage of another extension.
  if (isInside(path, folders.data)) return "granted";
  // What its author has put beside the code.
  if (access === "read" && folders.own !== undefined && isInside(path, folders.own)) return "granted";
  const folded = fold(path);
  if (guarded.some((root) => isInside(folded, fold(root)))) return "refused";
  return KERNEL_FOLDERS.some((folder) => isInside(folded, folder)) ? "refused" : "open";
}

/** Segments that a canonical path never has, and streams and devices of Windows. */
function hasOddSegments(path: string): boolean {
  if (path.split(sep).some((segment) => segment === ".." || segment === ".")) return true;
  return sep === "\\" && (path.startsWith("\\\\") || path.slice(2).includes(":"));
}

/**
 * A path as the most forgiving file system reads it: without regard to case and to how letters are composed, and without
 * dots and spaces at a segment's end. Only for comparisons that refuse.
 */
export function fold(path: string): string {
  // The usual path, without what the rest is about: this is asked at every call.
  if (/^[!-~]*$/.test(path) && !/\.(?:[/\\]|$)/.test(path)) return path.toLowerCase();
  return path
    .normalize("NFKD")
    .toUpperCase()
    .toLowerCase()
    .normalize("NFKD")
    .split(sep)
    .map((segment) => segment.replace(/[. ]+$/, ""))
    .join(sep);
}

/** Of an open file, as `fstat` gives it. */
export interface FileIdentity {
  dev: number | bigint;
  ino: number | bigint;
  nlink: number | bigint;
}

/** How long what was found in the data dir is believed, in ms. */
const BELIEVED_MS = 2000;
/** A data dir with more entries than this can't be looked through: then every file with a second name is refused. */
const MAX_ENTRIES = 50_000;

/**
 * Tells whether an open file is, under another name, one of the agent's own: a hard link into the data dir. The broker asks
 * this of every file that it has opened outside of the extension's storage, before it reads or writes; for the usual file,
 * with one name, it costs nothing. Files in the extension's own storage are compared too: there, a second name may be
 * that of a file of somebody else's storage.
 */
export function hardLinkGuard(
  folders: Pick<Folders, "dataDir" | "data">,
): (file: FileIdentity) => Promise<boolean> {
  let known: { at: number; files: Promise<ReadonlySet<string> | undefined> } | undefined;
  return async ({ dev, ino, nlink }) => {
    if (Number(nlink) <= 1) return false;
    const now = performance.now();
    if (!known || now - known.at > BELIEVED_MS) {
      known = { at: now, files: linkedFiles(folders.dataDir, folders.data).catch(() => undefined) };
    }
    const files = await known.files;
    return files === undefined || files.has(`${dev}:${ino}`);
  };
}

/** The files of the data dir that have a second name; undefined if there is too much to look through. */
async function linkedFiles(dataDir: string, except: string): Promise<ReadonlySet<string> | undefined> {
  const found = new Set<string>();
  const note = async (path: string): Promise<void> => {
    const info = await lstat(path).catch(() => undefined);
    if (info?.isFile() && info.nlink > 1) found.add(`${info.dev}:${info.ino}`);
  };
  const folders = await guardedRoots(dataDir);
  for (const root of folders) await note(root);
  let entries = 0;
  while (folders.length > 0) {
    const folder = folders.pop()!;
    const list = await readdir(folder, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT" || error.code === "ENOTDIR") return [];
      throw error;
    });
    entries += list.length;
    if (entries > MAX_ENTRIES) return undefined;
    for (const entry of list) {
      const path = join(folder, entry.name);
      if (path === except) continue;
      if (entry.isDirectory()) folders.push(path);
      else await note(path);
    }
  }
  return found;
}
