/**
 * Which files are extensions, and of which kind (extension-protocol.md §1). Nothing is executed or imported here, and only
 * the data dir and paths that the user named are looked at: what a repository brings is not.
 */
import { access, constants, open, readdir, stat } from "node:fs/promises";
import { extname, join, resolve } from "node:path";
import { errorText, systemCode, XdevError } from "../base/errors.ts";
import { canonicalPath, isInside, readSmallFile } from "../base/files.ts";
import { log } from "../base/log.ts";
import { oneLine } from "../base/text.ts";
import { extensionName } from "./names.ts";

export interface ExtensionSource {
  /** What the user calls it; two may still have one (names.ts). */
  name: string;
  /** Canonical path of the executable, or of the module that is bundled. */
  path: string;
  kind: "process" | "worker";
  /** Who brought it: `project` for what a trusted workspace has, else the user. */
  origin?: "user" | "project";
  /** One of several that a folder's package.json names. */
  isPart?: boolean;
  /** That folder, canonical. */
  folder?: string;
}

const MODULE_SUFFIXES = new Set([".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs"]);
/** The largest package.json of an extension, in bytes. */
const MANIFEST_BYTES = 1024 * 1024;
const INDEX_NAMES = ["index.ts", "index.tsx", "index.mts", "index.js", "index.mjs"];

/**
 * Extensions in `<dataDir>/extensions`, in lexical order of their file names: executables, modules, and folders with an
 * index module. A missing folder means none; what is neither is skipped with a debug line.
 */
export async function discoverExtensions(
  dataDir: string,
  onBroken?: (path: string) => void,
): Promise<ExtensionSource[]> {
  return discoverFolder(join(dataDir, "extensions"), onBroken);
}

/**
 * The same for any folder: the caller answers for it that the user wants what is in it. `onBroken` is given the canonical path of what was
 * clearly meant to be an extension and is skipped.
 */
export async function discoverFolder(
  folder: string,
  onBroken?: (path: string) => void,
): Promise<ExtensionSource[]> {
  let names: string[];
  try {
    names = await readdir(folder);
  } catch (error) {
    if (systemCode(error) === "ENOENT") return [];
    throw new XdevError("extensions-unreadable", `cannot read ${folder}: ${errorText(error)}`, {
      hint: "check the rights of the folder, or start with --no-extensions",
    });
  }
  const found: ExtensionSource[] = [];
  for (const name of names.sort(byCodeUnit)) {
    if (name.startsWith(".")) continue;
    try {
      found.push(...(await identifyExtensions(join(folder, name))));
    } catch (error) {
      // Skipped without a word (§1), unless it was clearly meant to be one: a policy that is not there protects nobody.
      const hint = error instanceof XdevError && error.hint ? `; ${error.hint}` : "";
      if (isNoExtension(error)) log.debug(`skipped ${join(folder, name)}: ${errorText(error)}`);
      else {
        log.warn(`extension ${oneLine(name)} is not loaded: ${errorText(error)}${hint}`);
        onBroken?.(await canonicalPath(join(folder, name)));
      }
    }
  }
  return found;
}

/** Whether a path is none of ours, rather than one of ours with something wrong. */
function isNoExtension(error: unknown): boolean {
  return error instanceof XdevError && error.hint?.startsWith(NO_INDEX_HINT) === true;
}

const NO_INDEX_HINT = "or name its modules in package.json";

/**
 * What a path brings: one extension, or, for a folder, those that its package.json names, else its index module. Throws
 * `XdevError` with code `not-an-extension` and the way out when it is nothing that can be loaded.
 */
export async function identifyExtensions(path: string): Promise<ExtensionSource[]> {
  const real = await canonicalPath(path);
  const info = await stat(real).catch((error: unknown) => {
    throw new XdevError("not-an-extension", `cannot load extension ${path}: ${errorText(error)}`, {
      hint: "check the path",
    });
  });
  if (!info.isDirectory()) return [await identifyFile(real, path)];
  const declared = await declaredExtensions(real);
  if (declared) {
    const parts = (await Promise.all(declared.map((entry) => identifyEntry(entry, real)))).flat();
    const found = eachOnce(parts);
    const folder = extensionName(real);
    if (found.length === 1) return [{ ...found[0]!, name: folder }];
    return found.map((part) => ({ ...part, name: `${folder}_${part.name}`, isPart: true, folder: real }));
  }
  const index = await indexOf(real);
  if (index) return [index];
  throw new XdevError("not-an-extension", `${path} is a folder without an index.ts or index.js`, {
    hint: `${NO_INDEX_HINT}: "xdev": {"extensions": ["./main.ts"]}`,
  });
}

