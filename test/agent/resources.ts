/** Places of skills, prompts and rules for a test: a data dir, a repository, an extension's folder. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { ResourcePlaces } from "../../src/agent/resources.ts";
import { readAuthority } from "../../src/config/authority.ts";
import type { Folder } from "../support/folder.ts";

/** `data`, and `repo/.xdev` as if the user trusted it as it is now. */
export async function trustedPlaces(folder: Folder): Promise<ResourcePlaces> {
  const xdev = join(folder.path, "repo/.xdev");
  mkdirSync(xdev, { recursive: true });
  return { ...userPlaces(folder), workspace: { folder: xdev, authority: await readAuthority(xdev) } };
}

export function userPlaces(folder: Folder): ResourcePlaces {
  return { dataDir: join(folder.path, "data") };
}

/** With the front matter that is needed. */
export function skillText(name: string, description = `about ${name}`, more = ""): string {
  return `---\nname: ${name}\ndescription: ${description}\n${more}---\n\nDo ${name}.\n`;
}
