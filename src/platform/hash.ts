/**
 * SHA-256 as the runtime has it at hand: each run opens sealed caches, and `node:crypto` costs a start more than 2 ms. Kept
 * apart from bun.ts, which loads more.
 */
export interface Hash {
  update(data: string | Uint8Array): Hash;
  digest(): Uint8Array;
  digest(encoding: "hex"): string;
}

interface Native {
  Bun?: { CryptoHasher: new (algorithm: "sha256", key?: Uint8Array) => Hash };
}

const native = (globalThis as Native).Bun?.CryptoHasher;

/** A SHA-256 hash; texts are hashed in UTF-8. */
export function sha256Hash(): Hash {
  return native ? new native("sha256") : process.getBuiltinModule("node:crypto").createHash("sha256");
}

/** The same with a key (HMAC). */
export function hmacSha256Hash(key: Uint8Array): Hash {
  return native
    ? new native("sha256", key)
    : process.getBuiltinModule("node:crypto").createHmac("sha256", key);
}
