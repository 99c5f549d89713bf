/**
 * What a bundle calls at the places that depend on the file they stand in (sandbox/bundle/own-places.ts): `import.meta`,
 * `createRequire`, imports of computed paths. A path is looked up among the files that were bundled for it; nothing is
 * loaded from elsewhere. Guest code, with no more rights than the extension.
 */
import type { BundleLinks, FileLinks } from "../protocol.ts";

/** The modules that a file's computed paths may mean, by `./path` from the root; made when it is first asked for. */
type MakeTable = (() => Record<string, () => unknown>) | undefined;

const ENDINGS = [".ts", ".mts", ".cts", ".tsx", ".js", ".mjs", ".cjs", ".jsx", ".json"];

/**
 * `entry` is the path of the extension's entry from the root of the bundle; `resolved` what literals of `resolve` mean, by
 * file: `./path` from the root, or empty for what the loader has.
 */
export function createLinks(
  loader: Pick<BundleLinks, "dynamicImport" | "require" | "meta">,
  entry: string,
  resolved: Record<string, Record<string, string>>,
): FileLinks {
  const file = String(loader.meta.filename);
  const tail = `/${entry}`;
  const root = file.endsWith(tail) ? file.slice(0, -tail.length) : String(loader.meta.dirname);
  const at = (path: string): string => (path === "." ? root || "/" : `${root}/${path}`);
  const inRoot = (path: string): string | undefined =>
    path.startsWith(`${root}/`) ? path.slice(root.length + 1) : undefined;

  const tables = new Map<unknown, Record<string, () => unknown>>();
  const tableOf = (make: MakeTable): Record<string, () => unknown> => {
    if (typeof make !== "function") return {};
    const table = tables.get(make) ?? make();
    tables.set(make, table);
    return table;
  };
  const lookUp = (from: string, make: MakeTable, wanted: unknown) => {
    const path = place(from, wanted);
    if (path === undefined) return {};
    const table = tableOf(make);
    const run = find(table, inRoot(path)) ?? find(table, inRoot(path.replace(/[?#][^/]*$/, "")));
    return { path, run };
  };
  const need = (from: string, make: MakeTable, wanted: unknown): unknown => {
    const table = tableOf(make);
    const literal = String(wanted);
    if (Object.hasOwn(table, literal)) return table[literal]?.();
    const { path, run } = lookUp(from, make, wanted);
    if (run) return run();
    if (path === undefined) return loader.require(literal);
    throw missing(path, from, "MODULE_NOT_FOUND");
  };
  const pathOf = (from: string, wanted: unknown, code: string): string => {
    const text = String(wanted);
    const own = resolved[inRoot(from) ?? ""];
    const known = own && Object.hasOwn(own, text) ? own[text] : undefined;
    if (known !== undefined) return known === "" ? text : root + known.slice(1);
    const path = place(from, text);
    if (path !== undefined) return path;
    if (text.startsWith("node:")) return text;
    throw missing(text, from, code);
  };

  const metas = new Map<string, Record<string, unknown>>();
  const meta = (path: string): Record<string, unknown> => {
    const known = metas.get(path);
    if (known) return known;
    const filename = at(path);
    const made: Record<string, unknown> = {
      url: urlOf(filename),
      filename,
      dirname: folderOf(filename),
      main: false,
      resolve: (wanted: unknown) => {
        const found = pathOf(filename, wanted, "ERR_MODULE_NOT_FOUND");
        return found.startsWith("/") ? urlOf(found) : found;
      },
    };
    const own = path === entry ? Object.assign(loader.meta, made) : made;
    metas.set(path, own);
    return own;
  };

  return {
    at,
    meta,
    async load(path, make, wanted) {
      const from = at(path);
      const found = lookUp(from, make, wanted);
      if (found.run) return found.run();
      if (found.path === undefined) return loader.dynamicImport(wanted);
      throw missing(found.path, from, "ERR_MODULE_NOT_FOUND");
    },
    need: (path, make, wanted) => need(at(path), make, wanted),
    pathOf: (path, _make, wanted) => pathOf(at(path), wanted, "MODULE_NOT_FOUND"),
    make(path, make, wanted) {
      const given = String(wanted);
      const base = place(at(path), given);
      if (base === undefined) throw new TypeError("createRequire needs an absolute path or a file URL");
      const from = given.endsWith("/") ? `${base}/_` : base;
      const made = (id: unknown) => need(from, make, id);
      return Object.assign(made, {
        resolve: (id: unknown) => pathOf(from, id, "MODULE_NOT_FOUND"),
        cache: {},
      });
    },
  };
}

/** The absolute path that `wanted` means in the file `from`; undefined for the name of a package. */
function place(from: string, wanted: unknown): string | undefined {
  let text = String(wanted);
  if (/^file:/i.test(text)) {
    text = decodeURIComponent(text.replace(/^file:(?:\/\/(?:localhost)?)?/i, "").replace(/[?#][\s\S]*$/, ""));
  } else if (/^\.\.?(?:\/|$)/.test(text)) {
    text = `${folderOf(from)}/${text}`;
  } else if (!text.startsWith("/")) {
    return undefined;
  }
  const names: string[] = [];
  for (const name of text.split("/")) {
    if (name === "..") names.pop();
    else if (name !== "" && name !== ".") names.push(name);
  }
  return `/${names.join("/")}`;
}

function find(table: Record<string, () => unknown>, path: string | undefined): (() => unknown) | undefined {
  if (path === undefined) return undefined;
  const key = `./${path}`;
  const written = /\.[cm]?jsx?$/.exec(key)?.[0] ?? "";
  const stem = key.slice(0, key.length - written.length);
  const keys = [key];
  if (written !== "") keys.push(stem + written.replace("j", "t"), `${stem}.tsx`);
  for (const ending of ENDINGS) keys.push(key + ending);
  for (const ending of ENDINGS) keys.push(`${key}/index${ending}`);
  const found = keys.find((one) => Object.hasOwn(table, one));
  return found === undefined ? undefined : table[found];
}

function folderOf(path: string): string {
  return path.slice(0, path.lastIndexOf("/")) || "/";
}

function urlOf(path: string): string {
  return `file://${encodeURI(path).replace(/[?#]/g, encodeURIComponent)}`;
}

function missing(what: string, from: string, code: string): Error {
  const text =
    `Cannot find module ${JSON.stringify(what)} (from ${from}): it is not in the bundle. ` +
    'A computed path is bundled if it begins with a text, as in "./folder/" + name';
  return Object.assign(new Error(text), { code });
}
