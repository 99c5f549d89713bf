import { resolvePath } from "../base/files.ts";
import { discoverExtensions, type ExtensionSource, identifyExtensions } from "../extensions/discovery.ts";

/**
 * What a session loads: the data dir's extensions, then those of `-e` in the order given, each path once. Throws
 * `XdevError` with code `not-an-extension` for a path of `-e` that cannot be loaded.
 */
export async function extensionSources(
  options: { extensions: readonly string[]; discover: boolean },
  dataDir: string,
  cwd: string,
): Promise<ExtensionSource[]> {
  const [found, named] = await Promise.all([
    options.discover ? discoverExtensions(dataDir) : [],
    Promise.all(options.extensions.map((path) => identifyExtensions(resolvePath(path, cwd)))),
  ]);
  const seen = new Set<string>();
  return [...found, ...named.flat()].filter(({ path }) => !seen.has(path) && seen.add(path));
}
