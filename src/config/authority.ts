/**
 * What in a workspace's `.xdev` carries authority, that is, would run, change what runs or tell the model what to do: hooks,
 * extensions, settings, models, skills, prompt templates, stream rules, everything executable, and whatever else is there for
 * those to use. Each file is read once; its digest and, where it is used from memory, its text are of the
 * same bytes. Nothing here is run or believed; the folder may be a stranger's.
 */

import { constants } from "node:fs";
import { type FileHandle, lstat, open, readdir, realpath } from "node:fs/promises";
import { join } from "node:path";
import { errorText } from "../base/errors.ts";
import { isInside } from "../base/files.ts";
import { sha256Hash } from "../platform/hash.ts";

export type AuthorityKind =
  | "hook"
  | "extension"
  | "settings"
  | "models"
  | "skill"
  | "prompt"
  | "rule"
  | "program"
  | "other";

export interface AuthorityFile {
  /** Relative to `.xdev`, with `/`. */
  path: string;
  kind: AuthorityKind;
  /** SHA-256 of the content in hexadecimal; `+x` behind it if it is executable, since that is authority, too. */
  digest: string;
  executable: boolean;
  /** The content of hooks, settings, `SKILL.md`, prompts and rules; undefined for the others and for what is longer than 1 MB. */
  text?: string;
}

export interface Authority {
  /** In the order of their paths. */
  files: AuthorityFile[];
  /** Why it can't be trusted whatever the user says: links that lead out, what can't be read, too much of it. */
  problems: string[];
}

const MAX_ENTRIES = 20_000;
const MAX_BYTES = 64 * 1024 * 1024;
const MAX_TEXT = 1024 * 1024;

/**
 * Reads a `.xdev` folder. `without` leaves out one kind: extensions are read when they are loaded and never again. Throws
 * nothing: what goes wrong is a problem, and a folder with a problem is not trusted.
 */
export async function readAuthority(folder: string, without?: AuthorityKind): Promise<Authority> {
  const reader = new Reader(folder, without);
  try {
    // The folder's own parents are canonical: what differs is a link.
    if ((await realpath(folder)) !== folder) reader.problems.push("the folder itself is a link");
    else await reader.folder("");
  } catch (error) {
    reader.problems.push(errorText(error));
  }
  reader.files.sort((a, b) => (a.path < b.path ? -1 : 1));
  return { files: reader.files, problems: reader.problems };
}

class Reader {
  readonly root: string;
  readonly without: AuthorityKind | undefined;
  readonly files: AuthorityFile[] = [];
  readonly problems: string[] = [];
  #entries = 0;
  #bytes = 0;

  constructor(root: string, without: AuthorityKind | undefined) {
    this.root = root;
    this.without = without;
  }

  async folder(path: string): Promise<void> {
    for (const name of (await readdir(join(this.root, path))).sort()) {
      const inner = path === "" ? name : `${path}/${name}`;
      const kind = kindOf(inner);
      if (kind !== undefined && kind === this.without) continue;
      if (++this.#entries > MAX_ENTRIES) throw new TooMuch(`it has more than ${MAX_ENTRIES} files`);
      try {
        await this.#entry(inner, kind);
      } catch (error) {
        if (error instanceof TooMuch) throw error;
        this.problems.push(`${inner}: ${errorText(error)}`);
      }
    }
  }

  async #entry(path: string, kind: AuthorityKind | undefined): Promise<void> {
    const absolute = join(this.root, path);
    const info = await lstat(absolute);
    if (info.isDirectory()) return this.folder(path);
    if (info.isSymbolicLink()) return this.#link(path, kind);
    if (info.isFile()) return this.#file(path, absolute, kind);
    if (kind !== undefined) this.problems.push(`${path} is no regular file`);
  }

  async #link(path: string, kind: AuthorityKind | undefined): Promise<void> {
    const target = await realpath(join(this.root, path));
    if (!isInside(target, this.root)) {
      this.problems.push(`${path} is a link that leads out of the folder`);
    } else if ((await lstat(target)).isFile()) {
      await this.#file(path, target, kind);
    } else {
      // What is in a linked folder is digested where it really is; there it must be looked at, too.
      const real = target.slice(this.root.length + 1).replaceAll("\\", "/");
      const targetKind = kindOf(real);
      if (targetKind !== "hook" && targetKind !== "extension") {
        this.problems.push(`${path} is a link to a folder that is neither in hooks nor in extensions`);
      } else {
        const digest = sha256Hash().update(`link to ${real}`).digest("hex");
        this.files.push({ path, kind: kind ?? targetKind, digest, executable: false });
      }
    }
  }

  async #file(path: string, absolute: string, kind: AuthorityKind | undefined): Promise<void> {
    // Not blocking, in case it has become a FIFO meanwhile.
    const file = await open(absolute, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const info = await file.stat();
      if (!info.isFile()) throw new Error("it is no regular file");
      const executable = (info.mode & 0o111) !== 0;
      // Whatever else lies there may be read or imported by what has authority.
      const actual = kind ?? (executable ? "program" : "other");
      const keeps = isUsedFromMemory(actual, path) && info.size <= MAX_TEXT;
      const { digest, text } = await this.#read(file, keeps);
      this.files.push({
        path,
        kind: actual,
        digest: executable ? `${digest}+x` : digest,
        executable,
        ...(text === undefined ? {} : { text }),
      });
    } finally {
      await file.close();
    }
  }

  async #read(file: FileHandle, keeps: boolean): Promise<{ digest: string; text?: string }> {
    const hash = sha256Hash();
    const kept: Buffer[] = [];
    const buffer = Buffer.alloc(64 * 1024);
    for (;;) {
      const { bytesRead } = await file.read(buffer, 0, buffer.length, null);
      if (bytesRead === 0) break;
      this.#bytes += bytesRead;
      if (this.#bytes > MAX_BYTES) throw new TooMuch("it is larger than 64 MB");
      const chunk = buffer.subarray(0, bytesRead);
      hash.update(chunk);
      if (keeps) kept.push(Buffer.from(chunk));
    }
    return {
      digest: hash.digest("hex"),
      ...(keeps ? { text: Buffer.concat(kept).toString("utf8") } : {}),
    };
  }
}

class TooMuch extends Error {}

/** By the place, whatever the case: some file systems don't tell `Hooks` from `hooks`. */
function kindOf(path: string): AuthorityKind | undefined {
  const place = path.toLowerCase();
  if (place === "hooks" || place.startsWith("hooks/")) return "hook";
  if (place === "extensions" || place.startsWith("extensions/")) return "extension";
  if (/^config\.(?:ya?ml|json)$/.test(place)) return "settings";
  if (/^models\.(?:ya?ml|json)$/.test(place)) return "models";
  if (place === "skills" || place.startsWith("skills/")) return "skill";
  if (place === "prompts" || place.startsWith("prompts/")) return "prompt";
  if (place === "rules" || place.startsWith("rules/")) return "rule";
  return undefined;
}

function isUsedFromMemory(kind: AuthorityKind, path: string): boolean {
  if (kind === "skill") return path.endsWith("/SKILL.md");
  if (kind === "prompt" || kind === "rule") return path.endsWith(".md");
  return kind === "hook" || kind === "settings";
}
