/**
 * Hashes, HMAC and key derivation for `crypto`: loaded with the first use. Those that few ask for are a text of their own
 * (crypto_more_hashes.ts).
 */
import { hkdf } from "@noble/hashes/hkdf.js";
import { hmac } from "@noble/hashes/hmac.js";
import { md5, ripemd160, sha1 } from "@noble/hashes/legacy.js";
import { pbkdf2 } from "@noble/hashes/pbkdf2.js";
import { sha224, sha256, sha384, sha512, sha512_224, sha512_256 } from "@noble/hashes/sha2.js";
import { encode, toBytes } from "./crypto_bytes.ts";
import { LazyTransform } from "./crypto_lazy.ts";
import type * as more from "./crypto_more_hashes.ts";
import { codedError, outOfRange } from "./errors.ts";
import { named } from "./named.ts";

type Family = typeof sha256;
type State = ReturnType<Family["create"]>;
type Done = (error?: unknown) => void;

const FAMILIES: Readonly<Record<string, unknown>> = {
  md5,
  ripemd160,
  rmd160: ripemd160,
  sha1,
  sha224,
  sha256,
  sha384,
  sha512,
  "sha512-224": sha512_224,
  "sha512-256": sha512_256,
};

declare const require: (name: string) => unknown;
const theMore = (): typeof more => require("internal/more-hashes") as typeof more;
const MORE: ReadonlySet<string> = new Set(
  "sha3-224 sha3-256 sha3-384 sha3-512 shake128 shake256 blake2b512 blake2s256".split(" "),
);

export const hashNames: readonly string[] = [...Object.keys(FAMILIES), ...MORE];

/** By Node's name for it: `sha256`, `SHA-256`, `RSA-SHA256`. */
function find(name: string): Family | undefined {
  const lower = name
    .toLowerCase()
    .replace(/^rsa-/, "")
    .replace(/^sha-(1|224|256|384|512)(?=$|[/-])/, "sha$1")
    .replace("/", "-");
  if (MORE.has(lower)) return theMore().families[lower] as Family;
  return Object.hasOwn(FAMILIES, lower) ? (FAMILIES[lower] as Family) : undefined;
}

function family(name: string): Family {
  const found = find(name);
  if (found) return found;
  throw codedError(TypeError, "ERR_CRYPTO_INVALID_DIGEST", `Invalid digest: ${name}`);
}

function finalized(): Error {
  return codedError(Error, "ERR_CRYPTO_HASH_FINALIZED", "Digest already called");
}

/** What Hash and Hmac share. */
abstract class Digest extends LazyTransform {
  protected state: State | undefined;

  constructor(state: State) {
    super();
    Object.defineProperty(this, "state", { value: state, writable: true });
  }

  update(data: unknown, encoding?: string): this {
    if (!this.state) throw finalized();
    this.state.update(toBytes("data", data, encoding));
    return this;
  }

  override _transform(chunk: Uint8Array, _encoding: string, done: Done): void {
    this.update(chunk);
    done();
  }

  override _flush(done: Done): void {
    this.push(this.digest());
    done();
  }

  abstract digest(encoding?: string): unknown;
}

export class Hash extends Digest {
  readonly #length: number | undefined;

  constructor(state: State, length: number | undefined) {
    super(state);
    this.#length = length;
  }

  override digest(encoding?: string): unknown {
    const { state } = this;
    if (!state) throw finalized();
    this.state = undefined;
    const long = state as State & { xof?: (length: number) => Uint8Array };
    if (this.#length === undefined) return encode(state.digest(), encoding);
    return encode(
      this.#length === 0 ? new Uint8Array(0) : (long.xof?.(this.#length) ?? state.digest()),
      encoding,
    );
  }

  copy(): Hash {
    if (!this.state) throw finalized();
    return new Hash((this.state as unknown as { clone(): State }).clone(), this.#length);
  }
}

export class Hmac extends Digest {
  override digest(encoding?: string): unknown {
    const { state } = this;
    this.state = undefined;
    // As in Node, a second digest is empty.
    return encode(state?.digest() ?? new Uint8Array(0), encoding);
  }
}

named({ Hash, Hmac });

/** Throws an Error for a name that is not there. @param options `outputLength` in bytes, for shake128 and shake256 */
export function createHash(name: string, options: { outputLength?: number } = {}): Hash {
  const found = find(name);
  if (!found) throw new Error("Digest method not supported");
  const { outputLength } = options;
  const takesLength = name.toLowerCase().startsWith("shake");
  if (outputLength !== undefined && !takesLength && outputLength !== found.outputLen) {
    throw codedError(
      Error,
      "ERR_OSSL_EVP_NOT_XOF_OR_INVALID_LENGTH",
      "Unsupported state or unable to set XOF length",
    );
  }
  return new Hash(found.create(), takesLength ? (outputLength ?? found.outputLen) : undefined);
}

export function createHmac(name: string, key: unknown): Hmac {
  return new Hmac(hmac.create(family(name), toBytes("key", key)) as unknown as State);
}

export function derivePbkdf2(
  password: unknown,
  salt: unknown,
  iterations: number,
  length: number,
  digest: string,
): Uint8Array {
  if (length === 0) return new Uint8Array(0);
  return pbkdf2(family(digest), toBytes("password", password), toBytes("salt", salt), {
    c: iterations,
    dkLen: length,
  });
}

export function deriveHkdf(
  digest: string,
  key: unknown,
  salt: unknown,
  info: unknown,
  length: number,
): Uint8Array {
  if (length === 0) return new Uint8Array(0);
  return hkdf(family(digest), toBytes("ikm", key), toBytes("salt", salt), toBytes("info", info), length);
}

export interface ScryptOptions {
  N?: number;
  r?: number;
  p?: number;
  cost?: number;
  blockSize?: number;
  parallelization?: number;
  maxmem?: number;
}

function scryptOptions(length: number, options: ScryptOptions): Parameters<typeof more.scrypt>[2] {
  const N = options.N ?? options.cost ?? 16_384;
  const r = options.r ?? options.blockSize ?? 8;
  const p = options.p ?? options.parallelization ?? 1;
  const most = options.maxmem ?? 32 * 1024 * 1024;
  if (N < 2 || (N & (N - 1)) !== 0) throw invalid();
  if (128 * N * r > most) throw invalid();
  if (length < 0) throw outOfRange("keylen", ">= 0 && <= 2147483647", length);
  return { N, r, p, dkLen: length, maxmem: most * 2 };
}

function invalid(): Error {
  return codedError(
    RangeError,
    "ERR_CRYPTO_INVALID_SCRYPT_PARAMS",
    "Invalid scrypt params: memory limit exceeded",
  );
}

export function deriveScrypt(
  password: unknown,
  salt: unknown,
  length: number,
  options: ScryptOptions,
): Uint8Array {
  const checked = scryptOptions(length, options);
  if (length === 0) return new Uint8Array(0);
  return theMore().scrypt(toBytes("password", password), toBytes("salt", salt), checked);
}

/** Lets others run in between. */
export async function deriveScryptLater(
  password: unknown,
  salt: unknown,
  length: number,
  options: ScryptOptions,
): Promise<Uint8Array> {
  const checked = scryptOptions(length, options);
  if (length === 0) return new Uint8Array(0);
  return await theMore().scryptAsync(toBytes("password", password), toBytes("salt", salt), checked);
}
