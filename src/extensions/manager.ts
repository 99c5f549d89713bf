/**
 * All extensions of a session: starts them at once, keeps the order of the chain, gives the agent their interceptors,
 * tools and commands, and ends them (extension-protocol.md §1, §7).
 */
import type { Rights } from "../../sandbox/broker/broker.ts";
import type { LoadedBundle } from "../../sandbox/bundle/cached.ts";
import { openCache } from "../base/cache.ts";
import { log } from "../base/log.ts";
import { oneLine, stripControls } from "../base/text.ts";
import { withTimeout } from "../base/time.ts";
import { VERSION } from "../base/version.ts";
import type { ExtensionHostSettings } from "../config/settings.ts";
import { didYouMean } from "../config/suggest.ts";
import { loadPlatform } from "../platform/index.ts";
import { EventBus } from "./bus.ts";
import { answerCall, type CallServices, dismissQuestions } from "./calls.ts";
import type { Interceptor } from "./chain.ts";
import type { Channel } from "./channel.ts";
import { connect } from "./connect.ts";
import type { ExtensionSource } from "./discovery.ts";
import { EventSender } from "./event-sender.ts";
import {
  Extension,
  type ExtensionHandlers,
  type ExtensionIdentity,
  type ExtensionLimits,
} from "./extension.ts";
import { type ActionFrame, API_EVENTS, EVENT_NAMES, type EventName, FAMILY_EVENTS } from "./frame.ts";
import { Guests, levelOf } from "./guests.ts";
import { extensionInterceptor, missingInterceptor } from "./interceptor.ts";
import { assignNames, processToolName, workerToolName } from "./names.ts";
import { Offers } from "./offers.ts";
import type { DrawResult } from "./render/lookup.ts";
import { type ExtensionTool, extensionTool } from "./tools.ts";
import type { Authority } from "./worker.ts";

/** Why one extension is not there (wire-notes.md, "Handshake"). */
export interface LoadFailure {
  name: string;
  path: string;
  kind: "process" | "worker";
  reason: string;
  exitCode?: number;
  signal?: string;
  /** The last lines of its log, at most 20. */
  log: readonly string[];
}

/** What the session does with what extensions ask for. */
export interface ManagerHost extends CallServices {
  /** Tells the user something once: a retired extension, a skipped tool. */
  notice(text: string): void;
  /**
   * `rights` are those of a module; a process extension has none of its own. `isProjects`: the project brings it, so that its name
   * says nothing about what the user meant by that name.
   */
  action(extension: string, frame: ActionFrame, rights: Rights | undefined, isProjects: boolean): void;
  /** The tools of extensions have changed: one was retired, or is back. */
  toolsChanged?(): void;
  /** A line of an extension's own log; false if it was dropped, and should be shown nowhere. */
  log?(extension: string, level: string, text: string): boolean;
}

export interface ManagerOptions {
  sources: readonly ExtensionSource[];
  settings: ExtensionHostSettings;
  env: Record<string, string | undefined>;
  /** Where bundles are kept (src/base/cache.ts); none without it. */
  dataDir?: string;
  /**
   * What a module may do, once its bundle is known; without it, nothing. `hold` stops its clocks while the user is asked. Called
   * for each of its lives.
   */
  authority?: (source: ExtensionSource, bundle: LoadedBundle, hold: () => () => void) => Promise<Authority>;
  /** What watches or stands in for a channel (`xdev ext trace`, `xdev ext replay`). */
  wrapChannel?: (channel: Channel, identity: ExtensionIdentity) => Channel;
  /** Where modules run, if a worker was prepared already. */
  guests?: Guests;
  /** Called when all extensions have been started and nothing is left but to wait for them. */
  onStarted?: () => void;
  host: ManagerHost;
}

export interface ExtensionCommand {
  extension: Extension;
  command: string;
  description: string;
  /** What may follow it, for completion. */
  completions: readonly string[];
  /** Whether there is something to offer behind it (`offers.complete`). */
  completes: boolean;
  /** The word that a user types, `/ext:<extension>:<command>`. */
  word: string;
}

/** How long an extension has to end by itself when the session ends, in ms. */
const CLOSE_GRACE_MS = 500;

