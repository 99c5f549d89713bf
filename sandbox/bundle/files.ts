/**
 * The only place where the bundler touches the disk. What must hold: whatever names a hostile package comes up with,
 * and whatever links it or another process puts in the way, nothing is read but regular files of the wanted kinds below
 * one folder, and never more than a limit. A path is made canonical first and then judged; the file is opened
 * without following a link and judged again by its descriptor.
 */
import { constants } from "node:fs";
import { type FileHandle, lstat, open, realpath, stat } from "node:fs/promises";
import { extname, relative, sep } from "node:path";
import { sha256 } from "../../src/base/cache.ts";
import { systemCode, XdevError } from "../../src/base/errors.ts";
import { isInside } from "../../src/base/files.ts";
import type { BundleLoader } from "../../src/platform/index.ts";
import { MAX_FILE_BYTES, MAX_FILES, MAX_TOTAL_BYTES } from "./limits.ts";

export const LOADERS: ReadonlyMap<string, BundleLoader> = new Map<string, BundleLoader>([
  [".ts", "ts"],
  [".mts", "ts"],
  [".cts", "ts"],
  [".tsx", "tsx"],
  [".js", "js"],
  [".mjs", "js"],
  [".cjs", "js"],
  [".jsx", "jsx"],
  [".json", "json"],
]);

/** Folders of package managers that begin with a dot and still hold packages. */
const STORES = new Set([".pnpm", ".bun"]);

export function refuse(path: string, reason: string, hint?: string): XdevError {
  return new XdevError("bundle-refused", `${path}: ${reason}`, { hint });
}

/**
 * The canonical form of a path that exists, undefined if nothing is there. What was found is noted in `probes`. Refuses loops
 * and what can't be looked at.
 */
export async function existing(
  path: string,
  probes?: Map<string, string | undefined>,
): Promise<string | undefined> {
  if (path.includes("\0")) throw refuse(JSON.stringify(path), "a path can't hold a zero character");
  try {
    const real = await realpath(path);
    probes?.set(path, real);
    return real;
  } catch (error) {
    const code = systemCode(error);
    if (code === "ENOENT" || code === "ENOTDIR") {
      probes?.set(path, undefined);
      return undefined;
    }
    if (code === "ELOOP") throw refuse(path, "a symbolic link that leads to itself");
    throw refuse(path, `can't be looked up (${code ?? "unknown error"})`);
  }
}

export type FileKind = "file" | "folder" | "other";

/** What a canonical path is. Opens nothing: a FIFO can't hold it up. */
export async function kindOf(path: string): Promise<FileKind> {
  const info = await lstat(path);
  return info.isFile() ? "file" : info.isDirectory() ? "folder" : "other";
}

/** Throws unless the canonical `path` lies below `root`, outside hidden folders. */
export function checkPlace(path: string, root: string): void {
  if (!isInside(path, root)) {
    throw refuse(
      path,
      `lies outside the extension's folder ${root}`,
      "Copy the file into the extension's folder.",
    );
  }
  const segments = relative(root, path).split(sep);
  const hidden = segments.find((name, i) => {
    const inStore = STORES.has(name) && segments[i - 1] === "node_modules";
    return name.startsWith(".") && !inStore;
  });
  if (hidden !== undefined) {
    throw refuse(path, `is in or is the hidden "${hidden}", which an extension can't bundle`, "Rename it.");
  }
}

/** The loader of a path by its extension, nothing else; throws for all kinds that can't be bundled. */
export function loaderOf(path: string): BundleLoader {
  const extension = extname(path);
  if (extension === ".node") {
    throw refuse(path, "native addons can't run in the sandbox", "Use a pure JavaScript package instead.");
  }
  const loader = LOADERS.get(extension);
  if (loader) return loader;
  const kinds = [...LOADERS.keys()].join(" ");
  throw refuse(path, `can't be bundled, only ${kinds} can`, "Read other files at run time with node:fs.");
}

/** Reads files below one folder, and counts them. One for each bundle. */
export class Reader {
  readonly root: string;
  /** The SHA-256 digest of each file that was read, by its path. */
  readonly digests = new Map<string, string>();
  /** Paths that were looked for, and what they led to; undefined for nothing. */
  readonly probes = new Map<string, string | undefined>();
  /** Folders that were listed, and the digest of the names in each. */
  readonly folders = new Map<string, string>();
  /** The package.json files that were read: every import asks for some. */
  readonly packages = new Map<string, Promise<Record<string, unknown> | undefined>>();
  #bytes = 0;
  #files = 0;

  /** `root` must be canonical. */
  constructor(root: string) {
    this.root = root;
  }

  /** Takes over what another reader of the same bundle has seen. */
  noteAll(other: Reader): void {
    for (const [path, digest] of other.digests) this.digests.set(path, digest);
    for (const [path, real] of other.probes) this.probes.set(path, real);
  }

  /** The text of a file. `path` must be canonical. */
  async read(path: string): Promise<string> {
    checkPlace(path, this.root);
    this.#files++;
    if (this.#files > MAX_FILES) throw refuse(path, `more than ${MAX_FILES} files in one extension`);
    const bytes = await readRegular(path);
    this.digests.set(path, sha256(bytes));
    this.#bytes += bytes.length;
    if (this.#bytes > MAX_TOTAL_BYTES) {
      throw refuse(path, `more than ${MAX_TOTAL_BYTES / 1024 / 1024} MB of source in one extension`);
    }
    try {
      return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    } catch {
      throw new XdevError("bundle-failed", `${path}: is not UTF-8 text`, { hint: "Save it as UTF-8." });
    }
  }
}

async function readRegular(path: string): Promise<Uint8Array> {
  let handle: FileHandle | undefined;
  try {
    // O_NONBLOCK: a FIFO that took the file's place since must not hang us.
    handle = await open(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
    const info = await handle.stat();
    if (!info.isFile()) throw refuse(path, "is not a regular file");
    if (info.size > MAX_FILE_BYTES) throw tooBig(path);
    // O_NOFOLLOW looks at the last name only; a folder on the way may have become a link since.
    const now = await stat(path);
    if ((await realpath(path)) !== path || now.ino !== info.ino || now.dev !== info.dev) {
      throw refuse(path, "changed while it was read");
    }
    // One byte more than allowed shows a file that grew after `stat`.
    const buffer = new Uint8Array(Math.min(info.size, MAX_FILE_BYTES) + 1);
    let length = 0;
    for (;;) {
      const { bytesRead } = await handle.read(buffer, length, buffer.length - length, length);
      if (bytesRead === 0) break;
      length += bytesRead;
      if (length === buffer.length) throw refuse(path, "changed while it was read");
    }
    return buffer.subarray(0, length);
  } catch (error) {
    if (error instanceof XdevError) throw error;
    throw refuse(path, `can't be read (${systemCode(error) ?? "unknown error"})`);
  } finally {
    await handle?.close();
  }
}

function tooBig(path: string): XdevError {
  return refuse(path, `is larger than ${MAX_FILE_BYTES / 1024 / 1024} MB`, "Read large data at run time.");
}
