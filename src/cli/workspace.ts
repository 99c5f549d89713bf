/** Whether the workspace of a run is trusted, and what it brings then. Loads next to nothing if there is no `.xdev`. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { errorText } from "../base/errors.ts";
import { isInside } from "../base/files.ts";
import { log } from "../base/log.ts";
import { stripControls } from "../base/text.ts";
import type { Authority, AuthorityKind } from "../config/authority.ts";
import { findWorkspace, WORKSPACE_FOLDER } from "../config/workspace.ts";
import type { HookFile } from "../hooks/definition.ts";

export interface TrustedWorkspace {
  /** Canonical. */
  root: string;
  /** `<root>/.xdev`. */
  folder: string;
  /** What was read when its trust was checked. */
  authority: Authority;
  /**
   * Why its hooks must not run any more, or undefined: whether the files are still those that the user trusts. Programs are
   * run by the kernel from the disk, so between this look and that run is a moment in which someone could change them; that
   * someone can already write to the user's files.
   */
  verify(): Promise<string | undefined>;
}

/**
 * The workspace of `cwd` if it is trusted and has something that carries authority. If it has and is not trusted, that is
 * withheld, and said on standard error; call it once in a run.
 */
export async function trustedWorkspace(cwd: string, dataDir: string): Promise<TrustedWorkspace | undefined> {
  const { root, hasFolder } = await findWorkspace(cwd, dataDir);
  await reportOuter(cwd, root, dataDir);
  if (!hasFolder) return undefined;
  const [{ readAuthority }, { differences, readTrust, recordOf }] = await Promise.all([
    import("../config/authority.ts"),
    import("../config/trust.ts"),
  ]);
  const folder = join(root, WORKSPACE_FOLDER);
  const authority = await readAuthority(folder);
  // Files that nothing here would use are not worth a word.
  const hasAuthority = authority.files.some(({ kind }) => kind !== "other");
  if (!hasAuthority && authority.problems.length === 0) return undefined;
  const withhold = (why: string) => {
    log.warn(`${onOneLine(folder)}: ${summary(authority)} withheld${onOneLine(why)}; see xdev trust`);
    return undefined;
  };
  let record: ReturnType<Awaited<ReturnType<typeof readTrust>>["get"]>;
  try {
    record = (await readTrust(dataDir)).get(root);
  } catch (error) {
    return withhold(` (${errorText(error)})`);
  }
  if (authority.problems.length > 0) return withhold(`, and can't be trusted (${authority.problems[0]})`);
  if (!record) return withhold("");
  const differing = differences(record, authority);
  if (differing.length > 0) return withhold(`: not what you have trusted (${some(differing)})`);

  // Extensions are loaded at the start alone; a change in one is asked about at the next start.
  const atStart = { files: authority.files.filter(({ kind }) => kind !== "extension"), problems: [] };
  const trusted = recordOf(atStart, new Date());
  return {
    root,
    folder,
    authority,
    async verify() {
      const now = await readAuthority(folder, "extension");
      const changes = [...now.problems, ...differences(trusted, now)];
      if (changes.length === 0) return undefined;
      return `${folder} is not what was trusted any more (${some(changes)}); see xdev trust, then start again`;
    },
  };
}

/** The folders in which a session's extensions may appear, canonical, whether they are there or not. */
export async function extensionFolders(dataDir: string, cwd: string): Promise<string[]> {
  const { root } = await findWorkspace(cwd, dataDir);
  return [dataDir, join(root, WORKSPACE_FOLDER)].map((folder) => join(folder, "extensions"));
}

/**
 * Whether the user has said that he trusts the workspace of `cwd`, whatever is in it by now. If that can't be known: yes, so that
 * what protects goes on.
 */
export async function wasTrusted(cwd: string, dataDir: string): Promise<boolean> {
  const { root } = await findWorkspace(cwd, dataDir);
  if (!existsSync(join(dataDir, "trust.json"))) return false;
  const { readTrust } = await import("../config/trust.ts");
  return readTrust(dataDir).then(
    (records) => records.has(root),
    () => true,
  );
}

/** A folder inside a trusted workspace that is one of its own, or no part of it, is without the policies of the outer one. */
async function reportOuter(cwd: string, root: string, dataDir: string): Promise<void> {
  if (!existsSync(join(dataDir, "trust.json"))) return;
  const { readTrust } = await import("../config/trust.ts");
  const records = await readTrust(dataDir).catch(() => new Map<string, unknown>());
  for (const path of records.keys()) {
    if (path === root || !isInside(root, path)) continue;
    log.warn(
      `${onOneLine(cwd)} is no part of the trusted workspace ${onOneLine(path)}: what that brings is not used here`,
    );
  }
}

/** The files of its hooks folder, as they were read. */
export function hookFiles({ files }: Authority, folder: string): HookFile[] {
  return files.flatMap(({ path, kind, executable, text }) => {
    const name = /^hooks\/([^/.][^/]*)$/.exec(path)?.[1];
    if (kind !== "hook" || name === undefined) return [];
    return [{ name, path: join(folder, path), executable, ...(text === undefined ? {} : { text }) }];
  });
}

const NOUNS: Record<AuthorityKind, string> = {
  hook: "hook file",
  extension: "extension file",
  settings: "settings file",
  models: "models file",
  skill: "skill file",
  prompt: "prompt template",
  rule: "stream rule file",
  program: "program",
  other: "other file",
};

/** `2 hook files, 1 extension file`. */
export function summary({ files }: Authority): string {
  const kinds = Object.keys(NOUNS) as AuthorityKind[];
  const parts = kinds.flatMap((kind) => {
    const count = files.filter((file) => file.kind === kind).length;
    return count === 0 ? [] : [`${count} ${NOUNS[kind]}${count === 1 ? "" : "s"}`];
  });
  return parts.length === 0 ? "what it brings" : parts.join(", ");
}

function some(list: readonly string[]): string {
  return list.length > 3 ? `${list.slice(0, 3).join(", ")} and ${list.length - 3} more` : list.join(", ");
}

/** Names come from the repository: they must not look like another line, or reach the terminal. */
function onOneLine(text: string): string {
  return stripControls(text).replace(/\s+/g, " ");
}
