/** `pi`: what an extension registers, and the actions that it may take once it is loaded (extension-api.md, "`pi`"). */
import type { About } from "../protocol.ts";
import { createActions } from "./actions.ts";
import type { Bus } from "./bus.ts";
import { toolSpec } from "./capabilities.ts";
import { type Flag, flagOf, flagValue } from "./flags.ts";
import type { Providers } from "./providers.ts";
import type { Session } from "./session.ts";
import type { Transmitter } from "./transmit.ts";
import type { VirtualModels } from "./virtual-models.ts";

export type Handler = (event: Record<string, unknown>, context: unknown) => unknown;

export interface GuestTool {
  name: string;
  label?: string;
  description?: string;
  parameters?: unknown;
  hidden?: boolean;
  defaultInactive?: boolean;
  defaultActive?: boolean;
  exposure?: string;
  executionMode?: string;
  promptSnippet?: string;
  promptGuidelines?: string[];
  prepareArguments?(args: unknown): unknown;
  onSession?(event: Record<string, unknown>, context: unknown): unknown;
  renderCall?: Renderer;
  renderResult?: Renderer;
  execute(
    toolCallId: string,
    params: unknown,
    signal: AbortSignal,
    onUpdate: (partial: unknown) => void,
    context: unknown,
  ): unknown;
}

/** Gives a component, or undefined. */
export type Renderer = (...args: unknown[]) => unknown;

export interface GuestShortcut {
  description?: string;
  handler(context: unknown): unknown;
}

export interface GuestCommand {
  description?: string;
  getArgumentCompletions?(prefix: string): unknown;
  handler(args: string, context: unknown): unknown;
}

/** What the host last said about the session. */
export interface SessionContext {
  cwd: string;
  sessionId: string;
  model: unknown;
}

export interface Registry {
  readonly name: string;
  loading: boolean;
  label: string | undefined;
  readonly handlers: Map<string, Handler[]>;
  readonly tools: Map<string, GuestTool>;
  readonly commands: Map<string, GuestCommand>;
  readonly flags: Map<string, Flag>;
  readonly shortcuts: Map<string, GuestShortcut>;
  readonly messageRenderers: Map<string, Renderer>;
  readonly entryRenderers: Map<string, Renderer>;
  /** Of `registerToolRenderer`: each may choose how a tool is drawn. */
  readonly toolRenderers: Renderer[];
  readonly markdownTransformers: { transform: Renderer; types: readonly string[] }[];
  readonly providers: Map<string, unknown>;
  readonly bus: Bus;
  /** What is behind them; loaded with the first. */
  providerDesk?: Providers | undefined;
  context: SessionContext;
  /** A `ctx` outside of all events: for `pi.ui` of older modules. */
  ambient?: () => Record<string, unknown>;
  /** Something was registered, or is not any more. */
  changed(): void;
}

/** What an action throws while the extension loads (extensions-guide.fr.md, "Modèle de runtime"). */
export class ExtensionRuntimeNotInitializedError extends Error {
  override readonly name = "ExtensionRuntimeNotInitializedError";
  constructor(action: string) {
    super(
      `pi.${action}() is not available while the extension loads: call it from an event, a command or a tool`,
    );
  }
}

/** Names that others of this family have for events. */
const ALIASES = new Map([
  ["session_before_fork", "session_before_branch"],
  ["session_fork", "session_branch"],
]);

