import { canonicalHost } from "../permissions/addresses.ts";
import { CallError } from "./broker.ts";

/** Where a request goes, in the one form that is asked about, resolved, connected to and sent. */
export interface Target {
  readonly secure: boolean;
  /** Canonical: a name in lower case ASCII without a trailing dot, or an address (IPv6 without brackets). */
  readonly host: string;
  readonly port: number;
  /** What the header `Host` says. */
  readonly authority: string;
  /** Path and query. */
  readonly path: string;
  /** Scheme, host and port. */
  readonly origin: string;
  /** The whole, without a fragment. */
  readonly url: string;
}

/** The longest URL, in UTF-16 units. */
export const MAX_URL = 65_536;

/**
 * What a URL leads to. The parser of the URL standard makes one form of all that mean the same address (`0x7f.1`, `2130706433`,
 * `[::ffff:127.0.0.1]`, `LOCALHOST.`); nothing after this looks at the text again. Throws `CallError` `ERR_INVALID_URL`.
 */
export function parseTarget(text: string, base?: string): Target {
  const url = text.length <= MAX_URL ? parse(text, base) : undefined;
  if (!url) throw invalidUrl("is no URL");
  const secure = url.protocol === "https:";
  if (!secure && url.protocol !== "http:") throw invalidUrl("has a scheme that is neither http nor https");
  if (url.username !== "" || url.password !== "") {
    throw invalidUrl("has a user name or a password in it: send the header Authorization instead");
  }
  const host = canonicalHost(url.hostname);
  if (!host) throw invalidUrl("has a host that is none");
  const defaultPort = secure ? 443 : 80;
  const port = url.port === "" ? defaultPort : Number(url.port);
  // Port 0 stands for "any" in too many places.
  if (port === 0) throw invalidUrl("has the port 0");
  const name = host.includes(":") ? `[${host}]` : host;
  const authority = port === defaultPort ? name : `${name}:${port}`;
  const origin = `${secure ? "https" : "http"}://${authority}`;
  const path = `${url.pathname}${url.search}`;
  if (path.length > MAX_URL) throw invalidUrl("is too long");
  return { secure, host: host, port, authority, path, origin, url: `${origin}${path}` };
}

function parse(text: string, base: string | undefined): URL | undefined {
  try {
    return new URL(text, base);
  } catch {
    return undefined;
  }
}

const invalidUrl = (what: string): CallError => new CallError("ERR_INVALID_URL", `Invalid URL: it ${what}`);
