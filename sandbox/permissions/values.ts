/**
 * The values of permissions as people write them, and their normal forms. What must hold: two texts that mean the same have one
 * form, and a text that could be read in two ways is no value. Paths are not looked up here: see match-path.ts.
 */
import { isAbsolute, posix, resolve, sep, win32 } from "node:path";
import { hidesSomething } from "../../src/base/text.ts";
import { canonicalHost, isAddress, isPublicName } from "./addresses.ts";
import type { Kind } from "./permissions.ts";

/** A value that can't be used. `message` is a sentence's end, for a person: "it must …". */
export class BadValue extends Error {}

export const SYS_VALUES = ["hostname", "user", "cpu", "memory"] as const;
export const SESSION_VALUES = ["read", "write"] as const;
export const PATH_VARIABLES = ["$CWD", "$HOME", "$DATA", "$TMP"] as const;
/** In characters. */
export const MAX_VALUE = 1000;

/**
 * The normal form of a value. With `base` (absolute), a relative path means one below it; without it is refused. Throws
 * `BadValue`.
 */
export function parseValue(kind: Kind, text: string, base?: string): string {
  if (text.length > MAX_VALUE) throw new BadValue(`is longer than ${MAX_VALUE} characters`);
  if (hidesSomething(text) || /[\n\t]/.test(text)) throw new BadValue("has invisible or control characters");
  const value = text.trim();
  if (value === "") throw new BadValue("is empty");
  switch (kind) {
    case "read":
    case "write":
      return parsePath(value, base);
    case "net":
      return formatHost(parseHost(value));
    case "run":
      return formatCommand(parseCommand(value));
    case "env":
      if (value === "*" || /^[A-Za-z_][A-Za-z0-9_]*\*?$/.test(value)) return value;
      throw new BadValue("must be the name of an environment variable, or its beginning with * behind it");
    case "sys":
      return oneOf(value, SYS_VALUES);
    case "session":
      return oneOf(value, SESSION_VALUES);
    case "tools":
      if (value === "*" || /^[A-Za-z0-9_-]{1,64}$/.test(value)) return value;
      throw new BadValue("must be the name of a tool");
    case "model":
    case "ui":
    case "provider":
    case "wasm":
      if (value === "*") return value;
      throw new BadValue("takes no value");
  }
}

function oneOf(value: string, known: readonly string[]): string {
  if (value === "*" || known.includes(value)) return value;
  throw new BadValue(`must be one of ${known.join(", ")}`);
}

function parsePath(text: string, base: string | undefined): string {
  if (text === "*") return text;
  if (text.includes("*")) throw new BadValue("has a *: a path stands for everything below it, without one");
  const tilde = text === "~" || text.startsWith("~/") ? `$HOME${text.slice(1)}` : text;
  const variable = PATH_VARIABLES.find(
    (name) => tilde === name || tilde.startsWith(`${name}/`) || tilde.startsWith(`${name}${sep}`),
  );
  if (variable !== undefined) {
    const rest = tilde.slice(variable.length).replaceAll(sep, "/");
    checkSegments(rest);
    return trimEnd(posix.normalize(`${variable}${rest}`));
  }
  if (text.startsWith("~") || text.startsWith("$")) {
    throw new BadValue(`must begin with one of ${PATH_VARIABLES.join(", ")}, ~/ or /`);
  }
  if (isAbsolute(text)) {
    checkSegments(text.replaceAll(sep, "/"));
    return trimEnd(resolve(text));
  }
  if (base === undefined) throw new BadValue("must be absolute, or begin with $CWD, $HOME, $DATA or $TMP");
  return trimEnd(resolve(base, text));
}

function checkSegments(path: string): void {
  if (path.split("/").includes("..")) throw new BadValue("must not go up with ..");
}

function trimEnd(path: string): string {
  const trimmed = path.replace(/[/\\]+$/, "");
  return trimmed === "" || win32.parse(trimmed).root === `${trimmed}\\` ? path : trimmed;
}

/** A host as a permission names it. */
export interface HostPattern {
  /** A canonical name or address, or `*` for every public name, or `*.suffix`. */
  host: string;
  port: number | undefined;
}

