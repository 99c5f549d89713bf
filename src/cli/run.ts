/** `xdev -p "…"`: one prompt, one run, in print or json mode. */
import { fstatSync, statSync } from "node:fs";
import { realpath, stat } from "node:fs/promises";
import type { AgentTool } from "@earendil-works/pi-agent-core";
import type { User } from "../../sandbox/permissions/asker.ts";
import { createMessageQueue, type MessageQueue, QUEUE_ACTIONS } from "../agent/message-queue.ts";
import { ToolSet } from "../agent/tool-set.ts";
import { errorText, XdevError } from "../base/errors.ts";
import { resolvePath } from "../base/files.ts";
import { log, setVerbose } from "../base/log.ts";
import { scratchFolder } from "../base/scratch.ts";
import { startFolder } from "../base/start-folder.ts";
import { stripControls } from "../base/text.ts";
import { dataDirectory } from "../config/datadir.ts";
import { loadSettings } from "../config/settings.ts";
import type { ExtensionSource } from "../extensions/discovery.ts";
import { ExtensionLogs } from "../extensions/log-file.ts";
import type { ExtensionManager, ManagerOptions } from "../extensions/manager.ts";
import type { ResolvedModel } from "../models/index.ts";
import type { RegisteredProvider } from "../models/registered.ts";
import { createJsonMode } from "../modes/json.ts";
import type { Mode } from "../modes/mode.ts";
import { createPrintMode } from "../modes/print.ts";
import { MemoryEntries } from "../session/entries.ts";
import type { Invocation } from "./args.ts";
import { extensionStatus } from "./ext-status.ts";
import { commandOf, runCommand } from "./extension-command.ts";
import { loadHooksBus, tellHooks } from "./hooks.ts";
import { EXIT, rejectOnAbort } from "./process-guard.ts";
import { readPrompt } from "./prompt-input.ts";
import { type TrustedWorkspace, trustedWorkspace } from "./workspace.ts";

type RunInvocation = Extract<Invocation, { command: "run" }>;

/** What another command changes of a run (`xdev ext trace`). */
export interface RunExtras {
  /** These extensions, whatever the options say. */
  sources?: readonly ExtensionSource[];
  wrapChannel?: ManagerOptions["wrapChannel"];
  /** Where the answer of print mode goes. */
  answer?: "stdout" | "stderr";
  /** Called before anything is asked; what it throws ends the run. */
  onLoaded?: (manager: ExtensionManager) => void;
}