export class ExtensionManager {
  readonly extensions: readonly Extension[];
  /** What the session tells extensions and asks them, tool calls aside. */
  readonly events: EventSender;
  /** Flags, shortcuts, completions, drawings. */
  readonly offers: Offers;
  readonly #interceptors: readonly Interceptor[];
  readonly #host: ManagerHost;
  readonly #rightsOf: (extension: Extension) => Rights | undefined;
  /** The tools that each extension really has: from the announced name to the agent's. */
  readonly #registered = new Map<Extension, Map<string, string>>();
  readonly #noticed = new Set<string>();

  private constructor(
    extensions: readonly Extension[],
    missing: readonly string[],
    host: ManagerHost,
    rightsOf: (extension: Extension) => Rights | undefined,
  ) {
    this.extensions = extensions;
    this.events = new EventSender(extensions, (extension, event) => {
      if (rightsOf(extension)?.has({ kind: "session", access: "write" }) !== false) return true;
      this.noticeOnce(
        `extension ${extension.name} wants to change the conversation (${event}) and may not: what it returns is ignored. To allow it: xdev ext grant ${extension.name} --session=write`,
        `${extension.name} changes the conversation`,
      );
      return false;
    });
    this.#rightsOf = rightsOf;
    const mayChange = async (extension: Extension, tool: string): Promise<void> => {
      if ([...(this.#registered.get(extension)?.values() ?? [])].includes(tool)) return;
      await rightsOf(extension)?.demand({ kind: "tools", name: tool });
    };
    this.#interceptors = [
      ...extensions.map((extension) => extensionInterceptor(extension, mayChange)),
      ...missing.map(missingInterceptor),
    ];
    this.#host = host;
    this.offers = new Offers(
      () => this.#ready(),
      (extension) => this.#registered.get(extension),
      (text) => this.noticeOnce(text),
    );
  }

  /** Starts all extensions at once; resolves when each is ready or has failed, which blocks nothing. */
  static async load(options: ManagerOptions): Promise<ExtensionManager> {
    const { host } = options;
    let manager: ExtensionManager | undefined;
    const rights = new Map<Extension, Rights>();
    const projects = new Set<Extension>();
    const rightsOf = (extension: Extension): Rights | undefined =>
      extension.kind === "worker" ? (rights.get(extension) ?? NO_RIGHTS) : undefined;
    const noticed = new Set<string>();
    const bus = new EventBus((text, about) => {
      if (!noticed.has(about)) host.notice(text);
      noticed.add(about);
    });
    const services: CallServices = {
      ...host,
      bus,
      onPrompt: (kind, title) => {
        const tell = (event: "ui_prompt_start" | "ui_prompt_end") => {
          if (manager?.events.listens(event))
            manager.events.emit(event, { reason: "ui_prompt", kind, title });
        };
        tell("ui_prompt_start");
        return () => tell("ui_prompt_end");
      },
    };
    const handlers: ExtensionHandlers = {
      onAction: (extension, frame) =>
        host.action(extension.name, frame, rightsOf(extension), projects.has(extension)),
      onCall: (extension, frame, asking) =>
        answerCall(extension, frame, services, asking, rightsOf(extension)),
      onLog: (extension, level, text) => {
        if (host.log?.(extension.name, level, text) === false) return;
        log.debug(`extension ${extension.name} (${oneLine(level)}): ${oneLine(text)}`);
      },
      onDeath: (extension) =>
        host.notice(`extension ${extension.name} ${extension.reason}; ${afterDeath(extension)}`),
      onChange: (extension) => {
        // It lives anew, or not any more.
        dismissQuestions(extension);
        if (!manager) return;
        host.toolsChanged?.();
        // One that was started anew is told what it missed.
        if (extension.state === "ready") manager.events.catchUp(extension);
      },
    };
    handlers.onRegister = (extension) => {
      for (const text of unknownEvents(extension)) manager?.noticeOnce(text);
      if (manager) host.toolsChanged?.();
    };
    const names = assignNames(options.sources);
    const cache = openCache(options.dataDir);
    const guests = options.guests ?? new Guests();
    const hasModules = options.sources.some(({ kind }) => kind === "worker");
    const endsLoops = !hasModules || (await loadPlatform()).endsLoops;
    const extensions = options.sources.map((source, index) => {
      const { path, kind, origin } = source;
      const { name, duplicate } = names[index]!;
      if (duplicate) host.notice(`two extensions have one name: ${oneLine(path)} is called ${name}`);
      const limits = limitsOf(options.settings, name);
      const level = kind === "process" ? kind : levelOf(limits.isolation, origin, endsLoops);
      const identity = { name, path, kind, level };
      const open = async (anew: boolean): Promise<Channel> => {
        if (anew) guests.forgive(name);
        const { maxFrameBytes, maxTimers, maxHeapBytes } = limits;
        const authority = async (bundle: LoadedBundle, onAsking: () => void): Promise<Authority> => {
          const hold = (): (() => void) => {
            onAsking();
            return extension.hold();
          };
          const given = await options.authority!({ ...source, name }, bundle, hold);
          rights.set(extension, given.rights);
          return given;
        };
        const channel = await connect(identity, {
          env: options.env,
          cache,
          maxFrameBytes,
          maxTimers,
          maxHeapBytes,
          guests,
          ...(options.authority ? { authority } : {}),
        });
        return options.wrapChannel?.(channel, identity) ?? channel;
      };
      const extension = new Extension(identity, open, limits, handlers, VERSION);
      if (origin === "project") projects.add(extension);
      return extension;
    });
    const starts = extensions.map((extension) => extension.start());
    await Promise.all(starts.map(({ opened }) => opened)).finally(() => guests.dismiss());
    options.onStarted?.();
    await Promise.all(starts.map(({ ready }) => ready));
    const missing = requiredNames(options.settings).filter(
      // The user's own is meant, whatever a project calls one of its.
      (name) => !extensions.some((extension) => extension.name === name && !projects.has(extension)),
    );
    for (const name of missing) {
      const other = extensions.some((extension) => extension.name === name)
        ? " (one that a project brings does not count)"
        : "";
      host.notice(
        `extension ${name} is required (config.yml) and is not there${other}; every tool call is denied`,
      );
    }
    for (const extension of extensions) for (const text of unknownEvents(extension)) host.notice(text);
    manager = new ExtensionManager(extensions, missing, host, rightsOf);
    bus.open(extensions);
    for (const failure of manager.failures()) {
      const last = failure.log.at(-1);
      const said = last ? ` (it said: ${oneLine(last)})` : "";
      host.notice(
        `extension ${failure.name} (${oneLine(failure.path)}) ${failure.reason}${said}; it is not loaded and checks no tool call`,
      );
    }
    return manager;
  }

  failures(): LoadFailure[] {
    return this.extensions.flatMap((extension) =>
      extension.state === "failed"
        ? [
            {
              name: extension.name,
              path: extension.path,
              kind: extension.kind,
              reason: extension.reason ?? "failed",
              ...(extension.end?.exitCode === undefined ? {} : { exitCode: extension.end.exitCode }),
              ...(extension.end?.signal === undefined ? {} : { signal: extension.end.signal }),
              log: extension.lastLog,
            },
          ]
        : [],
    );
  }

  /** In the order of the chain. A dead extension's interceptor knows that it is dead. */
  interceptors(): readonly Interceptor[] {
    return this.#interceptors;
  }

  /**
   * The tools of all that are ready; `reserved` are names that none may have but a module with the permission `tools` for
   * exactly that name. A name that is taken is skipped, with a notice the first time: nothing can be shadowed.
   */
  tools(reserved: readonly string[]): ExtensionTool[] {
    // Whatever the case: a model, or a person, takes `Bash` for `bash`.
    const taken = new Set(reserved.map((name) => name.toLowerCase()));
    const tools: ExtensionTool[] = [];
    this.#registered.clear();
    for (const extension of this.#ready()) {
      const own = new Map<string, string>();
      this.#registered.set(extension, own);
      for (const spec of extension.capabilities?.tools ?? []) {
        const name =
          extension.kind === "process"
            ? processToolName(extension.name, spec.name)
            : workerToolName(spec.name);
        // `ext_` is the processes': a module must not stand where one of them would.
        const shadows = extension.kind === "worker" && name.startsWith("ext_");
        const mayReplace =
          reserved.includes(name) &&
          !tools.some((tool) => tool.name === name) &&
          this.#rightsOf(extension)?.has({ kind: "tools", name }) === true;
        if ((taken.has(name.toLowerCase()) && !mayReplace) || shadows) {
          this.noticeOnce(`extension ${extension.name}: its tool ${name} is skipped, the name is taken`);
          continue;
        }
        taken.add(name.toLowerCase());
        own.set(spec.name, name);
        tools.push(extensionTool(extension, spec, name));
      }
    }
    return tools;
  }

  /** How results of the tools that `tools` gave are drawn; undefined if no extension has a renderer. Loads nothing then. */
  async renderers(): Promise<((toolName: string) => DrawResult | undefined) | undefined> {
    const sources = [...this.#registered].flatMap(([extension, tools]) => {
      const renderers = extension.capabilities?.renderers ?? [];
      if (renderers.length === 0) return [];
      return [{ extension: extension.name, renderers, tools, isAlive: () => extension.state === "ready" }];
    });
    if (sources.length === 0) return undefined;
    const { rendererLookup } = await import("./render/lookup.ts");
    return rendererLookup(sources, (text) => this.noticeOnce(text));
  }

  /** All commands, for completion and for help. */
  commands(): ExtensionCommand[] {
    return this.#ready().flatMap((extension) =>
      (extension.capabilities?.commands ?? []).map((spec) => ({
        extension,
        command: spec.name,
        description: stripControls(spec.description ?? ""),
        completions: spec.completions.map(oneLine),
        completes: spec.completes === true || spec.completions.length > 0,
        word: `/ext:${extension.name}:${spec.name}`,
      })),
    );
  }

