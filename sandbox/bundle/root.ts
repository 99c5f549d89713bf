/**
 * The folder that an extension is: the nearest one upwards that says so in its package.json, at most three levels above
 * the entry, never the home folder or `/` (a package.json there would open everything to the bundler), otherwise
 * the entry's own folder.
 */
import { homedir } from "node:os";
import { dirname, join, parse } from "node:path";
import { canonicalPath } from "../../src/base/files.ts";
import { existing, kindOf, Reader } from "./files.ts";

const LEVELS_ABOVE = 3;
const DECLARING_KEYS = ["xdev", "pi", "omp", "xcsh", "name"];

/** `entry` must be canonical; so is the result. */
export async function packageRoot(entry: string): Promise<string> {
  const own = dirname(entry);
  const home = await canonicalPath(homedir());
  let folder = own;
  for (let level = 0; level <= LEVELS_ABOVE; level++) {
    if (folder === home || folder === parse(folder).root) break;
    if (await declaresPackage(folder)) return folder;
    folder = dirname(folder);
  }
  return own;
}

async function declaresPackage(folder: string): Promise<boolean> {
  const json = await readPackage(folder, new Reader(folder)).catch(() => undefined);
  return json !== undefined && DECLARING_KEYS.some((key) => Object.hasOwn(json, key));
}

/** A folder's package.json as an object; undefined if there is none. Throws if it is there but can't be used. */
export async function readPackage(
  folder: string,
  reader: Reader,
): Promise<Record<string, unknown> | undefined> {
  const path = await existing(join(folder, "package.json"), reader.missing);
  if (path === undefined || (await kindOf(path)) !== "file") return undefined;
  const json: unknown = JSON.parse(await reader.read(path));
  return typeof json === "object" && json !== null ? (json as Record<string, unknown>) : undefined;
}
