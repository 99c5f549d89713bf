/** `todo`: the model's list of what is left to do. */
import type { AgentMessage } from "@earendil-works/pi-agent-core";
import { ellipsis, oneLine } from "../../base/text.ts";
import type { BuiltinTool } from "./context.ts";
import { defineTool, textResult } from "./tool.ts";

export const TODO_STATES = ["pending", "in_progress", "completed", "dropped"] as const;
export type TodoState = (typeof TODO_STATES)[number];

export interface TodoItem {
  /** From 1 on, and never given twice. */
  id: number;
  text: string;
  state: TodoState;
}

/** What a result of the tool keeps in the session, as `details`. */
export interface TodoDetails {
  todos: TodoItem[];
}

const NAME = "todo";
const MAX_ITEMS = 100;
const MAX_TEXT = 300;
/** How much of an item is shown. */
const SHOWN = 120;
const MAX_ATTEMPTS = 3;

/** The list of a session. One object, also when the branch changes: `restore` then. */
export class TodoList {
  #items: TodoItem[] = [];

  get items(): readonly TodoItem[] {
    return this.#items;
  }

  /** Pending and in progress. */
  get open(): TodoItem[] {
    return this.#items.filter(({ state }) => state === "pending" || state === "in_progress");
  }

  /**
   * Takes over the list of the last `todo` result in the branch, from the oldest message to the newest; none: empty. What the
   * results hold may come from another program: what is no list is passed over.
   */
  restore(messages: Iterable<AgentMessage>): void {
    let found: TodoItem[] = [];
    for (const message of messages) {
      if (message.role === "toolResult" && message.toolName === NAME)
        found = itemsOf(message.details) ?? found;
    }
    this.#items = found;
  }

  /** Adds at the end. Throws if there is no room. */
  add(texts: readonly string[]): void {
    if (this.#items.length + texts.length > MAX_ITEMS)
      throw new Error(`a list has at most ${MAX_ITEMS} items`);
    let id = Math.max(0, ...this.#items.map((item) => item.id));
    const added = texts.map((text): TodoItem => ({ id: ++id, text: textOf(text), state: "pending" }));
    this.#items = [...this.#items, ...added];
  }

  /** Changes one item. Throws for an id that none has. */
  update(id: number, change: { text?: string | undefined; state?: TodoState | undefined }): void {
    const item = this.#items.find((each) => each.id === id);
    if (!item) throw new Error(`there is no item ${id}`);
    const text = change.text === undefined ? item.text : textOf(change.text);
    const changed = { id, text, state: change.state ?? item.state };
    this.#items = this.#items.map((each) => (each === item ? changed : each));
  }

  /** A copy that later changes leave alone. */
  details(): TodoDetails {
    return { todos: this.#items.map((item) => ({ ...item })) };
  }
}

function textOf(text: string): string {
  const line = oneLine(text).trim();
  if (line === "") throw new Error("an item needs a text");
  return ellipsis(line, MAX_TEXT);
}

function itemsOf(details: unknown): TodoItem[] | undefined {
  const todos = (details as { todos?: unknown } | null | undefined)?.todos;
  if (!Array.isArray(todos) || todos.length > MAX_ITEMS) return undefined;
  const items: TodoItem[] = [];
  for (const { id, text, state } of todos as Partial<TodoItem>[]) {
    const isItem = Number.isSafeInteger(id) && typeof text === "string" && TODO_STATES.includes(state!);
    if (!isItem || items.some((item) => item.id === id)) return undefined;
    items.push({ id: id!, text: ellipsis(oneLine(text), MAX_TEXT), state: state! });
  }
  return items;
}

interface TodoParams {
  action: "list" | "add" | "update" | "complete";
  items?: string[];
  id?: number;
  state?: TodoState;
  text?: string;
}

/** The tool. Its result is short, since it comes often. */
export function todoTool(list: TodoList): BuiltinTool {
  return defineTool<TodoParams>({
    name: NAME,
    description: "Track the steps of a long task.",
    parameters: {
      type: "object",
      properties: {
        action: { enum: ["list", "add", "update", "complete"] },
        items: { type: "array", items: { type: "string" } },
        id: { type: "number" },
        state: { enum: TODO_STATES },
        text: { type: "string" },
      },
      required: ["action"],
    },
    async run({ action, items, id, state, text }) {
      if (action === "add") {
        const texts = items ?? (text === undefined ? [] : [text]);
        if (texts.length === 0) throw new Error("add needs items");
        list.add(texts);
      } else if (action !== "list") {
        if (id === undefined) throw new Error(`${action} needs an id`);
        list.update(id, action === "complete" ? { state: "completed" } : { state, text });
      }
      return textResult(summary(list), list.details());
    },
  });
}

/** What is open, and how much is done: what the model needs to go on, and no more. */
function summary(list: TodoList): string {
  if (list.items.length === 0) return "The list is empty.";
  const { open } = list;
  const closed = list.items.length - open.length;
  return [...open.map(line), `${closed} of ${list.items.length} done`].join("\n");
}

function line({ id, text, state }: TodoItem): string {
  return `${id} [${state === "in_progress" ? ">" : " "}] ${ellipsis(text, SHOWN)}`;
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
  readonly #list: TodoList;
  readonly #maxAttempts: number;
  #attempts = 0;

  constructor(list: TodoList, maxAttempts: number = MAX_ATTEMPTS) {
    this.#list = list;
    this.#maxAttempts = maxAttempts;
  }

  /** The user wrote: the count begins anew. */
  reset(): void {
    this.#attempts = 0;
  }

  /** @param stopReason of the last assistant message of the run: only what the model ended itself is reminded of */
  next(stopReason: string): TodoReminder | undefined {
    const todos = this.#list.open;
    if (stopReason !== "stop" || todos.length === 0 || this.#attempts >= this.#maxAttempts) return undefined;
    const attempt = ++this.#attempts;
    const text = `Your todo list still has open items:\n${todos.map(line).join("\n")}\nGo on with them; complete what is done, and set to dropped what is not needed any more. If you need the user, ask.`;
    return { todos: todos.map((item) => ({ ...item })), attempt, maxAttempts: this.#maxAttempts, text };
  }
}
