/**
 * What depends on the file that it stands in: `import.meta`, an `import()` or `require()` of a computed path, `require.resolve`,
 * `createRequire`. After linking, all files are one, so each such place gets a mark that says where it was. The author's
 * text may be TypeScript, which nothing here parses; so marks are set by the look of the text, also in strings or names that
 * only look like it, and script.ts, which has a syntax tree, puts back those that turn out to be something else.
 *
 * Marks are no secret, and nothing rests on who set one: all that can be had by them is another file of the same bundle.
 */
import { sha256 } from "../../src/base/cache.ts";

export type MarkKind = "Meta" | "Load" | "Need" | "Make" | "Folder" | "File";

/** The mark of a kind in the file with this id. */
export function mark(kind: MarkKind | "Loads" | "Needs", id: string): string {
  return `__xdev${kind}_${id}_`;
}

const ID = "[0-9a-f]{12}";
const MARK = new RegExp(`^__xdev(Meta|Load|Loads|Need|Needs|Make|Folder|File)_(${ID})_\\d*$`);

/** The kind and file of an identifier that is a mark. Linkers may put digits behind a name. */
export function readMark(name: string): { kind: MarkKind | "Loads" | "Needs"; id: string } | undefined {
  if (!name.startsWith("__xdev")) return undefined;
  const [, kind, id] = MARK.exec(name) ?? [];
  return kind === undefined ? undefined : { kind: kind as MarkKind | "Loads" | "Needs", id: id as string };
}

/** The id of a file by its path relative to the root, the same on every machine. */
export function fileId(relativePath: string): string {
  return sha256(relativePath).slice(0, 12);
}

// Not a member of something, but for what is spread, and not a part of a longer word.
const NOT_A_MEMBER = "(?<![\\w$#]|(?<!\\.\\.)\\.)";
/** A literal as the only or first argument: that is the linker's. */
const LITERAL = "(?:\"[^\"\\\\\\n]{0,1000}\"|'[^'\\\\\\n]{0,1000}'|`[^`$\\\\]{0,1000}`)\\s*[,)]";

