/**
 * Finds and reads the Markdown files of skills, prompt templates and stream rules. The user's own are read from the data
 * dir; a project's are those that were read when it was trusted, so that what was trusted is what is used; an extension
 * may name files of its own folder. A link is followed within the folder it belongs to: what lies elsewhere, a key for
 * example, must not become text for the model.
 */
import { lstat, readdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { errorText, systemCode } from "../base/errors.ts";
import { canonicalPath, isInside, readSmallFile, resolvePath } from "../base/files.ts";
import { oneLine, stripControls } from "../base/text.ts";
import type {
  ExtraPath,
  ResourceDiagnostic,
  ResourceKind,
  ResourceOrigin,
  ResourcePlaces,
} from "./resources.ts";

export interface ResourceFile {
  /** Absolute. */
  path: string;
  origin: ResourceOrigin;
  /** Without control characters. */
  text: string;
}

export interface FoundFiles {
  /** The user's, the project's, the extensions'; in each by path. */
  files: ResourceFile[];
  diagnostics: ResourceDiagnostic[];
}

const FOLDERS: Record<ResourceKind, string> = { skill: "skills", prompt: "prompts", rule: "rules" };
const SKILL_FILE = "SKILL.md";

/** The longest file, in bytes. */
const MAX_FILE = 64 * 1024;
/** Files of one kind in a session. */
const MAX_FILES = 500;
/** Names that are looked at in one place, and how deep skills may lie. */
const MAX_NAMES = 5000;
const MAX_DEPTH = 6;

/** Everything of one kind. Never throws. */
export async function findResources(kind: ResourceKind, places: ResourcePlaces): Promise<FoundFiles> {
  const finder = new Finder(kind);
  await finder.folderOf("user", join(places.dataDir, FOLDERS[kind]), places.dataDir);
  finder.trusted(places.workspace);
  for (const named of places.extra ?? []) {
    if (named.kind === kind) await finder.extra(named);
  }
  return finder;
}

class Finder implements FoundFiles {
  readonly files: ResourceFile[] = [];
  readonly diagnostics: ResourceDiagnostic[] = [];
  readonly #kind: ResourceKind;
  readonly #seen = new Set<string>();
  #names = 0;
  #isFull = false;

  constructor(kind: ResourceKind) {
    this.#kind = kind;
  }

  /** A folder that need not be there. */
  async folderOf(origin: ResourceOrigin, folder: string, within: string): Promise<void> {
    this.#names = 0;
    try {
      await this.#folder(origin, folder, await canonicalPath(within), 0);
    } catch (error) {
      const code = systemCode(error);
      if (code !== "ENOENT" && code !== "ENOTDIR") this.#tell(folder, errorText(error));
    }
  }

  trusted(workspace: ResourcePlaces["workspace"]): void {
    if (!workspace) return;
    const place = `${FOLDERS[this.#kind]}/`;
    for (const { path, kind, text } of workspace.authority.files) {
      if (kind !== this.#kind || !path.startsWith(place) || !this.#isWanted(path.slice(place.length)))
        continue;
      const absolute = join(workspace.folder, path);
      if (text === undefined || Buffer.byteLength(text) > MAX_FILE) this.#tell(absolute, TOO_LONG);
      else this.#add({ path: absolute, origin: "project", text });
    }
  }

  async extra({ path: named, root, extension }: ExtraPath): Promise<void> {
    const path = resolvePath(named, root);
    const by = `named by extension ${extension}`;
    try {
      const [real, own] = await Promise.all([canonicalPath(path), canonicalPath(root)]);
      if (!isInside(real, own)) return this.#tell(path, `${by}: it lies outside of the extension's folder`);
      const info = await lstat(real);
      if (info.isDirectory()) return await this.folderOf("extension", real, own);
      if (!path.endsWith(".md")) return this.#tell(path, `${by}: neither a folder nor a .md file`);
      await this.#file("extension", path, own);
    } catch (error) {
      this.#tell(path, `${by}: ${errorText(error)}`);
    }
  }

  /** Of a project's folder: what `#folder` would find in it. */
  #isWanted(inner: string): boolean {
    const names = inner.split("/");
    if (names.some(isPassedOver)) return false;
    if (this.#kind !== "skill") return names.length === 1 && inner.endsWith(".md");
    return names.length > 1 && names.length <= MAX_DEPTH && names.at(-1) === SKILL_FILE;
  }

  async #folder(origin: ResourceOrigin, folder: string, within: string, depth: number): Promise<void> {
    const real = await canonicalPath(folder);
    if (!isInside(real, within)) return this.#tell(folder, LEADS_OUT);
    // Loops of links come by here again.
    if (this.#seen.has(real)) return;
    this.#seen.add(real);
    const entries = (await readdir(folder, { withFileTypes: true })).sort((a, b) =>
      a.name < b.name ? -1 : 1,
    );
    // A skill's own folder holds no other skills.
    if (this.#kind === "skill" && entries.some(({ name }) => name === SKILL_FILE)) {
      return this.#file(origin, join(folder, SKILL_FILE), within);
    }
    for (const entry of entries) {
      if (isPassedOver(entry.name)) continue;
      if (++this.#names > MAX_NAMES)
        return this.#tell(folder, `more than ${MAX_NAMES} files; the rest is left out`);
      const path = join(folder, entry.name);
      if (this.#kind !== "skill") {
        if (entry.name.endsWith(".md")) await this.#file(origin, path, within);
      } else if ((entry.isDirectory() || entry.isSymbolicLink()) && depth + 1 < MAX_DEPTH) {
        await this.#folder(origin, path, within, depth + 1).catch((error: unknown) => {
          if (systemCode(error) !== "ENOTDIR") this.#tell(path, errorText(error));
        });
      }
    }
  }

  async #file(origin: ResourceOrigin, path: string, within: string): Promise<void> {
    try {
      const real = await canonicalPath(path);
      if (!isInside(real, within) || !real.endsWith(".md")) return this.#tell(path, LEADS_OUT);
      if (this.#seen.has(real)) return;
      this.#seen.add(real);
      this.#add({ path, origin, text: (await readSmallFile(real, MAX_FILE)).toString("utf8") });
    } catch (error) {
      this.#tell(path, errorText(error));
    }
  }

  #add(file: ResourceFile): void {
    if (this.files.length < MAX_FILES) this.files.push({ ...file, text: stripControls(file.text) });
    else if (!this.#isFull) {
      this.#isFull = true;
      this.#tell(
        file.path,
        `more than ${MAX_FILES} ${FOLDERS[this.#kind]}; this one and the rest are left out`,
      );
    }
  }

  #tell(path: string, problem: string): void {
    this.diagnostics.push(diagnostic(path, problem));
  }
}

const LEADS_OUT = "a link that leads out of its folder; it is not used";
const TOO_LONG = `it is larger than ${MAX_FILE} bytes`;

function isPassedOver(name: string): boolean {
  return name.startsWith(".") || name === "node_modules";
}

export function diagnostic(path: string, problem: string): ResourceDiagnostic {
  return { path: oneLine(path), problem: oneLine(problem) };
}

/** The name that a file's place gives: of a skill's folder, else of the file without `.md`. */
export function nameOfPlace(path: string): string {
  return basename(path) === SKILL_FILE ? basename(dirname(path)) : basename(path, ".md");
}

/**
 * Keeps the first of each name. What is known by its file's name can't be told apart on some file systems, so case makes no
 * difference.
 */
export function withoutDuplicates<T extends { name: string; filePath: string }>(
  all: readonly T[],
  diagnostics: ResourceDiagnostic[],
): T[] {
  const first = new Map<string, T>();
  return all.filter((each) => {
    const key = each.name.toLowerCase();
    const other = first.get(key);
    if (other) {
      diagnostics.push(diagnostic(each.filePath, `${each.name} is there already: ${other.filePath} is used`));
      return false;
    }
    first.set(key, each);
    return true;
  });
}
