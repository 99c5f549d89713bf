/** What POSIX and Windows paths share. Bundled into `path`. */
import { invalidArgument, requireString } from "./errors.ts";

export interface ParsedPath {
  root: string;
  dir: string;
  base: string;
  ext: string;
  name: string;
}

/** `.` and `..` resolved in what follows a root. `..` at the beginning stays unless the path is absolute. */
export function normalizeParts(text: string, isAbsolute: boolean, isSeparator: RegExp): string[] {
  const parts: string[] = [];
  for (const part of text.split(isSeparator)) {
    if (part === "" || part === ".") continue;
    if (part !== "..") parts.push(part);
    else if (parts.length > 0 && parts[parts.length - 1] !== "..") parts.pop();
    else if (!isAbsolute) parts.push("..");
  }
  return parts;
}

/** The last part without separators at its end, where it begins, and where it ends. */
export function lastPart(
  path: string,
  from: number,
  isSeparator: (unit: number) => boolean,
): { start: number; end: number } {
  let end = path.length;
  while (end > from && isSeparator(path.charCodeAt(end - 1))) end--;
  let start = end;
  while (start > from && !isSeparator(path.charCodeAt(start - 1))) start--;
  return { start, end };
}

/** The extension of a name: none for `.a`, `..` and `a`. */
export function extensionOf(base: string): string {
  if (base === "..") return "";
  const dot = base.lastIndexOf(".");
  return dot <= 0 ? "" : base.slice(dot);
}

export function withoutSuffix(base: string, suffix: unknown): string {
  if (suffix === undefined) return base;
  requireString("suffix", suffix);
  return base !== suffix && base.endsWith(suffix) ? base.slice(0, base.length - suffix.length) : base;
}

export function formatPath(separator: string, parts: unknown): string {
  if (typeof parts !== "object" || parts === null)
    throw invalidArgument("pathObject", "of type object", parts);
  const { dir, root, base, name, ext } = parts as Partial<ParsedPath>;
  const folder = dir || root;
  const dotted = ext ? (ext[0] === "." ? ext : `.${ext}`) : "";
  const last = base || `${name || ""}${dotted}`;
  if (!folder) return last;
  return folder === root ? `${folder}${last}` : `${folder}${separator}${last}`;
}

/** A glob as `matchesGlob` takes it: `*`, `**`, `?`, `[…]`, `{a,b}`. */
export function globToRegExp(pattern: string, separators: string): RegExp {
  const inSet = separators.replaceAll("\\", "\\\\");
  const any = `[^${inSet}]`;
  const one = `[${inSet}]`;
  let text = "";
  let depth = 0;
  for (let i = 0; i < pattern.length; i++) {
    const char = pattern[i] as string;
    if (char === "*") {
      if (pattern[i + 1] === "*") {
        const after = pattern[i + 2];
        const before = pattern[i - 1];
        const opens = before === undefined || separators.includes(before);
        if (opens && after !== undefined && separators.includes(after)) {
          text += `(?:${any}+${one})*`;
          i += 2;
        } else {
          text += opens && after === undefined ? ".*" : `${any}*`;
          i++;
        }
      } else text += `${any}*`;
    } else if (char === "?") text += any;
    else if (char === "[") {
      const end = pattern.indexOf("]", i + 2);
      if (end < 0) text += "\\[";
      else {
        const set = pattern
          .slice(i + 1, end)
          .replace(/^!/, "^")
          .replaceAll("\\", "\\\\")
          .replaceAll("[", "\\[");
        text += `[${set}]`;
        i = end;
      }
    } else if (char === "{") {
      depth++;
      text += "(?:";
    } else if (char === "}" && depth > 0) {
      depth--;
      text += ")";
    } else if (char === "," && depth > 0) text += "|";
    else if (separators.includes(char)) text += one;
    else text += char.replace(/[\\^$.*+?()[\]{}|/]/, "\\$&");
  }
  return new RegExp(`^${text}${")".repeat(depth)}$`, "s");
}
