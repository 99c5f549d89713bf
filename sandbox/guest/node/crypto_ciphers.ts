/**
 * `createCipheriv` and `createDecipheriv`: AES (ECB, CBC, CTR, GCM) and ChaCha20-Poly1305. What they give comes with
 * `final`: `update` gives nothing yet. Loaded with the first use.
 */
import { cbc, ctr, ecb, gcm } from "@noble/ciphers/aes.js";
import { chacha20poly1305 } from "@noble/ciphers/chacha.js";
import { encode, toBytes } from "./crypto_bytes.ts";
import { LazyTransform } from "./crypto_lazy.ts";
import { codedError } from "./errors.ts";

interface Cipher {
  encrypt(bytes: Uint8Array): Uint8Array;
  decrypt(bytes: Uint8Array): Uint8Array;
}
type Done = (error?: unknown) => void;
type Make = (key: Uint8Array, iv: Uint8Array, aad: Uint8Array | undefined, padding: boolean) => Cipher;

const MAKERS: Readonly<Record<string, { iv: number; authenticated?: boolean; make: Make }>> = {
  cbc: { iv: 16, make: (key, iv, _aad, padding) => cbc(key, iv, { disablePadding: !padding }) },
  ecb: { iv: 0, make: (key, _iv, _aad, padding) => ecb(key, { disablePadding: !padding }) },
  ctr: { iv: 16, make: (key, iv) => ctr(key, iv) },
  gcm: { iv: 12, authenticated: true, make: (key, iv, aad) => gcm(key, iv, aad) },
  chacha: { iv: 12, authenticated: true, make: (key, iv, aad) => chacha20poly1305(key, iv, aad) },
};

const TAG = 16;

export const cipherNames: readonly string[] = [
  ...["128", "192", "256"].flatMap((bits) =>
    ["cbc", "ctr", "ecb", "gcm"].map((mode) => `aes-${bits}-${mode}`),
  ),
  "chacha20-poly1305",
];

class CipherBase extends LazyTransform {
  readonly #encrypts: boolean;
  readonly #kind: (typeof MAKERS)[string];
  readonly #key: Uint8Array;
  readonly #iv: Uint8Array;
  readonly #parts: Uint8Array[] = [];
  readonly #aad: Uint8Array[] = [];
  #tag: Uint8Array | undefined;
  #tagLength = TAG;
  #padding = true;
  #done = false;

  constructor(
    encrypts: boolean,
    name: string,
    key: unknown,
    iv: unknown,
    options: { authTagLength?: number } = {},
  ) {
    super();
    const lower = name.toLowerCase();
    const match = /^aes-(128|192|256)-(cbc|ecb|ctr|gcm)$/.exec(
      lower.replace(/^id-aes(\d+)-gcm$/, "aes-$1-gcm"),
    );
    const kind = MAKERS[lower === "chacha20-poly1305" ? "chacha" : (match?.[2] ?? "")];
    if (!kind) throw codedError(Error, "ERR_CRYPTO_UNKNOWN_CIPHER", "Unknown cipher");
    this.#encrypts = encrypts;
    this.#kind = kind;
    this.#key = new Uint8Array(toBytes("key", key));
    this.#iv = iv === null ? new Uint8Array(0) : new Uint8Array(toBytes("iv", iv));
    if (this.#key.length !== (match ? Number(match[1]) / 8 : 32)) {
      throw codedError(RangeError, "ERR_CRYPTO_INVALID_KEYLEN", "Invalid key length");
    }
    if (match?.[2] === "gcm" ? this.#iv.length === 0 : this.#iv.length !== kind.iv) {
      throw codedError(TypeError, "ERR_CRYPTO_INVALID_IV", "Invalid initialization vector");
    }
    this.#tagLength = options.authTagLength ?? TAG;
  }

  update(data: unknown, inputEncoding?: string, outputEncoding?: string): unknown {
    if (this.#done)
      throw codedError(Error, "ERR_CRYPTO_INVALID_STATE", "Trying to add data in unsupported state");
    this.#parts.push(new Uint8Array(toBytes("data", data, inputEncoding)));
    return encode(new Uint8Array(0), outputEncoding);
  }

  final(outputEncoding?: string): unknown {
    if (this.#done) throw codedError(Error, "ERR_CRYPTO_INVALID_STATE", "Unsupported state");
    this.#done = true;
    const aad = this.#aad.length > 0 ? join(this.#aad) : undefined;
    const cipher = this.#kind.make(this.#key, this.#iv, aad, this.#padding);
    const input = join(this.#parts);
    try {
      return encode(
        this.#encrypts ? this.#encrypt(cipher, input) : this.#decrypt(cipher, input),
        outputEncoding,
      );
    } catch (error) {
      if (this.#kind.authenticated) throw new Error("Unsupported state or unable to authenticate data");
      throw codedError(Error, "ERR_OSSL_BAD_DECRYPT", (error as Error).message);
    }
  }

  #encrypt(cipher: Cipher, input: Uint8Array): Uint8Array {
    const made = cipher.encrypt(input);
    if (!this.#kind.authenticated) return made;
    this.#tag = made.slice(made.length - TAG, made.length - TAG + this.#tagLength);
    return made.subarray(0, made.length - TAG);
  }

  #decrypt(cipher: Cipher, input: Uint8Array): Uint8Array {
    if (!this.#kind.authenticated) return cipher.decrypt(input);
    // A shorter tag would have to be compared here: none is taken.
    if (this.#tag?.length !== TAG) throw new Error("no tag");
    return cipher.decrypt(join([input, this.#tag]));
  }

  setAAD(data: unknown): this {
    this.#aad.push(new Uint8Array(toBytes("buffer", data)));
    return this;
  }

  setAutoPadding(padding = true): this {
    this.#padding = padding;
    return this;
  }

  getAuthTag(): unknown {
    if (!this.#encrypts || !this.#tag) {
      throw codedError(Error, "ERR_CRYPTO_INVALID_STATE", "Invalid state for operation getAuthTag");
    }
    return encode(this.#tag, undefined);
  }

  setAuthTag(tag: unknown, encoding?: string): this {
    const bytes = toBytes("buffer", tag, encoding);
    if (bytes.length !== TAG) {
      throw codedError(
        TypeError,
        "ERR_CRYPTO_INVALID_AUTH_TAG",
        `Invalid authentication tag length: ${bytes.length}`,
      );
    }
    this.#tag = new Uint8Array(bytes);
    return this;
  }

  override _transform(chunk: Uint8Array, _encoding: string, done: Done): void {
    this.update(chunk);
    done();
  }

  override _flush(done: Done): void {
    try {
      this.push(this.final());
    } catch (error) {
      return done(error);
    }
    done();
  }
}

function join(parts: readonly Uint8Array[]): Uint8Array {
  const joined = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}

export const createCipheriv = (name: string, key: unknown, iv: unknown, options?: object): CipherBase =>
  new CipherBase(true, name, key, iv, options);
export const createDecipheriv = (name: string, key: unknown, iv: unknown, options?: object): CipherBase =>
  new CipherBase(false, name, key, iv, options);