/** Runs the prompt and gives the exit status. Throws `XdevError` for what the user has to correct first. */
export async function run(
  { prompt, files, options }: RunInvocation,
  interrupt: AbortSignal,
  extras: RunExtras = {},
): Promise<number> {
  setVerbose(options.verbose === true);
  const cwd = await workingDirectory(options.cwd);
  const dataDir = dataDirectory(options.dataDir, process.env, startFolder());
  const settings = await loadSettings(dataDir);

  // Everything that the first request needs, at once: the slowest decides.
  let renderers: Awaited<ReturnType<ExtensionManager["renderers"]>>;
  const mode: Mode =
    options.mode === "json"
      ? createJsonMode()
      : createPrintMode({ answer: extras.answer, renderers: (tool) => renderers?.(tool) });
  const queue = createMessageQueue();
  const sessionId = crypto.randomUUID();
  const state: RunState = {
    session: { cwd, sessionId, model: null },
    entries: new MemoryEntries(),
    logs: new ExtensionLogs(dataDir),
    tools: undefined,
    providers: new Map(),
    registering: [],
    model: undefined,
  };
  const workspace = trustedWorkspace(cwd, dataDir);
  workspace.catch(() => {});
  const started = Promise.withResolvers<void>();
  const extensions = loadExtensions(
    options,
    dataDir,
    settings,
    mode,
    queue,
    state,
    workspace,
    started.resolve,
    extras,
    interrupt,
  );
  extensions.catch(() => started.resolve());
  // Extensions need the longest and load beside us: nothing else may keep them from their start.
  await started.promise;
  const hooks = workspace.then((trusted) =>
    loadHooksBus(
      { dataDir, setting: settings.hooks, options: options.hooks, startFolder: startFolder() },
      trusted,
      { cwd, sessionId, env: process.env, notice: (text) => mode.notice(text) },
    ),
  );
  hooks.catch(() => {});
  const abandoned = new AbortController();
  const resolve = (registered: readonly RegisteredProvider[]) =>
    import("../models/index.ts").then(({ resolveModel }) =>
      resolveModel({
        dataDir,
        cwd: startFolder(),
        env: process.env,
        signal: AbortSignal.any([interrupt, abandoned.signal]),
        registered,
        ...(options.model === undefined ? {} : { spec: options.model }),
      }),
    );
  // An extension may bring the provider that is asked for: then the answer is only known when all have loaded.
  const model = resolve([]).catch(async (error: unknown) => {
    await extensions;
    await Promise.all(state.registering);
    if (state.providers.size === 0) throw error;
    return resolve([...state.providers.values()]);
  });
  model.catch(() => {});
  // Its SDK loads while extensions shake hands.
  void model.then((resolved) => resolved.preload()).catch(() => {});
  const parts = Promise.all([
    import("../agent/runtime.ts"),
    import("../agent/prompt.ts"),
    import("../agent/instructions.ts").then(({ loadInstructions }) => loadInstructions(dataDir, cwd)),
    loadTools(cwd, dataDir),
    readPrompt(prompt, files, startFolder(), cwd, interrupt),
  ]);
  // Whatever is wrong is told at once: an extension may take its time. Those that have started end with the program.
  const first = <T>(work: Promise<T>) => Promise.race([work, rejectOnAbort(interrupt)]);
  const [runtime, { systemPrompt }, instructions, builtins, input] = await first(parts);
  const bus = await first(hooks);
  const mayBeCommand = input.text.startsWith("/");
  const manager = await first(
    mayBeCommand ? extensions : Promise.all([extensions, model]).then(([loaded]) => loaded),
  );
  try {
    extras.onLoaded?.(manager);
    const status = mayBeCommand ? await extensionStatus(input.text, manager) : undefined;
    if (status !== undefined) {
      mode.say(status);
      return EXIT.done;
    }
    const command = mayBeCommand ? commandOf(input.text, manager) : undefined;
    if (command) return await runCommand(command.found, command.args, manager, cwd, mode, interrupt);
    const resolved = await first(model);
    const reserved = builtins.map(({ name }) => name);
    const tools = new ToolSet(() => {
      const brought = manager.tools(reserved);
      const replaced = new Set(brought.map(({ name }) => name));
      return [...builtins.filter(({ name }) => !replaced.has(name)), ...brought];
    }, options.tools);
    state.tools = tools;
    renderers = await manager.renderers();
    const ownPrompt = systemPrompt({
      cwd,
      date: new Date().toISOString().slice(0, 10),
      instructions,
      ...(options.systemPrompt === undefined ? {} : { replace: options.systemPrompt }),
      ...(options.appendSystemPrompt === undefined ? {} : { append: options.appendSystemPrompt }),
    });
    const { provider, id } = resolved.model;
    state.session.model = `${provider}/${id}`;
    state.model = resolved;
    const { session } = state;
    bus?.emit("session_start", session);
    const { agent, turnsExhausted } = runtime.createAgent({
      model: resolved.model,
      stream: resolved.stream,
      thinking: options.thinking ?? "off",
      systemPrompt: bus ? await bus.prepare(input.text, ownPrompt, interrupt) : ownPrompt,
      tools: tools.active(),
      takeAsides: () => queue.takeAsides(),
      interceptors: () => [...(bus?.interceptors ?? []), ...manager.interceptors()],
      ...(options.maxTurns === undefined ? {} : { maxTurns: options.maxTurns }),
    });
    queue.connect(agent);
    tools.onChange = (active) => {
      agent.state.tools = active;
    };
    const stopAgent = () => agent.abort();
    interrupt.addEventListener("abort", stopAgent);

    manager.emit("session_start", session);
    let turnIndex = 0;
    agent.subscribe((event) => {
      mode.event(event);
      if (event.type === "turn_end") {
        const stopReason = event.message.role === "assistant" ? event.message.stopReason : "stop";
        manager.emit("turn_end", { turnIndex: turnIndex++, stopReason });
      }
    });
    if (bus) agent.subscribe(tellHooks(bus));
    if (!interrupt.aborted) await agent.prompt(input.text, input.images);
    const rest = interrupt.aborted ? undefined : resolved.leftOver?.();
    if (rest !== undefined) mode.notice(rest);
    return mode.finish(agent.state.messages, {
      interrupted: interrupt.aborted,
      ...(turnsExhausted() && options.maxTurns !== undefined ? { maxTurns: options.maxTurns } : {}),
    })
      ? EXIT.done
      : EXIT.failed;
  } finally {
    abandoned.abort();
    const isAborted = interrupt.aborted;
    await Promise.all([
      isAborted ? manager.abort() : manager.stop(),
      isAborted ? bus?.abort() : bus?.close(),
    ]);
    await state.logs.close();
  }
}

