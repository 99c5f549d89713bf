/** `xdev -p "…"`: one prompt, one run, in print or json mode. */
import { realpath, stat } from "node:fs/promises";
import type { AgentTool } from "@earendil-works/pi-agent-core";
import { createMessageQueue, type MessageQueue } from "../agent/message-queue.ts";
import { XdevError } from "../base/errors.ts";
import { resolvePath } from "../base/files.ts";
import { log, setVerbose } from "../base/log.ts";
import { scratchFolder } from "../base/scratch.ts";
import { startFolder } from "../base/start-folder.ts";
import { dataDirectory } from "../config/datadir.ts";
import { loadSettings } from "../config/settings.ts";
import type { ExtensionManager } from "../extensions/manager.ts";
import { createJsonMode } from "../modes/json.ts";
import type { Mode } from "../modes/mode.ts";
import { createPrintMode } from "../modes/print.ts";
import type { Invocation } from "./args.ts";
import { commandOf, runCommand } from "./extension-command.ts";
import { EXIT } from "./process-guard.ts";
import { readPrompt } from "./prompt-input.ts";

type RunInvocation = Extract<Invocation, { command: "run" }>;

/** Runs the prompt and gives the exit status. Throws `XdevError` for what the user has to correct first. */
export async function run(
  { prompt, files, options }: RunInvocation,
  interrupt: AbortSignal,
): Promise<number> {
  setVerbose(options.verbose === true);
  const cwd = await workingDirectory(options.cwd);
  const dataDir = dataDirectory(options.dataDir, process.env, startFolder());
  const settings = await loadSettings(dataDir);

  // Everything that the first request needs, at once: the slowest decides.
  const abandoned = new AbortController();
  const model = import("../models/index.ts").then(({ resolveModel }) =>
    resolveModel({
      dataDir,
      cwd,
      env: process.env,
      signal: AbortSignal.any([interrupt, abandoned.signal]),
      ...(options.model === undefined ? {} : { spec: options.model }),
    }),
  );
  model.catch(() => {});
  // Its SDK loads while extensions shake hands.
  void model.then((resolved) => resolved.preload()).catch(() => {});
  const mode: Mode = options.mode === "json" ? createJsonMode() : createPrintMode();
  const queue = createMessageQueue();
  const extensions = loadExtensions(options, dataDir, settings, mode, queue);
  extensions.catch(() => {});
  const parts = Promise.all([
    import("../agent/runtime.ts"),
    import("../agent/prompt.ts"),
    import("../agent/instructions.ts").then(({ loadInstructions }) => loadInstructions(dataDir, cwd)),
    loadTools(cwd, dataDir),
    readPrompt(prompt, files, startFolder(), interrupt),
  ]);
  // Whatever is wrong is told at once: an extension may take its time. Those that have started end with the program.
  const first = <T>(work: Promise<T>) => Promise.race([work, rejectOnAbort(interrupt)]);
  const [runtime, { systemPrompt }, instructions, builtins, input] = await first(parts);
  const mayBeCommand = input.text.startsWith("/");
  const manager = await first(
    mayBeCommand ? extensions : Promise.all([extensions, model]).then(([loaded]) => loaded),
  );
  try {
    const command = mayBeCommand ? commandOf(input.text, manager) : undefined;
    if (command) return await runCommand(command.found, command.args, manager, cwd, mode, interrupt);
    const resolved = await first(model);
    const tools = selectTools([...builtins, ...manager.tools()], options.tools);
    const { agent, turnsExhausted } = runtime.createAgent({
      model: resolved.model,
      stream: resolved.stream,
      thinking: options.thinking ?? "off",
      systemPrompt: systemPrompt({
        cwd,
        date: new Date().toISOString().slice(0, 10),
        instructions,
        ...(options.systemPrompt === undefined ? {} : { replace: options.systemPrompt }),
        ...(options.appendSystemPrompt === undefined ? {} : { append: options.appendSystemPrompt }),
      }),
      tools,
      interceptors: () => manager.interceptors(),
      ...(options.maxTurns === undefined ? {} : { maxTurns: options.maxTurns }),
    });
    queue.connect(agent);
    const stopAgent = () => agent.abort();
    interrupt.addEventListener("abort", stopAgent);

    const { provider, id } = resolved.model;
    manager.emit("session_start", { cwd, sessionId: crypto.randomUUID(), model: `${provider}/${id}` });
    let turnIndex = 0;
    agent.subscribe((event) => {
      mode.event(event);
      if (event.type === "turn_end") {
        const stopReason = event.message.role === "assistant" ? event.message.stopReason : "stop";
        manager.emit("turn_end", { turnIndex: turnIndex++, stopReason });
      }
    });
    if (!interrupt.aborted) await agent.prompt(input.text, input.images);
    return mode.finish(agent.state.messages, turnsExhausted() ? options.maxTurns : undefined)
      ? EXIT.done
      : EXIT.failed;
  } finally {
    abandoned.abort();
    await (interrupt.aborted ? manager.abort() : manager.stop());
  }
}

/** Rejects when the user interrupts; the caller of the run gives the exit status. */
function rejectOnAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const abort = () => reject(new XdevError("aborted", "interrupted"));
    if (signal.aborted) abort();
    else signal.addEventListener("abort", abort, { once: true });
  });
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

/** The tools that `--tools` names, in the order that they have; all without it. */
function selectTools(
  tools: readonly AgentTool<object, unknown>[],
  names: readonly string[] | undefined,
): AgentTool<object, unknown>[] {
  const unknown = names?.filter((name) => !tools.some((tool) => tool.name === name)) ?? [];
  if (unknown.length > 0) {
    throw new XdevError("usage", `--tools: there is no tool ${unknown.join(", ")}`, {
      hint: `there are: ${tools.map((tool) => tool.name).join(", ")}`,
    });
  }
  return tools.filter((tool) => names?.includes(tool.name) ?? true);
}

async function loadExtensions(
  options: RunInvocation["options"],
  dataDir: string,
  settings: Awaited<ReturnType<typeof loadSettings>>,
  mode: Mode,
  queue: MessageQueue,
): Promise<ExtensionManager> {
  const [{ ExtensionManager }, { extensionSources }, { BUILTIN_TOOL_NAMES }] = await Promise.all([
    import("../extensions/manager.ts"),
    import("./ext-sources.ts"),
    import("../agent/tools/index.ts"),
  ]);
  return ExtensionManager.load({
    sources: await extensionSources(options, dataDir, startFolder()),
    settings: settings.extensionHost,
    env: process.env,
    reservedTools: BUILTIN_TOOL_NAMES,
    host: {
      notice: (text) => mode.notice(text),
      // Without a terminal a notification has no effect (extension-api.md, "`ctx.ui` by mode").
      notify: (extension, message, level) => log.debug(`extension ${extension} says (${level}): ${message}`),
      action: (extension, frame) => queue.action(extension, frame.action, frame.text ?? ""),
    },
  });
}
