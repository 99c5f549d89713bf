/** Makes the sessions that modes drive (agent-session-types.ts): a thin outside over the parts in session/. */
import { errorText, XdevError } from "../base/errors.ts";
import { inTurns } from "../base/slices.ts";
import type { CustomMessage } from "../session/context-messages.ts";
import type { AgentSession, CustomMessageInput } from "./agent-session-types.ts";
import { messageText } from "./messages.ts";
import { Core } from "./session/core.ts";
import { beginWith, enqueue, prompt } from "./session/input.ts";
import * as models from "./session/models.ts";
import type { AgentSessionOptions } from "./session/options.ts";
import { reload } from "./session/reload.ts";
import { listCommands } from "./session/resources.ts";
import { restoreTodos } from "./session/todo.ts";
import * as usage from "./session/usage.ts";

export type { AgentSessionOptions } from "./session/options.ts";

/** A session that has begun: the conversation of its store is rebuilt, and nothing has been told yet (`start`). */
export async function createAgentSession(options: AgentSessionOptions): Promise<AgentSession> {
  const core = new Core(options);
  core.setResolved(options.model);
  const context = core.store.buildContext();
  await models.restoreChoices(core, context, options.isModelChosen === true, options.thinkingLevel);
  core.rebuild(context);
  restoreTodos(core);
  const { manager, queue } = options;
  queue?.connect({
    steer: (message) => core.steering.add(message),
    followUp: (message) => core.followUps.add(message),
  });
  if (manager) {
    manager.events.onEventError = ({ path }, event, error) =>
      core.emit({ type: "extension_error", extensionPath: path, event, error });
  }
  for (const { message } of core.store.problems) core.notice(message);
  core.store.onProblem = ({ message }) => core.notice(message);
  return sessionOf(core);
}

