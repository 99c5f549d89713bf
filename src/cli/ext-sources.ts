/** Which extensions a session loads, and in which order. */
import { join } from "node:path";
import { errorText, XdevError } from "../base/errors.ts";
import { resolvePath } from "../base/files.ts";
import { log } from "../base/log.ts";
import { oneLine } from "../base/text.ts";
import type { Settings } from "../config/settings.ts";
import {
  discoverExtensions,
  discoverFolder,
  type ExtensionSource,
  eachOnce,
  namedExtensions,
} from "../extensions/discovery.ts";
import { extensionName } from "../extensions/names.ts";
import type { TrustedWorkspace } from "./workspace.ts";

export interface SourceOptions {
  /** Of `-e`, in the order given. */
  extensions: readonly string[];
  /** Whether there are others than those of `-e`. */
  discover: boolean;
}

export interface FoundSources {
  sources: ExtensionSource[];
  /** What the user has turned off (`disabledExtensions`). */
  disabled: ExtensionSource[];
  /** Canonical paths of what is there, was clearly meant to be an extension, and can't be made out. */
  broken: string[];
}

/**
 * What a session loads: the data dir's extensions, a trusted workspace's, those that config.yml names, then those of `-e` in the
 * order given, each path once; one that the user names is the user's. Throws `XdevError` with code `not-an-extension` for a path of
 * `-e` that cannot be loaded; one of config.yml is said.
 */
export async function extensionSources(
  options: SourceOptions,
  dataDir: string,
  cwd: string,
  settings: Pick<Settings, "extensions" | "disabledExtensions">,
  workspace?: TrustedWorkspace,
): Promise<FoundSources> {
  const { discover } = options;
  const broken: string[] = [];
  const onBroken = (path: string) => void broken.push(path);
  const [found, brought, configured, named] = await Promise.all([
    discover ? discoverExtensions(dataDir, onBroken) : [],
    discover && workspace ? discoverProject(workspace.folder, onBroken) : [],
    discover ? Promise.all(settings.extensions.map((path) => configuredAt(path, dataDir))) : [],
    Promise.all(options.extensions.map((path) => namedExtensions(resolvePath(path, cwd)))),
  ]);
  const sources: ExtensionSource[] = [];
  const disabled: ExtensionSource[] = [];
  const isDisabled = disabledBy(settings.disabledExtensions);
  const users = [...configured.flat(), ...named.flat()];
  // What the user names is the user's: a repository that brings the same file gives it no other name, and turns it not off by that.
  const usersPaths = new Set(users.map(({ path }) => path));
  const projects = brought.filter(({ path }) => !usersPaths.has(path));
  for (const source of eachOnce([...found, ...projects, ...users])) {
    (isDisabled(source) ? disabled : sources).push(source);
  }
  return { sources, disabled, broken: broken.filter((path) => !isDisabled({ name: extensionName(path) })) };
}

const DISABLED_PREFIX = "extension-module:";

/** Whether `disabledExtensions` means an extension: by the name that its file or folder gives it, whoever brought it. */
function disabledBy(list: readonly string[]): (source: Pick<ExtensionSource, "name">) => boolean {
  const names = new Set<string>();
  for (const entry of list) {
    if (entry.startsWith(DISABLED_PREFIX)) names.add(entry.slice(DISABLED_PREFIX.length));
    else log.warn(`config.yml: disabledExtensions: ${oneLine(entry)} does not begin with ${DISABLED_PREFIX}`);
  }
  return ({ name }) => names.has(name);
}

/** The folder of the extensions of a workspace. */
export function projectExtensions(workspaceFolder: string): string {
  return join(workspaceFolder, "extensions");
}

async function discoverProject(
  workspaceFolder: string,
  onBroken: (path: string) => void,
): Promise<ExtensionSource[]> {
  const found = await discoverFolder(projectExtensions(workspaceFolder), onBroken);
  return found.map((source) => ({ ...source, origin: "project" }));
}

/** What a path of config.yml brings. A path that leads nowhere any more must not keep every session from its start. */
async function configuredAt(path: string, dataDir: string): Promise<ExtensionSource[]> {
  try {
    return await namedExtensions(resolvePath(path, dataDir));
  } catch (error) {
    if (!(error instanceof XdevError) || error.code !== "not-an-extension") throw error;
    log.warn(`config.yml: extensions: ${errorText(error)}`);
    return [];
  }
}
