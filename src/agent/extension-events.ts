/**
 * Every event of the in-process API (extension-api.md, "Events"): what becomes of the answers of modules, and the file in which it
 * happens. A test holds the list against the specification's, and looks for the event's name in the file.
 */
import type { ApiEvent } from "../extensions/frame.ts";

export type EventKind =
  /** Told; nobody's answer counts. */
  | "notify"
  /** The first that cancels ends it. */
  | "cancel"
  /** Each sees what the one before returned. */
  | "chain"
  /** The answers of all are put together. */
  | "gather"
  /** The first answer wins, and nobody else is asked. */
  | "first-result"
  /** The interceptor chain (src/extensions/chain.ts); a failure denies. */
  | "policy";

export interface EventSite {
  kind: EventKind;
  /** The file, in this folder unless it says otherwise. */
  at: string;
}

const notify = (at: string): EventSite => ({ kind: "notify", at });

/** `session_before_fork` and `session_fork` are other names for the events before them, and are told as those. */
export const EXTENSION_EVENTS: Record<ApiEvent, EventSite> = {
  session_start: notify("session/lifecycle.ts"),
  session_before_switch: { kind: "cancel", at: "session/lifecycle.ts" },
  session_switch: notify("session/lifecycle.ts"),
  session_before_branch: { kind: "cancel", at: "session/lifecycle.ts" },
  session_before_fork: { kind: "cancel", at: "../../sandbox/guest/api/registry.ts" },
  session_branch: notify("session/lifecycle.ts"),
  session_fork: notify("../../sandbox/guest/api/registry.ts"),
  session_before_compact: { kind: "cancel", at: "session/compaction.ts" },
  "session.compacting": { kind: "gather", at: "session/compaction.ts" },
  session_compact: notify("session/compaction.ts"),
  session_before_tree: { kind: "cancel", at: "session/tree.ts" },
  session_tree: notify("session/tree.ts"),
  session_shutdown: notify("session/lifecycle.ts"),
  input: { kind: "chain", at: "session/input.ts" },
  before_agent_start: { kind: "chain", at: "session/input.ts" },
  context: { kind: "chain", at: "session/requests.ts" },
  before_provider_request: { kind: "chain", at: "session/requests.ts" },
  after_provider_response: notify("session/requests.ts"),
  provider_stream_event: notify("session/requests.ts"),
  agent_start: notify("session/events.ts"),
  agent_end: notify("session/events.ts"),
  turn_start: notify("session/events.ts"),
  turn_end: notify("session/events.ts"),
  message_start: notify("session/events.ts"),
  message_update: notify("session/events.ts"),
  message_end: { kind: "chain", at: "session/events.ts" },
  tool_call: { kind: "policy", at: "tool-hooks.ts" },
  tool_result: { kind: "policy", at: "tool-hooks.ts" },
  tool_execution_start: notify("session/events.ts"),
  tool_execution_update: notify("session/events.ts"),
  tool_execution_end: notify("session/events.ts"),
  model_select: notify("session/models.ts"),
  thinking_level_select: notify("session/models.ts"),
  auto_compaction_start: notify("session/compaction.ts"),
  auto_compaction_end: notify("session/compaction.ts"),
  auto_retry_start: notify("session/retry.ts"),
  auto_retry_end: notify("session/retry.ts"),
  ttsr_triggered: notify("session/rules.ts"),
  todo_reminder: notify("session/todo.ts"),
  user_bash: { kind: "first-result", at: "session/commands.ts" },
  user_python: { kind: "first-result", at: "session/commands.ts" },
  resources_discover: { kind: "gather", at: "session/resources.ts" },
  session_info_changed: notify("session/input.ts"),
  session_compact_failed: notify("session/compaction.ts"),
  agent_settled: notify("session/run.ts"),
  ui_prompt_start: notify("../extensions/manager.ts"),
  ui_prompt_end: notify("../extensions/manager.ts"),
};
