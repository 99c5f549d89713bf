/**
 * What a specifier means, decided here and by nobody else: neither tsconfig paths nor `browser` maps of the extension
 * have a say, and a package's `imports` and `exports` lead to its own files only. A result is a canonical path of a file that may be bundled, or "external", left for the guest's
 * loader. Everything else is refused.
 */
import { basename, dirname, isAbsolute, join, resolve as joinPaths } from "node:path";
import { isInside } from "../../src/base/files.ts";
import { NATIVE_LOADERS, REFUSED_MODULES } from "../guest/absent-names.ts";
import { exportedPath, type ImportKind, importedTarget } from "./exports.ts";
import { checkPlace, existing, kindOf, LOADERS, loaderOf, type Reader, refuse } from "./files.ts";
import { moduleKind, packageName } from "./modules.ts";
import { readPackage } from "./root.ts";

/** `name` is what the guest's loader is asked for, where that is not what is written. */
export type Resolution = { path: string } | { external: true; name?: string };

/** TypeScript's way: `./a.js` may mean `./a.ts`. */
const WRITTEN_AS: Record<string, string[]> = {
  ".js": [".ts", ".tsx"],
  ".jsx": [".tsx"],
  ".mjs": [".mts"],
  ".cjs": [".cts"],
};

/**
 * Resolves `specifier` as written in the canonical file `importer`. Messages begin with the specifier or a path; where it
 * is imported, the caller says.
 */
export async function resolveSpecifier(
  specifier: string,
  importer: string,
  kind: ImportKind,
  reader: Reader,
): Promise<Resolution> {
  try {
    return await resolveAny(specifier, importer, kind, reader);
  } catch (error) {
    // As in Node, `require` fails when it is called: packages try what may not be there.
    if (kind === "require" && NOT_THERE.has(error as object)) return { external: true };
    throw error;
  }
}

/** Refusals of what is not there, and of nothing else. */
const NOT_THERE = new WeakSet<object>();

function notThere(...words: Parameters<typeof refuse>): ReturnType<typeof refuse> {
  const error = refuse(...words);
  NOT_THERE.add(error);
  return error;
}

async function resolveAny(
  specifier: string,
  importer: string,
  kind: ImportKind,
  reader: Reader,
): Promise<Resolution> {
  const quoted = JSON.stringify(specifier);
  if (specifier === "" || specifier.includes("\0")) throw refuse(quoted, "is not a module name");
  if (specifier.length > MAX_SPECIFIER) throw refuse(quoted.slice(0, 80), "is too long for a module name");
  if (/^\.\.?(?:\/|$)/.test(specifier) || isAbsolute(specifier)) {
    const wanted = joinPaths(dirname(importer), specifier);
    // Packages try their native addons, for this platform and that, and go on without.
    const isTried = kind === "require" && specifier.endsWith(".node");
    if (isTried && isInside(wanted, reader.root) && (await isPublished(importer, reader))) {
      return { external: true };
    }
    const path = await probe(wanted, reader);
    if (path !== undefined) return { path };
    throw notThere(quoted, "no such file", "Check the path; its extension may be left out.");
  }
  if (specifier.startsWith("#")) return fromImports(specifier, importer, kind, reader);
  if (/^[a-z][a-z0-9+.-]+:/i.test(specifier) && !specifier.startsWith("node:")) {
    throw refuse(quoted, "modules can't be imported by URL", "Import a file or a package.");
  }
  await refuseAbsent(specifier, importer, reader);
  if (moduleKind(specifier) === "external") return { external: true };
  return (
    (await ownName(specifier, importer, kind, reader)) ??
    (await fromNodeModules(specifier, importer, kind, reader)) ?? { external: true }
  );
}

/**
 * Whether a file is one of a package that somebody has published: those have branches for where they are not, and for them it is enough
 * that what can't be had throws when it is used.
 */
async function isPublished(importer: string, reader: Reader): Promise<boolean> {
  if (/[\\/]node_modules[\\/]/.test(importer)) return true;
  const own = await readPackage(reader.root, reader).catch(() => undefined);
  return typeof own?.version === "string" && typeof own.name === "string";
}

/** What the author himself imports, and no sandbox can offer, is said at once. */
async function refuseAbsent(specifier: string, importer: string, reader: Reader): Promise<void> {
  const name = specifier.startsWith("node:") ? specifier.slice(5) : specifier;
  const isModule = REFUSED_MODULES.has(name.split("/", 1)[0]!);
  if (!isModule && !NATIVE_LOADERS.has(packageName(specifier))) return;
  if (await isPublished(importer, reader)) return;
  const quoted = JSON.stringify(specifier);
  if (isModule) {
    throw refuse(
      quoted,
      "this module is not available to extensions",
      "Do without it; the sandbox has no such thing.",
    );
  }
  throw refuse(
    quoted,
    "this package loads native addons, which can't run in the sandbox",
    "Use a pure JavaScript package instead.",
  );
}

/** The longest name of a module, in characters. */
const MAX_SPECIFIER = 1000;

/** The file that an entry means: itself, or a folder's package.json or index. */
export async function resolveEntry(path: string): Promise<string | undefined> {
  return probe(path, undefined);
}

/**
 * The canonical file for an absolute path, with the usual extensions and `index` tried. What is there but may not be
 * bundled is refused; undefined if nothing is there.
 */
