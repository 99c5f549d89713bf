/**
 * AGENTS.md files: the data dir's, then those from the root down to the cwd, so that the nearest has the last word. They
 * come with repositories that nobody has read, so they are text for the model and nothing else: escape
 * codes are removed, and a link that leads out of its repository is not followed, or the file that it names would be
 * sent to the model.
 */
import { existsSync, lstatSync } from "node:fs";
import { open, stat } from "node:fs/promises";
import { dirname, extname, join } from "node:path";
import { errorText, systemCode } from "../base/errors.ts";
import { canonicalPath, isInside } from "../base/files.ts";
import { log } from "../base/log.ts";
import { stripControls } from "../base/text.ts";

const NAME = "AGENTS.md";
/** The part of one file that joins the prompt, in bytes. */
const LIMIT = 32 * 1024;

export async function loadInstructions(
  dataDir: string,
  cwd: string,
): Promise<{ path: string; text: string }[]> {
  const folders = [cwd];
  while (dirname(folders[0]!) !== folders[0]) folders.unshift(dirname(folders[0]!));
  // At once, as the looks below are: each start goes through here.
  const repository = folders.findLast((folder) => existsSync(join(folder, ".git")));
  const candidates = [
    { folder: dataDir, within: dataDir },
    ...folders.map((folder) => ({
      folder,
      within: repository && isInside(folder, repository) ? repository : folder,
    })),
  ];
  const found = await Promise.all(candidates.map(({ folder, within }) => readOne(folder, within)));
  const seen = new Set<string>();
  return found.flatMap((file) => {
    if (!file || file.text === "" || seen.has(file.real)) return [];
    seen.add(file.real);
    return [{ path: file.path, text: file.text }];
  });
}

async function readOne(
  folder: string,
  within: string,
): Promise<{ path: string; real: string; text: string } | undefined> {
  const path = join(folder, NAME);
  try {
    if (!lstatSync(path, { throwIfNoEntry: false })) return undefined;
    const real = await canonicalPath(path);
    if (!isInside(real, await canonicalPath(within)) || extname(real) !== ".md") {
      log.warn(`${path} is a link that leads out of its folder; it is not used`);
      return undefined;
    }
    // A FIFO would keep us waiting for good.
    if (!(await stat(real)).isFile()) return undefined;
    const file = await open(real, "r");
    try {
      const buffer = Buffer.alloc(LIMIT + 1);
      const { bytesRead } = await file.read(buffer, 0, LIMIT + 1, 0);
      if (bytesRead > LIMIT)
        log.warn(`${path} is longer than ${LIMIT / 1024} KB; the rest of it is not used`);
      const text = new TextDecoder().decode(buffer.subarray(0, Math.min(bytesRead, LIMIT)));
      return { path, real, text: stripControls(text).trim() };
    } finally {
      await file.close();
    }
  } catch (error) {
    const code = systemCode(error);
    if (code !== "ENOENT" && code !== "ENOTDIR") log.warn(`cannot read ${path}: ${errorText(error)}`);
    return undefined;
  }
}
