/** `xdev -p "…"`: one prompt of a session, in print or json mode; or a session that a client drives. */
import { accessSync, realpathSync, statSync } from "node:fs";
import { join } from "node:path";
import type { AgentMessage, AgentTool } from "@earendil-works/pi-agent-core";
import type { AgentSession } from "../agent/agent-session-types.ts";
import { createMessageQueue } from "../agent/message-queue.ts";
import { ToolSet } from "../agent/tool-set.ts";
import type { TodoList } from "../agent/tools/todo.ts";
import { systemCode, XdevError } from "../base/errors.ts";
import { readSmallFile, resolvePath } from "../base/files.ts";
import { setVerbose } from "../base/log.ts";
import { scratchFolder } from "../base/scratch.ts";
import { startFolder } from "../base/start-folder.ts";
import { sleep } from "../base/time.ts";
import { dataDirectory } from "../config/datadir.ts";
import { loadSettings } from "../config/settings.ts";
import type { ExtensionSource } from "../extensions/discovery.ts";
import { ExtensionLogs } from "../extensions/log-file.ts";
import type { ExtensionManager, ManagerOptions } from "../extensions/manager.ts";
import type { ExtensionWatch } from "../extensions/watch.ts";
import type { ResolvedModel } from "../models/index.ts";
import type { RegisteredProvider } from "../models/registered.ts";
import { createJsonMode } from "../modes/json.ts";
import type { Mode } from "../modes/mode.ts";
import { createPrintMode } from "../modes/print.ts";
import type { Invocation } from "./args.ts";
import { extensionStatus } from "./ext-status.ts";
import { isExtensionCommand } from "./extension-command.ts";
import { registeredFlags } from "./extension-flags.ts";
import { loadHooksBus } from "./hooks.ts";
import { EXIT, rejectOnAbort } from "./process-guard.ts";
import { type PromptInput, readPrompt } from "./prompt-input.ts";
import { loadExtensions, type RunState } from "./run-extensions.ts";
import { type RunModel, runModel } from "./run-model.ts";
import { RunProviders } from "./run-providers.ts";
import type { RunSession } from "./run-session.ts";
import { trustedWorkspace } from "./workspace.ts";

type RunInvocation = Extract<Invocation, { command: "run" }>;

/** What another command changes of a run (`xdev ext trace`). */
export interface RunExtras {
  /** These extensions, whatever the options say. */
  sources?: readonly ExtensionSource[];
  wrapChannel?: ManagerOptions["wrapChannel"];
  /** Where the answer of print mode goes. */
  answer?: "stdout" | "stderr";
  /** In the place of the one that the options name. */
  mode?: Mode;
  /** In the place of the model that the options name. No other can be had then: none has a key, and no server is asked. */
  model?: ResolvedModel;
  /** In the place of the built-in tools. */
  builtins?: (tools: AgentTool<object, unknown>[]) => AgentTool<object, unknown>[];
  /** Called before anything is asked; what it throws ends the run. */
  onLoaded?: (manager: ExtensionManager) => void;
}

/** How long extensions of an interrupted run have to hear of its end, in ms. */
const INTERRUPTED_MS = 300;

