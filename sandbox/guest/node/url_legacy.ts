/** `url.parse`, `format` and `resolve`: the interface from before the URL class. Bundled into `url`. */

import querystring from "node:querystring";
import { requireString } from "./errors.ts";

/** Schemes with `//` and a host. */
const SLASHED = new Set(["http:", "https:", "ftp:", "gopher:", "file:", "ws:", "wss:"]);
const JAVASCRIPT = "javascript:";
/** Never in a host name: what follows belongs to the path. */
const NO_HOST = /[\t\n\r "#%'/;<>?@\\^`{|}]/;
const ESCAPED = /[\t\n\r "'<>\\^`{|}]/g;

export class Url {
  protocol: string | null = null;
  slashes: boolean | null = null;
  auth: string | null = null;
  host: string | null = null;
  port: string | null = null;
  hostname: string | null = null;
  hash: string | null = null;
  search: string | null = null;
  query: string | Record<string, string | string[]> | null = null;
  pathname: string | null = null;
  path: string | null = null;
  href = "";

  parse(text: string, parseQuery = false, slashesDenoteHost = false): this {
    requireString("url", text);
    // Backslashes before the query are slashes, as browsers have it.
    const question = text.search(/[?#]/);
    const head = (question < 0 ? text : text.slice(0, question)).replaceAll("\\", "/");
    let rest = (question < 0 ? head : head + text.slice(question)).trim();

    const scheme = /^[a-z0-9.+-]+:/i.exec(rest);
    const proto = scheme?.[0].toLowerCase();
    if (scheme && proto) {
      this.protocol = proto;
      rest = rest.slice(scheme[0].length);
    }
    const isScript = proto === JAVASCRIPT;
    const slashes =
      rest.startsWith("//") && (slashesDenoteHost || scheme !== null || /^\/\/[^@/]+@[^@/]+/.test(rest));
    if (slashes && !isScript) {
      rest = rest.slice(2);
      this.slashes = true;
    }
    if (!isScript && (slashes || (proto !== undefined && !SLASHED.has(proto)))) {
      rest = this.#takeHost(rest);
    }
    if (!isScript) rest = rest.replace(ESCAPED, (char) => (char === "'" ? "%27" : encodeURIComponent(char)));

    const hashAt = rest.indexOf("#");
    if (hashAt >= 0) {
      this.hash = rest.slice(hashAt);
      rest = rest.slice(0, hashAt);
    }
    const queryAt = rest.indexOf("?");
    if (queryAt >= 0) {
      this.search = rest.slice(queryAt);
      const query = rest.slice(queryAt + 1);
      this.query = parseQuery ? (querystring.parse(query) as Record<string, string>) : query;
      rest = rest.slice(0, queryAt);
    } else if (parseQuery) {
      this.query = Object.create(null) as Record<string, string>;
    }
    if (rest !== "") this.pathname = rest;
    if (proto && SLASHED.has(proto) && this.hostname && !this.pathname) this.pathname = "/";
    if (this.pathname || this.search) this.path = (this.pathname ?? "") + (this.search ?? "");
    this.href = this.format();
    return this;
  }

  /** Takes `auth@host:port` off the beginning. */
  #takeHost(text: string): string {
    const end = text.search(/[/?#]/);
    const authority = end < 0 ? text : text.slice(0, end);
    let rest = text.slice(authority.length);
    let host = authority;
    const at = authority.lastIndexOf("@");
    if (at >= 0) {
      try {
        this.auth = decodeURIComponent(authority.slice(0, at));
      } catch {
        this.auth = authority.slice(0, at);
      }
      host = authority.slice(at + 1);
    }
    const bracketed = host.startsWith("[") && host.includes("]");
    const bad = bracketed ? -1 : host.search(NO_HOST);
    if (bad >= 0) {
      rest = host.slice(bad) + rest;
      host = host.slice(0, bad);
    }
    const port = /:([0-9]*)$/.exec(host);
    if (port) {
      if (port[1] !== "") this.port = port[1] as string;
      host = host.slice(0, host.length - port[0].length);
    }
    const wrong = bracketed ? -1 : host.search(/[/\\#?:]/);
    if (wrong >= 0) {
      rest = `/${host.slice(wrong)}${rest}`;
      host = host.slice(0, wrong);
    }
    let name = host.toLowerCase();
    if (bracketed) name = name.slice(1, -1);
    else if (/[^\x00-\x7f]/.test(name)) name = asciiHost(name);
    this.hostname = name;
    const shown = name.includes(":") ? `[${name}]` : name;
    this.host = shown + (this.port === null ? "" : `:${this.port}`);
    if (rest !== "" && !/^[/?#]/.test(rest)) rest = `/${rest}`;
    return rest;
  }

  format(): string {
    const auth = this.auth ? `${encodeURIComponent(this.auth).replace(/%3A/gi, ":")}@` : "";
    let protocol = this.protocol ?? "";
    if (protocol && !protocol.endsWith(":")) protocol += ":";
    let host = "";
    if (this.host) host = auth + this.host;
    else if (this.hostname) {
      const name = this.hostname;
      host = auth + (name.includes(":") && !name.startsWith("[") ? `[${name}]` : name);
      if (this.port) host += `:${this.port}`;
    }
    const query =
      typeof this.query === "object" && this.query !== null ? querystring.stringify(this.query) : "";
    let search = this.search ?? (query ? `?${query}` : "");
    if (search && !search.startsWith("?")) search = `?${search}`;
    search = search.replaceAll("#", "%23");
    let hash = this.hash ?? "";
    if (hash && !hash.startsWith("#")) hash = `#${hash}`;
    let pathname = (this.pathname ?? "").replace(/[?#]/g, encodeURIComponent);
    if (this.slashes || SLASHED.has(protocol)) {
      if (this.slashes || host) {
        if (pathname && !pathname.startsWith("/")) pathname = `/${pathname}`;
        host = `//${host}`;
      } else if (protocol === "file:") host = "//";
    }
    return protocol + host + pathname + search + hash;
  }

  resolve(relative: string): string {
    return this.resolveObject(relative).format();
  }

  resolveObject(relative: string | Url): Url {
    const target = typeof relative === "string" ? new Url().parse(relative, false, true) : relative;
    const result = new Url();
    Object.assign(result, this);
    result.hash = target.hash;
    if (target.href === "") {
      result.href = result.format();
      return result;
    }
    if (target.protocol && target.protocol !== result.protocol) {
      Object.assign(result, target);
      result.href = result.format();
      return result;
    }
    const { protocol } = result;
    if (target.host !== null && target.slashes) {
      Object.assign(result, target);
      result.protocol = target.protocol ?? protocol;
      result.pathname =
        removeDots(target.pathname ?? "", true) || (SLASHED.has(result.protocol ?? "") ? "/" : null);
    } else {
      const path = target.pathname ?? "";
      const base = result.pathname ?? "";
      const hasHost = Boolean(result.host);
      if (path !== "") {
        const joined = path.startsWith("/")
          ? path
          : hasHost && base === ""
            ? `/${path}`
            : base.slice(0, base.lastIndexOf("/") + 1) + path;
        result.pathname = removeDots(joined, hasHost || joined.startsWith("/"));
        result.search = target.search;
        result.query = target.query;
      } else if (target.search !== null) {
        result.search = target.search;
        result.query = target.query;
      }
    }
    if (result.pathname === "") result.pathname = null;
    result.path = result.pathname || result.search ? (result.pathname ?? "") + (result.search ?? "") : null;
    result.href = result.format();
    return result;
  }
}

function asciiHost(name: string): string {
  try {
    return new URL(`ws://${name}`).hostname;
  } catch {
    return name;
  }
}

function removeDots(path: string, absolute: boolean): string {
  const parts = path.split("/");
  const last = parts[parts.length - 1];
  const kept: string[] = [];
  let up = 0;
  const begins = parts[0] === "" && parts.length > 1;
  for (const part of begins ? parts.slice(1) : parts) {
    if (part === ".") continue;
    if (part === "..") {
      if (kept.length > 0) kept.pop();
      else up++;
    } else kept.push(part);
  }
  if (!absolute) for (; up > 0; up--) kept.unshift("..");
  let text = kept.join("/");
  if ((last === "." || last === "..") && !text.endsWith("/") && text !== "") text += "/";
  return begins ? `/${text}` : text;
}
