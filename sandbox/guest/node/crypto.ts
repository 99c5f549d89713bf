/**
 * `node:crypto`, and `crypto` of the web. Chance comes from the host's generator, `subtle` is the runtime's own, and hashes and
 * ciphers are JavaScript that is loaded with the first use. No keys of two halves here: `subtle` has them.
 */

import { Buffer } from "node:buffer";
import { randomBytes as chance, subtle as nativeSubtle } from "xdev:system";
import { KeyObject, toBytes } from "./crypto_bytes.ts";
import type * as ciphers from "./crypto_ciphers.ts";
import type * as hashes from "./crypto_hashes.ts";
import {
  codedError,
  invalidArgument,
  outOfRange,
  requireFunction,
  requireInteger,
  requireString,
  unsupported,
} from "./errors.ts";
import { named } from "./named.ts";

export { KeyObject };
export const subtle = nativeSubtle;

declare const require: (name: string) => unknown;
const theHashes = (): typeof hashes => require("internal/hashes") as typeof hashes;
const theCiphers = (): typeof ciphers => require("internal/ciphers") as typeof ciphers;

type Callback<T> = (error: Error | null, value?: T) => void;
/** As much as the host gives at once. */
const PIECE = 65_536;

function fill(bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length; at += PIECE) {
    bytes.set(chance(Math.min(PIECE, bytes.length - at)), at);
  }
}

function laterOr<T>(callback: Callback<T> | undefined, compute: () => T): T | undefined {
  if (callback === undefined) return compute();
  requireFunction("callback", callback);
  const value = compute();
  setTimeout(() => callback(null, value), 0);
  return undefined;
}

export function randomBytes(size: number, callback?: Callback<Buffer>): Buffer | undefined {
  if (typeof size !== "number") throw invalidArgument("size", "of type number", size);
  if (!(size >= 0 && size <= 2 ** 31 - 1)) throw outOfRange("size", ">= 0 && <= 2147483647", size);
  return laterOr(callback, () => {
    const bytes = Buffer.alloc(size);
    fill(bytes);
    return bytes;
  });
}
export const pseudoRandomBytes: typeof randomBytes = randomBytes;

export function randomFillSync<T extends ArrayBufferView | ArrayBuffer>(
  buffer: T,
  offset = 0,
  size?: number,
): T {
  const isView = ArrayBuffer.isView(buffer);
  if (!isView && !((buffer as unknown) instanceof ArrayBuffer)) {
    throw invalidArgument("buf", "an instance of ArrayBuffer, Buffer, TypedArray, or DataView", buffer);
  }
  // In elements, where there are such.
  const each = (buffer as { BYTES_PER_ELEMENT?: number }).BYTES_PER_ELEMENT ?? 1;
  const all = isView
    ? new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength)
    : new Uint8Array(buffer as ArrayBuffer);
  const from = offset * each;
  const length = size === undefined ? all.length - from : size * each;
  if (!(from >= 0 && from <= all.length)) throw outOfRange("offset", `>= 0 && <= ${all.length}`, offset);
  if (!(length >= 0 && from + length <= all.length)) {
    throw outOfRange("size + offset", `<= ${all.length}`, from + length);
  }
  fill(all.subarray(from, from + length));
  return buffer;
}

export function randomFill<T extends ArrayBufferView>(buffer: T, ...rest: unknown[]): void {
  const callback = rest.pop() as Callback<T>;
  requireFunction("callback", callback);
  const [offset, size] = rest as [number?, number?];
  laterOr(callback, () => randomFillSync(buffer, offset, size));
}

export function randomInt(...given: unknown[]): number | undefined {
  const callback =
    typeof given[given.length - 1] === "function" ? (given.pop() as Callback<number>) : undefined;
  const [min, max] = given.length < 2 ? [0, given[0]] : given;
  requireInteger("min", min);
  requireInteger("max", max);
  const range = max - min;
  if (range <= 0) throw outOfRange("max", `greater than the value of "min" (${min})`, max);
  if (range > 2 ** 48 - 1)
    throw outOfRange(given.length < 2 ? "max" : "max - min", "<= 281474976710655", range);
  return laterOr(callback, () => {
    // What would make some more likely than others is thrown away.
    const limit = 2 ** 48 - (2 ** 48 % range);
    for (;;) {
      const value = Buffer.from(chance(6)).readUIntBE(0, 6);
      if (value < limit) return min + (value % range);
    }
  });
}