  /**
   * The command that a prompt such as `/ext:name:command` or, while it is unambiguous, `/ext:command` means
   * (wire-notes.md, "Names"); a worker extension's also answers to `/command`.
   */
  findCommand(word: string): ExtensionCommand | undefined {
    const all = this.commands();
    const full = all.find((command) => word === command.word);
    if (full) return full;
    const short = all.filter(({ command }) => word === `/ext:${command}`);
    if (short.length === 1) return short[0];
    return all.findLast(({ extension, command }) => extension.kind === "worker" && word === `/${command}`);
  }

  /** Tells everyone who listens, all at once. Returns at once: nobody's answer is waited for. */
  emit(event: EventName, payload: unknown): void {
    this.events.emit(event, payload);
  }

  /** Ends every extension; leaves no process and no worker. What was emitted may still be handled, within the limits. */
  async stop(): Promise<void> {
    await this.events.settled();
    await Promise.all(this.extensions.map((extension) => extension.stop(CLOSE_GRACE_MS)));
  }

  /** Ends every extension now. */
  async abort(): Promise<void> {
    await Promise.all(
      this.extensions.map((extension) => withTimeout(extension.stop(0), 2000, "the end").catch(() => {})),
    );
  }

  /** Tells the user something once. */
  noticeOnce(text: string, about: string = text): void {
    if (this.#noticed.has(about)) return;
    this.#noticed.add(about);
    this.#host.notice(text);
  }

  #ready(): Extension[] {
    return this.extensions.filter((extension) => extension.state === "ready");
  }
}

