/**
 * What tells an entry of the cache that this installation wrote from one that somebody put there. A digest would not:
 * whoever can write into the folder can compute it. The key lies beside the folder, not in it, for the user alone, so that
 * a program or an extension that was allowed to write below `cache`, or a folder that was copied from elsewhere,
 * can't make the agent run a bundle that was never checked. Who can read the key can also write the settings.
 */

import { constants } from "node:fs";
import { link, mkdir, open, rename, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { hmacSha256Hash } from "../platform/hash.ts";
import { systemCode } from "./errors.ts";
import { randomBytes, randomHex } from "./random.ts";
import { pause, SLICE } from "./slices.ts";

const NAME = "cache.key";
const LENGTH = 32;

export type CacheKey = Uint8Array;

/** The key of a data dir; made if there is none, or none that only the user can read, and `make` says so. */
export async function cacheKey(dataDir: string, make: boolean): Promise<CacheKey | undefined> {
  const path = join(dataDir, NAME);
  const found = await readKey(path);
  if (found !== undefined || !make) return found;
  await mkdir(dataDir, { recursive: true });
  // Linked when it is whole: of several that make one at once, the first wins, and none reads half a key.
  const temporary = `${path}.${randomHex(6)}.tmp`;
  try {
    await writeFile(temporary, randomBytes(LENGTH), { mode: 0o600, flag: "wx" });
    await link(temporary, path).catch(async (error: unknown) => {
      if (systemCode(error) !== "EEXIST") throw error;
      if ((await readKey(path)) !== undefined) return;
      // Not a key, or one that others can read.
      await rename(temporary, path);
    });
  } finally {
    await unlink(temporary).catch(() => {});
  }
  return readKey(path);
}

async function readKey(path: string): Promise<CacheKey | undefined> {
  const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
  const file = await open(path, flags).catch(() => undefined);
  if (file === undefined) return undefined;
  try {
    const info = await file.stat();
    const isMine =
      process.getuid === undefined || (info.uid === process.getuid() && (info.mode & 0o077) === 0);
    if (!info.isFile() || !isMine || info.size !== LENGTH) return undefined;
    const key = new Uint8Array(LENGTH);
    const { bytesRead } = await file.read(key, 0, LENGTH, 0);
    return bytesRead === LENGTH ? key : undefined;
  } finally {
    await file.close();
  }
}

/** The seal of an entry, in pieces, under its name; in hexadecimal. */
export async function seal(key: CacheKey, name: string, entry: readonly Uint8Array[]): Promise<string> {
  const mac = hmacSha256Hash(key).update(`${name}\n`);
  for (const piece of entry) {
    for (let at = 0; at < piece.length; at += SLICE) {
      mac.update(piece.subarray(at, at + SLICE));
      if (piece.length > SLICE) await pause();
    }
  }
  return mac.digest("hex");
}
