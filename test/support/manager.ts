/** A manager that keeps what it learns, for tests of starts and reloads: counts the workers that are started. */
import { join } from "node:path";
import { type Cache, openCache } from "../../src/base/cache.ts";
import type { ExtensionHostSettings } from "../../src/config/settings.ts";
import { discoverFolder } from "../../src/extensions/discovery.ts";
import { type GuestLimits, Guests, type Level } from "../../src/extensions/guests.ts";
import { ExtensionManager, type ManagerOptions } from "../../src/extensions/manager.ts";
import type { ExtensionTool } from "../../src/extensions/tools.ts";
import type { Folder } from "./folder.ts";
import { TEST_SETTINGS } from "./level.ts";

export class CountingGuests extends Guests {
  /** The names of the extensions whose workers were started. */
  readonly started: string[] = [];

  override start(name: string, level: Level, limits: GuestLimits) {
    this.started.push(name);
    return super.start(name, level, limits);
  }
}

export interface Kept extends AsyncDisposable {
  manager: ExtensionManager;
  guests: CountingGuests;
  notices: string[];
  /** Whatever was registered by actions, or is not any more. */
  actions: string[];
  states(): string[];
  call(tool: string, params?: object): Promise<string>;
  command(word: string): Promise<string>;
}

export interface KeptOptions {
  settings?: Partial<ExtensionHostSettings>;
  circumstances?: () => string;
  authority?: NonNullable<ManagerOptions["authority"]>;
  sources?: ManagerOptions["sources"];
  keepsProjects?: () => boolean;
}

/** Loads `<folder>/extensions` with a cache in the folder, as the executable does. */
export async function loadKept(folder: Folder, options: KeptOptions = {}): Promise<Kept> {
  const { circumstances = () => "same", authority } = options;
  const guests = new CountingGuests();
  const notices: string[] = [];
  const actions: string[] = [];
  const settings: ExtensionHostSettings = { ...TEST_SETTINGS, ...options.settings };
  const broken: string[] = [];
  const find = async () =>
    options.sources ??
    (await discoverFolder(join(folder.path, "extensions"), (path) => void broken.push(path)));
  const manager = await ExtensionManager.load({
    sources: await find(),
    settings,
    env: process.env,
    cache: waited(openCache(join(folder.path, "data"), "build")),
    guests,
    circumstances: async () => circumstances(),
    ...(authority ? { authority } : {}),
    rediscover: async () => ({
      sources: await find(),
      broken: broken.splice(0),
      settings,
      keepsProjects: options.keepsProjects?.() ?? false,
    }),
    host: {
      notice: (text) => void notices.push(text),
      notify: () => {},
      action: (extension, { action }) => void actions.push(`${extension} ${action}`),
      left: (extension) => void actions.push(`${extension} left`),
    },
  });
  return {
    manager,
    guests,
    notices,
    actions,
    states: () =>
      manager.extensions.map(({ name, state, isAsleep }) => `${name} ${isAsleep ? "asleep" : state}`),
    async call(tool, params = {}) {
      const found = manager.tools([]).find(({ name }) => name === tool) as ExtensionTool;
      const { content } = await found.execute("c1", params, undefined, undefined);
      return content.map((part) => (part.type === "text" ? part.text : "")).join("");
    },
    async command(word) {
      const { extension, command } = manager.findCommand(word)!;
      const reply = await extension.request("command", { command, arguments: "" }, { timeoutMs: 10_000 });
      if (reply.error != null) throw new Error(reply.error);
      return (reply.patch as { text?: string } | undefined)?.text ?? "";
    },
    async [Symbol.asyncDispose]() {
      await manager.stop();
      await written();
    },
  };
}

const writes = new Set<Promise<void>>();
const written = () => Promise.all(writes);

/** A cache whose writes are there when the manager has ended. */
function waited(cache: Cache): Cache {
  return {
    ...cache,
    write(...args) {
      const done = cache.write(...args).finally(() => writes.delete(done));
      writes.add(done);
      return done;
    },
  };
}

/** Changes a plan into what has happened. */
export async function reloaded(manager: ExtensionManager) {
  const plan = await manager.plan();
  await manager.reload(plan);
  const { added, changed, removed } = plan;
  return { added, changed, removed };
}
