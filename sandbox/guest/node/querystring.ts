/** `node:querystring`. */

import { codedError } from "./errors.ts";
import { named } from "./named.ts";

type Value = string | number | bigint | boolean | null | undefined;
interface ParseOptions {
  decodeURIComponent?: (text: string) => string;
  maxKeys?: number;
}
interface StringifyOptions {
  encodeURIComponent?: (text: string) => string;
}

const UNRESERVED = /[^A-Za-z0-9\-_.!~*'()]/;

function escapeText(value: unknown): string {
  const text =
    typeof value === "string" ? value : typeof value === "object" ? String(value) : `${value as string}`;
  if (!UNRESERVED.test(text)) return text;
  try {
    return encodeURIComponent(text);
  } catch {
    throw codedError(URIError, "ERR_INVALID_URI", "URI malformed");
  }
}

/** Bytes of the text with `%xx` decoded, and what is not such as it is. */
export function unescapeBuffer(text: string, decodeSpaces = false): Uint8Array {
  const bytes: number[] = [];
  for (let i = 0; i < text.length; i++) {
    const pair = text[i] === "%" ? /^[0-9A-Fa-f]{2}/.exec(text.slice(i + 1, i + 3)) : null;
    if (pair) {
      bytes.push(Number.parseInt(pair[0], 16));
      i += 2;
    } else bytes.push(decodeSpaces && text[i] === "+" ? 32 : text.charCodeAt(i) & 255);
  }
  const { Buffer } = globalThis as { Buffer?: { from(bytes: number[]): Uint8Array } };
  return Buffer ? Buffer.from(bytes) : Uint8Array.from(bytes);
}

function unescapeText(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return new TextDecoder().decode(unescapeBuffer(text));
  }
}

/** Values that are no string, number, boolean or bigint are empty. */
function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value === "number") return Number.isFinite(value) ? `${value}` : "";
  return typeof value === "bigint" || typeof value === "boolean" ? `${value}` : "";
}

export function stringify(
  object?: unknown,
  separator = "&",
  equals = "=",
  options: StringifyOptions = {},
): string {
  if (typeof object !== "object" || object === null) return "";
  const encode = options?.encodeURIComponent ?? exports.escape;
  const parts: string[] = [];
  for (const [key, value] of Object.entries(object as Record<string, Value | Value[]>)) {
    const start = encode(textOf(key)) + equals;
    for (const one of Array.isArray(value) ? value : [value]) parts.push(start + encode(textOf(one)));
  }
  return parts.join(separator);
}

/** At most `maxKeys` pairs (1,000; 0 for all). The result has no prototype. */
export function parse(
  text: string,
  separator = "&",
  equals = "=",
  options: ParseOptions = {},
): Record<string, string | string[]> {
  const result = Object.create(null) as Record<string, string | string[]>;
  if (typeof text !== "string" || text.length === 0) return result;
  const decode = options?.decodeURIComponent ?? exports.unescape;
  const decoded = (part: string): string => {
    // What has nothing to decode is not looked at; a decoder of the caller's sees everything.
    if (decode === exports.unescape && !/%[0-9A-Fa-f]{2}/.test(part)) return part.replaceAll("+", " ");
    const spaced = part.replaceAll("+", "%20");
    try {
      return decode(spaced);
    } catch {
      return unescapeText(spaced);
    }
  };
  let pairs = text.split(separator || "&").filter((pair) => pair !== "");
  const { maxKeys = 1000 } = options ?? {};
  if (maxKeys > 0) pairs = pairs.slice(0, maxKeys);
  const sign = equals || "=";
  for (const pair of pairs) {
    const at = pair.indexOf(sign);
    const key = decoded(at < 0 ? pair : pair.slice(0, at));
    const value = at < 0 ? "" : decoded(pair.slice(at + sign.length));
    const before = result[key];
    if (before === undefined) result[key] = value;
    else if (typeof before === "string") result[key] = [before, value];
    else before.push(value);
  }
  return result;
}

export const encode: typeof stringify = stringify;
export const decode: typeof parse = parse;

// `escape` and `unescape` may be replaced here: that is what they are exported for.
export { escapeText as escape, unescapeText as unescape };

const exports = named({
  escape: escapeText,
  unescape: unescapeText,
  unescapeBuffer,
  stringify,
  encode,
  parse,
  decode,
});

export default exports;
