/** What a project brings, read with the extension's own rights. */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { CONFIG_DIR_NAME, getAgentDir } from "../config.ts";

const NAMES = ["AGENTS.md", "CLAUDE.md"];

/** The instructions of the agent's folder and of the folders from the root down to `cwd`, as far as they may be read. */
export function loadProjectContextFiles(
  options: { cwd?: string; agentDir?: string } = {},
): { path: string; content: string }[] {
  const folders: string[] = [];
  for (let folder = resolve(options.cwd ?? "."); ; folder = dirname(folder)) {
    folders.unshift(folder);
    if (dirname(folder) === folder) break;
  }
  return [options.agentDir ?? getAgentDir(), ...folders].flatMap((folder) => {
    for (const name of NAMES) {
      try {
        const path = join(folder, name);
        return [{ path, content: readFileSync(path, "utf8") }];
      } catch {
        // The next name.
      }
    }
    return [];
  });
}

/** Whether a project brings something that is used only if its user trusts it. */
export function hasTrustRequiringProjectResources(cwd: string): boolean {
  try {
    return existsSync(join(cwd, CONFIG_DIR_NAME));
  } catch {
    return false;
  }
}

/** Answers nothing: which projects are trusted is kept by the host (`xdev trust`), and no extension changes it. */
export class ProjectTrustStore {
  get(): null {
    return null;
  }
  getEntry(): null {
    return null;
  }
  set(): never {
    throw new Error("an extension can't trust a project: its user does so with xdev trust");
  }
  setMany(): never {
    return this.set();
  }
}
