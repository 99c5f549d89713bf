/**
 * Which hooks a session has, in the order in which they are asked (wire-notes.md, "Shell hooks"): those of config.yml, the
 * files of the data dir in lexical order, those of `--hook`, and those of a trusted workspace, its files before its
 * config.yml. The user's own come first, so that what a repository brings is never asked before them.
 */
import { access, constants, readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { errorText, systemCode } from "../base/errors.ts";
import { type HookFile, hooksOfFiles, isDefinition, isScript } from "./definition.ts";
import { HOOK_EVENTS, type HookEvent } from "./events.ts";
import type { Hook, HookEntry } from "./hook.ts";
import type { HooksSetting } from "./schema.ts";

/** The longest definition, in bytes. */
export const MAX_HOOK_FILE = 1024 * 1024;

export interface HookSources {
  /** The data dir; its config.yml has been read already. */
  dataDir: string;
  setting: HooksSetting;
  /** Of `--hook`, which start in the folder that the user typed them in. */
  options: readonly { event: HookEvent; command: string }[];
  startFolder: string;
  /** Undefined unless it is trusted. */
  workspace?: WorkspaceHooks;
  notice(text: string): void;
}

/** What a trusted workspace brings: exactly the bytes that the user has trusted. */
export interface WorkspaceHooks {
  root: string;
  files: readonly HookFile[];
  /** The key `hooks` of its config.yml. */
  setting: HooksSetting;
  verify: NonNullable<Hook["verify"]>;
}

/** All hooks, usable and broken. Never throws: what can't be read is a broken hook. */
export async function loadHooks(sources: HookSources): Promise<HookEntry[]> {
  const { dataDir, startFolder, workspace, notice } = sources;
  const folder = join(dataDir, "hooks");
  const entries = hooksOfSetting(sources.setting, "config.yml", dataDir);
  const files = await readHookFolder(folder);
  if ("problem" in files) entries.push({ name: folder, problem: files.problem, denies: true });
  else entries.push(...(await hooksOfFiles(files.files, { cwd: folder, notice })).values());
  for (const { event, command } of sources.options) {
    entries.push({ name: `--hook ${event}`, event, command, cwd: startFolder });
  }
  if (workspace) {
    const { root, verify } = workspace;
    entries.push(...(await hooksOfFiles(workspace.files, { cwd: root, verify, notice })).values());
    for (const hook of hooksOfSetting(workspace.setting, ".xdev/config.yml", root)) {
      entries.push({ ...hook, verify });
    }
  }
  return entries;
}

/** The hooks of the key `hooks` of a config.yml. */
export function hooksOfSetting(setting: HooksSetting, origin: string, cwd: string): HookEntry[] {
  return HOOK_EVENTS.flatMap((event) => {
    const commands = setting[event] ?? [];
    const list = typeof commands === "string" ? [commands] : commands;
    return list.map((command, index) => {
      const number = list.length > 1 ? ` ${index + 1}` : "";
      return { name: `${event}${number} of ${origin}`, event, command, cwd };
    });
  });
}

/** The definitions and scripts of a folder, in lexical order; none if there is no folder. */
async function readHookFolder(folder: string): Promise<{ files: HookFile[] } | { problem: string }> {
  let names: string[];
  try {
    names = await readdir(folder);
  } catch (error) {
    if (systemCode(error) === "ENOENT") return { files: [] };
    return { problem: `the folder can't be read: ${errorText(error)}` };
  }
  const wanted = names.filter((name) => !name.startsWith(".") && (isDefinition(name) || isScript(name)));
  return { files: await Promise.all(wanted.sort().map((name) => readHookFile(folder, name))) };
}

async function readHookFile(folder: string, name: string): Promise<HookFile> {
  const path = join(folder, name);
  try {
    const info = await stat(path);
    // A FIFO would keep us waiting for good.
    if (!info.isFile()) return { name, path, executable: false, problem: "it is no file" };
    const executable = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (!isDefinition(name)) return { name, path, executable };
    if (info.size > MAX_HOOK_FILE) return { name, path, executable, problem: "it is longer than 1 MB" };
    return { name, path, executable, text: await readFile(path, "utf8") };
  } catch (error) {
    return { name, path, executable: false, problem: `it can't be read: ${errorText(error)}` };
  }
}
