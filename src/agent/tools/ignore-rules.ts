import { lstat, readFile } from "node:fs/promises";
import { dirname, join, sep } from "node:path";
import type { Ignore } from "ignore";
import { isInside } from "../../base/files.ts";

/** No .gitignore is longer; what is, is something else. */
const MAX_RULES_BYTES = 1024 * 1024;

interface Level {
  /** The folder that the rules belong to, with a separator at its end. */
  readonly folder: string;
  readonly rules: Ignore;
}

/**
 * The .gitignore rules in force in one folder: its own, and those of the folders above it. The deepest that says
 * something about a path decides, as in git. The user's global excludes file is not read.
 */
export class IgnoreRules {
  readonly #levels: readonly Level[];

  private constructor(levels: readonly Level[]) {
    this.#levels = levels;
  }

  /**
   * The rules that hold for `root` from the folders above: up to the repository's top, or without one up to `cwd`. Where
   * they ignore `root` itself they are left out: who names an ignored folder wants to see what is in it.
   *
   * @param isConfined whether folders above `cwd` are not looked at
   */
  static async above(root: string, cwd: string, isConfined = false): Promise<IgnoreRules> {
    const folders: string[] = [];
    let top: number | undefined;
    for (let folder = root; ; folder = dirname(folder)) {
      if (isConfined && !isInside(folder, cwd)) break;
      if (folder !== root) folders.push(folder);
      if (await lstat(join(folder, ".git")).catch(() => undefined)) {
        top = folders.length;
        break;
      }
      if (dirname(folder) === folder) break;
    }
    const chosen = top === undefined ? folders.filter((folder) => isInside(folder, cwd)) : folders;
    let rules = new IgnoreRules([]);
    for (const folder of chosen.reverse()) rules = await rules.inside(folder);
    return rules.#without(root);
  }

  /** These rules and those in `folder`: its .gitignore, and at a repository's top also .git/info/exclude. */
  async inside(folder: string): Promise<IgnoreRules> {
    const texts = [
      await readRules(join(folder, ".git", "info", "exclude")),
      await readRules(join(folder, ".gitignore")),
    ].filter((text) => text !== undefined);
    if (texts.length === 0) return this;
    // Loaded here: most calls of most sessions never need it.
    const { default: ignore } = await import("ignore");
    // The package ignores case unless told otherwise; git does so only where the file system does.
    const rules = ignore({ ignorecase: process.platform === "win32" || process.platform === "darwin" });
    rules.add(texts.join("\n"));
    return new IgnoreRules([
      ...this.#levels,
      { folder: folder.endsWith(sep) ? folder : folder + sep, rules },
    ]);
  }

  ignores(path: string, isFolder: boolean): boolean {
    let ignored = false;
    for (const level of this.#levels) {
      const verdict = test(level, path, isFolder);
      if (verdict.ignored) ignored = true;
      else if (verdict.unignored) ignored = false;
    }
    return ignored;
  }

  /**
   * These rules for the inside of a folder that is entered. A level that ignores the folder was overruled by a deeper
   * one; the package would go on to ignore everything in it, so the level ends here.
   */
  entering(folder: string): IgnoreRules {
    return this.#without(folder);
  }

  #without(folder: string): IgnoreRules {
    const levels = this.#levels.filter((level) => !test(level, folder, true).ignored);
    return levels.length === this.#levels.length ? this : new IgnoreRules(levels);
  }
}

function test(level: Level, path: string, isFolder: boolean) {
  const relative = path.slice(level.folder.length).replaceAll(sep, "/");
  return level.rules.test(isFolder ? `${relative}/` : relative);
}

async function readRules(path: string): Promise<string | undefined> {
  // lstat: git does not follow a linked .gitignore either, and a pipe of that name would hang us.
  const stats = await lstat(path).catch(() => undefined);
  if (!stats?.isFile() || stats.size > MAX_RULES_BYTES) return undefined;
  const text = await readFile(path, "utf8").catch(() => undefined);
  return text?.replace(/^\uFEFF/, "");
}