/** Runs the prompt and gives the exit status. Throws `XdevError` for what the user has to correct first. */
export async function run(
  { prompt, files, options, late }: RunInvocation,
  interrupt: AbortSignal,
  extras: RunExtras = {},
): Promise<number> {
  setVerbose(options.verbose === true);
  if (options.mode === "acp" && !extras.mode) {
    if (!late) refusePrompt("acp", prompt, files);
    const { serveAcp } = await import("../modes/acp/server.ts");
    return serveAcp({
      dataDir: dataDirectory(options.dataDir, process.env, startFolder()),
      session: options.session,
      interrupt,
      // Each session of the editor's is a run of its own, in the folder that it names.
      run: ({ cwd, choice, mode, signal }) =>
        run(
          {
            command: "run",
            prompt: "",
            files: [],
            options: { ...options, cwd, session: choice },
            ...(late ? { late } : {}),
          },
          signal,
          { mode },
        ),
    });
  }
  const cwd = workingDirectory(options.cwd);
  const dataDir = dataDirectory(options.dataDir, process.env, startFolder());
  const settings = await loadSettings(dataDir);

  // Everything that the first request needs, at once: the slowest decides.
  let renderers: Awaited<ReturnType<ExtensionManager["renderers"]>>;
  const mode: Mode =
    extras.mode ??
    (options.mode === "json"
      ? createJsonMode(interrupt)
      : options.mode === "rpc"
        ? await rpcMode(late ? "" : prompt, late ? [] : files, interrupt)
        : createPrintMode({ answer: extras.answer, renderers: (tool) => renderers?.(tool) }));
  const queue = createMessageQueue();
  const abandoned = new AbortController();
  const modelOptions = {
    dataDir,
    cwd: startFolder(),
    env: process.env,
    signal: AbortSignal.any([interrupt, abandoned.signal]),
    ...(extras.model ? { env: {}, offline: true, localServers: [] } : {}),
  };
  const state: RunState = {
    info: { cwd, sessionId: "", model: null },
    session: undefined,
    actions: undefined,
    logs: new ExtensionLogs(dataDir),
    tools: undefined,
    providers: new RunProviders({
      dataDir,
      settings: settings.extensionHost,
      mayAsk: true,
      notice: (text) => mode.notice(text),
    }),
    flags: [],
    model: undefined,
    catalog: async () => {
      const { modelCatalog } = await import("../models/catalog.ts");
      return modelCatalog(() => ({ ...modelOptions, registered: state.providers.list() }));
    },
  };
  const workspace = trustedWorkspace(cwd, dataDir);
  workspace.catch(() => {});
  const started = Promise.withResolvers<void>();
  // A run of one prompt ends by itself.
  const ending = Promise.withResolvers<void>();
  const { sources, wrapChannel } = extras;
  const onStarted = started.resolve;
  const extensions = loadExtensions({
    ...{ options, dataDir, settings, mode, queue, state, workspace, onStarted, sources, wrapChannel },
    ...{ late, interrupt },
  });
  extensions.catch(() => started.resolve());
  // Extensions need the longest and load beside us: nothing else may keep them from their start.
  await started.promise;
  const opening = import("./run-session.ts").then(({ openRunSession }) =>
    openRunSession(options.session, { dataDir, cwd, startFolder: startFolder() }),
  );
  opening.then(
    ({ store }) => {
      state.info.sessionId = store.id;
      mode.client?.identify?.(store.id);
    },
    () => {},
  );
  // Whose the words of the command line are is known when extensions have said their flags.
  const words = extensions.then((manager) => registeredFlags(manager, state, late));
  words.catch(() => {});
  try {
    const hooks = Promise.all([workspace, opening]).then(([trusted, { store }]) =>
      loadHooksBus(
        { dataDir, setting: settings.hooks, options: options.hooks, startFolder: startFolder() },
        trusted,
        { cwd, sessionId: store.id, env: process.env, notice: (text) => mode.notice(text) },
      ),
    );
    hooks.catch(() => {});
    const registered = async (): Promise<RegisteredProvider[]> => {
      await state.providers.begin((await extensions).extensions);
      return state.providers.list();
    };
    const model: Promise<RunModel> = runModel({
      modelOptions,
      spec: options.model,
      given: extras.model,
      opening,
      registered,
      providers: () => state.providers.list(),
      notice: (text) => mode.notice(text),
    });
    model.catch(() => {});
    // Its SDK loads while extensions shake hands.
    void model.then(({ resolved }) => resolved.preload()).catch(() => {});
    const first = <T>(work: Promise<T>) => Promise.race([work, rejectOnAbort(interrupt)]);
    const said = late ? ((await first(words)) ?? { prompt, files }) : { prompt, files };
    if (late && mode.client) refusePrompt(options.mode === "acp" ? "acp" : "rpc", said.prompt, said.files);
    const prompted = () => readPrompt(said.prompt, said.files, startFolder(), cwd, interrupt);
    const parts = Promise.all([
      import("../agent/agent-session.ts"),
      import("../agent/prompt.ts"),
      import("../agent/instructions.ts").then(({ loadInstructions }) => loadInstructions(dataDir, cwd)),
      loadTools(cwd, dataDir),
      mode.client ? NO_PROMPT : prompted(),
      hasResources(dataDir),
      import("../agent/session/lifecycle.ts"),
    ]);
    // Whatever is wrong is told at once: an extension may take its time. Those that have started end with the program.
    const [
      { createAgentSession },
      { systemPrompt },
      instructions,
      { builtins: own, todos },
      input,
      hasOwnResources,
    ] = await first(parts);
    const opened = await first(opening);
    const bus = await first(hooks);
    const mayBeCommand = input.text.startsWith("/");
    const manager = await first(
      mayBeCommand ? extensions : Promise.all([extensions, model]).then(([loaded]) => loaded),
    );
    await first(registered());
    let session: AgentSession | undefined;
    let watch: ExtensionWatch | undefined;
    try {
      await words;
      extras.onLoaded?.(manager);
      const status = mayBeCommand ? await extensionStatus(input.text, manager) : undefined;
      if (status !== undefined) {
        mode.begin(opened.store.header);
        mode.say(status);
        return EXIT.done;
      }
      const isCommand = mayBeCommand && isExtensionCommand(input.text, manager);
      // No model is needed for a command of an extension.
      const chosen = isCommand ? undefined : await first(model.then((found) => found.confirm()));
      const builtins = extras.builtins?.(own) ?? own;
      const reserved = builtins.map(({ name }) => name);
      const tools = new ToolSet(
        () => {
          const brought = manager.tools(reserved);
          const replaced = new Set(brought.map(({ name }) => name));
          return [...builtins.filter(({ name }) => !replaced.has(name)), ...brought];
        },
        options.tools,
        (tool) => builtins.includes(tool as (typeof builtins)[number]),
      );
      state.tools = tools;
      renderers = await manager.renderers();
      const trusted = await workspace;
      const mayHaveResources =
        hasOwnResources || trusted !== undefined || manager.events.listens("resources_discover");
      if (chosen) {
        const { provider, id } = chosen.resolved.model;
        state.info.model = `${provider}/${id}`;
      }
      const { store, reason, previousFile, notice } = opened;
      session = await createAgentSession({
        dataDir,
        cwd,
        store,
        model: chosen?.resolved,
        // The session's own has been looked for already.
        isModelChosen: true,
        thinkingLevel: options.thinking,
        models: chosen?.catalog,
        // What extensions ask is asked of the session's model, whichever that is by now.
        onModel: (resolved) => {
          state.model = resolved;
        },
        tools,
        systemPrompt: systemPrompt({
          cwd,
          date: new Date().toISOString().slice(0, 10),
          instructions,
          ...(options.systemPrompt === undefined ? {} : { replace: await textOrFile(options.systemPrompt) }),
          ...(options.appendSystemPrompt === undefined
            ? {}
            : { append: await textOrFile(options.appendSystemPrompt) }),
        }),
        manager,
        hooks: bus,
        queue,
        places: mayHaveResources ? { dataDir, workspace: trusted } : undefined,
        placesAtReload: { dataDir, workspace: trusted },
        todos,
        env: environment(),
        scratch: () => scratchFolder(dataDir),
        settings: settings.session,
        maxTurns: options.maxTurns,
      });
      state.session = session;
      if (manager.extensions.length > 0 || mode.client) {
        state.actions = (await import("./session-actions.ts")).sessionActions(session, {
          isProjectTrusted: trusted !== undefined,
          settings: settings.session,
          notice: (text) => mode.notice(text),
          shutdown: ending.resolve,
        });
      }
      if (options.watch) {
        const { watchExtensions } = await import("./watch-extensions.ts");
        const { discover } = options;
        const tell = (text: string) => mode.notice(text);
        watch = await watchExtensions({ session, manager, dataDir, cwd, discover, notice: tell });
      }
      mode.begin(store.header);
      for (const text of [...(notice ? [notice] : []), ...store.problems.map(({ message }) => message)]) {
        mode.notice(text);
      }
      const { client } = mode;
      if (client) {
        const begin = session.start.bind(session, reason, previousFile);
        return await client.serve({ session, dataDir, cwd, start: begin, ending: ending.promise });
      }
      const answers = listen(session, mode);
      const stop = () => {
        session?.clearQueue();
        void session?.abort();
      };
      interrupt.addEventListener("abort", stop);
      await first(session.start(reason, previousFile));
      const { disposition } = await first(session.prompt(input.text, { images: input.images }));
      if (disposition === "handled") return EXIT.done;
      await session.waitForIdle();
      const rest = interrupt.aborted ? undefined : chosen?.resolved.leftOver?.();
      if (rest !== undefined) mode.notice(rest);
      const { maxTurns } = options;
      return mode.finish(answers.last ? [answers.last] : [], {
        interrupted: interrupt.aborted,
        ...(session.turnsExhausted && maxTurns !== undefined ? { maxTurns } : {}),
      })
        ? EXIT.done
        : EXIT.failed;
    } finally {
      abandoned.abort();
      const isAborted = interrupt.aborted;
      const unwatched = watch?.close();
      const disposed = session?.dispose();
      await (isAborted ? Promise.race([disposed, sleep(INTERRUPTED_MS)]) : disposed);
      await Promise.all([
        isAborted ? manager.abort() : manager.stop(),
        isAborted ? bus?.abort() : bus?.close(),
      ]);
      await disposed;
      await unwatched;
      await state.logs.close();
    }
  } finally {
    abandoned.abort();
    // A session that was opened and not begun gives up its lock; what was to be said behind its header is said without.
    void opening.then(({ store }: RunSession) => store.close()).catch(() => {});
    mode.begin(undefined);
  }
}

