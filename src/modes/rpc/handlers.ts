/** What each command of rpc mode does to the session, and the `data` of its response. */
import { existsSync } from "node:fs";
import type { AgentSession } from "../../agent/agent-session-types.ts";
import { resolvePath } from "../../base/files.ts";
import { treeJson, wireModel } from "../wire.ts";
import type { CommandOf, CommandType } from "./commands.ts";

export interface HandlerContext {
  session: AgentSession;
  dataDir: string;
  /** Absolute: where relative paths begin. */
  cwd: string;
}

/** Data that is JSON already. */
export class Json {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Handler<T extends CommandType> = (
  context: HandlerContext,
  params: CommandOf<T>,
  id: string | undefined,
) => unknown;

const fork: Handler<"fork"> = ({ session }, { entryId }) => session.fork(entryId);
const forkMessages: Handler<"get_fork_messages"> = ({ session }) => ({ messages: session.forkMessages() });
const withImages = ({ images }: Pick<CommandOf<"steer">, "images">) => images ?? [];

export const HANDLERS: { [T in CommandType]: Handler<T> } = {
  prompt: ({ session }, params) =>
    session.prompt(params.message, {
      images: withImages(params),
      streamingBehavior: params.streamingBehavior ?? undefined,
      source: "rpc",
    }),
  steer: ({ session }, params) => session.steer(params.message, withImages(params), "rpc"),
  follow_up: ({ session }, params) => session.followUp(params.message, withImages(params), "rpc"),
  abort: ({ session }) => session.abort(),
  async abort_and_prompt({ session }, params) {
    await session.abort();
    // What was queued may have begun a run meanwhile.
    return session.prompt(params.message, {
      images: withImages(params),
      streamingBehavior: "steer",
      source: "rpc",
    });
  },
  clear_queue: ({ session }) => session.clearQueue(),
  new_session: ({ session }, { parentSession }) =>
    session.newSession(parentSession == null ? {} : { parentSession }),
  get_state: ({ session: { state } }) => ({ ...state, model: state.model && wireModel(state.model) }),
  get_messages: ({ session }) => ({ messages: session.messages }),
  get_entries: ({ session }, { since }) => session.entries(since ?? undefined),
  get_tree({ session }) {
    const { tree, leafId } = session.tree();
    return new Json(`{"tree":${treeJson(tree)},"leafId":${JSON.stringify(leafId)}}`);
  },
  set_model: async ({ session }, { provider, modelId }) =>
    wireModel(await session.setModel(provider, modelId)),
  async cycle_model({ session }) {
    const next = await session.cycleModel();
    return next ? { ...next, model: wireModel(next.model) } : null;
  },
  get_available_models: async ({ session }) => ({
    models: (await session.availableModels()).map(wireModel),
  }),
  set_thinking_level: ({ session }, { level }) => session.setThinkingLevel(level),
  cycle_thinking_level({ session }) {
    const level = session.cycleThinkingLevel();
    return level === undefined ? null : { level };
  },
  get_available_thinking_levels: ({ session }) => ({ levels: session.availableThinkingLevels() }),
  set_steering_mode: ({ session }, { mode }) => session.setSteeringMode(mode),
  set_follow_up_mode: ({ session }, { mode }) => session.setFollowUpMode(mode),
  compact: ({ session }, { customInstructions }) => session.compact(customInstructions ?? undefined),
  set_auto_compaction: ({ session }, { enabled }) => session.setAutoCompaction(enabled),
  set_auto_retry: ({ session }, { enabled }) => session.setAutoRetry(enabled),
  abort_retry: ({ session }) => session.abortRetry(),
  bash: ({ session }, { command, excludeFromContext }, id) =>
    session.bash(command, { excludeFromContext: excludeFromContext ?? undefined, id }),
  abort_bash: ({ session }) => session.abortBash(),
  get_session_stats: ({ session }) => session.stats(),
  export_html: async (context, { outputPath }) => ({ path: await exportHtml(context, outputPath) }),
  switch_session: ({ session }, { sessionPath }) => session.switchSession(sessionPath),
  fork,
  branch: fork,
  clone: ({ session }) => session.clone(),
  get_fork_messages: forkMessages,
  get_branch_messages: forkMessages,
  get_last_assistant_text: ({ session }) => ({ text: session.lastAssistantText() ?? null }),
  set_session_name: ({ session }, { name }) => session.setSessionName(name),
  get_commands: ({ session }) => ({ commands: session.commands() }),
  get_completions: async ({ session }, { command, prefix }) => ({
    completions: await session.completions(command, prefix ?? ""),
  }),
  get_shortcuts: ({ session }) => ({ shortcuts: session.shortcuts() }),
  run_shortcut: ({ session }, { key }) => session.runShortcut(key),
};

async function exportHtml(
  { session, dataDir, cwd }: HandlerContext,
  outputPath: string | null | undefined,
): Promise<string> {
  const [{ SessionStore }, { exportHtmlFile }] = await Promise.all([
    import("../../session/index.ts"),
    import("../../session/export-html.ts"),
  ]);
  const { sessionFile, sessionId, sessionName } = session.state;
  const path = resolvePath(outputPath ?? `xdev-session-${sessionId}.html`, cwd);
  const { leafId } = session.tree();
  if (sessionFile !== undefined && existsSync(sessionFile)) {
    using store = await SessionStore.open(sessionFile, { dataDir, access: "read" });
    await exportHtmlFile(store, path, { leafId });
    return path;
  }
  using store = SessionStore.inMemory({ cwd, id: sessionId });
  store.adopt(session.entries().entries.map((entry) => JSON.stringify(entry)));
  if (sessionName !== undefined && store.name === undefined) store.setName(sessionName);
  await exportHtmlFile(store, path, { leafId });
  return path;
}
