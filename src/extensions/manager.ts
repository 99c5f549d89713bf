/**
 * All extensions of a session: starts them at once, keeps the order of the chain, gives the agent their interceptors,
 * tools and commands, and ends them (extension-protocol.md §1, §7).
 */
import type { Rights } from "../../sandbox/broker/broker.ts";
import { openCache } from "../base/cache.ts";
import { isInside } from "../base/files.ts";
import { log } from "../base/log.ts";
import { oneLine, stripControls } from "../base/text.ts";
import { withTimeout } from "../base/time.ts";
import type { ExtensionHostSettings } from "../config/settings.ts";
import { loadPlatform } from "../platform/index.ts";
import { EventBus } from "./bus.ts";
import type { CallServices } from "./calls.ts";
import type { Interceptor } from "./chain.ts";
import type { ExtensionSource } from "./discovery.ts";
import { EventSender } from "./event-sender.ts";
import type { Extension, ExtensionHandlers } from "./extension.ts";
import type { EventName } from "./frame.ts";
import { Guests } from "./guests.ts";
import { extensionInterceptor, missingInterceptor } from "./interceptor.ts";
import type { ExtensionCommand, LoadFailure, ManagerHost, ManagerOptions } from "./manager-types.ts";
import type { Member, MemberMaker } from "./member.ts";
import { assignNames, BUILTIN_COMMANDS, processToolName, workerToolName } from "./names.ts";
import { Offers } from "./offers.ts";
import { planReload, type ReloadPlan } from "./reload.ts";
import type { DrawResult } from "./render/lookup.ts";
import { afterDeath, failuresOf, requiredNames, unknownEvents } from "./told.ts";
import { type ExtensionTool, extensionTool } from "./tools.ts";

export type {
  Discovered,
  ExtensionCommand,
  LoadFailure,
  ManagerHost,
  ManagerOptions,
} from "./manager-types.ts";

/** So much is told once of what extensions register. */
const MOST_NOTICES = 300;

/** How long an extension has to end by itself when the session ends, in ms. */
const CLOSE_GRACE_MS = 500;

export class ExtensionManager {
  /** What the session tells extensions and asks them, tool calls aside. */
  readonly events: EventSender;
  /** Flags, shortcuts, completions, drawings. */
  readonly offers: Offers;
  readonly #options: ManagerOptions;
  readonly #host: ManagerHost;
  readonly #bus: EventBus;
  readonly #guests: Guests;
  /** Loaded for the first extension: a run without one needs nothing of what makes it, or answers it. */
  #maker: MemberMaker | undefined;
  #settings: ExtensionHostSettings;
  #members: readonly Member[] = [];
  /** Theirs. */
  #extensions: readonly Extension[] = [];
  #interceptors: readonly Interceptor[] = [];
  /** The tools that each extension really has: from the announced name to the agent's. */
  readonly #registered = new Map<Extension, Map<string, string>>();
  readonly #noticed = new Set<string>();
  /** Of what is under way: who wants to know what the chain is waits for it. */
  #reloading: Promise<unknown> | undefined;
  #isOver = false;
  /** Nobody is told of one that comes or goes: all is told at the end. */
  #isChanging = true;

