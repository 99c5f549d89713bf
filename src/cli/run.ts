/** `xdev -p "…"`: one prompt, one run, in print or json mode. */
import { realpath, stat } from "node:fs/promises";
import type { AgentTool } from "@earendil-works/pi-agent-core";
import { XdevError } from "../base/errors.ts";
import { resolvePath } from "../base/files.ts";
import { log, setVerbose } from "../base/log.ts";
import { scratchFolder } from "../base/scratch.ts";
import { dataDirectory } from "../config/datadir.ts";
import { loadSettings } from "../config/settings.ts";
import type { ExtensionManager } from "../extensions/manager.ts";
import { createJsonMode } from "../modes/json.ts";
import type { Mode } from "../modes/mode.ts";
import { createPrintMode } from "../modes/print.ts";
import type { Invocation } from "./args.ts";
import { EXIT } from "./process-guard.ts";
import { readPipedInput } from "./stdin.ts";

type RunInvocation = Extract<Invocation, { command: "run" }>;

/** Runs the prompt and gives the exit status. Throws `XdevError` for what the user has to correct first. */
export async function run(
  { prompt, files, options }: RunInvocation,
  interrupt: AbortSignal,
): Promise<number> {
  setVerbose(options.verbose === true);
  const cwd = await workingDirectory(options.cwd);
  const dataDir = dataDirectory(options.dataDir, process.env, process.cwd());
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
  // Its SDK loads while extensions shake hands.
  void model.then((resolved) => resolved.preload()).catch(() => {});
  const mode: Mode = options.mode === "json" ? createJsonMode() : createPrintMode();
  const queue = createQueue();
  const extensions = loadExtensions(options, dataDir, settings, mode, queue);
  const parts = Promise.all([
    import("../agent/runtime.ts"),
    import("../agent/prompt.ts"),
    import("../agent/instructions.ts").then(({ loadInstructions }) => loadInstructions(dataDir, cwd)),
    loadTools(cwd, dataDir),
    readPrompt(prompt, files, process.cwd(), interrupt),
  ]);
  const [resolved, manager, prepared] = await Promise.allSettled([model, extensions, parts]);
  if (manager.status === "rejected") throw manager.reason;
  try {
    if (prepared.status === "rejected") throw prepared.reason;
    const [runtime, { systemPrompt }, instructions, builtins, input] = prepared.value;
    const command = commandOf(input.text, manager.value);
    if (command) return await runCommand(command.found, command.args, manager.value, cwd, mode, interrupt);
    if (resolved.status === "rejected") throw resolved.reason;

    const tools = selectTools([...builtins, ...manager.value.tools()], options.tools);
    const { agent, turnsExhausted } = runtime.createAgent({
      model: resolved.value.model,
      stream: resolved.value.stream,
      thinking: options.thinking ?? "off",
      systemPrompt: systemPrompt({
        cwd,
        date: new Date().toISOString().slice(0, 10),
        instructions,
        ...(options.systemPrompt === undefined ? {} : { replace: options.systemPrompt }),
        ...(options.appendSystemPrompt === undefined ? {} : { append: options.appendSystemPrompt }),
      }),
      tools,
      interceptors: () => manager.value.interceptors(),
      ...(options.maxTurns === undefined ? {} : { maxTurns: options.maxTurns }),
    });
    queue.connect(agent);
    const stopAgent = () => agent.abort();
    interrupt.addEventListener("abort", stopAgent);

    const { provider, id } = resolved.value.model;
    manager.value.emit("session_start", { cwd, sessionId: crypto.randomUUID(), model: `${provider}/${id}` });
    let turnIndex = 0;
    agent.subscribe((event) => {
      mode.event(event);
      if (event.type === "turn_end") {
        const stopReason = event.message.role === "assistant" ? event.message.stopReason : "stop";
        manager.value.emit("turn_end", { turnIndex: turnIndex++, stopReason });
      }
    });
    if (!interrupt.aborted) await agent.prompt(input.text, input.images);
    return mode.finish(agent.state.messages, turnsExhausted() ? options.maxTurns : undefined)
      ? EXIT.done
      : EXIT.failed;
  } finally {
    abandoned.abort();
    await (interrupt.aborted ? manager.value.abort() : manager.value.stop());
  }
}

