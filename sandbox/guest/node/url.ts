/** `node:url`. The classes are the globals; `parse`, `format` and `resolve` are of before. */

import { about } from "xdev:system";
import { codedError, invalidArgument, requireString } from "./errors.ts";
import { named } from "./named.ts";
import { Url } from "./url_legacy.ts";

const { URL, URLSearchParams } = globalThis;

export { URL, URLSearchParams, Url };

interface FileOptions {
  windows?: boolean;
}

const isWindows = (options?: FileOptions): boolean => options?.windows ?? about.platform === "win32";

/** Throws ERR_INVALID_URL_SCHEME, ERR_INVALID_FILE_URL_HOST, ERR_INVALID_FILE_URL_PATH. */
export function fileURLToPath(url: string | URL, options?: FileOptions): string {
  const parsed = typeof url === "string" ? parseUrl(url) : url;
  if (typeof parsed?.href !== "string" || typeof parsed.protocol !== "string") {
    throw invalidArgument("path", "of type string or an instance of URL", url);
  }
  if (parsed.protocol !== "file:") {
    throw codedError(TypeError, "ERR_INVALID_URL_SCHEME", "The URL must be of scheme file");
  }
  const { hostname, pathname } = parsed;
  const windows = isWindows(options);
  if (windows ? /%(?:2f|5c)/i.test(pathname) : /%2f/i.test(pathname)) {
    throw codedError(
      TypeError,
      "ERR_INVALID_FILE_URL_PATH",
      `File URL path must not include encoded ${windows ? "\\ or /" : "/"} characters`,
    );
  }
  const path = decodeURIComponent(pathname);
  if (!windows) {
    if (hostname !== "") {
      throw codedError(
        TypeError,
        "ERR_INVALID_FILE_URL_HOST",
        `File URL host must be "localhost" or empty on ${about.platform}`,
      );
    }
    return path;
  }
  const slashed = path.replaceAll("/", "\\");
  if (hostname !== "") return `\\\\${domainToUnicode(hostname)}${slashed}`;
  if (!/^\\[A-Za-z]:/.test(slashed)) {
    throw codedError(TypeError, "ERR_INVALID_FILE_URL_PATH", "File URL path must be absolute");
  }
  return slashed.slice(1);
}

function parseUrl(text: string): URL {
  try {
    return new URL(text);
  } catch {
    throw Object.assign(codedError(TypeError, "ERR_INVALID_URL", "Invalid URL"), { input: text });
  }
}

/** As Node does, what a URL would understand in a path is escaped. */
export function pathToFileURL(path: string, options?: FileOptions): URL {
  requireString("path", path);
  const windows = isWindows(options);
  const { resolve } = windows ? paths().win32 : paths().posix;
  const share = windows ? /^\\\\([^\\]+)(\\.*)$/.exec(path) : null;
  let resolved = share ? path : resolve(path);
  const ends = windows ? /[\\/]$/ : /\/$/;
  if (ends.test(path) && !ends.test(resolved)) resolved += windows ? "\\" : "/";
  let text = (share ? (share[2] as string) : resolved).replace(/[%\n\r\t?#]/g, encodeURIComponent);
  text = windows ? text.replaceAll("\\", "/") : text.replaceAll("\\", "%5C");
  // Node escapes what an old parser took for something else.
  text = text.replace(/["^|~[\]]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
  const url = new URL("file:///");
  if (share) url.hostname = share[1] as string;
  return new URL(`file://${url.hostname}${text.startsWith("/") ? "" : "/"}${text}`);
}

type Paths = Record<"win32" | "posix", { resolve(path: string): string }>;
declare const require: (name: string) => unknown;
/** Loaded when it is needed: few programs do both. */
const paths = (): Paths => require("node:path") as Paths;

export function domainToASCII(domain: string): string {
  try {
    return new URL(`ws://${domain}`).hostname;
  } catch {
    return "";
  }
}

export function domainToUnicode(domain: string): string {
  const ascii = domainToASCII(domain);
  return ascii.includes("xn--")
    ? (require("node:punycode") as { toUnicode(d: string): string }).toUnicode(ascii)
    : ascii;
}

export function urlToHttpOptions(url: URL): Record<string, unknown> {
  const { hostname, hash, search, pathname, href, port, username, password } = url;
  const options: Record<string, unknown> = {
    ...(url as unknown as object),
    protocol: url.protocol,
    hostname: hostname.startsWith("[") ? hostname.slice(1, -1) : hostname,
    hash,
    search,
    pathname,
    path: `${pathname || ""}${search || ""}`,
    href,
  };
  if (port !== "") options.port = Number(port);
  if (username || password) {
    options.auth = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  }
  return Object.assign(Object.create(null), options);
}

export function parse(url: string, parseQuery?: boolean, slashesDenoteHost?: boolean): Url {
  if ((url as unknown) instanceof Url) return url as unknown as Url;
  return new Url().parse(url, parseQuery, slashesDenoteHost);
}

interface FormatOptions {
  fragment?: boolean;
  unicode?: boolean;
  search?: boolean;
  auth?: boolean;
}

export function format(url: unknown, options: FormatOptions = {}): string {
  if (typeof url === "string") return new Url().parse(url).format();
  if (typeof url !== "object" || url === null) {
    throw invalidArgument("urlObject", "one of type object or string", url);
  }
  if (url instanceof URL) {
    const copy = new URL(url.href);
    if (options.fragment === false) copy.hash = "";
    if (options.search === false) copy.search = "";
    if (options.auth === false) copy.username = copy.password = "";
    return options.unicode ? copy.href.replace(copy.hostname, domainToUnicode(copy.hostname)) : copy.href;
  }
  return Url.prototype.format.call(url as Url);
}

export function resolve(from: string, to: string): string {
  return new Url().parse(from, false, true).resolve(to);
}

export function resolveObject(from: string, to: string): Url {
  return new Url().parse(from, false, true).resolveObject(to);
}

export default named({
  Url,
  URL,
  URLSearchParams,
  fileURLToPath,
  pathToFileURL,
  domainToASCII,
  domainToUnicode,
  urlToHttpOptions,
  parse,
  format,
  resolve,
  resolveObject,
});
