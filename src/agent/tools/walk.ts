import type { Dirent } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { IgnoreRules } from "./ignore-rules.ts";
import { throwIfAborted } from "./tool.ts";

export interface Entry {
  readonly path: string;
  /** The path from the root of the walk, with `/` between the names. */
  readonly relative: string;
  readonly kind: "file" | "folder" | "other";
}

export interface WalkOptions {
  cwd: string;
  isConfined?: boolean | undefined;
  signal: AbortSignal | undefined;
  /** Called for a folder that can't be listed; the walk goes on without it. */
  onUnreadable?: (path: string) => void;
}

/**
 * All that lies below `root`, but not what .gitignore rules exclude, and not .git: the entries of one folder at a time,
 * sorted, then those of its folders. Links are entries of kind `other` and never followed, so a loop of them is no loop.
 */
export async function* walk(root: string, options: WalkOptions): AsyncGenerator<Entry[]> {
  const folders = [
    { path: root, prefix: "", rules: await IgnoreRules.above(root, options.cwd, options.isConfined) },
  ];
  for (let folder = folders.pop(); folder; folder = folders.pop()) {
    throwIfAborted(options.signal);
    let dirents: Dirent[];
    try {
      dirents = await readdir(folder.path, { withFileTypes: true });
    } catch {
      options.onUnreadable?.(folder.path);
      continue;
    }
    const hasRules = dirents.some(({ name }) => name === ".gitignore" || name === ".git");
    const rules = hasRules ? await folder.rules.inside(folder.path) : folder.rules;
    dirents.sort((a, b) => (a.name < b.name ? -1 : 1));
    const entries: Entry[] = [];
    const inner: typeof folders = [];
    for (const dirent of dirents) {
      const path = join(folder.path, dirent.name);
      const isFolder = dirent.isDirectory();
      if (dirent.name === ".git" || rules.ignores(path, isFolder)) continue;
      const relative = folder.prefix + dirent.name;
      entries.push({ path, relative, kind: isFolder ? "folder" : dirent.isFile() ? "file" : "other" });
      if (isFolder) inner.push({ path, prefix: `${relative}/`, rules: rules.entering(path) });
    }
    folders.push(...inner.reverse());
    if (entries.length > 0) yield entries;
  }
}
