/**
 * Derived data in `<dataDir>/cache`: what can be computed again, kept because computing it is slow. An entry is used only
 * for the very key that it was made for, and only if this installation wrote it and it is whole (cache-seal.ts); a failure to
 * read or write one is never an error. The folder is the user's alone (0700), and so are the files. Only the
 * executable keeps a cache: its build is part of every key, while sources change under it.
 *
 * Entries may be large, and the agent's thread must not stand still: nothing here works on more than a slice at once.
 */

import { mkdir, readdir, readFile, stat, unlink } from "node:fs/promises";
import { join } from "node:path";
import { sha256Hash } from "../platform/hash.ts";
import { type CacheKey, cacheKey, seal } from "./cache-seal.ts";
import { writeFileAtomic } from "./files.ts";
import { log } from "./log.ts";
import { encodeSlowly } from "./slices.ts";

/** Set by scripts/build: a digest of the sources. */
declare const XDEV_BUILD: string | undefined;
const build = typeof XDEV_BUILD === "undefined" ? undefined : XDEV_BUILD;

/** The largest entry that is read, and the largest folder that a write leaves behind, in bytes and in entries. */
const LIMIT = 64 * 1024 * 1024;
const FOLDER_LIMIT = 256 * 1024 * 1024;
const FOLDER_ENTRIES = 512;

export interface Cache {
  /** The value kept under `name` for exactly this `key`, or undefined. The caller checks its shape. */
  read(name: string, key: string): Promise<unknown>;
  /** The same with the bytes that were kept beside it. */
  readWithBytes(name: string, key: string): Promise<{ value: unknown; bytes: Uint8Array } | undefined>;
  /** Keeps a value, and bytes beside it: what is long belongs there. What was under `name` before is gone. */
  write(name: string, key: string, value: unknown, bytes?: Uint8Array | string): Promise<void>;
}

/** The cache of a data dir; one that keeps nothing when this is not a build, or without a data dir. */
export function openCache(
  dataDir: string | undefined,
  buildId: string | undefined = build,
  { folderLimit = FOLDER_LIMIT, folderEntries = FOLDER_ENTRIES } = {},
): Cache {
  if (dataDir === undefined || buildId === undefined) {
    return { read: async () => undefined, readWithBytes: async () => undefined, write: async () => {} };
  }
  const folder = join(dataDir, "cache");
  const file = (name: string) => join(folder, `${name}.json`);
  let known: Promise<CacheKey | undefined> | undefined;
  const keyFor = async (make: boolean): Promise<CacheKey | undefined> => {
    const key = await known?.catch(() => undefined);
    if (key !== undefined) return key;
    known = cacheKey(dataDir, make);
    return known;
  };

  const readWithBytes: Cache["readWithBytes"] = async (name, key) => {
    try {
      const [secret, entry] = await Promise.all([keyFor(false), readEntry(file(name))]);
      if (secret === undefined || entry === undefined) return undefined;
      // First line: the seal of the rest. Second line: the key and the value. Then the bytes.
      const first = entry.indexOf(NEWLINE);
      const second = entry.indexOf(NEWLINE, first + 1);
      if (first === -1 || second === -1) return undefined;
      const given = entry.toString("latin1", 0, first);
      if (given !== (await seal(secret, name, [entry.subarray(first + 1)]))) return undefined;
      const { key: kept, value } = JSON.parse(entry.toString("utf8", first + 1, second)) as Head;
      return kept === `${buildId} ${key}` ? { value, bytes: entry.subarray(second + 1) } : undefined;
    } catch {
      return undefined;
    }
  };

  return {
    readWithBytes,
    read: async (name, key) => (await readWithBytes(name, key))?.value,
    async write(name, key, value, bytes = "") {
      try {
        const head: Head = { key: `${buildId} ${key}`, value };
        const body = typeof bytes === "string" ? await encodeSlowly(bytes) : [bytes];
        const rest = [Buffer.from(`${JSON.stringify(head)}\n`), ...body];
        await mkdir(folder, { recursive: true, mode: 0o700 });
        const secret = await keyFor(true);
        if (secret === undefined) throw new Error("there is no key to seal it with");
        const first = Buffer.from(`${await seal(secret, name, rest)}\n`);
        await writeFileAtomic(file(name), Buffer.concat([first, ...rest]), { mode: 0o600 });
        await prune(folder, folderLimit, folderEntries);
      } catch (error) {
        log.debug(`the cache keeps no ${name}: ${String(error)}`);
      }
    },
  };
}

async function readEntry(path: string): Promise<Buffer | undefined> {
  return (await stat(path)).size > LIMIT ? undefined : readFile(path);
}

interface Head {
  key: string;
  value: unknown;
}

const NEWLINE = 0x0a;

/** Removes the entries that were written first until the folder is within its limits. */
async function prune(folder: string, maxBytes: number, maxEntries: number): Promise<void> {
  const entries: { path: string; size: number; time: number }[] = [];
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    const info = await stat(path).catch(() => undefined);
    if (info?.isFile()) entries.push({ path, size: info.size, time: info.mtimeMs });
  }
  entries.sort((a, b) => b.time - a.time);
  let bytes = 0;
  for (const [i, { path, size }] of entries.entries()) {
    bytes += size;
    // The newest stays, whatever its size.
    if (i > 0 && (i >= maxEntries || bytes > maxBytes)) await unlink(path).catch(() => {});
  }
}

/** The SHA-256 digest of bytes or of a text in UTF-8, in hexadecimal. */
export function sha256(data: Uint8Array | string): string {
  return sha256Hash().update(data).digest("hex");
}
