/**
 * The folder that an extension is: the nearest one upwards that says so in its package.json, at most three levels above
 * the entry, never the home folder or `/` (a package.json there would open everything to the bundler), otherwise
 * the entry's own folder.
 */
import { homedir } from "node:os";
import { basename, dirname, join, parse } from "node:path";
import { canonicalPath } from "../../src/base/files.ts";
import { existing, kindOf, Reader } from "./files.ts";

const LEVELS_ABOVE = 3;
const DECLARING_KEYS = ["xdev", "pi", "omp", "xcsh", "name"];

/** `entry` must be canonical; so is the root. `readers` know what was looked at to find it. */
export async function packageRoot(entry: string): Promise<{ root: string; readers: Reader[] }> {
  const readers: Reader[] = [];
  const own = dirname(entry);
  const home = await canonicalPath(homedir());
  let folder = own;
  for (let level = 0; level <= LEVELS_ABOVE; level++) {
    if (folder === home || folder === parse(folder).root) break;
    const reader = new Reader(folder);
    readers.push(reader);
    if (await declaresPackage(folder, reader)) return { root: folder, readers };
    // What a workspace brings ends at its `.xdev`: the repository around it was not looked at when it was trusted.
    if (basename(folder) === ".xdev") break;
    folder = dirname(folder);
  }
  return { root: own, readers };
}

async function declaresPackage(folder: string, reader: Reader): Promise<boolean> {
  const json = await readPackage(folder, reader).catch(() => undefined);
  return json !== undefined && DECLARING_KEYS.some((key) => Object.hasOwn(json, key));
}

/** A folder's package.json as an object; undefined if there is none. Throws if it is there but can't be used. */
export async function readPackage(
  folder: string,
  reader: Reader,
): Promise<Record<string, unknown> | undefined> {
  const path = await existing(join(folder, "package.json"), reader.probes);
  if (path === undefined || (await kindOf(path)) !== "file") return undefined;
  let read = reader.packages.get(path);
  if (!read) {
    read = reader.read(path).then((text) => {
      const json: unknown = JSON.parse(text);
      return typeof json === "object" && json !== null ? (json as Record<string, unknown>) : undefined;
    });
    reader.packages.set(path, read);
  }
  return read;
}