export function createExtensionApi(
  registry: Registry,
  transmitter: Transmitter,
  session: Session,
  importPackage: (name: string) => unknown,
  flags?: About["flags"],
): Record<string, unknown> {
  const renderers =
    (method: string, map: Map<string, Renderer>) =>
    (name: unknown, renderer: unknown): void => {
      const key = text(name, `pi.${method}: the type`);
      if (typeof renderer !== "function") throw new TypeError(`pi.${method}("${key}"): it is no function`);
      map.set(key, renderer as Renderer);
      registry.changed();
    };
  const older = () => importPackage("internal/older") as typeof import("./older.ts");
  /** What this family has and xdev has not: its absence breaks no extension that only offers it, too. */
  const absent = (method: string) => (): void =>
    transmitter.log("warn", `pi.${method}() has no effect: xdev has nothing of the kind`);

  /** Also when it has loaded. Needs the permission `provider`. */
  const registerProvider = (name: unknown, config: unknown): void => {
    registry.providerDesk ??= (
      importPackage("internal/providers") as typeof import("./providers.ts")
    ).createProviders(transmitter, registry.providers);
    registry.providerDesk.register(name, config);
    registry.changed();
  };
  const unregisterProvider = (name: unknown): void => {
    registry.providerDesk?.unregister(name);
    registry.changed();
  };

  let virtual: VirtualModels | undefined;
  const virtualModels = (): VirtualModels => {
    virtual ??= (
      importPackage("internal/virtual-models") as typeof import("./virtual-models.ts")
    ).createVirtualModels(
      () => registry.ambient?.(),
      () => registry.context.sessionId,
      () => (importPackage("pi-ai") as { streamSimple: never }).streamSimple,
    );
    return virtual;
  };

  const api: Record<string, unknown> = {
    /** Gives the function that ends it. */
    on(event: unknown, handler: unknown): () => void {
      const given = text(event, "pi.on: the event's name");
      const name = ALIASES.get(given) ?? given;
      if (typeof handler !== "function") throw new TypeError(`pi.on("${given}"): the handler is no function`);
      if (name === "session") return older().onSession(api.on as never, handler as Handler);
      // One that is registered twice is called twice, and each registration ends by itself.
      const own: Handler = (...args) => (handler as Handler)(...args);
      const handlers = registry.handlers.get(name);
      registry.handlers.set(name, [...(handlers ?? []), own]);
      if (!handlers) registry.changed();
      return () => {
        const left = (registry.handlers.get(name) ?? []).filter((one) => one !== own);
        if (left.length > 0) return void registry.handlers.set(name, left);
        // A policy stays one: it is asked, and the user is told that it lets everything pass.
        if (name === "tool_call" && !registry.loading) registry.handlers.set(name, left);
        else registry.handlers.delete(name);
        registry.changed();
      };
    },
    registerTool(tool: unknown): void {
      const definition = tool as GuestTool;
      const name = text(definition?.name, "pi.registerTool: name");
      if (typeof definition.execute !== "function") {
        throw new TypeError(`pi.registerTool("${name}"): execute is no function`);
      }
      try {
        toolSpec(definition);
      } catch (error) {
        throw new TypeError(`pi.registerTool("${name}"): ${(error as Error).message}`);
      }
      registry.tools.set(name, definition);
      registry.changed();
    },
    registerCommand(name: unknown, command: unknown): void {
      const key = text(name, "pi.registerCommand: the name");
      if (typeof (command as GuestCommand)?.handler !== "function") {
        throw new TypeError(`pi.registerCommand("${key}"): handler is no function`);
      }
      registry.commands.set(key, command as GuestCommand);
      registry.changed();
    },
    /** One argument names the extension; two label an entry of the session, or take its label away. */
    setLabel(...args: unknown[]): void {
      if (args.length < 2) {
        registry.label = text(args[0], "pi.setLabel: the label");
        registry.changed();
        return;
      }
      if (registry.loading) throw new ExtensionRuntimeNotInitializedError("setLabel");
      const [entryId, label] = args;
      session.tell("pi.setLabel()", "session.setLabel", {
        entryId: text(entryId, "pi.setLabel: the entry's id"),
        label: label === undefined || label === null ? null : String(label),
      });
    },
    registerFlag(name: unknown, options: unknown): void {
      const key = text(name, "pi.registerFlag: the name");
      registry.flags.set(key, flagOf(key, options));
      registry.changed();
    },
    getFlag(name: unknown): boolean | string | undefined {
      const key = String(name);
      const flag = registry.flags.get(key);
      return flag && flagValue(key, flag, flags);
    },
    registerShortcut(key: unknown, shortcut: unknown): void {
      const name = text(key, "pi.registerShortcut: the key").toLowerCase();
      if (typeof (shortcut as GuestShortcut)?.handler !== "function") {
        throw new TypeError(`pi.registerShortcut("${name}"): handler is no function`);
      }
      registry.shortcuts.set(name, shortcut as GuestShortcut);
      registry.changed();
    },
    registerMessageRenderer: renderers("registerMessageRenderer", registry.messageRenderers),
    registerEntryRenderer: renderers("registerEntryRenderer", registry.entryRenderers),
    registerToolRenderer(resolver: unknown): void {
      if (typeof resolver !== "function") throw new TypeError("pi.registerToolRenderer: it is no function");
      registry.toolRenderers.push(resolver as Renderer);
      registry.changed();
    },
    registerMarkdownTransformer(
      transform: unknown,
      options: { messageTypes?: readonly string[] } = {},
    ): void {
      if (typeof transform !== "function") {
        throw new TypeError("pi.registerMarkdownTransformer: it is no function");
      }
      const types = options?.messageTypes ?? ["user", "assistant", "assistant-thinking"];
      registry.markdownTransformers.push({ transform: transform as Renderer, types: [...types] });
      registry.changed();
    },
    registerMcpServer: absent("registerMcpServer"),
    unregisterMcpServer: absent("unregisterMcpServer"),
    // Of oh-my-pi.
    registerAssistantThinkingRenderer: absent("registerAssistantThinkingRenderer"),
    registerComposerShape: absent("registerComposerShape"),
    registerFileDeleteFallback: absent("registerFileDeleteFallback"),
    registerFileWriteFallback: absent("registerFileWriteFallback"),
    setServiceTier: absent("setServiceTier"),
    getServiceTiers: () => ({}),
    getMcpServers: () => [],
    registerVirtualModel(model: unknown): void {
      const { name, config } = virtualModels().add(model);
      registerProvider(name, config);
    },
    unregisterVirtualModel(provider: unknown, id: unknown): void {
      const { name, config } = virtualModels().remove(provider, id);
      if (config) registerProvider(name, config);
      else unregisterProvider(name);
    },
    events: registry.bus.api,
    registerProvider,
    unregisterProvider,
    /** Kept in the session and never sent to the model; needs the permission `session: write`. */
    appendEntry(customType: unknown, data?: unknown): void {
      if (registry.loading) throw new ExtensionRuntimeNotInitializedError("appendEntry");
      const type = text(customType, "pi.appendEntry: the type");
      session.tell(`pi.appendEntry("${type}")`, "session.append", { customType: type, data });
    },
    logger: {
      debug: (message: unknown) => transmitter.log("debug", String(message)),
      info: (message: unknown) => transmitter.log("info", String(message)),
      warn: (message: unknown) => transmitter.log("warn", String(message)),
      error: (message: unknown) => transmitter.log("error", String(message)),
    },
    /** What the agent's package exports. */
    get pi() {
      return importPackage("pi-coding-agent");
    },
    get typebox() {
      return importPackage("@sinclair/typebox");
    },
    // Of hooks and custom tools (older.ts), and of oh-my-pi.
    get zod() {
      return importPackage("zod");
    },
    get cwd() {
      return registry.context.cwd;
    },
    get ui() {
      return registry.ambient?.().ui;
    },
    get hasUI() {
      return registry.ambient?.().hasUI === true;
    },
    pushPendingAction: (action: never): void => older().pushPendingAction(registry, api as never, action),
  };
  for (const [action, run] of Object.entries(createActions(session, importPackage))) {
    api[action] = (...args: unknown[]) => {
      if (registry.loading) throw new ExtensionRuntimeNotInitializedError(action);
      return run(...args);
    };
  }
  return api;
}

function text(value: unknown, what: string): string {
  if (typeof value === "string" && value !== "") return value;
  throw new TypeError(`${what} must be a text that is not empty`);
}
