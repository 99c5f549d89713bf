/**
 * Large outputs beside the sessions: `<dataDir>/blobs/<sha256>`, each once however many sessions have it. `<sha256>.refs` names the
 * files of those sessions, a line each; what no session file that is still there refers to is removed when one is deleted.
 */

import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, isAbsolute, join, relative, resolve } from "node:path";
import { systemCode } from "../base/errors.ts";
import { randomHex } from "../base/random.ts";
import { pause } from "../base/slices.ts";
import { sha256Hash } from "../platform/hash.ts";
import { blobsFolder, sessionsFolder } from "./paths.ts";
import { LINE_LIMIT } from "./schema.ts";

const DIGEST = /^[0-9a-f]{64}$/;

export class BlobStore {
  readonly #dataDir: string;
  readonly #folder: string;

  constructor(dataDir: string) {
    this.#dataDir = dataDir;
    this.#folder = blobsFolder(dataDir);
  }

  /** Keeps bytes for the session in the file `owner`, and gives their digest. Throws what the system says. */
  put(bytes: Uint8Array, owner: string): string {
    const digest = sha256Hash().update(bytes).digest("hex");
    const path = join(this.#folder, digest);
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    // The reference first: from now on nobody takes the blob for one that nobody needs.
    this.#addOwner(digest, owner);
    if (existsSync(path) && statSync(path).size === bytes.length) return digest;
    const temporary = `${path}.${randomHex(6)}.tmp`;
    try {
      writeFileSync(temporary, bytes, { mode: 0o600, flag: "wx" });
      renameSync(temporary, path);
    } catch (error) {
      rmSync(temporary, { force: true });
      throw error;
    }
    return digest;
  }

  /** Says that the session in the file `owner` has this blob, too. */
  refer(digest: string, owner: string): void {
    if (!DIGEST.test(digest) || !existsSync(join(this.#folder, digest))) return;
    this.#addOwner(digest, owner);
  }

  /** In the data dir by the way from there: it may be moved as a whole. */
  #addOwner(digest: string, owner: string): void {
    const inside = relative(this.#dataDir, owner);
    const name = inside.startsWith("..") || isAbsolute(inside) ? owner : inside;
    appendFileSync(join(this.#folder, `${digest}.refs`), `${JSON.stringify(name)}\n`, { mode: 0o600 });
  }

  /** The bytes; undefined if they are gone or are others by now. */
  get(digest: string): Buffer | undefined {
    if (!DIGEST.test(digest)) return undefined;
    try {
      const path = join(this.#folder, digest);
      if (statSync(path).size > LINE_LIMIT) return undefined;
      const bytes = readFileSync(path);
      return sha256Hash().update(bytes).digest("hex") === digest ? bytes : undefined;
    } catch (error) {
      if (systemCode(error) === undefined) throw error;
      return undefined;
    }
  }

  /** Removes what was kept only for sessions that are gone, and gives the number of blobs. */
  async removeUnreferenced(): Promise<number> {
    const names = await readdir(this.#folder).catch(() => []);
    const there = await this.#sessionNames();
    const isThere = (owner: string) =>
      there.has(basename(owner)) || existsSync(resolve(this.#dataDir, owner));
    let removed = 0;
    for (const name of names) {
      if (!name.endsWith(".refs")) continue;
      const path = join(this.#folder, name);
      const owners = parseOwners(await readFile(path, "utf8").catch(() => ""));
      const alive = owners.filter(isThere);
      if (alive.length === 0) {
        await rm(path.slice(0, -".refs".length), { force: true });
        await rm(path, { force: true });
        removed++;
      } else if (alive.length < owners.length) {
        await writeFile(path, alive.map((owner) => `${JSON.stringify(owner)}\n`).join(""), { mode: 0o600 });
      }
      await pause();
    }
    return removed;
  }

  /** The names of all session files: one that was moved to another folder still needs its blobs. */
  async #sessionNames(): Promise<Set<string>> {
    const root = sessionsFolder(this.#dataDir);
    const names = new Set<string>();
    for (const folder of await readdir(root).catch(() => [])) {
      for (const name of await readdir(join(root, folder)).catch(() => [])) names.add(name);
    }
    return names;
  }
}

function parseOwners(text: string): string[] {
  const owners = new Set<string>();
  for (const line of text.split("\n")) {
    try {
      const owner: unknown = JSON.parse(line);
      if (typeof owner === "string") owners.add(owner);
    } catch {
      // A line that was cut off, or the empty one at the end.
    }
  }
  return [...owners];
}
