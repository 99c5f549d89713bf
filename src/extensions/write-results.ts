/**
 * What modules return from events, and whether it changes the conversation: that takes the permission `session: write`. What only
 * prevents something (`cancel`, `handled`) does not.
 */
import type { ApiEvent } from "./frame.ts";

/** Members of a result that count without the permission; of events that are not named here, everything does. */
const FREE_MEMBERS: Partial<Record<ApiEvent, readonly string[]>> = {
  // Skills are named in the system prompt; a template counts when the user types its name.
  resources_discover: ["promptPaths", "themePaths"],
  input: ["handled"],
  before_agent_start: [],
  context: [],
  before_provider_request: [],
  message_end: [],
  session_before_compact: ["cancel"],
  "session.compacting": [],
  session_before_tree: ["cancel"],
  user_bash: [],
  user_python: [],
};

/** The events whose results can change the conversation. */
export const CHANGING_EVENTS = Object.keys(FREE_MEMBERS) as ApiEvent[];

/** What of a result counts; undefined for nothing. `mayChange` is asked only if there is something that takes the permission. */
export function allowedResult(event: ApiEvent, result: unknown, mayChange: () => boolean): unknown {
  const free = FREE_MEMBERS[event];
  if (!free) return result;
  // What is no object has no members that prevent anything.
  const members = typeof result === "object" && result !== null ? Object.entries(result) : undefined;
  const takes = !members || members.some(([key, value]) => value != null && !free.includes(key));
  if (!takes || mayChange()) return result;
  const left = (members ?? []).filter(([key]) => free.includes(key));
  return left.length > 0 ? Object.fromEntries(left) : undefined;
}
