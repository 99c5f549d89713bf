/**
 * Bundles kept in the cache. One is used again only if every file that went into it still has its content, and every
 * path that was looked for still leads where it led: then bundling would give the same. What comes from the
 * cache is checked by the guest like any bundle. Loads the bundler only when it is needed.
 */
import { realpath } from "node:fs/promises";
import { type Cache, sha256 } from "../../src/base/cache.ts";
import { readSmallFile } from "../../src/base/files.ts";
import { MAX_FILE_BYTES } from "./files.ts";
import type { Bundle } from "./index.ts";

/** What the host needs of a bundle. */
export type LoadedBundle = Pick<Bundle, "source" | "imports">;

interface Kept extends LoadedBundle {
  /** Canonical path and SHA-256 digest of each file that was read. */
  files: [string, string][];
  /** Every path that was looked for, and what it led to; null for nothing. */
  probes: [string, string | null][];
}

/** The kept bundle of the extension at `entry`, a canonical path; undefined if there is none that is still right. */
export async function keptBundle(entry: string, cache: Cache): Promise<LoadedBundle | undefined> {
  const kept = await cache.read(nameOf(entry), entry);
  return isKept(kept) && (await isCurrent(kept)) ? kept : undefined;
}

/** Bundles the extension at `entry`, and keeps the bundle. Throws what `bundleExtension` throws. */
export async function freshBundle(entry: string, cache: Cache): Promise<LoadedBundle> {
  const { bundleExtension } = await import("./index.ts");
  const { source, imports, read, probes } = await bundleExtension(entry);
  const fresh: Kept = { source, imports, files: read, probes };
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
      return (await realpath(path)) === path && sha256(await readSmallFile(path, MAX_FILE_BYTES)) === digest;
    } catch {
      return false;
    }
  });
  const probes = kept.probes.map(async ([path, real]) => (await realpath(path).catch(() => null)) === real);
  return (await Promise.all([...files, ...probes])).every(Boolean);
}

function isKept(value: unknown): value is Kept {
  const kept = value as Kept | undefined;
  return (
    typeof kept?.source === "string" &&
    isTextList(kept.imports) &&
    Array.isArray(kept.probes) &&
    kept.probes.every((probe) => Array.isArray(probe) && typeof probe[0] === "string") &&
    Array.isArray(kept.files) &&
    kept.files.length > 0 &&
    kept.files.every(isTextList)
  );
}

function isTextList(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}