async function probe(path: string, reader: Reader | undefined): Promise<string | undefined> {
  const root = reader?.root;
  // A place outside is refused before its files are looked for: what exists there is none of an extension's business.
  const extension = /\.[^./\\]+$/.exec(path)?.[0] ?? "";
  const names = [path];
  for (const other of WRITTEN_AS[extension] ?? []) names.push(path.slice(0, -extension.length) + other);
  for (const other of LOADERS.keys()) names.push(path + other);
  for (const other of LOADERS.keys()) names.push(join(path, `index${other}`));
  if (root !== undefined && !isInside(path, root)) checkPlace(path, root);

  for (const name of names) {
    const canonical = await existing(name, reader?.probes);
    if (canonical === undefined) continue;
    if (root !== undefined) checkPlace(canonical, root);
    const what = await kindOf(canonical);
    if (what === "folder") continue;
    if (what === "other") throw refuse(canonical, "is not a regular file");
    loaderOf(canonical);
    return canonical;
  }
  return undefined;
}

/** The package that a file belongs to: the nearest package.json from its folder up to the root. */
async function packageOf(
  importer: string,
  reader: Reader,
): Promise<{ folder: string; json: Record<string, unknown> } | undefined> {
  for (let folder = dirname(importer); isInside(folder, reader.root); folder = dirname(folder)) {
    const json = await packageJson(folder, reader);
    if (json) return { folder, json };
    if (folder === dirname(folder) || basename(dirname(folder)) === "node_modules") break;
  }
  return undefined;
}

/** `#name`, as the package of the importer has it in its `imports`: a file of its own, another package, or the host's. */
async function fromImports(
  specifier: string,
  importer: string,
  kind: ImportKind,
  reader: Reader,
): Promise<Resolution> {
  const quoted = JSON.stringify(specifier);
  const own = await packageOf(importer, reader);
  const wish = importedTarget(own?.json, specifier, kind);
  if (!own || wish === undefined) {
    throw refuse(quoted, 'no "imports" of a package.json says what this is', "Import the file by its path.");
  }
  if (!wish.startsWith("./")) {
    if (wish.startsWith("#")) throw refuse(quoted, "leads to another # name");
    const found = await resolveSpecifier(wish, join(own.folder, "package.json"), kind, reader);
    return "external" in found ? { external: true, name: wish } : found;
  }
  return { path: await fileOf(own.folder, wish, quoted, reader) };
}

/** A package that imports itself by its name, which it may if it says what it exports. */
async function ownName(
  specifier: string,
  importer: string,
  kind: ImportKind,
  reader: Reader,
): Promise<Resolution | undefined> {
  const name = packageName(specifier);
  // One that is broken has no name; whose it is will meet it elsewhere.
  const own = await packageOf(importer, reader).catch(() => undefined);
  if (own?.json.name !== name || own.json.exports === undefined || own.json.exports === null)
    return undefined;
  const subpath = specifier === name ? "." : `.${specifier.slice(name.length)}`;
  return { path: await packageFile(own.folder, subpath, specifier, kind, reader) };
}

/** Looks in the `node_modules` folders from the importer up to the root, not above. */
async function fromNodeModules(
  specifier: string,
  importer: string,
  kind: ImportKind,
  reader: Reader,
): Promise<Resolution | undefined> {
  const name = packageName(specifier);
  // Not a package's name, so not one of the guest's either; the guest's loader will say so.
  if (!/^(?:@[\w~.-]+\/)?[\w~-][\w~.-]*$/.test(name) || specifier.includes("\\")) return undefined;
  const subpath = specifier === name ? "." : `.${specifier.slice(name.length)}`;
  for (let folder = dirname(importer); isInside(folder, reader.root); folder = dirname(folder)) {
    const found = await existing(join(folder, "node_modules", name), reader.probes);
    if (found !== undefined && (await kindOf(found)) === "folder") {
      checkPlace(found, reader.root);
      return { path: await packageFile(found, subpath, specifier, kind, reader) };
    }
    if (folder === dirname(folder)) break;
  }
  return undefined;
}

async function packageFile(
  folder: string,
  subpath: string,
  specifier: string,
  kind: ImportKind,
  reader: Reader,
): Promise<string> {
  const json = await packageJson(folder, reader);
  const wish = exportedPath(json, subpath, kind);
  const quoted = JSON.stringify(specifier);
  if (wish === undefined) throw notThere(quoted, `the package in ${folder} does not export this`);
  return fileOf(folder, wish === "fallback" ? subpath : wish, quoted, reader);
}

async function packageJson(folder: string, reader: Reader): Promise<Record<string, unknown> | undefined> {
  try {
    return await readPackage(folder, reader);
  } catch (error) {
    if (error instanceof SyntaxError) throw refuse(join(folder, "package.json"), "is not JSON");
    throw error;
  }
}

/** The file that a package names as its own. */
async function fileOf(folder: string, wish: string, quoted: string, reader: Reader): Promise<string> {
  const target = joinPaths(folder, wish);
  // A package speaks for its own files only.
  if (!isInside(target, folder)) throw refuse(quoted, `leads out of its package ${folder}`);
  const path = await probe(target, reader);
  if (path === undefined) throw notThere(quoted, `the package in ${folder} has no such file`);
  return path;
}
