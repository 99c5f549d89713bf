/** Windows paths. Bundled into `path`. */
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

const isSeparator = (unit: number): boolean => unit === 47 || unit === 92;
const SEPARATORS = /[\\/]+/;

interface Root {
  /** `C:` or `\\server\share`, as normalised; empty if there is none. */
  device: string;
  absolute: boolean;
  /** Where the rest begins. */
  end: number;
}

function rootOf(path: string): Root {
  const drive = /^[A-Za-z]:/.exec(path);
  if (drive) {
    const absolute = isSeparator(path.charCodeAt(2));
    return { device: drive[0], absolute, end: absolute ? 3 : 2 };
  }
  if (!isSeparator(path.charCodeAt(0))) return { device: "", absolute: false, end: 0 };
  const share = /^[\\/]{2}([^\\/]+)[\\/]+([^\\/]+)/.exec(path);
  if (!share) return { device: "", absolute: true, end: 1 };
  const [whole, server, name] = share;
  if (server === "." || server === "?") {
    // \\.\device: the device alone is the root.
    return { device: `\\\\${server}`, absolute: true, end: 4 };
  }
  return { device: `\\\\${server}\\${name}`, absolute: true, end: whole.length };
}

export function makeWin32(cwd: () => string) {
  function resolve(...paths: string[]): string {
    let device = "";
    let tail = "";
    let absolute = false;
    for (let i = paths.length - 1; i >= -1; i--) {
      let path: string;
      if (i >= 0) {
        path = paths[i] as string;
        requireString(`paths[${i}]`, path);
        if (path === "") continue;
      } else {
        path = cwd();
        // The folder of another drive is not known here.
        if (device !== "" && rootOf(path).device.toLowerCase() !== device.toLowerCase()) path = `${device}\\`;
      }
      const root = rootOf(path);
      if (root.device !== "") {
        if (device !== "" && root.device.toLowerCase() !== device.toLowerCase()) continue;
        if (device === "") device = root.device;
      }
      if (absolute) {
        if (device !== "") break;
        continue;
      }
      tail = `${path.slice(root.end)}\\${tail}`;
      absolute = root.absolute;
      if (absolute && device !== "") break;
    }
    const rest = normalizeParts(tail, absolute, SEPARATORS).join("\\");
    return absolute ? `${device}\\${rest}` : `${device}${rest}` || ".";
  }

  function normalize(path: string): string {
    requireString("path", path);
    if (path === "") return ".";
    const { device, absolute, end } = rootOf(path);
    if (path.length === 1) return isSeparator(path.charCodeAt(0)) ? "\\" : path;
    let rest = normalizeParts(path.slice(end), absolute, SEPARATORS).join("\\");
    const trailing = isSeparator(path.charCodeAt(path.length - 1));
    if (rest === "" && !absolute) rest = ".";
    if (rest !== "" && trailing && path.length > end) rest += "\\";
    // `.\C:x` must not become the drive's.
    if (!absolute && device === "" && path.includes(":")) {
      if (/^[A-Za-z]:/.test(rest) || /:(?:[\\/]|$)/.test(path)) return `.\\${rest}`;
    }
    return absolute ? `${device}\\${rest}` : `${device}${rest}`;
  }

  function isAbsolute(path: string): boolean {
    requireString("path", path);
    return /^(?:[\\/]|[A-Za-z]:[\\/])/.test(path);
  }

  function join(...paths: string[]): string {
    for (const path of paths) requireString("path", path);
    const [first, ...others] = paths.filter((path) => path !== "");
    if (first === undefined) return ".";
    let joined = [first, ...others].join("\\");
    // Separators at the beginning make a share only if the first argument alone began one.
    if (!/^[\\/]{2}[^\\/]/.test(first)) joined = joined.replace(/^[\\/]{2,}/, "\\");
    return normalize(joined);
  }

  function relative(from: string, to: string): string {
    requireString("from", from);
    requireString("to", to);
    if (from === to) return "";
    const start = resolve(from);
    const target = resolve(to);
    if (start.toLowerCase() === target.toLowerCase()) return "";
    const a = start.split("\\").filter((part) => part !== "");
    const b = target.split("\\").filter((part) => part !== "");
    let common = 0;
    while (common < a.length && common < b.length && a[common]?.toLowerCase() === b[common]?.toLowerCase())
      common++;
    if (common === 0) return target;
    return [...a.slice(common).map(() => ".."), ...b.slice(common)].join("\\");
  }

  function toNamespacedPath(path: string): string {
    if (typeof path !== "string" || path === "") return path;
    const resolved = resolve(path);
    if (resolved.length <= 2) return path;
    if (resolved.startsWith("\\\\") && resolved[2] !== "?" && resolved[2] !== ".") {
      return `\\\\?\\UNC\\${resolved.slice(2)}`;
    }
    return /^[A-Za-z]:\\/.test(resolved) ? `\\\\?\\${resolved}` : resolved;
  }

  /** Up to where `dirname` and `parse` never cut. */
  function rootEnd(path: string): number {
    const { end, device } = rootOf(path);
    if (!device.startsWith("\\\\")) return end;
    const share = /^[\\/]{2}[^\\/]+[\\/]+[^\\/]+[\\/]?/.exec(path);
    return share ? share[0].length : end;
  }

  function dirname(path: string): string {
    requireString("path", path);
    if (path === "") return ".";
    const root = rootEnd(path);
    let { start } = lastPart(path, root, isSeparator);
    if (start <= root) return root === 0 ? "." : path.slice(0, root);
    start--;
    return path.slice(0, Math.max(start, root));
  }

  function base(path: string): { start: number; end: number } {
    return lastPart(path, /^[A-Za-z]:/.test(path) ? 2 : 0, isSeparator);
  }

  function basename(path: string, suffix?: string): string {
    if (suffix !== undefined) requireString("suffix", suffix);
    requireString("path", path);
    if (path === suffix) return "";
    const { start, end } = base(path);
    return withoutSuffix(path.slice(start, end), suffix);
  }

  function extname(path: string): string {
    requireString("path", path);
    const { start, end } = base(path);
    return extensionOf(path.slice(start, end));
  }

  function parse(path: string): ParsedPath {
    requireString("path", path);
    const rootLength = rootEnd(path);
    const root = path.slice(0, rootLength);
    const { start, end } = lastPart(path, rootLength, isSeparator);
    const last = path.slice(start, end);
    const ext = extensionOf(last);
    const dir = start > rootLength ? path.slice(0, start - 1) : root;
    return { root, dir, base: last, ext, name: last.slice(0, last.length - ext.length) };
  }

  function matchesGlob(path: string, pattern: string): boolean {
    requireString("path", path);
    requireString("pattern", pattern);
    return globToRegExp(pattern.replaceAll("/", "\\"), "\\/").test(normalize(path));
  }

  return named({
    resolve,
    normalize,
    isAbsolute,
    join,
    relative,
    toNamespacedPath,
    dirname,
    basename,
    extname,
    format: (parts: unknown): string => formatPath("\\", parts),
    parse,
    matchesGlob,
    sep: "\\",
    delimiter: ";",
    win32: null as unknown,
    posix: null as unknown,
  });
}
