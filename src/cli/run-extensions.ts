/** The extensions of a run, and what of the run they may ask about. */
import { existsSync, fstatSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { User } from "../../sandbox/permissions/asker.ts";
import type { AgentSession } from "../agent/agent-session-types.ts";
import { type MessageQueue, QUEUE_ACTIONS } from "../agent/message-queue.ts";
import type { ToolSet } from "../agent/tool-set.ts";
import { errorText } from "../base/errors.ts";
import { log } from "../base/log.ts";
import { startFolder } from "../base/start-folder.ts";
import { stripControls } from "../base/text.ts";
import { loadSettings, type Settings } from "../config/settings.ts";
import type { ExtensionSource } from "../extensions/discovery.ts";
import type { ExtensionLogs } from "../extensions/log-file.ts";
import type { ExtensionManager, ManagerOptions } from "../extensions/manager.ts";
import type { SessionActions } from "../extensions/session-calls.ts";
import type { FullCatalog } from "../models/catalog.ts";
import type { ResolvedModel } from "../models/index.ts";
import type { Mode } from "../modes/mode.ts";
import type { Invocation } from "./args.ts";
import { givenFlags, type LateWords, registeredFlags } from "./extension-flags.ts";
import type { RunProviders } from "./run-providers.ts";
import { type TrustedWorkspace, trustedWorkspace, wasTrusted } from "./workspace.ts";

/** Whether it looks as if there will be a worker to start, without a look at what the files are. */
function mayLoadModule({ options, dataDir, settings, sources }: ExtensionParts): boolean {
  if (settings.extensionHost.isolation === "host") return false;
  if (options.extensions.length === 0 && expectsNoStart(dataDir)) return false;
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

/**
 * Whether no module of the data dir was started when the last session began: then none is prepared. A wrong guess costs some time and
 * nothing else. A file, since each start looks for it.
 */
function expectsNoStart(dataDir: string): boolean {
  return existsSync(join(dataDir, "cache", NO_START));
}

const NO_START = "no-start";

function expectNoStart(dataDir: string, isExpected: boolean): void {
  const file = join(dataDir, "cache", NO_START);
  try {
    if (existsSync(file) === isExpected) return;
    if (isExpected) writeFileSync(file, "", { mode: 0o600 });
    else rmSync(file, { force: true });
  } catch {
    // There is no cache.
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
  /** What extensions registered. */
  providers: RunProviders;
  /** What the command line says of flags of extensions, and whose they are. */
  flags: readonly { extension: string; name: string; value: boolean | string | undefined }[];
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
  /** Options of the command line that may be flags of extensions. */
  late: LateWords | undefined;
  sources: readonly ExtensionSource[] | undefined;
  wrapChannel: ManagerOptions["wrapChannel"];
  interrupt: AbortSignal;
}

export async function loadExtensions(parts: ExtensionParts): Promise<ExtensionManager> {
  const { options, dataDir, settings, mode, queue, state, workspace, interrupt } = parts;
  const { client } = mode;
  const guests = mayLoadModule(parts) ? new (await import("../extensions/guests.ts")).Guests() : undefined;
  guests?.prepare();
  const [{ ExtensionManager }, { extensionSources }, { sessionAuthority, sessionCircumstances }] =
    await Promise.all([
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
  const find = async (now: Settings, trusted: TrustedWorkspace | undefined) =>
    extensionSources(options, dataDir, startFolder(), now, trusted);
  const sources = async (): Promise<readonly ExtensionSource[]> =>
    parts.sources ?? (await find(settings, await workspace)).sources;
  const ui = client
    ? ({ mode: "rpc", hasUI: client.hasUI() } as const)
    : ({ mode: options.mode === "json" ? "json" : "print", hasUI: false } as const);
  const given = parts.late && givenFlags(parts.late);
  // What is read again at a reload is for those that are started then.
  const hostSettings = { ...settings.extensionHost };
  const { cwd } = state.info;
  const rediscover = async () => {
    const now = await loadSettings(dataDir);
    Object.assign(hostSettings, now.extensionHost);
    const trusted = await trustedWorkspace(cwd, dataDir);
    return {
      ...(await find(now, trusted)),
      settings: now.extensionHost,
      keepsProjects: trusted === undefined && (await wasTrusted(cwd, dataDir)),
    };
  };
  const manager = await ExtensionManager.load({
    sources: await sources().catch((error: unknown) => {
      guests?.dismiss();
      throw error;
    }),
    ...(guests ? { guests } : {}),
    settings: settings.extensionHost,
    env: process.env,
    dataDir,
    onStarted: parts.onStarted,
    circumstances: sessionCircumstances({ dataDir, cwd, env: process.env, flags, given, ui }),
    ...(parts.sources ? {} : { rediscover }),
    authority: sessionAuthority({
      dataDir,
      cwd,
      env: process.env,
      settings: hostSettings,
      flags,
      // In json mode standard output is a program's; who reads it can't answer.
      user: client ? client.user : options.mode === "json" ? undefined : () => terminalUser(interrupt),
      given,
      ui,
      notice: (text) => mode.notice(text),
    }),
    ...(parts.wrapChannel ? { wrapChannel: parts.wrapChannel } : {}),
    host: {
      notice: (text) => mode.notice(text),
      // Without a terminal a notification has no effect (extension-api.md, "`ctx.ui` by mode").
      notify: (extension, message, level) => log.debug(`extension ${extension} says (${level}): ${message}`),
      ...client?.ui,
      action: (extension, frame, rights, isProjects, object) => {
        if (state.providers.take(object, frame, rights, isProjects)) return;
        const { action, text } = frame;
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
      // What they say of their flags may be another by now; the command line is the same, and no reason to end anything.
      reloaded: () =>
        void registeredFlags(manager, state, parts.late).catch((error: unknown) =>
          log.debug(errorText(error)),
        ),
      left: (extension) => state.providers.left(extension),
      session: {
        info: () => infoOf(state),
        append: (_extension, customType, data) => begun().appendEntry(customType, data),
        entries: async () =>
          (await state.session?.readEntries())?.filter(({ type }) => type === "custom") ?? [],
      },
      actions: () => state.actions,
      flag: (extension, name) =>
        state.flags.find((flag) => flag.extension === extension && flag.name === name)?.value,
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
  const modules = manager.extensions.filter(({ kind }) => kind === "worker");
  if (!parts.sources && options.extensions.length === 0 && modules.length > 0) {
    expectNoStart(dataDir, !modules.some(({ isAwake }) => isAwake));
  }
  return manager;
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
export async function terminalUser(interrupt: AbortSignal): Promise<User | undefined> {
  if (!mayBeTerminal()) return undefined;
  const { inTurn, terminalDialog } = await import("./ask.ts");
  const dialog = terminalDialog(interrupt);
  if (!dialog) return undefined;
  const { dialogUser } = await import("../../sandbox/permissions/prompt.ts");
  const user = dialogUser(dialog);
  return {
    ask: (question) => inTurn(() => user.ask(question)),
    askAtLoad: (question) => inTurn(() => user.askAtLoad(question)),
  };
}