function sessionOf(core: Core): AgentSession {
  const lifecycle = () => import("./session/lifecycle.ts");
  const commands = () => import("./session/commands.ts");
  const { tools } = core.options;
  return {
    start: async (reason, previous) => (await lifecycle()).start(core, reason, previous),
    reload: async (options) => reload(core, options),
    prompt: async (text, options = {}) => ({ disposition: await prompt(core, text, options) }),
    steer: async (text, images = [], source = "interactive") => ({
      disposition: await enqueue(core, "steer", text, images, source),
    }),
    followUp: async (text, images = [], source = "interactive") => ({
      disposition: await enqueue(core, "followUp", text, images, source),
    }),
    nextTurn: (message) => void core.nextTurn.push(customMessage(message)),
    async sendCustomMessage(input, { deliverAs = "steer", triggerTurn = false } = {}) {
      core.mustBeOpen();
      const message = customMessage(input);
      if (deliverAs === "nextTurn") return void core.nextTurn.push(message);
      if (core.run) return (deliverAs === "steer" ? core.steering : core.followUps).add(message);
      if (triggerTurn) beginWith(core, [message]);
      else core.add(message);
    },
    clearQueue: () => ({ steering: core.steering.clear(), followUp: core.followUps.clear() }),

    async abort({ accepting = true } = {}) {
      if (accepting) for (const one of core.accepting) one.abort();
      core.compacting?.abort.abort();
      const { run } = core;
      run?.abort();
      await run?.done;
      await core.compacting?.done;
    },
    async waitForIdle() {
      while (core.run || core.compacting) await (core.run?.done ?? core.compacting?.done);
    },
    subscribe: (listener) => core.subscribe(listener),

    get state() {
      const { store } = core;
      return {
        model: core.model?.model,
        thinkingLevel: core.thinkingLevel,
        isStreaming: core.run !== undefined,
        isCompacting: core.compacting !== undefined,
        steeringMode: core.steering.mode,
        followUpMode: core.followUps.mode,
        sessionFile: store.file,
        sessionId: store.id,
        sessionName: store.name,
        autoCompactionEnabled: core.settings.compaction.enabled,
        autoRetryEnabled: core.settings.retry.enabled,
        messageCount: core.messages.filter(({ role }) => role !== "system").length,
        pendingMessageCount: core.steering.length + core.followUps.length,
      };
    },
    get messages() {
      return core.messages.filter(({ role }) => role !== "system");
    },
    get header() {
      return core.store.header;
    },
    get systemPrompt() {
      const [first] = core.messages;
      return first?.role === "system" ? messageText(first) : core.systemPrompt;
    },
    entries(since) {
      const all = core.store.getEntries();
      const at = since === undefined ? -1 : all.findIndex(({ id }) => id === since);
      if (since !== undefined && at === -1) {
        throw new XdevError("unknown-entry", `the session has no entry ${since}`);
      }
      return { entries: all.slice(at + 1), leafId: core.store.leafId };
    },
    readEntries: () => inTurns(core.store.entries()),
    get leafId() {
      return core.store.leafId;
    },
    tree: () => ({ tree: core.store.getTree(), leafId: core.store.leafId }),
    stats: () => usage.sessionStats(core),
    contextUsage: () => usage.contextUsage(core),
    lastAssistantText() {
      for (const message of core.messages.toReversed()) {
        if (message.role !== "assistant") continue;
        const text = messageText(message).trim();
        if (text !== "") return text;
      }
      return undefined;
    },

    availableModels: () => models.availableModels(core),
    setModel: (provider, modelId) => models.setModel(core, provider, modelId),
    cycleModel: () => models.cycleModel(core),
    setThinkingLevel: (level) => models.setThinkingLevel(core, level),
    cycleThinkingLevel: () => models.cycleThinkingLevel(core),
    availableThinkingLevels: () => models.thinkingLevels(core),

    setSteeringMode(mode) {
      core.steering.mode = mode;
    },
    setFollowUpMode(mode) {
      core.followUps.mode = mode;
    },
    setAutoCompaction(enabled) {
      core.settings.compaction.enabled = enabled;
    },
    setAutoRetry(enabled) {
      core.settings.retry.enabled = enabled;
    },
    abortRetry: () => core.run?.abortRetry(),

    compact: async (instructions) =>
      (await import("./session/compaction.ts")).compactManually(core, instructions),
    abortCompaction: () => core.compacting?.abort.abort(),

    bash: async (command, options = {}) => (await commands()).runCommand(core, "bash", command, options),
    python: async (code, options = {}) => (await commands()).runCommand(core, "python", code, options),
    abortBash: () => void commands().then(({ abortCommands }) => abortCommands(core)),

    newSession: async ({ parentSession } = {}) => (await lifecycle()).newSession(core, parentSession),
    switchSession: async (path, options) => (await lifecycle()).switchSession(core, path, options),
    fork: async (entryId) => (await lifecycle()).fork(core, entryId),
    clone: async () => (await lifecycle()).clone(core),
    forkMessages: () =>
      core.store
        .getBranch()
        .flatMap((entry) =>
          entry.type === "message" && entry.message.role === "user"
            ? [{ entryId: entry.id, text: messageText(entry.message) }]
            : [],
        ),
    navigateTree: async (targetId, options = {}) =>
      (await import("./session/tree.ts")).navigateTree(core, targetId, options),
    setSessionName(name) {
      core.store.setName(name);
      core.publish({ type: "session_info_changed", name: core.store.name });
    },
    setLabel: (entryId, label) => void core.store.setLabel(entryId, label),
    appendEntry(customType, data) {
      const id = core.store.append({ type: "custom", customType, ...(data === undefined ? {} : { data }) });
      const entry = core.store.getEntry(id);
      if (entry) core.emit({ type: "entry_appended", entry });
      return id;
    },

    commands: () => listCommands(core),
    async completions(name, prefix) {
      const { manager } = core.options;
      const found = manager?.findCommand(`/${name}`);
      return found ? manager!.offers.complete(found.extension, found.command, prefix) : [];
    },
    shortcuts: () =>
      (core.options.manager?.offers.shortcuts() ?? []).map(({ key, description, extension }) => ({
        key,
        description,
        extension: extension.name,
      })),
    async runShortcut(key) {
      const { manager } = core.options;
      if (!manager) throw new XdevError("usage", `no extension has the shortcut ${key}`);
      await manager.offers.runShortcut(key);
    },
    allTools: () => tools.all().map(({ name, description }) => ({ name, description })),
    activeTools: () => tools.active().map(({ name }) => name),
    limitTools: (names) => tools.limit(names),
    setActiveTools: (names) => tools.setActive(names),

    get turnsExhausted() {
      return core.turnsExhausted;
    },
    async dispose() {
      try {
        await (await lifecycle()).dispose(core);
      } catch (error) {
        core.notice(`the session did not end as it should: ${errorText(error)}`);
      }
    },
  };
}

function customMessage({ customType, content, display, details }: CustomMessageInput): CustomMessage {
  return {
    role: "custom",
    customType,
    content,
    display,
    ...(details === undefined ? {} : { details }),
    timestamp: Date.now(),
  };
}