/** Those of a module that nobody has given any. */
const NO_RIGHTS: Rights = {
  demand: async () => {
    throw new Error("this extension has no rights");
  },
  has: () => false,
};

function limitsOf(
  settings: ExtensionHostSettings,
  name: string,
): ExtensionLimits & Pick<ExtensionHostSettings, "isolation" | "maxTimers" | "maxHeapBytes"> {
  const own = Object.hasOwn(settings.overrides, name) ? settings.overrides[name] : undefined;
  const required = own?.required === true || own?.onDeath === "deny";
  const onDeath = own?.onDeath ?? settings.onDeath;
  return { ...settings, ...own, required, onDeath: required && onDeath === "prune" ? "deny" : onDeath };
}

/** The extensions without which the user wants no tool to run. */
function requiredNames(settings: ExtensionHostSettings): string[] {
  return Object.entries(settings.overrides).flatMap(([name, own]) => (own.required ? [name] : []));
}

/** A policy that misspells `tool_call` would be none, and nobody would know. */
function unknownEvents({ name, kind, capabilities }: Extension): string[] {
  const known: readonly string[] = kind === "process" ? EVENT_NAMES : API_EVENTS;
  return (capabilities?.events ?? [])
    .filter((event) => !known.includes(event))
    .map((event) =>
      FAMILY_EVENTS.has(event)
        ? `extension ${name} listens to ${event}, which xdev does not send`
        : `extension ${name} listens to ${oneLine(event)}, which does not exist.${didYouMean(event, known)}`,
    );
}

/** What the user is told besides the reason. */
function afterDeath(extension: Extension): string {
  if (extension.state === "restarting") return "it is being restarted";
  if (extension.isPolicy && !extension.failOpen && extension.limits.onDeath !== "prune") {
    return "every tool call is denied until it is started anew";
  }
  return "it is off now";
}
