/**
 * Bundles kept in the cache. One is used again only if every file that went into it still has its content, and everything
 * that was looked for and not found is still not there: then bundling would give the same. What comes from the
 * cache is checked by the guest like any bundle. Loads the bundler only when it is needed.
 */
import { lstat, readFile, realpath } from "node:fs/promises";
import { type Cache, sha256 } from "../../src/base/cache.ts";
import type { Bundle } from "./index.ts";

/** What the host needs of a bundle. */
export type LoadedBundle = Pick<Bundle, "source" | "imports">;

interface Kept extends LoadedBundle {
  /** Canonical path and SHA-256 digest of each file that was read. */
  files: [string, string][];
  missing: string[];
}

/** The kept bundle of the extension at `entry`, a canonical path; undefined if there is none that is still right. */
export async function keptBundle(entry: string, cache: Cache): Promise<LoadedBundle | undefined> {
  const kept = await cache.read(nameOf(entry), entry);
  return isKept(kept) && (await isCurrent(kept)) ? kept : undefined;
}

/** Bundles the extension at `entry`, and keeps the bundle. Throws what `bundleExtension` throws. */
export async function freshBundle(entry: string, cache: Cache): Promise<LoadedBundle> {
  const { bundleExtension } = await import("./index.ts");
  const { source, imports, read, missing } = await bundleExtension(entry);
  const fresh: Kept = { source, imports, files: read, missing };
  // Not waited for: the worker is.
  void cache.write(nameOf(entry), entry, fresh);
  return fresh;
}

function nameOf(entry: string): string {
  return `bundle-${sha256(entry).slice(0, 32)}`;
}

async function isCurrent(kept: Kept): Promise<boolean> {
  const files = kept.files.map(async ([path, digest]) => {
    try {
      const info = await lstat(path);
      return info.isFile() && (await realpath(path)) === path && sha256(await readFile(path)) === digest;
    } catch {
      return false;
    }
  });
  const missing = kept.missing.map((path) =>
    realpath(path).then(
      () => false,
      () => true,
    ),
  );
  return (await Promise.all([...files, ...missing])).every(Boolean);
}

function isKept(value: unknown): value is Kept {
  const kept = value as Kept | undefined;
  return (
    typeof kept?.source === "string" &&
    isTextList(kept.imports) &&
    isTextList(kept.missing) &&
    Array.isArray(kept.files) &&
    kept.files.length > 0 &&
    kept.files.every(isTextList)
  );
}

function isTextList(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}
