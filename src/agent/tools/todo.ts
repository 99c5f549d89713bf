/** `todo`: the model's list of what is left to do. */
import type { AgentMessage } from "@earendil-works/pi-agent-core";
import type { BuiltinTool } from "./context.ts";

export const TODO_STATES = ["pending", "in_progress", "completed", "dropped"] as const;
export type TodoState = (typeof TODO_STATES)[number];

export interface TodoItem {
  id: number;
  text: string;
  state: TodoState;
}

/** What a result of the tool keeps in the session, as `details`. */
export interface TodoDetails {
  todos: TodoItem[];
}

/** The list of a session. One object, also when the branch changes: `restore` then. */
export class TodoList {
  get items(): readonly TodoItem[] {
    return [];
  }

  /** Pending and in progress. */
  get open(): TodoItem[] {
    return [];
  }

  /** Takes over the list of the last `todo` result in the branch, from the oldest message to the newest; none: empty. */
  restore(_messages: Iterable<AgentMessage>): void {}
}

/** The tool; `defaultInactive`. */
export function todoTool(_list: TodoList): BuiltinTool & { defaultInactive: boolean } {
  throw new Error("not yet");
}

export interface TodoReminder {
  todos: TodoItem[];
  /** 1 for the first. */
  attempt: number;
  maxAttempts: number;
  /** What the model is told. */
  text: string;
}

/** When a run ends with open items: whether the model is told. */
export class TodoReminders {
  constructor(_list: TodoList, _maxAttempts?: number) {}

  /** The user wrote: the count begins anew. */
  reset(): void {}

  /** @param stopReason of the last assistant message of the run: only what the model ended itself is reminded of */
  next(_stopReason: string): TodoReminder | undefined {
    return undefined;
  }
}
