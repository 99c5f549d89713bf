import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { modelCatalog } from "../../../src/models/catalog.ts";
import { type ModelServer, type ServerTurn, startModelServer } from "../../fixtures/model-server.ts";
import type { ScriptTurn } from "../../support/agent-session.ts";
import { ask, startSession, tool } from "../../support/agent-session.ts";
import { Folder } from "../../support/folder.ts";

/** A folder whose models.yml has two models of a server on this machine. */
async function withServer(
  folder: Folder,
  script: readonly ServerTurn[],
): Promise<ModelServer & AsyncDisposable & { models: ReturnType<typeof modelCatalog> }> {
  const server = await startModelServer({ script });
  folder.file(
    "models.yml",
    `providers:
  loop:
    api: openai-completions
    baseUrl: ${server.baseUrl}
    models: [{ id: one }, { id: two, reasoning: true }]
`,
  );
  const models = modelCatalog(() => ({
    dataDir: folder.path,
    cwd: folder.path,
    env: {},
    tuning: { retryBaseMs: 1 },
  }));
  return { ...server, models, [Symbol.asyncDispose]: () => server.close() };
}

describe("the model", () => {
  test("can be another from one prompt to the next; the session says which answered", async () => {
    using folder = new Folder();
    await using server = await withServer(folder, [{ text: "from the server" }]);
    const known: (string | undefined)[] = [];
    await using t = await startSession(folder, [{ text: "scripted" }], {
      models: server.models,
      onModel: (resolved) => void known.push(resolved?.model.id),
    });
    await ask(t.session, "first");
    const model = await t.session.setModel("loop", "one");
    assert.equal(`${model.provider}/${model.id}`, "loop/one");
    await ask(t.session, "second");
    assert.equal(t.session.lastAssistantText(), "from the server");
    const [select] = t.of("model_select");
    assert.deepEqual(
      [select?.model.id, select?.previousModel?.id, select?.source],
      ["one", "scripted", "set"],
    );
    const changes = t.session
      .entries()
      .entries.flatMap((entry) => (entry.type === "model_change" ? [entry.modelId] : []));
    assert.deepEqual(changes, ["scripted", "one"]);
    assert.deepEqual(known, ["scripted", "one"]);
    const sent = server.requests[0]!.body as { model: string; messages: { role: string }[] };
    assert.equal(sent.model, "one");
    assert.deepEqual(
      sent.messages.map(({ role }) => role),
      ["system", "user", "assistant", "user"],
    );
  });

  test("can be another within a run: the next request goes to it", async () => {
    using folder = new Folder();
    await using server = await withServer(folder, [{ text: "from the server" }]);
    const gate = Promise.withResolvers<void>();
    const running = Promise.withResolvers<void>();
    await using t = await startSession(folder, [{ toolCalls: [{ name: "wait" }] }], {
      models: server.models,
      tools: [
        tool("wait", async () => {
          running.resolve();
          await gate.promise;
          return "";
        }),
      ],
    });
    await t.session.prompt("go");
    await running.promise;
    await t.session.setModel("loop", "two");
    gate.resolve();
    await t.session.waitForIdle();
    assert.equal(t.session.lastAssistantText(), "from the server");
  });

  test("that does not exist is refused, and the one before stays", async () => {
    using folder = new Folder();
    await using server = await withServer(folder, []);
    await using t = await startSession(folder, [], { models: server.models });
    await assert.rejects(t.session.setModel("loop", "none"), { code: "unknown-model" });
    assert.equal(t.session.state.model?.id, "scripted");
  });

  test("can be gone through, one after the other", async () => {
    using folder = new Folder();
    await using server = await withServer(folder, []);
    await using t = await startSession(folder, [], { models: server.models });
    assert.deepEqual(
      (await t.session.availableModels()).map(({ id }) => id),
      ["scripted", "one", "two"],
    );
    await t.session.setModel("loop", "one");
    assert.equal((await t.session.cycleModel())?.model.id, "two");
    assert.equal((await t.session.cycleModel())?.model.id, "one");
    await using alone = await startSession(folder, []);
    assert.equal(await alone.session.cycleModel(), undefined);
  });
});

describe("how much the model thinks", () => {
  test("is what was chosen, as far as the model knows it", async () => {
    using folder = new Folder();
    await using t = await startSession(folder, [{ text: "a" }], { reasoning: true });
    assert.deepEqual(t.session.availableThinkingLevels(), ["off", "minimal", "low", "medium", "high"]);
    t.session.setThinkingLevel("max");
    assert.equal(t.session.state.thinkingLevel, "high");
    assert.equal(t.session.cycleThinkingLevel(), "off");
    assert.equal(t.session.cycleThinkingLevel(), "minimal");
    await ask(t.session, "go");
    assert.equal(t.model.requests[0]?.reasoning, "minimal");
  });

  test("is nothing for a model that doesn't", async () => {
    using folder = new Folder();
    await using t = await startSession(folder, []);
    t.session.setThinkingLevel("high");
    assert.equal(t.session.state.thinkingLevel, "off");
    assert.equal(t.session.cycleThinkingLevel(), undefined);
    assert.deepEqual(t.session.availableThinkingLevels(), ["off"]);
  });
});