const META = new RegExp(`${NOT_A_MEMBER}import\\.meta(?![\\w$])`, "g");
const LOAD = new RegExp(`${NOT_A_MEMBER}import\\((?!\\s*(?:\\)|${LITERAL}))`, "g");
const NEED = new RegExp(`${NOT_A_MEMBER}require(\\.resolve)?\\((?!\\s*\\))`, "g");
const LITERAL_NEXT = new RegExp(`\\s*${LITERAL}`, "y");
const MAKE = new RegExp(`${NOT_A_MEMBER}(?:(?:module|Module)\\.)?createRequire\\((?!\\s*\\))`, "g");
const FROM_MODULE = /["'](?:node:)?module["']/;

export interface Marked {
  text: string;
  /** Positions in the author's text behind the bracket of each computed `import(` and `require(`. */
  loads: number[];
  needs: number[];
  /** Whether `createRequire` is called. */
  makes: boolean;
}

/** Sets the marks of one file. */
export function setMarks(text: string, id: string): Marked {
  const found: Marked = { text, loads: [], needs: [], makes: false };
  if (!/import\.meta|import\(|require[.(]|createRequire\(/.test(text)) return found;
  const makes = FROM_MODULE.test(text);
  const edits: { at: number; end: number; text: string }[] = [];
  for (const { index, 0: all } of text.matchAll(META)) {
    edits.push({ at: index, end: index + all.length, text: mark("Meta", id) });
  }
  for (const { index, 0: all } of text.matchAll(LOAD)) {
    const end = index + all.length;
    edits.push({ at: index, end, text: `${mark("Load", id)}(${mark("Loads", id)},` });
    found.loads.push(end);
  }
  for (const { index, 0: all, 1: resolve } of text.matchAll(NEED)) {
    const end = index + all.length;
    LITERAL_NEXT.lastIndex = end;
    if (resolve === undefined && LITERAL_NEXT.test(text)) continue;
    edits.push({ at: end, end, text: `${mark("Need", id)},${mark("Needs", id)},` });
    found.needs.push(end);
  }
  if (makes) {
    for (const { index, 0: all } of text.matchAll(MAKE)) {
      const end = index + all.length;
      edits.push({ at: index, end, text: `${mark("Make", id)}(${mark("Needs", id)},` });
      found.makes = true;
    }
  }
  edits.sort((a, b) => a.at - b.at);
  let at = 0;
  let marked = "";
  for (const edit of edits) {
    marked += text.slice(at, edit.at) + edit.text;
    at = edit.end;
  }
  found.text = marked + text.slice(at);
  return found;
}

/** `export * from "…"` of a module of the host: Bun names the module after the text, and forgets to declare that name. */
export const EXPORT_ALL = /^([ \t]*export\s*\*\s*from\s*)(["'])([^"'\\\n]{1,500})\2/gm;

/** A specifier that is a name, whatever it stands for. */
export function allName(specifier: string): string {
  return `__xdevAll_${Buffer.from(specifier).toString("hex")}_`;
}

/** The specifier of such a name, which a linker may have put digits behind. */
export function readAllName(name: string): string | undefined {
  const [, hex] = /^__xdevAll_((?:[0-9a-f]{2})+)_\d*$/.exec(name) ?? [];
  return hex === undefined ? undefined : Buffer.from(hex, "hex").toString();
}

const IN_LITERALS = new RegExp(
  `__xdevAll_(?:[0-9a-f]{2})+_|__xdevMeta_${ID}_|__xdevLoad_${ID}_\\(__xdevLoads_${ID}_,|__xdevNeed_${ID}_,__xdevNeeds_${ID}_,|__xdevMake_${ID}_\\(__xdevNeeds_${ID}_,`,
  "g",
);

/** The text of a literal without marks that were set in it. */
export function withoutMarks(raw: string): string {
  if (!raw.includes("__xdev")) return raw;
  return raw.replace(IN_LITERALS, (found) =>
    found.startsWith("__xdevMeta")
      ? "import.meta"
      : found.startsWith("__xdevLoad")
        ? "import("
        : found.startsWith("__xdevNeed")
          ? ""
          : (readAllName(found) ?? "createRequire("),
  );
}

export interface Pattern {
  /** The folder, relative to the file's own, ending in `/`, or empty. */
  folder: string;
  /** What the rest of the path begins and ends with. */
  begin: string;
  end: string;
}

const STRING = /\s*(["'])((?:(?!\1)[^\\\n]){1,500})\1\s*/y;
const TEMPLATE = /\s*`([^`$\\]{1,500})\$\{/y;
const URL_OF = /\s*new\s+URL\(/y;
const TEXT_END = /^[^)\n]{0,200}?\+\s*(["'])([^"'\\\n]{1,100})\1\s*[,)]/;
const TEMPLATE_END = /^[^`\n]{0,300}?\}([^`$\\{}]{1,100})`\s*[,)]/;

/** What the text behind `import(` says about the files it may mean; undefined if that is nothing. */
export function patternAt(text: string, at: number): Pattern | undefined {
  URL_OF.lastIndex = at;
  const from = URL_OF.test(text) ? URL_OF.lastIndex : at;
  STRING.lastIndex = from;
  const string = STRING.exec(text);
  if (string) {
    const [all, , begin = ""] = string;
    const rest = text.slice(from + all.length, from + all.length + 400);
    return pattern(begin, rest.startsWith("+") ? (TEXT_END.exec(rest)?.[2] ?? "") : undefined);
  }
  TEMPLATE.lastIndex = from;
  const template = TEMPLATE.exec(text);
  if (!template) return undefined;
  const [all, begin = ""] = template;
  const rest = text.slice(from + all.length, from + all.length + 400);
  return pattern(begin, TEMPLATE_END.exec(rest)?.[1] ?? "");
}

/** `end` is undefined for a path that is whole. Only paths relative to the file count. */
function pattern(begin: string, end: string | undefined): Pattern | undefined {
  if (!/^\.\.?\//.test(begin)) return undefined;
  const slash = begin.lastIndexOf("/") + 1;
  const rest = begin.slice(slash);
  return { folder: begin.slice(0, slash), begin: rest, end: end ?? rest };
}

const URLS = /new\s+URL\(\s*(["'])(\.\.?\/(?:(?!\1)[^\\\n]){0,500})\1\s*,\s*import\.meta\.url/g;
const JOINS =
  /(?<![\w$])(?:join|resolve)\(\s*(?:import\.meta\.dirname|[\w$]{1,100})\s*,\s*(["'])((?:(?!\1)[^\\\n]){1,500})\1/g;

/** Files and folders that a text builds paths of, for an import whose argument is a variable. Guesses. */
export function pathsIn(text: string): string[] {
  const found = new Set<string>();
  for (const [, , path = ""] of text.matchAll(URLS)) found.add(path);
  for (const [, , path = ""] of text.matchAll(JOINS)) if (!path.startsWith("/")) found.add(path);
  return [...found].slice(0, 100);
}

const MADE = /([\w$]{1,100})\s*=\s*(?:(?:module|Module)\.)?createRequire\(/g;
const MADE_AND_CALLED = /createRequire\([^()\n]{0,200}\)\(\s*(["'])((?:(?!\1)[^\\\n]){1,500})\1/g;

/** The literals that functions made by `createRequire` are called with. */
export function madeLiterals(text: string): string[] {
  const found = new Set<string>();
  for (const [, , literal = ""] of text.matchAll(MADE_AND_CALLED)) found.add(literal);
  const names = new Set([...text.matchAll(MADE)].map(([, name = ""]) => name));
  for (const name of [...names].slice(0, 20)) {
    const escaped = name.replaceAll("$", "\\$");
    const calls = new RegExp(`(?<![\\w$.])${escaped}\\(\\s*(["'])((?:(?!\\1)[^\\\\\\n]){1,500})\\1`, "g");
    for (const [, , literal = ""] of text.matchAll(calls)) found.add(literal);
  }
  return [...found].slice(0, 200);
}

const RESOLVED =
  /(?<![\w$.])(?:require|import\.meta)\.resolve\(\s*(["'])((?:(?!\1)[^\\\n]){1,500})\1\s*[,)]/g;

/** The literals of `require.resolve` and `import.meta.resolve`. */
export function resolvedLiterals(text: string): string[] {
  const found = new Set<string>();
  for (const [, , literal = ""] of text.matchAll(RESOLVED)) found.add(literal);
  return [...found].slice(0, 200);
}
