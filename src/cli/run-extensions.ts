/** The extensions of a run, and what of the run they may ask about. */
import { fstatSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { User } from "../../sandbox/permissions/asker.ts";
import type { AgentSession } from "../agent/agent-session-types.ts";
import { type MessageQueue, QUEUE_ACTIONS } from "../agent/message-queue.ts";
import type { ToolSet } from "../agent/tool-set.ts";
import { errorText } from "../base/errors.ts";
import { log } from "../base/log.ts";
import { startFolder } from "../base/start-folder.ts";
import { stripControls } from "../base/text.ts";
import type { loadSettings } from "../config/settings.ts";
import type { ExtensionSource } from "../extensions/discovery.ts";
import type { ExtensionLogs } from "../extensions/log-file.ts";
import type { ExtensionManager, ManagerOptions } from "../extensions/manager.ts";
import type { SessionActions } from "../extensions/session-calls.ts";
import type { FullCatalog } from "../models/catalog.ts";
import type { ResolvedModel } from "../models/index.ts";
import type { RegisteredProvider } from "../models/registered.ts";
import type { Mode } from "../modes/mode.ts";
import type { Invocation } from "./args.ts";
import type { TrustedWorkspace } from "./workspace.ts";

/** Whether it looks as if there will be a worker to start, without a look at what the files are. */
function mayLoadModule({ options, dataDir, settings, sources }: ExtensionParts): boolean {
  if (settings.extensionHost.isolation === "host") return false;
  if (sources) return sources.some(({ kind }) => kind === "worker");
  const isModule = (name: string) => /\.[cm]?[jt]sx?$/.test(name);
  if (options.extensions.some(isModule)) return true;
  try {
    if (!options.discover) return false;
    return settings.extensions.some(isModule) || readdirSync(join(dataDir, "extensions")).some(isModule);
  } catch {
    return false;
  }
}

/** What of a run its extensions may ask about. */
export interface RunState {
  info: { cwd: string; sessionId: string; model: string | null };
  /** Undefined until it has begun. */
  session: AgentSession | undefined;
  /** What extensions may do with it. */
  actions: SessionActions | undefined;
  logs: ExtensionLogs;
  tools: ToolSet | undefined;
  /** What extensions registered, by the provider's name. */
  providers: Map<string, RegisteredProvider>;
  registering: Promise<void>[];
  /** Set as soon as it is known. */
  model: ResolvedModel | undefined;
  /** All the models that the user has. */
  catalog(): Promise<FullCatalog>;
}

/** A session may have been left for another, and its model, too. */
function infoOf({ info, session }: RunState): RunState["info"] {
  if (!session) return info;
  const { sessionId, model } = session.state;
  return { ...info, sessionId, model: model ? `${model.provider}/${model.id}` : null };
}

export interface ExtensionParts {
  options: Extract<Invocation, { command: "run" }>["options"];
  dataDir: string;
  settings: Awaited<ReturnType<typeof loadSettings>>;
  mode: Mode;
  queue: MessageQueue;
  state: RunState;
  workspace: Promise<TrustedWorkspace | undefined>;
  /** Called when all have been started and nothing is left but to wait for them. */
  onStarted: () => void;
  sources: readonly ExtensionSource[] | undefined;
  wrapChannel: ManagerOptions["wrapChannel"];
  interrupt: AbortSignal;
}

export async function loadExtensions(parts: ExtensionParts): Promise<ExtensionManager> {
  const { options, dataDir, settings, mode, queue, state, workspace, interrupt } = parts;
  const { client } = mode;
  const guests = mayLoadModule(parts) ? new (await import("../extensions/guests.ts")).Guests() : undefined;
  guests?.prepare();
  const [{ ExtensionManager }, { extensionSources }, { sessionAuthority }] = await Promise.all([
    import("../extensions/manager.ts"),
    import("./ext-sources.ts"),
    import("../extensions/authority.ts"),
  ]);
  const flags = options.allow
    ? await (await import("../../sandbox/permissions/flags.ts")).runFlags(options.allow, startFolder())
    : undefined;
  const begun = (): AgentSession => {
    if (!state.session) throw new Error("the session has not begun: wait for session_start");
    return state.session;
  };
  const sources = async (): Promise<readonly ExtensionSource[]> =>
    parts.sources ??
    (await extensionSources(options, dataDir, startFolder(), settings, await workspace)).sources;
  return ExtensionManager.load({
    sources: await sources().catch((error: unknown) => {
      guests?.dismiss();
      throw error;
    }),
    ...(guests ? { guests } : {}),
    settings: settings.extensionHost,
    env: process.env,
    dataDir,
    onStarted: parts.onStarted,
    authority: sessionAuthority({
      dataDir,
      cwd: state.info.cwd,
      env: process.env,
      settings: settings.extensionHost,
      flags,
      // In json mode standard output is a program's; who reads it can't answer.
      user: client ? client.user : options.mode === "json" ? undefined : () => terminalUser(interrupt),
      ui: client
        ? { mode: "rpc", hasUI: client.hasUI() }
        : { mode: options.mode === "json" ? "json" : "print", hasUI: false },
      notice: (text) => mode.notice(text),
    }),
    ...(parts.wrapChannel ? { wrapChannel: parts.wrapChannel } : {}),
    host: {
      notice: (text) => mode.notice(text),
      // Without a terminal a notification has no effect (extension-api.md, "`ctx.ui` by mode").
      notify: (extension, message, level) => log.debug(`extension ${extension} says (${level}): ${message}`),
      ...client?.ui,
      action: (extension, { action, text, payload }, rights, isProjects) => {
        if (action === "register_provider") {
          const isAllowed =
            (!isProjects && settings.extensionHost.allowProviders.includes(extension)) ||
            rights?.has({ kind: "provider" }) === true;
          state.registering.push(registerProvider(extension, payload, isAllowed, state, mode));
          return;
        }
        // What a module says to the model takes a permission: that is a call (session-calls.ts).
        const known = rights ? undefined : QUEUE_ACTIONS.find((name) => name === action);
        if (known) queue.add(extension, known, text ?? "");
        else
          mode.notice(
            `extension ${extension} asks for ${stripControls(action.slice(0, 40))}, which is not known`,
          );
      },
      log: (extension, level, text) => state.logs.write(extension, level, text),
      toolsChanged: () => state.tools?.refresh(),
      session: {
        info: () => infoOf(state),
        append: (_extension, customType, data) => begun().appendEntry(customType, data),
        entries: async () =>
          (await state.session?.readEntries())?.filter(({ type }) => type === "custom") ?? [],
      },
      actions: () => state.actions,
      model: {
        async complete(prompt, systemPrompt, maxTokens, signal) {
          if (!state.model) throw new Error("the run has no model yet: wait for session_start");
          const { complete } = await import("../models/complete.ts");
          const ends = AbortSignal.any([interrupt, signal]);
          return complete(state.model, { prompt, systemPrompt, maxTokens }, ends);
        },
        requests: {
          async known(provider) {
            const { knownModels } = await import("../models/ask.ts");
            return knownModels(await state.catalog(), state.model?.model, provider);
          },
          async *ask(request, signal) {
            const { askModel } = await import("../models/ask.ts");
            const ends = AbortSignal.any([interrupt, signal]);
            yield* askModel(request, state.model, state.catalog, ends);
          },
        },
      },
      tools: {
        all: () => (state.tools?.all() ?? []).map(toolInfo),
        active: () => (state.tools?.active() ?? []).map(({ name }) => name),
        setActive: (names) => {
          if (!state.tools) throw new Error("the run has no tools yet: wait for session_start");
          state.tools.setActive(names);
        },
      },
    },
  });
}

/** A tool as extensions get it (`pi.getAllTools`). */
function toolInfo(tool: ReturnType<ToolSet["all"]>[number]) {
  const { name, label, description, parameters, promptGuidelines, path } = tool;
  return {
    name,
    label,
    description,
    parameters,
    ...(promptGuidelines ? { promptGuidelines } : {}),
    exposure: "direct",
    sourceInfo:
      path === undefined
        ? { path: `builtin:${name}`, source: "builtin", scope: "temporary", origin: "top-level" }
        : { path, source: "local", scope: "user", origin: "top-level" },
  };
}

/** Whether standard input could be one: cheaper than to load what looks more closely. */
function mayBeTerminal(): boolean {
  try {
    const input = fstatSync(0);
    return input.isCharacterDevice() && input.rdev !== statSync("/dev/null").rdev;
  } catch {
    return false;
  }
}

/** Who is asked for permissions: the user at the terminal, if there is one. */
async function terminalUser(interrupt: AbortSignal): Promise<User | undefined> {
  if (!mayBeTerminal()) return undefined;
  const { terminalDialog } = await import("./ask.ts");
  const dialog = terminalDialog(interrupt);
  if (!dialog) return undefined;
  const { dialogUser } = await import("../../sandbox/permissions/prompt.ts");
  return dialogUser(dialog);
}

/** `register_provider` (§6): only where the user allows it, since a provider reads the conversation. */
async function registerProvider(
  extension: string,
  payload: unknown,
  isAllowed: boolean,
  state: RunState,
  mode: Mode,
): Promise<void> {
  if (!isAllowed) {
    return mode.notice(
      `extension ${extension} wants to register a model provider, which could read your conversation: to allow it, add it to extensionHost.allowProviders in config.yml, or (a module) give it the permission provider: xdev ext grant`,
    );
  }
  const { parseRegistered } = await import("../models/registered.ts");
  try {
    const provider = parseRegistered(payload);
    state.providers.set(provider.name, provider);
  } catch (error) {
    mode.notice(`extension ${extension} registers no provider: ${errorText(error)}`);
  }
}
