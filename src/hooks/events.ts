/** The events of the hooks bus (wire-notes.md, "Shell hooks"). Imports nothing: the command line checks names with it. */
export const HOOK_EVENTS = [
  "session_start",
  "session_before_switch",
  "session_switch",
  "before_agent_start",
  "agent_start",
  "agent_end",
  "turn_start",
  "turn_end",
  "session_compact",
  "context",
  "tool_call",
  "tool_result",
  "ttsr_triggered",
] as const;

export type HookEvent = (typeof HOOK_EVENTS)[number];

export function isHookEvent(name: string): name is HookEvent {
  return (HOOK_EVENTS as readonly string[]).includes(name);
}

/** Events about one tool: their matcher looks at its name, and only they can have an `if`. */
export function isToolEvent(event: HookEvent): event is "tool_call" | "tool_result" {
  return event === "tool_call" || event === "tool_result";
}
