/** How much of an extension is bundled, and what the cache must look at again. Small: it is loaded at each start. */
import { readdir } from "node:fs/promises";
import { sha256 } from "../../src/base/cache.ts";

/**
 * What large extensions bring in `node_modules`. A megabyte takes the bundler's thread most of a second, once, and for that
 * time about 150 MB of memory, which is what bounds this.
 */
export const MAX_FILE_BYTES = 8 * 1024 * 1024;
export const MAX_TOTAL_BYTES = 12 * 1024 * 1024;
/** Of the linked text: a few characters each in what people write, but it could be one. */
export const MAX_TOKENS = 3_000_000;
export const MAX_FILES = 5000;

/** The digest of the names in a folder. Throws if it can't be listed. */
export async function folderDigest(path: string): Promise<string> {
  return sha256(JSON.stringify((await readdir(path)).sort()));
}
