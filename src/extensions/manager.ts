/**
 * All extensions of a session: starts them at once, keeps the order of the chain, gives the agent their interceptors,
 * tools and commands, and ends them (extension-protocol.md §1, §7).
 */
import type { AgentTool } from "@earendil-works/pi-agent-core";
import { errorText } from "../base/errors.ts";
import { log } from "../base/log.ts";
import { stripControls } from "../base/text.ts";
import { withTimeout } from "../base/time.ts";
import { VERSION } from "../base/version.ts";
import type { ExtensionHostSettings } from "../config/settings.ts";
import type { Interceptor } from "./chain.ts";
import type { ExtensionSource } from "./discovery.ts";
import { Extension, type ExtensionHandlers } from "./extension.ts";
import { type ActionFrame, type CallFrame, type EventName, parseNotify } from "./frame.ts";
import { extensionInterceptor } from "./interceptor.ts";
import { assignNames, processToolName, workerToolName } from "./names.ts";
import { extensionTool } from "./tools.ts";

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
export interface ManagerHost {
  /** Tells the user something once: a retired extension, a skipped tool. */
  notice(text: string): void;
  /** `ui.notify` of an extension. */
  notify(extension: string, message: string, level: string): void;
  action(extension: string, frame: ActionFrame): void;
}

export interface ManagerOptions {
  sources: readonly ExtensionSource[];
  settings: ExtensionHostSettings;
  env: Record<string, string | undefined>;
  /** Names that tools of extensions can't have. */
  reservedTools: readonly string[];
  host: ManagerHost;
}

export interface ExtensionCommand {
  extension: Extension;
  command: string;
  description: string;
}

/** How long an extension has to end by itself when the session ends, in ms. */
const CLOSE_GRACE_MS = 500;

export class ExtensionManager {
  readonly extensions: readonly Extension[];
  readonly #interceptors: readonly Interceptor[];
  readonly #host: ManagerHost;
  readonly #reservedTools: readonly string[];
  readonly #notifications = new Set<Promise<unknown>>();

  private constructor(extensions: readonly Extension[], options: ManagerOptions) {
    this.extensions = extensions;
    this.#interceptors = extensions.map(extensionInterceptor);
    this.#host = options.host;
    this.#reservedTools = options.reservedTools;
  }

  /** Starts all extensions at once; resolves when each is ready or has failed, which blocks nothing. */
  static async load(options: ManagerOptions): Promise<ExtensionManager> {
    const handlers: ExtensionHandlers = {
      onAction: (extension, frame) => options.host.action(extension.name, frame),
      onCall: async (extension, frame) => answerCall(extension, frame, options.host),
      onLog: (extension, level, text) =>
        log.debug(`extension ${extension.name} (${stripControls(level)}): ${text}`),
      onRetire: (extension) =>
        options.host.notice(`extension ${extension.name} ${extension.reason}; it is off now`),
    };
    const names = assignNames(options.sources.map((source) => source.name));
    const extensions = await Promise.all(
      options.sources.map(async ({ path, kind }, index) => {
        const { name, duplicate } = names[index]!;
        if (duplicate) options.host.notice(`two extensions have one name: ${path} is called ${name}`);
        const limits = { ...options.settings, ...options.settings.overrides[name] };
        const channel = await openChannel(kind, path, name, options.env, limits.maxFrameBytes);
        return new Extension({ name, path, kind }, channel, limits, handlers);
      }),
    );
    await Promise.all(extensions.map((extension) => extension.start(VERSION)));
    const manager = new ExtensionManager(extensions, options);
    for (const failure of manager.failures()) {
      options.host.notice(`extension ${failure.name} (${failure.path}) ${failure.reason}; it is not loaded`);
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

  /** The tools of all that are ready. A name that is taken is skipped with a notice: nothing can be shadowed. */
  tools(): AgentTool<object, unknown>[] {
    const taken = new Set(this.#reservedTools);
    const tools: AgentTool<object, unknown>[] = [];
    for (const extension of this.#ready()) {
      for (const spec of extension.capabilities?.tools ?? []) {
        const name =
          extension.kind === "process"
            ? processToolName(extension.name, spec.name)
            : workerToolName(spec.name);
        // `ext_` is the processes': a module must not stand where one of them would.
        const shadows = extension.kind === "worker" && name.startsWith("ext_");
        if (taken.has(name) || shadows) {
          this.#host.notice(`extension ${extension.name}: its tool ${name} is skipped, the name is taken`);
          continue;
        }
        taken.add(name);
        tools.push(extensionTool(extension, spec, name));
      }
    }
    return tools;
  }

  /**
   * The command that a prompt such as `/ext:name:command` or, while it is unambiguous, `/ext:command` means
   * (wire-notes.md, "Names"); a worker extension's also answers to `/command`.
   */
  findCommand(word: string): ExtensionCommand | undefined {
    const all = this.#ready().flatMap((extension) =>
      (extension.capabilities?.commands ?? []).map((spec) => ({
        extension,
        command: spec.name,
        description: stripControls(spec.description ?? ""),
      })),
    );
    const full = all.find(({ extension, command }) => word === `/ext:${extension.name}:${command}`);
    if (full) return full;
    const short = all.filter(({ command }) => word === `/ext:${command}`);
    if (short.length === 1) return short[0];
    return all.findLast(({ extension, command }) => extension.kind === "worker" && word === `/${command}`);
  }

  /** Tells everyone who listens, all at once. Returns at once: nobody's answer is waited for. */
  emit(event: EventName, payload: unknown): void {
    for (const extension of this.#ready()) {
      if (!extension.listensTo(event)) continue;
      // Answers are ignored; a failure has already retired it.
      const sent = extension
        .request(event, payload, { timeoutMs: extension.limits.eventTimeoutMs })
        .catch((error: unknown) => log.debug(errorText(error)))
        .finally(() => this.#notifications.delete(sent));
      this.#notifications.add(sent);
    }
  }

  /** Ends every extension; leaves no process and no worker. What was emitted may still be handled, within the limits. */
  async stop(): Promise<void> {
    await Promise.all(this.#notifications);
    await Promise.all(this.extensions.map((extension) => extension.stop(CLOSE_GRACE_MS)));
  }

  /** Ends every extension now. */
  async abort(): Promise<void> {
    await Promise.all(
      this.extensions.map((extension) => withTimeout(extension.stop(0), 2000, "the end").catch(() => {})),
    );
  }

  #ready(): Extension[] {
    return this.extensions.filter((extension) => extension.state === "ready");
  }
}

async function openChannel(
  kind: ExtensionSource["kind"],
  path: string,
  name: string,
  env: Record<string, string | undefined>,
  maxFrameBytes: number,
) {
  if (kind === "process") {
    const { processChannel } = await import("./process.ts");
    return processChannel({ path, env, maxFrameBytes });
  }
  const { workerChannel } = await import("./worker.ts");
  return workerChannel({ name, path, maxFrameBytes });
}

/** The calls that an extension with the feature `call` may make. */
async function answerCall(extension: Extension, frame: CallFrame, host: ManagerHost): Promise<unknown> {
  if (frame.method !== "ui.notify") throw new Error(`unknown method ${frame.method.slice(0, 60)}`);
  const notification = parseNotify(frame.params);
  if (!notification) throw new Error("ui.notify takes {message, level?}");
  host.notify(extension.name, stripControls(notification.message), notification.level ?? "info");
  return undefined;
}