/** Throws `BadValue`. */
export function parseHost(text: string): HostPattern {
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) throw new BadValue("must be a host, not a URL");
  // A bare IPv6 address has several colons; one with a port stands in brackets.
  const bare = /^[0-9a-f:.]*:[0-9a-f:.]*:[0-9a-f:.]*$/i.test(text);
  const [, name = "", digits] =
    (bare ? [text, text] : /^(\[[^\]]*\]|[^:]*)(?::(\d{1,5}))?$/.exec(text)) ?? [];
  if (name === "") throw new BadValue("must be a host, or host:port");
  const port = digits === undefined ? undefined : Number(digits);
  if (port !== undefined && (port < 1 || port > 65_535)) throw new BadValue("has a port that is none");
  if (name === "*") return { host: "*", port };
  if (name.startsWith("*.")) {
    const suffix = canonicalHost(name.slice(2));
    if (suffix === undefined || isAddress(suffix)) throw new BadValue("must have a name behind *.");
    return { host: `*.${suffix}`, port };
  }
  const host = canonicalHost(name);
  if (host === undefined) throw new BadValue("is no host name or address");
  return { host, port };
}

export function formatHost({ host, port }: HostPattern): string {
  if (port === undefined) return host;
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

/** Whether a pattern means this canonical host, by its name alone. */
export function matchesHost(pattern: string, host: string): boolean {
  if (pattern === host) return true;
  if (pattern === "*") return isPublicName(host);
  return (
    pattern.startsWith("*.") &&
    !isAddress(host) &&
    host.endsWith(pattern.slice(1)) &&
    host.length >= pattern.length
  );
}

/** The words of a command, at spaces; in double quotes a word may have spaces. Throws `BadValue`. */
export function parseCommand(text: string): string[] {
  const words: string[] = [];
  const pattern = /\s*(?:"((?:[^"\\]|\\.)*)"(?=\s|$)|([^\s"]+)(?=\s|$))/y;
  while (pattern.lastIndex < text.trimEnd().length) {
    const match = pattern.exec(text);
    if (!match) throw new BadValue('must be a program and its first arguments; " only around a whole word');
    words.push(match[2] ?? match[1]!.replace(/\\(.)/g, "$1"));
  }
  if (words.length === 0 || words[0] === "") throw new BadValue("must name a program");
  if (words[0] === "*" && words.length > 1) throw new BadValue("has arguments behind *");
  return words;
}

export function formatCommand(words: readonly string[]): string {
  return words
    .map((word) => (/^[^\s"]+$/.test(word) ? word : `"${word.replace(/["\\]/g, "\\$&")}"`))
    .join(" ");
}

/** Programs that run any text as a program: only granted by their own names, never by `*`. */
const SHELLS = new Set(
  "sh bash dash ash zsh ksh mksh fish csh tcsh rbash yash elvish nu xonsh busybox toybox cmd powershell pwsh wsl".split(
    " ",
  ),
);

/** Whether a program's name or path ends in the name of a shell. */
export function isShell(program: string): boolean {
  return SHELLS.has(programName(program));
}

/** The last part of a program's name, in lower case, without `.exe`, and `bash` for `bash-5.2` and `bash5`. */
export function programName(program: string): string {
  const name = program
    .split(/[/\\]/)
    .pop()!
    .toLowerCase()
    .replace(/\.(?:exe|com|bat|cmd)$/, "");
  return SHELLS.has(name)
    ? name
    : name.replace(/[-_]?\d+(?:[.-]\d+)*(?:-static)?$/, "").replace(/-static$/, "") || name;
}

/** Whether who has `own` evidently has `wanted`, both in normal form. When in doubt, no. */
export function coversValue(kind: Kind, own: string, wanted: string): boolean {
  if (own === wanted) return true;
  switch (kind) {
    case "read":
    case "write":
      return own === "*" || (wanted !== "*" && isBelow(wanted, own));
    case "net": {
      const [a, b] = [parseHost(own), parseHost(wanted)];
      if (a.port !== undefined && a.port !== b.port) return false;
      if (b.host.startsWith("*")) {
        return (
          a.host === b.host ||
          // Not what `*` leaves out: hosts of this machine and of the user's network.
          (a.host === "*" && isPublicName(`any${b.host.slice(1)}`)) ||
          (b.host !== "*" && a.host.startsWith("*.") && b.host.endsWith(a.host.slice(1)))
        );
      }
      return matchesHost(a.host, b.host);
    }
    case "run": {
      const [a, b] = [parseCommand(own), parseCommand(wanted)];
      if (a[0] === "*") return b[0] !== "*" && !isShell(b[0]!);
      return a.length <= b.length && a.every((word, index) => word === b[index]);
    }
    case "env":
      return own.endsWith("*") && wanted.startsWith(own.slice(0, -1));
    default:
      return own === "*";
  }
}

function isBelow(path: string, root: string): boolean {
  if (path.includes("\0") || /(?:^|[/\\])\.\.(?:[/\\]|$)/.test(path)) return false;
  return (
    path.startsWith(/[/\\]$/.test(root) ? root : `${root}/`) || (sep === "\\" && path.startsWith(`${root}\\`))
  );
}
