import type { Condition } from "./condition.ts";
import type { HookEvent } from "./events.ts";
import type { Matcher } from "./matcher.ts";

/** A hook that can be run. */
export interface Hook {
  /** What messages call it. */
  name: string;
  event: HookEvent;
  /** For `sh -c`. */
  command: string;
  /** Where it starts: the folder of whoever wrote it. */
  cwd: string;
  matcher?: Matcher;
  condition?: Condition;
  /** Looked at right before each run: why it must not run (any more), or undefined. */
  verify?: () => Promise<string | undefined>;
}

/**
 * A definition that can't be used. If it is, or may have been meant, for `tool_call`, every tool call is denied: a policy
 * that has a typing error must not become no policy.
 */
export interface BrokenHook {
  name: string;
  /** Why, with what to do about it. */
  problem: string;
  /** False if it is certain that it is for another event: then it is only reported. */
  denies: boolean;
}

export type HookEntry = Hook | BrokenHook;

export function isBroken(entry: HookEntry): entry is BrokenHook {
  return "problem" in entry;
}