/** For a mode in which prompts come later. */
const NO_PROMPT: PromptInput = { text: "", images: [] };

async function rpcMode(prompt: string, files: readonly string[], interrupt: AbortSignal): Promise<Mode> {
  refusePrompt("rpc", prompt, files);
  return (await import("../modes/rpc/mode.ts")).createRpcMode(interrupt);
}

function refusePrompt(mode: "rpc" | "acp", prompt: string, files: readonly string[]): void {
  if (prompt === "" && files.length === 0) return;
  throw new XdevError("usage", `with --mode ${mode} there is no prompt on the command line`, {
    hint: mode === "rpc" ? "send it as a command: xdev docs rpc" : "an editor sends it: xdev docs acp",
  });
}

/** What the session tells reaches the mode; keeps the last answer of this run. */
function listen(session: AgentSession, mode: Mode): { last: AgentMessage | undefined } {
  const answers: { last: AgentMessage | undefined } = { last: undefined };
  session.subscribe((event) => {
    if (event.type === "notice") return mode.notice(event.text);
    if (event.type === "command_output") return mode.say(event.text);
    if (event.type === "message_end" && event.message.role === "assistant") answers.last = event.message;
    return mode.event(event);
  });
  return answers;
}

function workingDirectory(option: string | undefined): string {
  const path = resolvePath(option ?? ".", startFolder());
  try {
    if (statSync(path).isDirectory()) return realpathSync(path);
  } catch {
    // Said below.
  }
  throw new XdevError("usage", `--cwd ${path} is not a folder`);
}

