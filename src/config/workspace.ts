import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { canonicalPath, isInside } from "../base/files.ts";

/** The name of the folder in which a repository brings hooks, extensions and settings. */
export const WORKSPACE_FOLDER = ".xdev";

/**
 * The workspace that a folder belongs to, as a canonical path: the nearest folder from `cwd` up to its git root that
 * has a `.xdev` of its own, else the git root, else `cwd`. Above the git root nothing is looked for. The folder that
 * holds the data dir (`~/.xdev/agent`) is the user's and no repository's.
 */
export async function findWorkspace(
  cwd: string,
  dataDir: string,
): Promise<{ root: string; hasFolder: boolean }> {
  const [start, data] = await Promise.all([canonicalPath(cwd), canonicalPath(dataDir)]);
  // At once: each start goes through here, and a look that goes through another thread takes twenty times as long.
  const hasFolder = (folder: string) => {
    const path = join(folder, WORKSPACE_FOLDER);
    return !isInside(data, path) && existsSync(path);
  };
  let nearest: string | undefined;
  for (let folder = start; ; folder = dirname(folder)) {
    if (hasFolder(folder)) nearest ??= folder;
    if (existsSync(join(folder, ".git")))
      return nearest ? { root: nearest, hasFolder: true } : { root: folder, hasFolder: false };
    if (dirname(folder) === folder) break;
  }
  // No repository: what lies above the folder was put there by somebody else.
  return { root: start, hasFolder: nearest === start };
}
