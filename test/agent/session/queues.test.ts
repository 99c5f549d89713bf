import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { ScriptTurn } from "../../support/agent-session.ts";
import { ask, said, startSession, tool } from "../../support/agent-session.ts";
import { Folder } from "../../support/folder.ts";

describe("a prompt", () => {
  test("is accepted before the model has answered, and everything is told in order", async () => {
    using folder = new Folder();
    await using t = await startSession(folder, [{ text: "hello" }]);
    assert.deepEqual(await t.session.prompt("hi"), { disposition: "started" });
    assert.equal(t.session.state.isStreaming, true);
    await t.session.waitForIdle();
    assert.deepEqual(t.types(), [
      "session_info_changed",
      "agent_start",
      "turn_start",
      "message_start",
      "message_end",
      "message_start",
      "message_end",
      "turn_end",
      "agent_end",
      "agent_settled",
    ]);
    assert.deepEqual(said(t.model.requests[0]), ["user: hi"]);
    assert.equal(t.session.state.isStreaming, false);
    assert.equal(t.session.lastAssistantText(), "hello");
    assert.deepEqual(t.of("agent_settled"), [{ type: "agent_settled", aborted: false }]);
  });

  test("while a run goes on says whether it steers or follows, or is refused", async () => {
    using folder = new Folder();
    const gate = Promise.withResolvers<ScriptTurn>();
    await using t = await startSession(folder, [() => gate.promise, { text: "two" }]);
    await t.session.prompt("one");
    await assert.rejects(t.session.prompt("more"), { code: "busy" });
    assert.deepEqual(await t.session.prompt("more", { streamingBehavior: "followUp" }), {
      disposition: "queued",
    });
    assert.equal(t.session.state.pendingMessageCount, 1);
    gate.resolve({ text: "one" });
    await t.session.waitForIdle();
    assert.deepEqual(said(t.model.requests[1]), ["user: one", "assistant: one", "user: more"]);
  });

  test("without a model is refused with what to do", async () => {
    using folder = new Folder();
    await using t = await startSession(folder, []);
    const { createAgentSession } = await import("../../../src/agent/agent-session.ts");
    const { SessionStore } = await import("../../../src/session/index.ts");
    const { ToolSet } = await import("../../../src/agent/tool-set.ts");
    const bare = await createAgentSession({
      dataDir: folder.path,
      cwd: folder.path,
      store: SessionStore.inMemory({ cwd: folder.path }),
      tools: new ToolSet(() => [], undefined),
      systemPrompt: "",
    });
    await assert.rejects(bare.prompt("hi"), { code: "no-model" });
    assert.equal(t.model.requests.length, 0);
  });
});

describe("steering", () => {
  const twoCalls = (gate: Promise<void>) => [
    tool("wait", async () => {
      await gate;
      return "waited";
    }),
  ];

  test("is told after the tool calls that run, before the next request; one at a time", async () => {
    using folder = new Folder();
    const gate = Promise.withResolvers<void>();
    await using t = await startSession(
      folder,
      [{ toolCalls: [{ name: "wait" }] }, { text: "a" }, { text: "b" }],
      { tools: twoCalls(gate.promise) },
    );
    const started = t.next("tool_execution_start");
    await t.session.prompt("go");
    await started;
    assert.deepEqual(await t.session.steer("first"), { disposition: "queued" });
    await t.session.steer("second");
    assert.deepEqual(t.of("queue_update").at(-1), {
      type: "queue_update",
      steering: ["first", "second"],
      followUp: [],
    });
    gate.resolve();
    await t.session.waitForIdle();
    assert.deepEqual(said(t.model.requests[1]).slice(-2), ["toolResult: waited", "user: first"]);
    assert.deepEqual(said(t.model.requests[2]).slice(-2), ["assistant: a", "user: second"]);
    assert.deepEqual(t.of("queue_update").at(-1)?.steering, []);
  });

  test("is told all at once in the mode for it", async () => {
    using folder = new Folder();
    const gate = Promise.withResolvers<void>();
    await using t = await startSession(folder, [{ toolCalls: [{ name: "wait" }] }, { text: "a" }], {
      tools: twoCalls(gate.promise),
    });
    t.session.setSteeringMode("all");
    const started = t.next("tool_execution_start");
    await t.session.prompt("go");
    await started;
    await t.session.steer("first");
    await t.session.steer("second");
    gate.resolve();
    await t.session.waitForIdle();
    assert.deepEqual(said(t.model.requests[1]).slice(-2), ["user: first", "user: second"]);
    assert.equal(t.model.requests.length, 2);
  });

  test("without a run waits for the next one", async () => {
    using folder = new Folder();
    await using t = await startSession(folder, [{ text: "a" }]);
    await t.session.steer("by the way");
    await ask(t.session, "go");
    assert.deepEqual(said(t.model.requests[0]), ["user: go", "user: by the way"]);
  });
});

