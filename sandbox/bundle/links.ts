/**
 * What a bundle brings along for places that depend on their file (own-places.ts), as source text: it runs in the guest,
 * before the author's first line, and has no more rights. Paths that were computed are looked up among the files that were
 * bundled for them; nothing is loaded from elsewhere.
 */

const SOURCE = `(x, entry, resolved) => {
  const file = String(x.meta.filename), tail = "/" + entry;
  const root = file.endsWith(tail) ? file.slice(0, -tail.length) : String(x.meta.dirname);
  const at = (path) => path === "." ? root || "/" : root + "/" + path;
  const has = (object, key) => Object.prototype.hasOwnProperty.call(object, key);
  const normal = (path) => {
    const names = [];
    for (const name of path.split("/")) {
      if (name === "..") names.pop();
      else if (name !== "" && name !== ".") names.push(name);
    }
    return "/" + names.join("/");
  };
  const folderOf = (path) => path.slice(0, path.lastIndexOf("/")) || "/";
  const urlOf = (path) => "file://" + encodeURI(path).replace(/[?#]/g, encodeURIComponent);
  const place = (from, wanted) => {
    let text = String(wanted);
    if (/^file:/i.test(text)) text = decodeURIComponent(text.replace(/^file:(?:\\/\\/(?:localhost)?)?/i, "").replace(/[?#][^]*$/, ""));
    else if (/^\\.\\.?(?:\\/|$)/.test(text)) text = folderOf(from) + "/" + text;
    else if (text[0] !== "/") return undefined;
    return normal(text);
  };
  const find = (table, path) => {
    const whole = root + "/";
    if (typeof table !== "object" || !path.startsWith(whole)) return undefined;
    const key = "./" + path.slice(whole.length);
    const [written] = /\\.[cm]?jsx?$/.exec(key) || [""];
    const stem = key.slice(0, key.length - written.length);
    const keys = [key];
    if (written) keys.push(stem + written.replace("j", "t"), stem + ".tsx");
    const endings = [".ts", ".mts", ".cts", ".tsx", ".js", ".mjs", ".cjs", ".jsx", ".json"];
    for (const ending of endings) keys.push(key + ending);
    for (const ending of endings) keys.push(key + "/index" + ending);
    const found = keys.find((one) => has(table, one));
    return found === undefined ? undefined : table[found];
  };
  const missing = (what, from, code) => Object.assign(
    new Error("Cannot find module " + JSON.stringify(what) + " (from " + from + "): it is not in the bundle. A computed path is bundled if it begins with a text, as in \\"./folder/\\" + name"),
    { code });
  const tables = new Map();
  const tableOf = (make) => {
    if (typeof make !== "function") return undefined;
    if (!tables.has(make)) tables.set(make, make());
    return tables.get(make);
  };
  const lookUp = (from, make, wanted) => {
    const path = place(from, wanted);
    if (path === undefined) return {};
    const table = tableOf(make);
    return { path, run: find(table, path) || find(table, path.replace(/[?#][^/]*$/, "")) };
  };
  const need = (from, make, wanted) => {
    const table = tableOf(make);
    if (table && has(table, String(wanted))) return table[String(wanted)]();
    const { path, run } = lookUp(from, make, wanted);
    if (run) return run();
    if (path === undefined) return x.require(wanted);
    throw missing(path, from, "MODULE_NOT_FOUND");
  };
  const pathOf = (from, wanted, code) => {
    const text = String(wanted), own = from.startsWith(root + "/") ? resolved[from.slice(root.length + 1)] : undefined;
    if (own && has(own, text)) return own[text] === "" ? text : root + own[text].slice(1);
    const path = place(from, text);
    if (path !== undefined) return path;
    if (text.startsWith("node:")) return text;
    throw missing(text, from, code);
  };
  const metas = new Map();
  return {
    at,
    meta: (path) => {
      if (!metas.has(path)) {
        const filename = at(path);
        const made = {
          url: urlOf(filename), filename, dirname: folderOf(filename), main: false,
          resolve: (wanted) => {
            const found = pathOf(filename, wanted, "ERR_MODULE_NOT_FOUND");
            return found[0] === "/" ? urlOf(found) : found;
          },
        };
        metas.set(path, path === entry ? Object.assign(x.meta, made) : made);
      }
      return metas.get(path);
    },
    load: async (path, make, wanted) => {
      const from = at(path);
      const found = lookUp(from, make, wanted);
      if (found.run) return found.run();
      if (found.path === undefined) return x.dynamicImport(wanted);
      throw missing(found.path, from, "ERR_MODULE_NOT_FOUND");
    },
    need: (path, make, wanted) => need(at(path), make, wanted),
    pathOf: (path, make, wanted) => pathOf(at(path), wanted, "MODULE_NOT_FOUND"),
    make: (path, make, wanted) => {
      const given = String(wanted), base = place(at(path), given);
      if (base === undefined) throw new TypeError("createRequire needs an absolute path or a file URL");
      const from = given.endsWith("/") ? base + "/_" : base;
      const made = (id) => need(from, make, id);
      return Object.assign(made, { resolve: (id) => pathOf(from, id, "MODULE_NOT_FOUND"), cache: {} });
    },
  };
}`;

/** An expression on one line. */
export const LINKS = `(${SOURCE.replace(/\n\s*/g, " ")})`;