async function workingDirectory(option: string | undefined): Promise<string> {
  const path = resolvePath(option ?? ".", startFolder());
  if (!(await stat(path).catch(() => undefined))?.isDirectory()) {
    throw new XdevError("usage", `--cwd ${path} is not a folder`);
  }
  return realpath(path);
}

async function loadTools(cwd: string, dataDir: string): Promise<AgentTool<object, unknown>[]> {
  const { createBuiltinTools } = await import("../agent/tools/index.ts");
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries(process.env)) if (value !== undefined) env[name] = value;
  return createBuiltinTools({ cwd, env, scratch: () => scratchFolder(dataDir) });
}

/** What of a run its extensions may ask about. */
interface RunState {
  session: { cwd: string; sessionId: string; model: string | null };
  entries: MemoryEntries;
  logs: ExtensionLogs;
  tools: ToolSet | undefined;
  /** What extensions registered, by the provider's name. */
  providers: Map<string, RegisteredProvider>;
  registering: Promise<void>[];
  /** Set as soon as it is known. */
  model: ResolvedModel | undefined;
}

async function loadExtensions(
  options: RunInvocation["options"],
  dataDir: string,
  settings: Awaited<ReturnType<typeof loadSettings>>,
  mode: Mode,
  queue: MessageQueue,
  state: RunState,
  workspace: Promise<TrustedWorkspace | undefined>,
  onStarted: () => void,
  extras: RunExtras,
  interrupt: AbortSignal,
): Promise<ExtensionManager> {
  const [{ ExtensionManager }, { extensionSources }, { sessionAuthority }] = await Promise.all([
    import("../extensions/manager.ts"),
    import("./ext-sources.ts"),
    import("../extensions/authority.ts"),
  ]);
  const flags = options.allow
    ? await (await import("../../sandbox/permissions/flags.ts")).runFlags(options.allow, startFolder())
    : undefined;
  return ExtensionManager.load({
    sources: extras.sources ?? (await extensionSources(options, dataDir, startFolder(), await workspace)),
    settings: settings.extensionHost,
    env: process.env,
    dataDir,
    onStarted,
    authority: sessionAuthority({
      dataDir,
      cwd: state.session.cwd,
      env: process.env,
      settings: settings.extensionHost,
      flags,
      // In json mode standard output is a program's; who reads it can't answer.
      user: options.mode === "json" ? undefined : () => terminalUser(interrupt),
      notice: (text) => mode.notice(text),
    }),
    ...(extras.wrapChannel ? { wrapChannel: extras.wrapChannel } : {}),
    host: {
      notice: (text) => mode.notice(text),
      // Without a terminal a notification has no effect (extension-api.md, "`ctx.ui` by mode").
      notify: (extension, message, level) => log.debug(`extension ${extension} says (${level}): ${message}`),
      action: (extension, { action, text, payload }, rights, isProjects) => {
        if (action === "register_provider") {
          const isAllowed =
            (!isProjects && settings.extensionHost.allowProviders.includes(extension)) ||
            rights?.has({ kind: "provider" }) === true;
          state.registering.push(registerProvider(extension, payload, isAllowed, state, mode));
          return;
        }
        const known = QUEUE_ACTIONS.find((name) => name === action);
        if (known) queue.add(extension, known, text ?? "");
        else
          mode.notice(
            `extension ${extension} asks for ${stripControls(action.slice(0, 40))}, which is not known`,
          );
      },
      log: (extension, level, text) => state.logs.write(extension, level, text),
      toolsChanged: () => state.tools?.refresh(),
      session: {
        info: () => state.session,
        append: (_extension, customType, data) => state.entries.append(customType, data),
        entries: () => [...state.entries.all()],
      },
      model: {
        async complete(prompt, systemPrompt, maxTokens) {
          if (!state.model) throw new Error("the run has no model yet: wait for session_start");
          const { complete } = await import("../models/complete.ts");
          return complete(state.model, { prompt, systemPrompt, maxTokens }, interrupt);
        },
      },
      tools: {
        all: () => (state.tools?.all() ?? []).map(({ name, description }) => ({ name, description })),
        active: () => (state.tools?.active() ?? []).map(({ name }) => name),
        setActive: (names) => {
          if (!state.tools) throw new Error("the run has no tools yet: wait for session_start");
          state.tools.setActive(names);
        },
      },
    },
  });
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
