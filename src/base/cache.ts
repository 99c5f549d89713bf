/**
 * Derived data in `<dataDir>/cache`: what can be computed again, kept because computing it is slow. An entry is used only
 * for the very key that it was made for, and only if it is whole; a failure to read or write one is never an error. The
 * folder is the user's alone (0700), and so are the files. Only the executable keeps a cache: its build is part of
 * every key, while sources change under it.
 */
import { createHash } from "node:crypto";
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { writeFileAtomic } from "./files.ts";
import { log } from "./log.ts";

/** Set by scripts/build: a digest of the sources. */
declare const XDEV_BUILD: string | undefined;
const build = typeof XDEV_BUILD === "undefined" ? undefined : XDEV_BUILD;

/** The largest entry that is read, in bytes. */
const LIMIT = 64 * 1024 * 1024;

export interface Cache {
  /** The value kept under `name` for exactly this `key`, or undefined. The caller checks its shape. */
  read(name: string, key: string): Promise<unknown>;
  /** Keeps a value. What was under `name` before is gone. */
  write(name: string, key: string, value: unknown): Promise<void>;
}

/** The cache of a data dir; one that keeps nothing when this is not a build, or without a data dir. */
export function openCache(dataDir: string | undefined, buildId: string | undefined = build): Cache {
  if (dataDir === undefined || buildId === undefined)
    return { read: async () => undefined, write: async () => {} };
  const folder = join(dataDir, "cache");
  const file = (name: string) => join(folder, `${name}.json`);
  return {
    async read(name, key) {
      try {
        const bytes = await readFile(file(name));
        if (bytes.length > LIMIT) return undefined;
        // First line: the digest of the rest. A torn or edited entry is none.
        const end = bytes.indexOf(0x0a);
        if (end === -1 || bytes.toString("latin1", 0, end) !== sha256(bytes.subarray(end + 1)))
          return undefined;
        const entry = JSON.parse(bytes.toString("utf8", end + 1)) as { key?: unknown; value?: unknown };
        return entry.key === `${buildId} ${key}` ? entry.value : undefined;
      } catch {
        return undefined;
      }
    },
    async write(name, key, value) {
      try {
        const text = JSON.stringify({ key: `${buildId} ${key}`, value });
        await mkdir(folder, { recursive: true, mode: 0o700 });
        await writeFileAtomic(file(name), `${sha256(Buffer.from(text))}\n${text}`, { mode: 0o600 });
      } catch (error) {
        log.debug(`the cache keeps no ${name}: ${String(error)}`);
      }
    },
  };
}

/** The SHA-256 digest of bytes or of a text in UTF-8, in hexadecimal. */
export function sha256(data: Uint8Array | string): string {
  return createHash("sha256").update(data).digest("hex");
}
