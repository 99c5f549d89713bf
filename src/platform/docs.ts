/**
 * The files of `src/docs`, for `xdev docs`. The executable has them as a module that scripts/build makes, which loads with
 * this command alone; from source they are read from disk. Kept apart from bun.ts, since no runtime does it differently.
 */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** Set to true by scripts/build. */
declare const XDEV_COMPILED: boolean | undefined;

/** Texts by their path in `src/docs`: `protocol.md`, `examples/policy.py`. */
export type DocFiles = Readonly<Record<string, string>>;

const FOLDERS = ["examples", "templates/ts", "templates/python", "templates/sh", "types"];

export async function docFiles(): Promise<DocFiles> {
  if (typeof XDEV_COMPILED !== "undefined" && XDEV_COMPILED) return (await import("xdev:docs")).files;
  return readDocFiles();
}

/** Reads them from disk: the pages, every example, and what `xdev ext new` and `xdev ext types` give. */
export async function readDocFiles(): Promise<DocFiles> {
  const root = fileURLToPath(new URL("../docs", import.meta.url).href);
  const pages = (await readdir(root)).filter((name) => name.endsWith(".md"));
  const folders = FOLDERS.map(async (folder) => {
    const found = await readdir(join(root, folder), { withFileTypes: true });
    return found.filter((entry) => entry.isFile()).map(({ name }) => `${folder}/${name}`);
  });
  const paths = [...pages, ...(await Promise.all(folders)).flat()].sort();
  const texts = await Promise.all(paths.map((path) => readFile(join(root, path), "utf8")));
  return Object.fromEntries(paths.map((path, index) => [path, texts[index]!]));
}