describe("a server that fails", () => {
  test("in the middle of its answer is asked again", async () => {
    using folder = new Folder();
    await using server = await withServer(folder, [
      { text: "half of it, and then", end: "close" },
      { text: "whole" },
    ]);
    await using t = await startSession(folder, [], { models: server.models });
    await t.session.setModel("loop", "one");
    await ask(t.session, "go");
    assert.equal(t.session.lastAssistantText(), "whole");
    assert.equal(t.of("auto_retry_start").length, 1);
    const sent = server.requests[1]!.body as { messages: { role: string }[] };
    assert.deepEqual(
      sent.messages.map(({ role }) => role),
      ["system", "user"],
    );
  });

  test("with a status is tried again by the request alone, never twice", async () => {
    using folder = new Folder();
    const failing = { status: 500, body: '{"error":{"message":"oops"}}' };
    await using server = await withServer(folder, [failing, failing, failing, failing, failing, failing]);
    await using t = await startSession(folder, [], { models: server.models });
    await t.session.setModel("loop", "one");
    await ask(t.session, "go");
    assert.equal(server.requests.length, 4);
    assert.equal(t.of("auto_retry_start").length, 0);
    const last = t.session.messages.at(-1);
    assert.ok(last?.role === "assistant" && last.stopReason === "error");
  });

  test("because the request is too long gets a shorter one", async () => {
    using folder = new Folder();
    await using server = await withServer(folder, [
      { text: "one" },
      { status: 400, body: '{"error":{"message":"prompt is too long: 9 tokens > 8 maximum"}}' },
      { text: "SUMMARY" },
      { text: "two" },
    ]);
    await using t = await startSession(folder, [], { models: server.models });
    await t.session.setModel("loop", "one");
    await ask(t.session, "first");
    await ask(t.session, "second");
    assert.equal(t.session.lastAssistantText(), "two");
    assert.equal(t.of("auto_compaction_end")[0]?.willRetry, true);
  });

  test("is left when the user aborts", async () => {
    using folder = new Folder();
    await using server = await withServer(folder, [{ text: "a long answer that stalls", end: "stall" }]);
    await using t = await startSession(folder, [], { models: server.models });
    await t.session.setModel("loop", "one");
    const begun = t.next("message_update");
    await t.session.prompt("go");
    await begun;
    await t.session.abort();
    await server.requests[0]?.closed;
    const last = t.session.messages.at(-1);
    assert.ok(last?.role === "assistant" && last.stopReason === "aborted");
  });
});

test("a run ends after as many turns as it may have, and says that there was more to do", async () => {
  using folder = new Folder();
  const call: ScriptTurn = { toolCalls: [{ name: "run" }] };
  await using t = await startSession(folder, [call, call, call, { text: "over" }], {
    maxTurns: 2,
    tools: [tool("run", () => "ran")],
  });
  await ask(t.session, "go");
  assert.equal(t.model.requests.length, 2);
  assert.equal(t.session.turnsExhausted, true);
  await ask(t.session, "on");
  assert.equal(t.model.requests.length, 4);
  assert.equal(t.session.turnsExhausted, false);
});

test("tools that are switched on or off count from the next request", async () => {
  using folder = new Folder();
  await using t = await startSession(folder, [{ text: "a" }, { toolCalls: [{ name: "b" }] }, { text: "c" }], {
    tools: [tool("a", () => "a ran"), tool("b", () => "b ran")],
  });
  await ask(t.session, "go");
  t.session.setActiveTools(["a"]);
  assert.deepEqual(t.session.activeTools(), ["a"]);
  await ask(t.session, "on");
  const result = t.session.messages.find((message) => message.role === "toolResult");
  assert.ok(result?.role === "toolResult" && result.isError);
  assert.throws(() => t.session.setActiveTools(["none"]));
});

test("a model whose code throws ends the run as one that failed", async () => {
  using folder = new Folder();
  await using t = await startSession(folder, [
    () => {
      throw new Error("broken");
    },
    { text: "fine" },
  ]);
  await ask(t.session, "go");
  const last = t.session.messages.at(-1);
  assert.ok(last?.role === "assistant" && last.stopReason === "error");
  assert.equal(last.errorMessage, "broken");
  assert.equal(t.of("agent_settled").length, 1);
  await ask(t.session, "again");
  assert.equal(t.session.lastAssistantText(), "fine");
});
