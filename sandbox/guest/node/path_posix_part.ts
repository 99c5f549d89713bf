/** POSIX paths. Bundled into `path`. */
import { requireString } from "./errors.ts";
import { named } from "./named.ts";
import {
  extensionOf,
  formatPath,
  globToRegExp,
  lastPart,
  normalizeParts,
  type ParsedPath,
  withoutSuffix,
} from "./path_common.ts";

const SLASH = 47;
const isSeparator = (unit: number): boolean => unit === SLASH;

export const sep = "/";
export const delimiter = ":";

/** `cwd` is asked for only where the arguments are not absolute. */
export function makePosix(cwd: () => string) {
  function resolve(...paths: string[]): string {
    let joined = "";
    for (let i = paths.length - 1; i >= -1 && !joined.startsWith("/"); i--) {
      const path = i >= 0 ? (paths[i] as string) : cwd();
      requireString(`paths[${i}]`, path);
      if (path !== "") joined = joined === "" ? path : `${path}/${joined}`;
    }
    const absolute = joined.startsWith("/");
    const parts = normalizeParts(joined, absolute, /\//).join("/");
    return absolute ? `/${parts}` : parts || ".";
  }

  function normalize(path: string): string {
    requireString("path", path);
    if (path === "") return ".";
    const absolute = path.startsWith("/");
    let parts = normalizeParts(path, absolute, /\//).join("/");
    if (parts === "") {
      if (absolute) return "/";
      return path.endsWith("/") ? "./" : ".";
    }
    if (path.endsWith("/")) parts += "/";
    return absolute ? `/${parts}` : parts;
  }

  function isAbsolute(path: string): boolean {
    requireString("path", path);
    return path.startsWith("/");
  }

  function join(...paths: string[]): string {
    for (const path of paths) requireString("path", path);
    const joined = paths.filter((path) => path !== "").join("/");
    return joined === "" ? "." : normalize(joined);
  }

  function relative(from: string, to: string): string {
    requireString("from", from);
    requireString("to", to);
    if (from === to) return "";
    const start = resolve(from);
    const target = resolve(to);
    if (start === target) return "";
    const a = start === "/" ? [] : start.slice(1).split("/");
    const b = target === "/" ? [] : target.slice(1).split("/");
    let common = 0;
    while (common < a.length && common < b.length && a[common] === b[common]) common++;
    return [...a.slice(common).map(() => ".."), ...b.slice(common)].join("/");
  }

  function dirname(path: string): string {
    requireString("path", path);
    if (path === "") return ".";
    const cut = lastPart(path, 0, isSeparator).start - 1;
    if (cut < 1) return path.startsWith("/") ? "/" : ".";
    return cut === 1 && path.startsWith("/") ? "//" : path.slice(0, cut);
  }

  function basename(path: string, suffix?: string): string {
    if (suffix !== undefined) requireString("suffix", suffix);
    requireString("path", path);
    if (path === suffix) return "";
    const { start, end } = lastPart(path, 0, isSeparator);
    return withoutSuffix(path.slice(start, end), suffix);
  }

  function extname(path: string): string {
    requireString("path", path);
    const { start, end } = lastPart(path, 0, isSeparator);
    return extensionOf(path.slice(start, end));
  }

  function parse(path: string): ParsedPath {
    requireString("path", path);
    const root = path.startsWith("/") ? "/" : "";
    const { start, end } = lastPart(path, 0, isSeparator);
    const base = path.slice(start, end);
    const ext = extensionOf(base);
    const dir = start > root.length ? path.slice(0, start - 1) : root;
    return { root, dir, base, ext, name: base.slice(0, base.length - ext.length) };
  }

  function matchesGlob(path: string, pattern: string): boolean {
    requireString("path", path);
    requireString("pattern", pattern);
    return globToRegExp(pattern, "/").test(normalize(path));
  }

  return named({
    resolve,
    normalize,
    isAbsolute,
    join,
    relative,
    toNamespacedPath: (path: string): string => path,
    dirname,
    basename,
    extname,
    format: (parts: unknown): string => formatPath("/", parts),
    parse,
    matchesGlob,
    sep,
    delimiter,
    win32: null as unknown,
    posix: null as unknown,
  });
}