async function workingDirectory(option: string | undefined): Promise<string> {
  const path = resolvePath(option ?? ".", process.cwd());
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
  queue: ReturnType<typeof createQueue>,
): Promise<ExtensionManager> {
  const [{ ExtensionManager }, { extensionSources }, { BUILTIN_TOOL_NAMES }] = await Promise.all([
    import("../extensions/manager.ts"),
    import("./ext-sources.ts"),
    import("../agent/tools/index.ts"),
  ]);
  return ExtensionManager.load({
    sources: await extensionSources(options, dataDir, process.cwd()),
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

/** Texts that extensions queue (§6), also before there is an agent. */
function createQueue() {
  type Target = Pick<
    Awaited<ReturnType<typeof import("../agent/runtime.ts")["createAgent"]>>["agent"],
    "steer" | "followUp"
  >;
  let agent: Target | undefined;
  const early: ((target: Target) => void)[] = [];
  return {
    connect(target: Target): void {
      agent = target;
      for (const deliver of early.splice(0)) deliver(target);
    },
    action(extension: string, action: string, text: string): void {
      const message = { role: "user" as const, content: text, timestamp: Date.now() };
      const deliver = (target: Target): void => {
        if (action === "followUp") target.followUp(message);
        else target.steer(message);
      };
      // `aside` is routed as `steer` (§6).
      if (action !== "steer" && action !== "followUp" && action !== "aside") {
        log.warn(`extension ${extension} asks for ${action.slice(0, 40)}, which this version does not do`);
      } else if (text.trim() === "") log.debug(`extension ${extension} asks for ${action} without a text`);
      else if (agent) deliver(agent);
      else if (early.length < 100) early.push(deliver);
    },
  };
}

async function readPrompt(prompt: string, files: readonly string[], cwd: string, interrupt: AbortSignal) {
  const piped = await readPipedInput(prompt !== "" || files.length > 0, interrupt);
  const attachments =
    files.length > 0
      ? await (await import("../agent/attachments.ts")).readAttachments(files, cwd)
      : { text: "", images: [] };
  const text = [attachments.text, prompt, piped].filter((part) => part.trim() !== "").join("\n");
  if (text === "" && !interrupt.aborted) {
    throw new XdevError("usage", "there is no prompt", {
      hint: 'say what to do: xdev -p "…", or see xdev --help',
    });
  }
  return { text, images: attachments.images };
}

function commandOf(text: string, manager: ExtensionManager) {
  if (!text.startsWith("/")) return undefined;
  const [word = ""] = text.split(/\s/, 1);
  const found = manager.findCommand(word);
  return found ? { found, args: text.slice(word.length).trim() } : undefined;
}

/** A prompt that is an extension's command: the model is not asked (wire-notes.md, event `command`). */
async function runCommand(
  { extension, command }: NonNullable<ReturnType<ExtensionManager["findCommand"]>>,
  args: string,
  manager: ExtensionManager,
  cwd: string,
  mode: Mode,
  interrupt: AbortSignal,
): Promise<number> {
  const { parsePatch } = await import("../extensions/frame.ts");
  manager.emit("session_start", { cwd, sessionId: crypto.randomUUID(), model: null });
  const reply = await extension.request(
    "command",
    { command, arguments: args },
    { timeoutMs: extension.limits.toolTimeoutMs, signal: interrupt },
  );
  if (reply.error != null)
    throw new XdevError("extension-error", `extension ${extension.name}: ${reply.error}`);
  const patch = parsePatch(reply.patch);
  if (patch && "problem" in patch)
    throw new XdevError("extension-error", `extension ${extension.name}: ${patch.problem}`);
  if (patch?.text) mode.say(patch.text);
  return EXIT.done;
}
