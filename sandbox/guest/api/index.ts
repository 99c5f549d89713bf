/**
 * The in-process extension API (extension-api.md), evaluated inside the compartment: it has no more rights than the
 * extension beside it, and what it sends is checked by the host like everything else from here.
 *
 * It speaks the frames of src/extensions/frame.ts: handlers and tools of the module answer `event` frames.
 */
import type { About, BundleLinks, GuestHost } from "../protocol.ts";
import { Bus } from "./bus.ts";
import { capabilities, Registrations } from "./capabilities.ts";
import { createDispatcher } from "./dispatch.ts";
import { eventGlobals } from "./events.ts";
import { createConsole } from "./globals.ts";
import { defineLazyGlobals } from "./lazy-globals.ts";
import { createLinks } from "./links.ts";
import { createModules } from "./modules.ts";
import { createExtensionApi, ExtensionRuntimeNotInitializedError, type Registry } from "./registry.ts";
import { currentTheme } from "./services.ts";
import { Session } from "./session.ts";
import { createSystem } from "./system.ts";
import { describeErrorAndPlace, Transmitter } from "./transmit.ts";

/** Taken once: an extension may replace the globals. */
const { setTimeout, clearTimeout } = globalThis;

/** Loads the extension and gives boot the function that takes the host's frames. */
export function start(host: GuestHost, about: About): (frame: unknown) => void {
  const transmitter = new Transmitter(host);
  const global = globalThis as unknown as Record<string, unknown>;
  global.console = createConsole(transmitter);
  Object.assign(global, eventGlobals);
  // Node's name for it, by which packages know where they are.
  Object.defineProperty(global, "global", { value: globalThis, writable: true, configurable: true });

  const registry = createRegistry(about, transmitter);
  const session = new Session(host, transmitter);
  const own = (name: string) => modules.own(name);
  const pi = createExtensionApi(registry, transmitter, session, own, about.flags);
  const system = createSystem(host, about, transmitter);
  /** Asks the user's model once, and gives its text. Needs the permission `model`; the key stays with the host. */
  const complete = async (prompt: string, options: { systemPrompt?: string; maxTokens?: number } = {}) => {
    if (registry.loading) throw new ExtensionRuntimeNotInitializedError("complete");
    const { systemPrompt, maxTokens } = options;
    const answer = await transmitter.ask("model.complete", { prompt, systemPrompt, maxTokens });
    return (answer as { text: string }).text;
  };
  // What only the API's code has of the agent's package (../host/coding-agent).
  system.agent = {
    ...{ pi, complete, ExtensionRuntimeNotInitializedError, storageFolder: about.data },
    ask: async (method: string, params: unknown) => {
      if (registry.loading)
        throw new Error(
          "models can be asked once the extension has loaded: from an event, a command or a tool",
        );
      return transmitter.ask(method, params);
    },
    askNow: (method: string, params: unknown) => session.askNow(method, params),
    forget: () => session.forget(),
    theme: () => (registry.loading ? undefined : currentTheme((name: string) => modules.own(name), session)),
  };
  const modules = createModules(host, system);
  session.modelRegistry = () => modules.own("internal/model-registry").modelRegistry;
  system.own = modules.own;
  system.requireModule = modules.require;
  defineLazyGlobals((name) => modules.own(name));
  const dispatch = createDispatcher(registry, transmitter, session, own, about.ui);
  const older = () => own("internal/older") as unknown as typeof import("./older.ts");
  void load(host, about, registry, modules, pi, transmitter, older);
  return dispatch;
}

function createRegistry({ name, cwd }: About, transmitter: Transmitter): Registry {
  const registry: Registry = {
    name,
    loading: true,
    label: undefined,
    handlers: new Map(),
    tools: new Map(),
    commands: new Map(),
    flags: new Map(),
    shortcuts: new Map(),
    messageRenderers: new Map(),
    entryRenderers: new Map(),
    toolRenderers: [],
    markdownTransformers: [],
    providers: new Map(),
    bus: new Bus(transmitter, () => registry.loading),
    context: { cwd, sessionId: "", model: null },
    changed: () => registrations.changed(),
  };
  const registrations = new Registrations(registry, transmitter);
  return registry;
}

async function load(
  host: GuestHost,
  about: { name: string; path: string },
  registry: Registry,
  modules: Pick<BundleLinks, "import" | "dynamicImport" | "require">,
  pi: unknown,
  transmitter: Transmitter,
  older: () => typeof import("./older.ts"),
): Promise<void> {
  try {
    const before = timerCount();
    const run = host.evaluateBundle() as (links: BundleLinks) => Promise<void>;
    const exports: Record<string, unknown> = {};
    const { import: importModule, dynamicImport, require } = modules;
    const meta = createMeta(about.path);
    const links: BundleLinks["links"] = (entry, resolved) =>
      createLinks({ dynamicImport, require, meta }, entry, resolved);
    await run({ import: importModule, dynamicImport, require, exports, meta, links });
    const factory = exports.default;
    if (typeof factory !== "function") return host.fail(noFactory(factory));
    const given: unknown = await factory(pi);
    if (typeof given === "object" && given !== null) older().registerGiven(pi as never, given);
    registry.loading = false;
    // Our own count is one more.
    const isBusy = timerCount() !== before + 1 || registry.bus.isWaiting;
    transmitter.send({ type: "capabilities", payload: capabilities(registry, isBusy) });
    registry.bus.start();
  } catch (error) {
    host.fail(`threw while it loaded: ${describeErrorAndPlace(error)}`);
  }
}

/** A number that is one more after each timer that is started. */
function timerCount(): number {
  const timer = setTimeout(() => {}, 0) as unknown as number;
  clearTimeout(timer);
  return timer;
}

function noFactory(value: unknown): string {
  if (value === undefined) {
    return "has no default export: an extension exports a function (pi) => { … } as its default";
  }
  return `has a default export that is no function but ${value === null ? "null" : `a value of type ${typeof value}`}`;
}

function createMeta(path: string): Record<string, unknown> {
  const slash = path.lastIndexOf("/");
  return { url: `file://${path}`, filename: path, dirname: path.slice(0, Math.max(slash, 1)), main: false };
}