  private constructor(options: ManagerOptions) {
    const { host } = options;
    this.#options = options;
    this.#host = host;
    this.#settings = options.settings;
    this.#guests = options.guests ?? new Guests();
    this.#bus = new EventBus((text, about) => this.noticeOnce(text, about));
    this.offers = new Offers(
      () => this.#ready(),
      (extension) => this.#registered.get(extension),
      (text) => this.noticeOnce(text),
    );
    this.events = new EventSender(
      () => this.extensions,
      (extension, event) => {
        if (this.#rightsOf(extension)?.has({ kind: "session", access: "write" }) !== false) return true;
        this.noticeOnce(
          `extension ${extension.name} wants to change the conversation (${event}) and may not: what it returns is ignored. To allow it: xdev ext grant ${extension.name} --session=write`,
          `${extension.name} changes the conversation`,
        );
        return false;
      },
    );
  }

  /** Starts all extensions at once; resolves when each is ready or has failed, which blocks nothing. */
  static async load(options: ManagerOptions): Promise<ExtensionManager> {
    const manager = new ExtensionManager(options);
    const { sources, settings } = options;
    const hasModules = sources.some(({ kind }) => kind === "worker");
    const maker = sources.length === 0 ? undefined : await manager.#made(!hasModules);
    const members = manager.#named(sources).flatMap((source) => maker?.make(source, settings) ?? []);
    manager.#have(members);
    await manager.#start(members, options.onStarted);
    manager.#settle(members);
    return manager;
  }

  /** @param endsLoops whether that is known to be so */
  async #made(endsLoops = false): Promise<MemberMaker> {
    const [{ MemberMaker }, { Registrations }, calls] = await Promise.all([
      import("./member.ts"),
      import("./sleep.ts"),
      import("./calls.ts"),
    ]);
    const ends = endsLoops || (await loadPlatform()).endsLoops;
    const cache = this.#options.cache ?? openCache(this.#options.dataDir);
    this.#maker ??= new MemberMaker({
      options: this.#options,
      cache,
      guests: this.#guests,
      registrations: new Registrations(cache),
      endsLoops: ends,
      handlers: this.#handlers(calls),
    });
    this.#maker.endsLoops = ends;
    return this.#maker;
  }

  get extensions(): readonly Extension[] {
    return this.#extensions;
  }

  #have(members: readonly Member[]): void {
    this.#members = members;
    this.#extensions = members.map(({ extension }) => extension);
  }

  #handlers({ answerCall, dismissQuestions }: typeof import("./calls.ts")): ExtensionHandlers {
    const host = this.#host;
    const services: CallServices = {
      ...host,
      bus: this.#bus,
      onPrompt: (kind, title) => {
        const tell = (event: "ui_prompt_start" | "ui_prompt_end") => {
          if (this.events.listens(event)) this.events.emit(event, { reason: "ui_prompt", kind, title });
        };
        tell("ui_prompt_start");
        return () => tell("ui_prompt_end");
      },
    };
    return {
      onAction: (extension, frame) =>
        host.action(
          extension.name,
          frame,
          this.#rightsOf(extension),
          this.#memberOf(extension)?.isProjects === true,
          extension,
        ),
      onCall: (extension, frame, asking) =>
        answerCall(extension, frame, services, asking, this.#rightsOf(extension)),
      onLog: (extension, level, text) => {
        if (host.log?.(extension.name, level, text) === false) return;
        log.debug(`extension ${extension.name} (${oneLine(level)}): ${oneLine(text)}`);
      },
      onDeath: (extension) =>
        host.notice(`extension ${extension.name} ${extension.reason}; ${afterDeath(extension)}`),
      onChange: (extension) => {
        // It lives anew, or not any more.
        dismissQuestions(extension);
        const member = this.#memberOf(extension);
        if (member && extension.isAwake) this.#maker?.learn(member);
        if (this.#isChanging || !member) return;
        host.toolsChanged?.();
        // One that was started anew is told what it missed.
        if (extension.isAwake) this.events.catchUp(extension);
      },
      onRegister: (extension) => {
        if (this.#isChanging) return;
        for (const text of unknownEvents(extension)) this.noticeOnce(text);
        if (extension.capabilities?.passive) {
          this.noticeOnce(
            `extension ${extension.name} checks no tool call any more: it has taken its handler of tool_call away`,
          );
        }
        host.toolsChanged?.();
      },
    };
  }

  #memberOf(extension: Extension): Member | undefined {
    return this.#members.find((member) => member.extension === extension);
  }

  /** Of a module; a process has none of its own. */
  #rightsOf(extension: Extension): Rights | undefined {
    if (extension.kind !== "worker") return undefined;
    return this.#memberOf(extension)?.rights ?? NO_RIGHTS;
  }

  /** The same with the names that they have in the session. */
  #named(sources: readonly ExtensionSource[]): ExtensionSource[] {
    const names = assignNames(sources);
    return sources.map((source, index) => {
      const { name, duplicate } = names[index]!;
      if (duplicate) {
        this.noticeOnce(`two extensions have one name: ${oneLine(source.path)} is called ${name}`);
      }
      return { ...source, name };
    });
  }

  async #start(members: readonly Member[], onStarted?: () => void): Promise<void> {
    const starts = members.flatMap((member) => this.#maker?.start(member) ?? []);
    await Promise.all(starts.map(({ opened }) => opened)).finally(() => this.#guests.dismiss());
    onStarted?.();
    await Promise.all(starts.map(({ ready }) => ready));
  }

  /** They are ready or have failed, `fresh` of them just now: makes the chain, and says what is wrong. */
  #settle(fresh: readonly Member[]): void {
    const host = this.#host;
    const mayChange = async (extension: Extension, tool: string): Promise<void> => {
      if (this.#owns(extension, tool)) return;
      await this.#rightsOf(extension)?.demand({ kind: "tools", name: tool });
    };
    const missing = requiredNames(this.#settings).filter(
      // The user's own is meant, whatever a project calls one of its.
      (name) => !this.#members.some(({ extension, isProjects }) => extension.name === name && !isProjects),
    );
    for (const name of missing) {
      const other = this.extensions.some((extension) => extension.name === name)
        ? " (one that a project brings does not count)"
        : "";
      host.notice(
        `extension ${name} is required (config.yml) and is not there${other}; every tool call is denied`,
      );
    }
    this.#interceptors = [
      ...this.extensions.map((extension) =>
        extensionInterceptor(extension, mayChange, (one, tool) => this.#owns(one, tool)),
      ),
      ...missing.map(missingInterceptor),
    ];
    this.#isChanging = false;
    this.#bus.open(() => this.#extensions);
    for (const { extension } of fresh) {
      for (const text of unknownEvents(extension)) host.notice(text);
      const [failure] = failuresOf(extension);
      if (!failure) continue;
      const last = failure.log.at(-1);
      const said = last ? ` (it said: ${oneLine(last)})` : "";
      const after = extension.isMissed
        ? "every tool call is denied until it loads, or until you remove it or turn it off"
        : "it is not loaded and checks no tool call";
      host.notice(`extension ${failure.name} (${oneLine(failure.path)}) ${failure.reason}${said}; ${after}`);
    }
  }

  #owns(extension: Extension, tool: string): boolean {
    return [...(this.#registered.get(extension)?.values() ?? [])].includes(tool);
  }

  /**
   * What a reload would change: looks at the sources, the settings and all that the extensions are made of. Throws what is wrong with
   * the settings; then nothing changes.
   */
  async plan(): Promise<ReloadPlan> {
    const { rediscover } = this.#options;
    const maker = await this.#made();
    const found = await rediscover?.();
    const { sources, settings, keepsProjects } = found ?? {
      sources: this.#options.sources,
      settings: this.#settings,
      keepsProjects: true,
    };
    // What a project brings and what its trust does not cover any more is not looked at: what runs was trusted.
    const kept = keepsProjects ? this.#members.filter(({ isProjects }) => isProjects) : [];
    const present = sources.filter(({ origin }) => !(keepsProjects && origin === "project"));
    for (const member of kept) present.splice(this.#members.indexOf(member), 0, member.source);
    // What is there and can't be made out for now is not removed: a policy in it that can't be loaded denies.
    for (const member of this.#members) {
      const { source, extension } = member;
      const isBroken = found?.broken?.some((path) => isInside(source.path, path)) === true;
      if (isBroken && extension.isPolicy && !present.some(({ path }) => path === source.path)) {
        present.splice(this.#members.indexOf(member), 0, source);
      }
    }
    const wanted = this.#named(present);
    return planReload({
      now: this.#members,
      wanted,
      kept: new Set(kept),
      settings,
      compare: (member, source) => maker.compare(member, maker.termsOf(source, settings)),
      make: (source, isHeir, bundle) => maker.make(source, settings, { isHeir, bundle }),
    });
  }

  /**
   * Carries a plan out: what goes is ended, what comes is started, the others are left as they are. Tool calls wait meanwhile (`chain`).
   * One that takes the place of a policy and can't be loaded denies all calls, as long as it is there. Gives what was done.
   */
  reload(plan: ReloadPlan): Promise<void> {
    const work = this.#reload(plan).finally(() => {
      if (this.#reloading === work) this.#reloading = undefined;
    });
    this.#reloading = work;
    return work;
  }

  async #reload({ members, ends, starts, settings }: ReloadPlan): Promise<void> {
    this.#isChanging = true;
    try {
      const { dismissQuestions } = await import("./calls.ts");
      this.#settings = settings;
      await Promise.all(ends.map(({ extension }) => extension.retire(CLOSE_GRACE_MS)));
      for (const { extension, source } of ends) {
        this.#registered.delete(extension);
        dismissQuestions(extension);
        this.#host.left?.(source.name);
      }
      // Nothing is started behind the end.
      if (this.#isOver) return;
      this.#have(members);
      await this.#start(starts);
    } finally {
      this.#settle(starts);
      this.#host.reloaded?.();
      this.#host.toolsChanged?.();
    }
  }

  /** The chain as it is when nothing is being reloaded any more. */
  async chain(): Promise<readonly Interceptor[]> {
    while (this.#reloading) await this.#reloading.catch(() => {});
    return this.#interceptors;
  }

  /** Canonical paths of the files that the modules are made of. */
  files(): string[] {
    return this.#members.flatMap(({ source, made }) => [source.path, ...(made?.files ?? [])]);
  }

  failures(): LoadFailure[] {
    return this.extensions.flatMap(failuresOf);
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
    const isTaken = (extension: Extension, name: string): boolean => {
      if (extension.kind !== "worker" || !BUILTIN_COMMANDS.has(name)) return false;
      this.noticeOnce(
        `extension ${extension.name}: its command /${name} is skipped, xdev has one of that name`,
      );
      return true;
    };
    return this.#ready().flatMap((extension) =>
      (extension.capabilities?.commands ?? [])
        .filter(({ name }) => !isTaken(extension, name))
        .map((spec) => ({
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
    await this.#reloading?.catch(() => {});
    await Promise.all([this.events.settled(), this.#maker?.settled()]);
    await Promise.all(this.extensions.map((extension) => extension.stop(CLOSE_GRACE_MS)));
  }

  /** Ends every extension now. */
  async abort(): Promise<void> {
    this.#isOver = true;
    await Promise.all(
      this.extensions.map((extension) => withTimeout(extension.stop(0), 2000, "the end").catch(() => {})),
    );
  }

  /** Tells the user something once. */
  noticeOnce(text: string, about: string = text): void {
    // What extensions register may change, and what is said of it has an end.
    if (this.#noticed.has(about) || this.#noticed.size > MOST_NOTICES) return;
    this.#noticed.add(about);
    this.#host.notice(
      this.#noticed.size > MOST_NOTICES ? "there is more to say of extensions: it is left out" : text,
    );
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
