/** Text and bytes, in the encodings of Node's Buffer. */

export type Encoding = "utf8" | "utf16le" | "latin1" | "ascii" | "base64" | "base64url" | "hex";

const NAMES: Readonly<Record<string, Encoding>> = {
  utf8: "utf8",
  "utf-8": "utf8",
  ucs2: "utf16le",
  "ucs-2": "utf16le",
  utf16le: "utf16le",
  "utf-16le": "utf16le",
  latin1: "latin1",
  binary: "latin1",
  ascii: "ascii",
  base64: "base64",
  base64url: "base64url",
  hex: "hex",
};

/** The encoding of this name, whatever its case; undefined if there is none. */
export function encodingOf(name: unknown): Encoding | undefined {
  if (name === "utf8" || name === undefined || name === null || name === "") return "utf8";
  const lower = `${name}`.toLowerCase();
  return Object.hasOwn(NAMES, lower) ? NAMES[lower] : undefined;
}

const encoder = new TextEncoder();
// Neither a mark at the beginning nor bytes that are no text may make a difference.
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

const BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const sextets = new Uint8Array(256).fill(255);
for (let i = 0; i < 64; i++) sextets[BASE64.charCodeAt(i)] = i;
// Either alphabet is read, whichever was asked for.
sextets["-".charCodeAt(0)] = 62;
sextets["_".charCodeAt(0)] = 63;

const hexPairs: string[] = [];
for (let i = 0; i < 256; i++) hexPairs.push((i < 16 ? "0" : "") + i.toString(16));

/** Arguments of one `fromCharCode`: engines limit them. */
const CHUNK = 8192;

function fromUnits(units: Uint8Array | Uint16Array): string {
  if (units.length <= CHUNK) return String.fromCharCode.apply(null, units as unknown as number[]);
  let text = "";
  for (let i = 0; i < units.length; i += CHUNK) {
    text += String.fromCharCode.apply(null, units.subarray(i, i + CHUNK) as unknown as number[]);
  }
  return text;
}

function hexDigit(unit: number): number {
  if (unit >= 48 && unit <= 57) return unit - 48;
  const lower = unit | 32;
  return lower >= 97 && lower <= 102 ? lower - 87 : -1;
}

function hexBytes(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length >>> 1);
  for (let i = 0; i < bytes.length; i++) {
    const high = hexDigit(text.charCodeAt(2 * i));
    const low = hexDigit(text.charCodeAt(2 * i + 1));
    if (high < 0 || low < 0) return bytes.subarray(0, i);
    bytes[i] = high * 16 + low;
  }
  return bytes;
}

function base64Bytes(text: string): Uint8Array {
  const bytes = new Uint8Array(Math.ceil((text.length * 3) / 4));
  let length = 0;
  let bits = 0;
  let count = 0;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit === 61) break;
    const value = unit < 256 ? (sextets[unit] as number) : 255;
    if (value === 255) continue;
    bits = ((bits << 6) | value) & 0xffffff;
    count += 6;
    if (count >= 8) {
      count -= 8;
      bytes[length++] = (bits >>> count) & 255;
    }
  }
  return bytes.subarray(0, length);
}

/** Bytes of the text, in memory of their own. Where the text is not of the encoding, what is read before that. */
export function bytesOf(text: string, encoding: Encoding): Uint8Array {
  switch (encoding) {
    case "utf8":
      return encoder.encode(text);
    case "utf16le": {
      const bytes = new Uint8Array(2 * text.length);
      for (let i = 0; i < text.length; i++) {
        const unit = text.charCodeAt(i);
        bytes[2 * i] = unit;
        bytes[2 * i + 1] = unit >>> 8;
      }
      return bytes;
    }
    case "hex":
      return hexBytes(text);
    case "base64":
    case "base64url":
      return base64Bytes(text);
    default: {
      const bytes = new Uint8Array(text.length);
      for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
      return bytes;
    }
  }
}

/** How many bytes `bytesOf` would give, for base64 as the length of the text suggests. */
export function lengthOf(text: string, encoding: Encoding): number {
  switch (encoding) {
    case "utf8": {
      let length = text.length;
      for (let i = 0; i < text.length; i++) {
        const unit = text.charCodeAt(i);
        if (unit < 0x80) continue;
        length++;
        if (unit < 0x800) continue;
        length++;
        if (unit < 0xd800 || unit > 0xdbff) continue;
        const next = text.charCodeAt(i + 1);
        if (next >= 0xdc00 && next <= 0xdfff) i++;
      }
      return length;
    }
    case "utf16le":
      return text.length * 2;
    case "hex":
      return text.length >>> 1;
    case "base64":
    case "base64url": {
      let { length } = text;
      if (text.endsWith("=")) length--;
      if (length > 1 && text[length - 1] === "=") length--;
      return (length * 3) >>> 2;
    }
    default:
      return text.length;
  }
}

/** Writes as many whole characters as fit; gives the bytes written. */
export function writeText(into: Uint8Array, text: string, encoding: Encoding): number {
  if (encoding === "utf8") return encoder.encodeInto(text, into).written;
  let bytes = bytesOf(text, encoding);
  if (bytes.length > into.length) {
    bytes = bytes.subarray(0, encoding === "utf16le" ? into.length & ~1 : into.length);
  }
  into.set(bytes);
  return bytes.length;
}

export function textOf(bytes: Uint8Array, encoding: Encoding): string {
  if (bytes.length === 0) return "";
  switch (encoding) {
    case "utf8":
      return decoder.decode(bytes);
    case "utf16le": {
      const units = new Uint16Array(bytes.length >>> 1);
      for (let i = 0; i < units.length; i++) {
        units[i] = (bytes[2 * i] as number) | ((bytes[2 * i + 1] as number) << 8);
      }
      return fromUnits(units);
    }
    case "ascii":
      return fromUnits(new Uint8Array(bytes).map((byte) => byte & 127));
    case "latin1":
      return fromUnits(bytes);
    case "hex": {
      let text = "";
      for (let i = 0; i < bytes.length; i++) text += hexPairs[bytes[i] as number];
      return text;
    }
    case "base64":
      return btoa(fromUnits(bytes));
    case "base64url":
      return btoa(fromUnits(bytes)).replace(/=+$/, "").replaceAll("+", "-").replaceAll("/", "_");
  }
}
