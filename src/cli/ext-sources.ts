import { join } from "node:path";
import { resolvePath } from "../base/files.ts";
import {
  discoverExtensions,
  discoverFolder,
  type ExtensionSource,
  identifyExtensions,
} from "../extensions/discovery.ts";
import type { TrustedWorkspace } from "./workspace.ts";

/**
 * What a session loads: the data dir's extensions, a trusted workspace's, then those of `-e` in the order given, each path
 * once. Throws `XdevError` with code `not-an-extension` for a path of `-e` that cannot be loaded.
 */
export async function extensionSources(
  options: { extensions: readonly string[]; discover: boolean },
  dataDir: string,
  cwd: string,
  workspace?: TrustedWorkspace,
): Promise<ExtensionSource[]> {
  const [found, brought, named] = await Promise.all([
    options.discover ? discoverExtensions(dataDir) : [],
    options.discover && workspace ? discoverProject(join(workspace.folder, "extensions")) : [],
    Promise.all(options.extensions.map((path) => identifyExtensions(resolvePath(path, cwd)))),
  ]);
  const seen = new Set<string>();
  return [...found, ...brought, ...named.flat()].filter(({ path }) => !seen.has(path) && seen.add(path));
}

async function discoverProject(folder: string): Promise<ExtensionSource[]> {
  return (await discoverFolder(folder)).map((source) => ({ ...source, origin: "project" }));
}