/** The index module of a folder, under the folder's name. */
async function indexOf(folder: string): Promise<ExtensionSource | undefined> {
  for (const name of INDEX_NAMES) {
    const index = join(folder, name);
    if ((await stat(index).catch(() => undefined))?.isFile()) {
      return { path: await canonicalPath(index), kind: "worker", name: extensionName(folder) };
    }
  }
  return undefined;
}

/** What a package.json of `root` names: a file, or a folder, which stands for its index module or for all that is in it. */
async function identifyEntry(path: string, root: string): Promise<ExtensionSource[]> {
  if (!(await stat(path).catch(() => undefined))?.isDirectory()) return [await identifyFile(path, path)];
  const index = await indexOf(path);
  const found = index ? [index] : await discoverFolder(path);
  // A link in it may lead anywhere.
  const outside = found.find((source) => !isInside(source.path, root));
  if (outside) throw new XdevError("not-an-extension", `${outside.path} is not inside ${root}`);
  return found;
}

/** Without those whose path was there before: the first wins. */
export function eachOnce(sources: readonly ExtensionSource[]): ExtensionSource[] {
  const seen = new Set<string>();
  return sources.filter(({ path }) => !seen.has(path) && seen.add(path));
}

/**
 * What a path that the user named brings: that of `identifyExtensions`, or, of a folder that is no extension itself, all that are
 * in it. Throws like that.
 */
export async function namedExtensions(path: string): Promise<ExtensionSource[]> {
  try {
    return await identifyExtensions(path);
  } catch (error) {
    const found = isNoExtension(error) ? await discoverFolder(await canonicalPath(path)) : [];
    if (found.length === 0) throw error;
    return found;
  }
}

/** The canonical paths that a folder's package.json names, or undefined if it names none. */
async function declaredExtensions(folder: string): Promise<string[] | undefined> {
  const file = join(folder, "package.json");
  const real = await canonicalPath(file);
  if (!isInside(real, folder)) {
    throw new XdevError("not-an-extension", `${file} is a link that leads out of its folder`);
  }
  const text = await readSmallFile(real, MANIFEST_BYTES).then(String, (error: unknown) => {
    if (systemCode(error) === "ENOENT") return undefined;
    throw new XdevError("not-an-extension", `cannot read ${file}: ${errorText(error)}`);
  });
  if (text === undefined) return undefined;
  const { parseManifest } = await import("./manifest.ts");
  const entries = parseManifest(text, file).extensions;
  if (!entries) return undefined;
  return Promise.all(
    entries.map(async (entry) => {
      const path = await canonicalPath(resolve(folder, entry));
      if (isInside(path, folder)) return path;
      throw new XdevError("not-an-extension", `${file} names ${entry}, which is not inside its folder`);
    }),
  );
}

/** One file. `path` is canonical, `shown` what the user wrote. */
async function identifyFile(path: string, shown: string): Promise<ExtensionSource> {
  const info = await stat(path).catch((error: unknown) => {
    throw new XdevError("not-an-extension", `cannot load extension ${shown}: ${errorText(error)}`);
  });
  const name = extensionName(path);
  if (!info.isFile()) throw new XdevError("not-an-extension", `${shown} is neither a file nor a folder`);
  const executable = await access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
  // On some file systems every file is executable: a module is only a program if it says how to be run.
  if (MODULE_SUFFIXES.has(extname(path))) {
    return { name, path, kind: executable && (await hasShebang(path)) ? "process" : "worker" };
  }
  if (executable) return { name, path, kind: "process" };
  throw new XdevError(
    "not-an-extension",
    `${shown} is neither executable nor a TypeScript or JavaScript module`,
    {
      hint: `to run it as a process: chmod +x ${shown}`,
    },
  );
}

async function hasShebang(path: string): Promise<boolean> {
  const file = await open(path, "r");
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(2), 0, 2, 0);
    return bytesRead === 2 && buffer.toString("latin1") === "#!";
  } finally {
    await file.close();
  }
}

/** Lexical order that does not depend on the machine's locale. */
function byCodeUnit(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
