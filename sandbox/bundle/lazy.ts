/**
 * Which files a computed `import()` or `require()` may mean, so that they are bundled, each evaluated when it is asked for.
 * They are found by the text that the path begins with: nothing is run to find out. A table of them is put behind the
 * file's own text, for the linker to see them as imports that are never reached at once.
 */
import { readdir } from "node:fs/promises";
import { dirname, extname, join, relative, resolve, sep } from "node:path";
import { XdevError } from "../../src/base/errors.ts";
import { checkPlace, existing, kindOf, LOADERS, type Reader, refuse } from "./files.ts";
import { folderDigest } from "./limits.ts";
import { type Marked, madeLiterals, mark, type Pattern, pathsIn, patternAt } from "./marks.ts";
import { resolveSpecifier } from "./resolve.ts";

/** How many files one file's computed imports may bring, and how deep below the named folder they may lie. */
const MAX_MATCHES = 256;
const MAX_DEPTH = 4;
const NOT_CODE = /\.(?:d\.[cm]?ts|test\.\w+|spec\.\w+)$/;

export interface Tables {
  /** To be put behind the text of the file. */
  text: string;
  /** The text of a module that `text` imports as `needsModule(id)`. */
  module?: string;
  /** Modules of the guest's loader that are asked for by functions of `createRequire`. */
  externals: string[];
}

/** The tables for the canonical file `path` with this text and these marks. */
export async function lazyTables(
  path: string,
  text: string,
  marked: Marked,
  id: string,
  reader: Reader,
): Promise<Tables> {
  const externals: string[] = [];
  let tables = "";
  let module: string | undefined;
  if (marked.loads.length > 0) {
    const files = await filesFor(path, text, marked.loads, reader);
    const lines = files.map((file) => entry(`./${inRoot(file, reader)}`, `import(${from(path, file)})`));
    tables += table(mark("Loads", id), lines);
  }
  if (marked.needs.length > 0 || marked.makes) {
    const files = await filesFor(path, text, marked.needs, reader);
    const lines = files.map((file) => entry(`./${inRoot(file, reader)}`, `require(${from(path, file)})`));
    for (const literal of marked.makes ? madeLiterals(text) : []) {
      const found = await resolveSpecifier(literal, path, "require", reader).catch((error: unknown) => {
        if (error instanceof XdevError && /no such file/.test(error.message)) return undefined;
        // Refused: the linker meets it again, and then its place is named.
        return { path: "" };
      });
      if (found === undefined) continue;
      if ("external" in found) {
        externals.push(literal);
        continue;
      }
      const key = literal.startsWith(".") ? `./${inRoot(join(dirname(path), literal), reader)}` : literal;
      lines.push(entry(key, `require(${JSON.stringify(literal)})`));
    }
    const needs = table(mark("Needs", id), lines);
    if (marked.makes && IS_MODULE.test(text)) {
      // In the file itself `require` is likely to be a variable.
      tables += `import { ${mark("Needs", id)} } from ${JSON.stringify(needsModule(id))};`;
      module = `export ${needs}`;
    } else {
      tables += needs;
    }
  }
  return {
    text: tables === "" ? "" : `\n;${tables}`,
    externals,
    ...(module === undefined ? {} : { module }),
  };
}

