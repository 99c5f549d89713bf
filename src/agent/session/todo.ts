/** At the end of a run: the model is reminded of what is left on its list (tools/todo.ts). */
import type { AgentMessage } from "@earendil-works/pi-agent-core";
import type { TodoReminders } from "../tools/todo.ts";
import type { Core } from "./core.ts";

const reminders = new WeakMap<Core, TodoReminders>();

/** Another branch is open: its list is that of the last result of the tool, also where the model sees only a summary of it. */
export function restoreTodos({ options, store }: Core): void {
  const { todos } = options;
  if (!todos) return;
  for (const id of store.getBranchIds().reverse()) {
    if (store.typeOf(id)?.role !== "toolResult") continue;
    const entry = store.getEntry(id);
    if (entry?.type !== "message" || entry.message.role !== "toolResult") continue;
    if (entry.message.toolName === "todo") return todos.restore([entry.message]);
  }
  todos.restore([]);
}

/** The user wrote: reminders count anew. */
export function resetTodos(core: Core): void {
  reminders.get(core)?.reset();
}

/** What the model is told, if anything. */
export async function remindOfTodos(core: Core, stopReason: string): Promise<AgentMessage | undefined> {
  const { todos } = core.options;
  if (!todos || todos.open.length === 0) return undefined;
  let count = reminders.get(core);
  if (!count) {
    const { TodoReminders } = await import("../tools/todo.ts");
    count = new TodoReminders(todos);
    reminders.set(core, count);
  }
  const reminder = count.next(stopReason);
  if (!reminder) return undefined;
  const { attempt, maxAttempts, text } = reminder;
  core.publish({ type: "todo_reminder", todos: reminder.todos, attempt, maxAttempts });
  return { role: "custom", customType: "todo_reminder", content: text, display: true, timestamp: Date.now() };
}