export function randomUUID(): `${string}-${string}-${string}-${string}-${string}` {
  const bytes = chance(16);
  bytes[6] = ((bytes[6] as number) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80;
  return Buffer.from(bytes)
    .toString("hex")
    .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5") as never;
}

export function getRandomValues<T extends ArrayBufferView>(array: T): T {
  const name = Object.prototype.toString.call(array);
  if (!/^\[object (?:Big)?(?:Ui|I)nt(?:8|16|32|64)(?:Clamped)?Array\]$/.test(name)) {
    throw domError(
      TypeError,
      "TypeMismatchError",
      17,
      "The data argument must be an integer-type TypedArray",
    );
  }
  if (array.byteLength > PIECE) {
    throw domError(
      Error,
      "QuotaExceededError",
      22,
      `The requested length exceeds ${PIECE.toLocaleString("en")} bytes`,
    );
  }
  return randomFillSync(array);
}

/** Like a DOMException, which is not here. */
function domError(Class: new (message: string) => Error, name: string, code: number, message: string): Error {
  const error = Object.assign(new Class(message), { code });
  return Object.defineProperty(error, "name", { value: name, configurable: true, writable: true });
}

export function timingSafeEqual(a: unknown, b: unknown): boolean {
  const [left, right] = [toBuffer("buf1", a), toBuffer("buf2", b)];
  if (left.length !== right.length) {
    throw codedError(
      RangeError,
      "ERR_CRYPTO_TIMING_SAFE_EQUAL_LENGTH",
      "Input buffers must have the same byte length",
    );
  }
  let difference = 0;
  for (let i = 0; i < left.length; i++) difference |= (left[i] as number) ^ (right[i] as number);
  return difference === 0;
}

function toBuffer(name: string, value: unknown): Uint8Array {
  if (typeof value === "string") {
    throw invalidArgument(name, "an instance of ArrayBuffer, Buffer, TypedArray, or DataView", value);
  }
  return toBytes(name, value);
}

export function createHash(name: string, options?: { outputLength?: number }): hashes.Hash {
  requireString("algorithm", name);
  return theHashes().createHash(name, options);
}

export function createHmac(name: string, key: unknown): hashes.Hmac {
  requireString("hmac", name);
  return theHashes().createHmac(name, key);
}

/** In one step. */
export function hash(name: string, data: unknown, encoding = "hex"): unknown {
  return createHash(name).update(data).digest(encoding);
}

export const getHashes = (): string[] => [...theHashes().hashNames].sort();
export const getCiphers = (): string[] => [...theCiphers().cipherNames].sort();
export const getCurves = (): string[] => [];

const asBuffer = (bytes: Uint8Array): Buffer =>
  Buffer.from(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.length);

function checkPbkdf2(iterations: unknown, length: unknown, digest: unknown): asserts digest is string {
  requireInteger("iterations", iterations, 1, 2 ** 31 - 1);
  requireInteger("keylen", length, 0, 2 ** 31 - 1);
  requireString("digest", digest);
}

export function pbkdf2Sync(
  password: unknown,
  salt: unknown,
  iterations: number,
  length: number,
  digest: string,
): Buffer {
  checkPbkdf2(iterations, length, digest);
  return asBuffer(theHashes().derivePbkdf2(password, salt, iterations, length, digest));
}

/** What the runtime computes, and does so elsewhere. */
const SUBTLE: Readonly<Record<string, string>> = {
  sha1: "SHA-1",
  sha256: "SHA-256",
  sha384: "SHA-384",
  sha512: "SHA-512",
};

export function pbkdf2(
  password: unknown,
  salt: unknown,
  iterations: number,
  length: number,
  digest: string,
  callback: Callback<Buffer>,
): void {
  requireFunction("callback", callback);
  checkPbkdf2(iterations, length, digest);
  const name = SUBTLE[digest.toLowerCase().replace("-", "")];
  const secret = new Uint8Array(toBytes("password", password));
  const salted = new Uint8Array(toBytes("salt", salt));
  settle(callback, async () => {
    if (name === undefined || length === 0 || secret.length === 0) {
      return pbkdf2Sync(secret, salted, iterations, length, digest);
    }
    const key = await subtle.importKey("raw", secret, "PBKDF2", false, ["deriveBits"]);
    const bits = await subtle.deriveBits(
      { name: "PBKDF2", hash: name, salt: salted, iterations },
      key,
      length * 8,
    );
    return Buffer.from(bits);
  });
}

/** Calls back outside of the promise, so that what the callback throws is nobody's rejection. */
function settle<T>(callback: Callback<T>, work: () => Promise<T>): void {
  work().then(
    (value) => setTimeout(() => callback(null, value), 0),
    (error: unknown) => setTimeout(() => callback(error as Error), 0),
  );
}

export function scryptSync(
  password: unknown,
  salt: unknown,
  length: number,
  options: hashes.ScryptOptions = {},
): Buffer {
  requireInteger("keylen", length, 0, 2 ** 31 - 1);
  return asBuffer(theHashes().deriveScrypt(password, salt, length, options));
}

export function scrypt(password: unknown, salt: unknown, length: number, ...rest: unknown[]): void {
  const callback = rest.pop() as Callback<Buffer>;
  requireFunction("callback", callback);
  requireInteger("keylen", length, 0, 2 ** 31 - 1);
  const options = (rest[0] ?? {}) as hashes.ScryptOptions;
  settle(callback, async () =>
    asBuffer(await theHashes().deriveScryptLater(password, salt, length, options)),
  );
}

export function hkdfSync(
  digest: string,
  key: unknown,
  salt: unknown,
  info: unknown,
  length: number,
): ArrayBuffer {
  requireString("digest", digest);
  requireInteger("length", length, 0, 2 ** 31 - 1);
  return new Uint8Array(theHashes().deriveHkdf(digest, key, salt, info, length)).buffer;
}

export function hkdf(
  digest: string,
  key: unknown,
  salt: unknown,
  info: unknown,
  length: number,
  callback: Callback<ArrayBuffer>,
): void {
  requireFunction("callback", callback);
  settle(callback, async () => hkdfSync(digest, key, salt, info, length));
}

export function createCipheriv(name: string, key: unknown, iv: unknown, options?: object): unknown {
  requireString("cipher", name);
  return theCiphers().createCipheriv(name, key, iv, options);
}

export function createDecipheriv(name: string, key: unknown, iv: unknown, options?: object): unknown {
  requireString("cipher", name);
  return theCiphers().createDecipheriv(name, key, iv, options);
}

export function createSecretKey(key: unknown, encoding?: string): KeyObject {
  return new KeyObject(toBytes("key", key, encoding));
}

const missing = (name: string) => (): never => {
  throw unsupported(`crypto.${name} (crypto.subtle may do it)`);
};
export const createSign = missing("createSign");
export const createVerify = missing("createVerify");
export const sign = missing("sign");
export const verify = missing("verify");
export const createPrivateKey = missing("createPrivateKey");
export const createPublicKey = missing("createPublicKey");
export const generateKeyPair = missing("generateKeyPair");
export const generateKeyPairSync = missing("generateKeyPairSync");
export const createECDH = missing("createECDH");
export const createDiffieHellman = missing("createDiffieHellman");
export const publicEncrypt = missing("publicEncrypt");
export const privateDecrypt = missing("privateDecrypt");

class Crypto {
  get subtle(): typeof subtle {
    return subtle;
  }

  getRandomValues<T extends ArrayBufferView>(array: T): T {
    return getRandomValues(array);
  }

  randomUUID(): ReturnType<typeof randomUUID> {
    return randomUUID();
  }

  get [Symbol.toStringTag](): string {
    return "Crypto";
  }
}

export const webcrypto: Crypto = new Crypto();
export const constants: Readonly<Record<string, number>> = Object.freeze({});

export default named({
  constants,
  createCipheriv,
  createDecipheriv,
  createDiffieHellman,
  createECDH,
  createHash,
  createHmac,
  createPrivateKey,
  createPublicKey,
  createSecretKey,
  createSign,
  createVerify,
  generateKeyPair,
  generateKeyPairSync,
  getCiphers,
  getCurves,
  getHashes,
  getRandomValues,
  hash,
  hkdf,
  hkdfSync,
  KeyObject,
  pbkdf2,
  pbkdf2Sync,
  privateDecrypt,
  pseudoRandomBytes,
  publicEncrypt,
  randomBytes,
  randomFill,
  randomFillSync,
  randomInt,
  randomUUID,
  scrypt,
  scryptSync,
  sign,
  subtle,
  timingSafeEqual,
  verify,
  webcrypto,
});