const IS_MODULE = /^[ \t]*(?:import|export)(?![\w$(.])/m;

/** The specifier of the table of what a file's functions of `createRequire` may be asked for. */
export function needsModule(id: string): string {
  return `xdev-needs:${id}`;
}

const entry = (key: string, code: string): string => `[${JSON.stringify(key)}]: () => ${code}`;

const table = (name: string, lines: string[]): string =>
  `function ${name}() { return { ${lines.join(", ")} }; }`;

/** A path relative to the root, with `/`. */
export function inRoot(path: string, reader: Reader): string {
  return relative(reader.root, path).split(sep).join("/");
}

function from(importer: string, path: string): string {
  const relativePath = relative(dirname(importer), path).split(sep).join("/");
  return JSON.stringify(relativePath.startsWith(".") ? relativePath : `./${relativePath}`);
}

async function filesFor(path: string, text: string, places: number[], reader: Reader): Promise<string[]> {
  const found = new Set<string>();
  const patterns = places.map((at) => patternAt(text, at));
  for (const pattern of new Set(
    patterns.filter((one) => one !== undefined).map((one) => JSON.stringify(one)),
  )) {
    await addMatches(JSON.parse(pattern) as Pattern, path, reader, found);
  }
  if (patterns.some((pattern) => pattern === undefined)) {
    for (const guess of pathsIn(text)) await addGuess(guess, path, reader, found);
  }
  found.delete(path);
  return [...found].sort();
}

async function addMatches(
  { folder, begin, end }: Pattern,
  importer: string,
  reader: Reader,
  found: Set<string>,
): Promise<void> {
  const start = resolve(dirname(importer), folder);
  // `"./" + name` means the files beside it, `"./commands/" + name` also what lies deeper.
  const depth = /^(?:\.\.?\/)+$/.test(folder) ? 0 : MAX_DEPTH;
  const endings = /\.[cm]?jsx?$/.test(end) ? [end, end.replace(/j(sx?)$/, "t$1")] : [end];
  const fits = (name: string) =>
    endings.some((one) => name.endsWith(one) || (extname(one) === "" && stem(name).endsWith(one)));
  for (const file of await filesBelow(start, depth, reader)) {
    const rest = relative(start, file).split(sep).join("/");
    if (!rest.startsWith(begin) || !fits(rest)) continue;
    found.add(file);
    if (found.size > MAX_MATCHES) {
      throw refuse(
        importer,
        `a computed import means more than ${MAX_MATCHES} files below ${start}`,
        "Begin its path with a folder of fewer files.",
      );
    }
  }
}

const stem = (name: string): string => name.slice(0, name.length - extname(name).length);

/** A path that may be no module at all: then it is left out. */
async function addGuess(guess: string, importer: string, reader: Reader, found: Set<string>): Promise<void> {
  const path = resolve(dirname(importer), guess);
  if (!isAllowed(path, reader)) return;
  const canonical = await existing(path, reader.probes).catch(() => undefined);
  if (canonical !== path) return;
  const kind = await kindOf(path);
  const files =
    kind === "folder" ? await filesBelow(path, path === reader.root ? 0 : MAX_DEPTH, reader) : [path];
  for (const file of files) if (found.size < MAX_MATCHES && isCode(file)) found.add(file);
}

function isCode(path: string): boolean {
  return LOADERS.has(extname(path)) && !NOT_CODE.test(path);
}

function isAllowed(path: string, reader: Reader): boolean {
  try {
    checkPlace(path, reader.root);
    return true;
  } catch {
    return false;
  }
}

/** The files in a folder that may be bundled. No link is followed, no hidden folder and none of packages looked into. */
async function filesBelow(folder: string, depth: number, reader: Reader): Promise<string[]> {
  if (!isAllowed(folder, reader)) return [];
  if ((await existing(folder, reader.probes).catch(() => undefined)) !== folder) return [];
  if ((await kindOf(folder)) !== "folder") return [];
  const files: string[] = [];
  const visit = async (at: string, level: number): Promise<void> => {
    if (files.length > MAX_MATCHES * 8) return;
    reader.folders.set(at, await folderDigest(at));
    const items = await readdir(at, { withFileTypes: true });
    for (const item of items.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      if (item.name.startsWith(".") || item.name === "node_modules") continue;
      const path = join(at, item.name);
      if (item.isFile() && isCode(path)) files.push(path);
      else if (item.isDirectory() && level < depth) await visit(path, level + 1);
    }
  };
  await visit(folder, 0);
  return files;
}
