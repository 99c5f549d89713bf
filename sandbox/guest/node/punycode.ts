/** `node:punycode`: RFC 3492, and names of hosts in it. */

import { codedError } from "./errors.ts";
import { named } from "./named.ts";

const BASE = 36;
const T_MIN = 1;
const T_MAX = 26;
const MAX = 2 ** 31 - 1;
const DOTS = /[\u002e\u3002\uff0e\uff61]/g;

function adapt(given: number, points: number, isFirst: boolean): number {
  let delta = isFirst ? Math.floor(given / 700) : given >> 1;
  delta += Math.floor(delta / points);
  let k = 0;
  for (; delta > ((BASE - T_MIN) * T_MAX) >> 1; k += BASE) delta = Math.floor(delta / (BASE - T_MIN));
  return Math.floor(k + ((BASE - T_MIN + 1) * delta) / (delta + 38));
}

const threshold = (k: number, bias: number): number =>
  k <= bias ? T_MIN : k >= bias + T_MAX ? T_MAX : k - bias;
const overflow = (): Error =>
  codedError(RangeError, "ERR_INVALID_ARG_VALUE", "Overflow: input needs wider integers to process");
const invalid = (): Error => codedError(RangeError, "ERR_INVALID_ARG_VALUE", "Invalid input");

function digitOf(unit: number): number {
  if (unit >= 48 && unit < 58) return unit - 22;
  const lower = unit | 32;
  return lower >= 97 && lower < 123 ? lower - 97 : BASE;
}
const letter = (digit: number): string => String.fromCharCode(digit < 26 ? digit + 97 : digit + 22);

export function decode(input: string): string {
  const output: number[] = [];
  const dash = Math.max(0, input.lastIndexOf("-"));
  for (let i = 0; i < dash; i++) {
    if (input.charCodeAt(i) >= 128)
      throw codedError(RangeError, "ERR_INVALID_ARG_VALUE", "Illegal input >= 0x80 (not a basic code point)");
    output.push(input.charCodeAt(i));
  }
  let point = 128;
  let bias = 72;
  let at = 0;
  for (let i = dash > 0 ? dash + 1 : 0; i < input.length; ) {
    const before = at;
    let weight = 1;
    for (let k = BASE; ; k += BASE) {
      if (i >= input.length) throw invalid();
      const digit = digitOf(input.charCodeAt(i++));
      if (digit >= BASE) throw invalid();
      if (digit > Math.floor((MAX - at) / weight)) throw overflow();
      at += digit * weight;
      const t = threshold(k, bias);
      if (digit < t) break;
      weight *= BASE - t;
    }
    const length = output.length + 1;
    bias = adapt(at - before, length, before === 0);
    point += Math.floor(at / length);
    if (point > 0x10ffff) throw invalid();
    at %= length;
    output.splice(at++, 0, point);
  }
  return String.fromCodePoint(...output);
}

export function encode(input: string): string {
  const points = ucs2.decode(input);
  let output = points
    .filter((point) => point < 128)
    .map((point) => String.fromCharCode(point))
    .join("");
  const basic = output.length;
  let handled = basic;
  if (basic > 0) output += "-";
  let point = 128;
  let delta = 0;
  let bias = 72;
  while (handled < points.length) {
    const next = Math.min(...points.filter((one) => one >= point));
    if (next - point > Math.floor((MAX - delta) / (handled + 1))) throw overflow();
    delta += (next - point) * (handled + 1);
    point = next;
    for (const one of points) {
      if (one < point) delta++;
      if (one !== point) continue;
      let rest = delta;
      for (let k = BASE; ; k += BASE) {
        const t = threshold(k, bias);
        if (rest < t) break;
        output += letter(t + ((rest - t) % (BASE - t)));
        rest = Math.floor((rest - t) / (BASE - t));
      }
      output += letter(rest);
      bias = adapt(delta, handled + 1, handled === basic);
      delta = 0;
      handled++;
    }
    delta++;
    point++;
  }
  return output;
}

/** Calls `change` for each label of a host name, or of what stands behind an `@`. */
function labels(domain: string, change: (label: string) => string): string {
  const at = domain.lastIndexOf("@");
  const name = domain.slice(at + 1).replace(DOTS, ".");
  return domain.slice(0, at + 1) + name.split(".").map(change).join(".");
}

export function toUnicode(domain: string): string {
  return labels(domain, (label) => (label.startsWith("xn--") ? decode(label.slice(4).toLowerCase()) : label));
}

export function toASCII(domain: string): string {
  return labels(domain, (label) => (/[^\0-\x7f]/.test(label) ? `xn--${encode(label)}` : label));
}

export const ucs2 = {
  decode: (text: string): number[] => Array.from(text, (one) => one.codePointAt(0) as number),
  encode: (points: number[]): string => String.fromCodePoint(...points),
};

export const version = "2.1.0";

export default named({ version, ucs2, decode, encode, toASCII, toUnicode });
