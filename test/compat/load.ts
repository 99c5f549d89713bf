/** Loads extensions as a session would, several in one manager, and gives what each registers. */
import { type ExtensionSource, identifyExtensions } from "../../src/extensions/discovery.ts";
import type { Capabilities } from "../../src/extensions/frame.ts";
import { ExtensionManager } from "../../src/extensions/manager.ts";
import { authorityOf } from "../support/authority.ts";
import { Folder } from "../support/folder.ts";
import { TEST_SETTINGS } from "../support/level.ts";
import type { Registrations } from "./expectations.ts";

export interface LoadResult {
  path: string;
  /** Of each of its modules. */
  modules: { name: string; error?: string; registers?: Registrations }[];
}

/** Loads what is at each path. The extensions have no permissions: to load must take none. */
export async function loadAll(paths: readonly string[]): Promise<Map<string, LoadResult>> {
  using folder = new Folder();
  const found = await Promise.all(
    paths.map(async (path) => ({ path, sources: await identifyExtensions(path) })),
  );
  const at = folder.path;
  const manager = await ExtensionManager.load({
    sources: found.flatMap(({ sources }) => sources),
    settings: TEST_SETTINGS,
    env: { PATH: process.env.PATH },
    dataDir: at,
    authority: authorityOf({ cwd: at, home: at, tmp: at, dataDir: at }),
    host: { notice: () => {}, notify: () => {}, action: () => {} },
  });
  try {
    const results = found.map(({ path, sources }) => {
      const modules = sources.map((source: ExtensionSource) => {
        const extension = manager.extensions.find((one) => one.path === source.path)!;
        const { name, capabilities, reason, lastLog } = extension;
        if (extension.state === "ready" && capabilities) return { name, registers: registered(capabilities) };
        return { name, error: [reason ?? extension.state, ...lastLog.slice(-2)].join(" | ") };
      });
      return [path, { path, modules }] as const;
    });
    return new Map(results);
  } finally {
    await manager.stop();
  }
}

function registered(capabilities: Capabilities): Registrations {
  const { events, tools, commands, flags, shortcuts, messageRenderers, providers } = capabilities;
  const names = (list: readonly (string | { name: string })[] | undefined) =>
    [...new Set(list?.map((one) => (typeof one === "string" ? one : one.name)))].sort();
  return {
    events: names(events),
    tools: names(tools),
    commands: names(commands),
    flags: names(flags),
    shortcuts: names(shortcuts),
    messageRenderers: names(messageRenderers),
    providers: names(providers),
  };
}
