/**
 * Bundles kept in the cache. One is used again only if every file that went into it still has its content, and every
 * path and folder that was looked at still is as it was: then bundling would give the same. What comes from the
 * cache is checked by the guest like any bundle. Loads no bundler: that runs in a worker (bundler.ts).
 */
import { realpath } from "node:fs/promises";
import { basename } from "node:path";
import { type Cache, sha256 } from "../../src/base/cache.ts";
import { readSmallFile } from "../../src/base/files.ts";
import { decodeSlowly, sha256Slowly } from "../../src/base/slices.ts";
import { type Bundled, bundler } from "./bundler.ts";
import { folderDigest, MAX_FILE_BYTES } from "./limits.ts";
import { type PlaceTable, placesIn } from "./places.ts";

/** What the host needs of a bundle. */
export interface LoadedBundle {
  source: string;
  /** The specifiers that the guest's loader answers. */
  imports: string[];
  /** Whether its package.json declares permissions. */
  declares: boolean;
  /** The SHA-256 digest of the source, in hexadecimal. */
  digest: string;
  /** Of the source and of each package.json that was read: what says of an extension whether it has changed. */
  stamp: string;
  /** Canonical paths of the files that went into it. */
  files: readonly string[];
  /** `text` from the guest with the author's `file:line` for every place in the bundle that it names. */
  authorPlaces(text: string): Promise<string>;
}

/** What a bundle was made of. */
interface Inputs {
  /** Canonical path and SHA-256 digest of each file that was read. */
  files: [string, string][];
  /** Every path that was looked for, and what it led to; null for nothing. */
  probes: [string, string | null][];
  /** Each folder that was listed, and a digest of the names. */
  folders: [string, string][];
}

interface Kept {
  digest: string;
  imports: string[];
  declares: boolean;
  inputs: Inputs;
}

/** The kept bundle of the extension at `entry`, a canonical path; undefined if there is none that is still right. */
export async function keptBundle(entry: string, cache: Cache): Promise<LoadedBundle | undefined> {
  const found = await cache.readWithBytes(nameOf("bundle", entry), entry);
  const kept = found?.value;
  if (!found || !isKept(kept) || !(await isCurrent(kept.inputs))) {
    // Its worker starts while the guest's does.
    bundler.prepare();
    return undefined;
  }
  const { digest, imports, declares, inputs } = kept;
  const places = async (): Promise<PlaceTable | undefined> => {
    const table = await cache.readWithBytes(nameOf("places", entry), digest);
    return table && { files: table.value as string[], lines: aligned(table.bytes) };
  };
  return loaded({ source: await decodeSlowly(found.bytes), digest, imports, declares, inputs }, places);
}

/**
 * Bundles the extension at `entry`, and keeps the bundle; `begins` is called when those of others before it are done. Throws what
 * `bundleExtension` throws.
 */
export async function freshBundle(entry: string, cache: Cache, begins?: () => void): Promise<LoadedBundle> {
  const bundled = await bundler.bundle(entry, begins);
  const inputs = JSON.parse(bundled.inputs) as Inputs;
  // Not waited for: the worker is.
  void keep(entry, bundled, inputs, cache);
  const source = await decodeSlowly(bundled.source);
  return loaded({ ...bundled, source, inputs }, async () => bundled.places);
}

async function keep(entry: string, bundled: Bundled, inputs: Inputs, cache: Cache): Promise<void> {
  const { source, digest, imports, declares, places } = bundled;
  const kept: Kept = { digest, imports, declares, inputs };
  const { buffer, byteOffset, byteLength } = places.lines;
  const lines = new Uint8Array(buffer, byteOffset, byteLength);
  await Promise.all([
    cache.write(nameOf("places", entry), digest, places.files, lines),
    cache.write(nameOf("bundle", entry), entry, kept, source),
  ]);
}

function loaded(
  {
    source,
    digest,
    imports,
    declares,
    inputs,
  }: Pick<LoadedBundle, "source" | "digest" | "imports" | "declares"> & { inputs: Inputs },
  places: () => Promise<PlaceTable | undefined>,
): LoadedBundle {
  let table: Promise<PlaceTable | undefined> | undefined;
  const manifests = inputs.files.filter(([path]) => basename(path) === "package.json");
  return {
    stamp: manifests.length === 0 ? digest : sha256(JSON.stringify([digest, manifests])),
    files: inputs.files.map(([path]) => path),
    source,
    digest,
    imports,
    declares,
    async authorPlaces(text) {
      table ??= places().catch(() => undefined);
      const known = await table;
      return known ? placesIn(text, known) : text;
    },
  };
}

/** A copy, since numbers of four bytes can't begin at any byte. */
function aligned(bytes: Uint8Array): Uint32Array {
  return new Uint32Array(new Uint8Array(bytes).buffer, 0, bytes.length >> 2);
}

function nameOf(what: "bundle" | "places", entry: string): string {
  return `${what}-${sha256(entry).slice(0, 32)}`;
}

/** How many files are looked at at once. */
const AT_ONCE = 16;

async function isCurrent({ files, probes, folders }: Inputs): Promise<boolean> {
  const sameFile = async ([path, digest]: [string, string]) =>
    (await realpath(path)) === path &&
    (await sha256Slowly(await readSmallFile(path, MAX_FILE_BYTES))) === digest;
  const sameProbe = async ([path, real]: [string, string | null]) =>
    (await realpath(path).catch(() => null)) === real;
  const sameFolder = async ([path, digest]: [string, string]) => (await folderDigest(path)) === digest;
  return (await all(files, sameFile)) && (await all(probes, sameProbe)) && (await all(folders, sameFolder));
}

/** Whether `holds` for each of the items; what throws does not hold. */
async function all<T>(items: readonly T[], holds: (item: T) => Promise<boolean>): Promise<boolean> {
  let next = 0;
  let result = true;
  const run = async () => {
    while (result && next < items.length) {
      const item = items[next++] as T;
      if (!(await holds(item).catch(() => false))) result = false;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, run));
  return result;
}

function isKept(value: unknown): value is Kept {
  const kept = value as Kept | undefined;
  return (
    typeof kept?.digest === "string" &&
    isTextList(kept.imports) &&
    typeof kept.declares === "boolean" &&
    Array.isArray(kept.inputs?.files) &&
    kept.inputs.files.length > 0 &&
    kept.inputs.files.every(isTextList) &&
    Array.isArray(kept.inputs.probes) &&
    kept.inputs.probes.every((probe) => Array.isArray(probe) && typeof probe[0] === "string") &&
    Array.isArray(kept.inputs.folders) &&
    kept.inputs.folders.every(isTextList)
  );
}

function isTextList(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}
