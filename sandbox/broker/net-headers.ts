import { CallError } from "./broker.ts";
import type { Target } from "./net-target.ts";

/** Name and value, in the order in which they are sent or came. */
export type Headers = readonly (readonly [name: string, value: string])[];

/** The most headers of a request or a response, and the most that they may have together, in bytes. */
export const MAX_HEADERS = 256;
export const MAX_HEAD_BYTES = 65_536;

export const isToken = (text: string): boolean => /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(text);

/** A header's value as it may stand on the wire: one byte a character, no control character but the tab. */
export const isFieldValue = (text: string): boolean => /^[\t\x20-\x7e\x80-\xff]*$/.test(text);

/** How a message is framed is said by the one who frames it, or else the two ends disagree about where it ends. */
const OURS: ReadonlySet<string> = new Set([
  "connection",
  "content-length",
  "expect",
  "http2-settings",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/**
 * The headers that an extension gave, less those that are not its own to say. Throws `CallError` for those that could say
 * something else than they seem to, and for a `Host` that is another than the one that was asked about.
 */
export function requestHeaders(given: Headers, target: Target): Headers {
  const kept: [string, string][] = [];
  let size = 0;
  for (const [name, rawValue] of given) {
    const value = rawValue.replace(/^[\t ]+|[\t ]+$/g, "");
    if (!isToken(name)) throw invalidHeader("a header has a name that is none");
    if (!isFieldValue(value)) throw invalidHeader(`the header ${name} has a value with forbidden characters`);
    const lower = name.toLowerCase();
    if (lower === "host") {
      if (value.toLowerCase() !== target.authority) {
        throw invalidHeader("the header Host names another host than the URL");
      }
    } else if (!OURS.has(lower) && !lower.startsWith("proxy-")) {
      kept.push([name, value]);
    }
    size += name.length + value.length + 4;
  }
  if (given.length > MAX_HEADERS || size > MAX_HEAD_BYTES)
    throw invalidHeader("the headers are too many or too long");
  return kept;
}

/** What would tell another origin who the first one takes us for. */
const CREDENTIALS: ReadonlySet<string> = new Set(["authorization", "cookie", "cookie2", "host"]);
const OF_BODY = /^content-(?:encoding|language|location|type|length|md5|disposition)$/;

/** The headers for the next request of a chain of redirects. */
export function redirectedHeaders(
  headers: Headers,
  changes: { otherOrigin: boolean; bodyDropped: boolean },
): Headers {
  return headers.filter(([name]) => {
    const lower = name.toLowerCase();
    if (lower === "host") return false;
    if (changes.otherOrigin && CREDENTIALS.has(lower)) return false;
    return !(changes.bodyDropped && OF_BODY.test(lower));
  });
}

export function findHeader(headers: Headers, name: string): string | undefined {
  return headers.find(([one]) => one.toLowerCase() === name)?.[1];
}

export function hasHeader(headers: Headers, name: string): boolean {
  return findHeader(headers, name) !== undefined;
}

const invalidHeader = (what: string): CallError => new CallError("ERR_INVALID_HTTP_HEADER", what);
