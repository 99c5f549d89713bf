/** The model's todo list: what it may do with it, what the session keeps, and when it is reminded. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { AgentMessage } from "@earendil-works/pi-agent-core";
import { TodoList, TodoReminders, todoTool } from "../../../src/agent/tools/todo.ts";

const call = async (list: TodoList, params: object) => {
  const { content, details } = await todoTool(list).execute("1", params);
  const [block] = content;
  assert.ok(block?.type === "text");
  return { text: block.text, details };
};

const resultOf = (details: unknown, toolName = "todo") =>
  ({
    role: "toolResult",
    toolCallId: "1",
    toolName,
    content: [],
    details,
    isError: false,
    timestamp: 0,
  }) as AgentMessage;

describe("the todo list", () => {
  test("takes items, changes their state, and shows what is open and how much is done", async () => {
    const list = new TodoList();
    assert.equal((await call(list, { action: "list" })).text, "The list is empty.");
    await call(list, { action: "add", items: ["read the code", "write a test\nfor it"] });
    await call(list, { action: "add", text: "run it" });
    await call(list, { action: "complete", id: 1 });
    await call(list, { action: "update", id: 3, state: "dropped" });
    const { text, details } = await call(list, {
      action: "update",
      id: 2,
      state: "in_progress",
      text: "test it",
    });
    assert.equal(text, "2 [>] test it\n2 of 3 done");
    assert.deepEqual(details, {
      todos: [
        { id: 1, text: "read the code", state: "completed" },
        { id: 2, text: "test it", state: "in_progress" },
        { id: 3, text: "run it", state: "dropped" },
      ],
    });
  });

  test("says what is wrong with a call, and stays as it was", async () => {
    const list = new TodoList();
    list.add(["a"]);
    const wrong: [object, RegExp][] = [
      [{ action: "add" }, /add needs items/],
      [{ action: "add", items: ["b", "  "] }, /needs a text/],
      [{ action: "add", items: Array(100).fill("x") }, /at most 100/],
      [{ action: "update", id: 7, state: "completed" }, /no item 7/],
      [{ action: "complete" }, /needs an id/],
    ];
    for (const [params, problem] of wrong) await assert.rejects(call(list, params), problem);
    assert.deepEqual(list.items, [{ id: 1, text: "a", state: "pending" }]);
  });

  test("is what the last result in the branch says, whatever else is in there", async () => {
    const list = new TodoList();
    const { details: first } = await call(list, { action: "add", items: ["a"] });
    const { details: second } = await call(list, { action: "complete", id: 1 });
    const other = new TodoList();
    other.restore([resultOf(first), resultOf(second), resultOf({ todos: [] }, "bash"), resultOf(undefined)]);
    assert.deepEqual(other.items, list.items);
    other.restore([resultOf(first)]);
    assert.equal(other.open.length, 1);
    for (const bad of [
      { todos: [{ id: "1" }] },
      { todos: [{ id: 1, text: "a", state: "x" }] },
      { todos: 1 },
    ]) {
      other.restore([resultOf(bad)]);
      assert.deepEqual(other.items, []);
    }
    other.restore([]);
    assert.deepEqual(other.items, []);
  });
});

describe("a run that ends with open items", () => {
  test("reminds the model of them, three times until the user writes again", () => {
    const list = new TodoList();
    list.add(["a", "b"]);
    list.update(1, { state: "completed" });
    const reminders = new TodoReminders(list);
    const { text, ...first } = reminders.next("stop")!;
    assert.deepEqual(first, { todos: [{ id: 2, text: "b", state: "pending" }], attempt: 1, maxAttempts: 3 });
    assert.match(text, /open items:\n2 \[ \] b\n/);
    assert.equal(reminders.next("stop")?.attempt, 2);
    assert.equal(reminders.next("stop")?.attempt, 3);
    assert.equal(reminders.next("stop"), undefined);
    reminders.reset();
    assert.equal(reminders.next("stop")?.attempt, 1);
  });

  test("that the user or an error ended, or with nothing left, does not", () => {
    const list = new TodoList();
    const reminders = new TodoReminders(list);
    assert.equal(reminders.next("stop"), undefined);
    list.add(["a"]);
    for (const reason of ["aborted", "error", "length"]) assert.equal(reminders.next(reason), undefined);
  });
});