describe("follow-ups", () => {
  test("are told when the run would end, one for each end", async () => {
    using folder = new Folder();
    const gate = Promise.withResolvers<ScriptTurn>();
    await using t = await startSession(folder, [() => gate.promise, { text: "b" }, { text: "c" }]);
    await t.session.prompt("go");
    await t.session.followUp("first");
    await t.session.followUp("second");
    gate.resolve({ text: "a" });
    await t.session.waitForIdle();
    assert.deepEqual(said(t.model.requests[1]).slice(-2), ["assistant: a", "user: first"]);
    assert.deepEqual(said(t.model.requests[2]).slice(-2), ["assistant: b", "user: second"]);
    assert.equal(t.of("agent_settled").length, 1);
  });

  test("are told all at once in the mode for it", async () => {
    using folder = new Folder();
    const gate = Promise.withResolvers<ScriptTurn>();
    await using t = await startSession(folder, [() => gate.promise, { text: "b" }]);
    t.session.setFollowUpMode("all");
    await t.session.prompt("go");
    await t.session.followUp("first");
    await t.session.followUp("second");
    gate.resolve({ text: "a" });
    await t.session.waitForIdle();
    assert.deepEqual(said(t.model.requests[1]).slice(-2), ["user: first", "user: second"]);
  });

  test("can be taken back, with their texts", async () => {
    using folder = new Folder();
    const gate = Promise.withResolvers<ScriptTurn>();
    await using t = await startSession(folder, [() => gate.promise]);
    await t.session.prompt("go");
    await t.session.steer("s");
    await t.session.followUp("f");
    assert.deepEqual(t.session.clearQueue(), { steering: ["s"], followUp: ["f"] });
    gate.resolve({ text: "a" });
    await t.session.waitForIdle();
    assert.equal(t.model.requests.length, 1);
  });
});

test("what is meant for the next turn joins the user's next prompt, and starts nothing", async () => {
  using folder = new Folder();
  await using t = await startSession(folder, [{ text: "a" }]);
  t.session.nextTurn({ customType: "note", content: "a note", display: true });
  await t.session.waitForIdle();
  assert.equal(t.model.requests.length, 0);
  await ask(t.session, "go");
  assert.deepEqual(said(t.model.requests[0]), ["user: a note", "user: go"]);
});

test("a message of an extension starts a run only if it says so", async () => {
  using folder = new Folder();
  await using t = await startSession(folder, [{ text: "a" }]);
  const message = { customType: "note", content: "look", display: true };
  await t.session.sendCustomMessage(message);
  assert.equal(t.session.state.isStreaming, false);
  await t.session.sendCustomMessage(message, { triggerTurn: true });
  await t.session.waitForIdle();
  assert.deepEqual(said(t.model.requests[0]), ["user: look", "user: look"]);
});

describe("an abort", () => {
  test("gives every call of the message a result, those that have not begun too", async () => {
    using folder = new Folder();
    const ran: string[] = [];
    const running = Promise.withResolvers<void>();
    await using t = await startSession(
      folder,
      [
        {
          toolCalls: [
            { name: "slow", id: "1" },
            { name: "other", id: "2" },
            { name: "slow", id: "3" },
          ],
        },
      ],
      {
        tools: [
          {
            ...tool("slow", (_params, signal) => {
              ran.push("slow");
              running.resolve();
              return new Promise((_resolve, reject) =>
                signal?.addEventListener("abort", () => reject(new Error("aborted")), { once: true }),
              );
            }),
            executionMode: "sequential",
          },
          tool("other", () => {
            ran.push("other");
            return "done";
          }),
        ],
      },
    );
    await t.session.prompt("go");
    await running.promise;
    await t.session.abort();
    assert.deepEqual(ran, ["slow"]);
    const results = t.session.messages.filter((message) => message.role === "toolResult");
    assert.deepEqual(
      results.map(({ toolCallId, isError }) => [toolCallId, isError]),
      [
        ["1", true],
        ["2", true],
        ["3", true],
      ],
    );
    assert.deepEqual(t.of("agent_settled"), [{ type: "agent_settled", aborted: true }]);
    assert.equal(t.model.requests.length, 1, "the model is not asked again");
  });

  test("ends an answer that is being given, and the session goes on", async () => {
    using folder = new Folder();
    await using t = await startSession(folder, [
      ({ signal }) =>
        new Promise((resolve) => signal?.addEventListener("abort", () => resolve({ text: "late" }))),
      { text: "again" },
    ]);
    await t.session.prompt("go");
    await t.model.request(0);
    await t.session.abort();
    assert.equal(t.session.state.isStreaming, false);
    await ask(t.session, "again?");
    assert.equal(t.session.lastAssistantText(), "again");
  });

  test("leaves what is queued to the next run", async () => {
    using folder = new Folder();
    await using t = await startSession(folder, [
      ({ signal }) =>
        new Promise((resolve) => signal?.addEventListener("abort", () => resolve({ text: "late" }))),
      { text: "b" },
    ]);
    await t.session.prompt("go");
    await t.model.request(0);
    await t.session.steer("instead");
    await t.session.abort();
    await t.session.waitForIdle();
    assert.deepEqual(said(t.model.requests[1]).at(-1), "user: instead");
  });
});