async function loadTools(
  cwd: string,
  dataDir: string,
): Promise<{ builtins: AgentTool<object, unknown>[]; todos: TodoList }> {
  const [{ createBuiltinTools }, { TodoList, todoTool }] = await Promise.all([
    import("../agent/tools/index.ts"),
    import("../agent/tools/todo.ts"),
  ]);
  const todos = new TodoList();
  const tools = createBuiltinTools({ cwd, env: environment(), scratch: () => scratchFolder(dataDir) });
  return { builtins: [...tools, todoTool(todos)], todos };
}

function environment(): Record<string, string> {
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries(process.env)) if (value !== undefined) env[name] = value;
  return env;
}

/** Whether the data dir has a folder of skills, prompts or rules: without one, what reads them need not load. */
function hasResources(dataDir: string): boolean {
  return ["skills", "prompts", "rules"].some((name) => {
    try {
      accessSync(join(dataDir, name));
      return true;
    } catch (error) {
      const code = systemCode(error);
      return code !== "ENOENT" && code !== "ENOTDIR";
    }
  });
}

/** The largest file of a system prompt, in bytes. */
const PROMPT_BYTES = 1024 * 1024;

/** An option for the system prompt is a text, or the path of a file with one: programs that start agents write such files. */
async function textOrFile(value: string): Promise<string> {
  if (value.length > 4096 || /[\n\0]/.test(value) || value.trim() === "") return value;
  const content = await readSmallFile(resolvePath(value, startFolder()), PROMPT_BYTES).catch(() => undefined);
  return content?.toString("utf8") ?? value;
}
