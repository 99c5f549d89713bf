/** A session that a client drives: the order of things, its end, and a client that does not keep up. */
import assert from "node:assert/strict";
import { readFileSync, statSync } from "node:fs";
import { describe, test } from "node:test";
import { addSecret } from "../../../src/base/log.ts";
import { treeJson } from "../../../src/modes/wire.ts";
import type { TreeNode } from "../../../src/session/types.ts";
import { ScriptedModel, tool } from "../../support/agent-session.ts";
import { Folder } from "../../support/folder.ts";
import { gate, startRpc } from "../../support/rpc.ts";

const settled = (count = 1) => {
  let seen = 0;
  return ({ type }: { type: string }) => type === "agent_settled" && ++seen === count;
};

describe("a client", () => {
  test("follows a run by its events, in order, parts without the message so far", async () => {
    using folder = new Folder();
    await using rpc = await startRpc(
      folder,
      [
        { text: "Looking.", toolCalls: [{ name: "look", arguments: { at: "it" }, id: "call_1" }] },
        { text: "It is fine." },
      ],
      { tools: [tool("look", () => "seen")] },
    );
    const accepted = await rpc.send({ type: "prompt", message: "look" });
    assert.deepEqual(accepted.data, { disposition: "started" });
    await rpc.records.find(settled());
    const told = rpc.types().filter((type) => !/^(response|session_|entry_|queue_)/.test(type));
    assert.deepEqual(told, [
      ...["agent_start", "turn_start", "message_start", "message_end", "message_start", "message_end"],
      ...["tool_execution_start", "tool_execution_end", "message_start", "message_end", "turn_end"],
      ...["turn_start", "message_start", "message_end", "turn_end", "agent_end", "agent_settled"],
    ]);
    const parts = rpc.records.all.filter(({ type }) => type === "message_update");
    assert.ok(parts.length > 0);
    for (const part of parts) {
      assert.ok(!("message" in part) && !("partial" in (part.assistantMessageEvent as object)));
      assert.ok("usage" in part);
    }
    const call = parts.map((part) => part.assistantMessageEvent as Record<string, unknown>);
    assert.deepEqual(
      call.filter(({ type }) => type === "toolcall_start").map(({ id, toolName }) => [id, toolName]),
      [["call_1", "look"]],
    );
    assert.deepEqual((await rpc.send({ type: "get_last_assistant_text" })).data, { text: "It is fine." });
  });

  test("may steer, queue and end a run while it goes on, and needs to say which", async () => {
    using folder = new Folder();
    const { open, opened } = gate();
    await using rpc = await startRpc(
      folder,
      [
        async () => {
          await opened;
          return { toolCalls: [{ name: "look" }] };
        },
        { text: "turned" },
        { text: "followed" },
      ],
      { tools: [tool("look", () => "seen")] },
    );
    await rpc.send({ type: "prompt", message: "go" });
    const refused = await rpc.send({ type: "prompt", message: "and" });
    assert.equal(refused.success, false);
    const queued = { disposition: "queued" };
    assert.deepEqual((await rpc.send({ type: "steer", message: "turn" })).data, queued);
    assert.deepEqual((await rpc.send({ type: "follow_up", message: "follow" })).data, queued);
    const more = await rpc.send({ type: "prompt", message: "more", streamingBehavior: "followUp" });
    assert.deepEqual(more.data, queued);
    const { data } = await rpc.send({ type: "get_state" });
    assert.deepEqual(
      [
        (data as { isStreaming: boolean }).isStreaming,
        (data as { pendingMessageCount: number }).pendingMessageCount,
      ],
      [true, 3],
    );
    assert.deepEqual((await rpc.send({ type: "clear_queue" })).data, {
      steering: ["turn"],
      followUp: ["follow", "more"],
    });
    await rpc.send({ type: "steer", message: "turn" });
    open();
    await rpc.records.find(settled());
    assert.deepEqual((await rpc.send({ type: "get_last_assistant_text" })).data, { text: "turned" });
  });

  test("ends a run with a command that comes behind others, and may say something else with it", async () => {
    using folder = new Folder();
    await using rpc = await startRpc(folder, [
      ({ signal }) =>
        new Promise((resolve) => signal?.addEventListener("abort", () => resolve({ error: "aborted" }))),
      { text: "the other" },
    ]);
    await rpc.send({ type: "prompt", message: "one" });
    await rpc.harness.model.request(0);
    const other = await rpc.send({ type: "abort_and_prompt", message: "another" });
    assert.deepEqual(other.data, { disposition: "started" });
    await rpc.records.find(settled(2));
    assert.deepEqual((await rpc.send({ type: "get_last_assistant_text" })).data, { text: "the other" });
    assert.equal((await rpc.send({ type: "abort" })).success, true);
  });

  test("need not wait: what follows a change of the model finds it done", async () => {
    using folder = new Folder();
    const other = new ScriptedModel([{ text: "from the other" }], { id: "other" });
    await using rpc = await startRpc(folder, [{ text: "from the first" }], {
      models: { list: async () => [other.model], resolve: async () => other },
    });
    void rpc.send({ type: "set_model", provider: "test", modelId: "other" });
    void rpc.send({ type: "prompt", message: "who is there?" });
    await rpc.records.find(settled());
    assert.deepEqual((await rpc.send({ type: "get_last_assistant_text" })).data, { text: "from the other" });
    const answered = rpc.records.all.filter(({ type }) => type === "response").map(({ command }) => command);
    assert.deepEqual(answered.slice(0, 2), ["set_model", "prompt"]);
  });

  test("gets errors as responses, without the secrets that are in them", async () => {
    using folder = new Folder();
    addSecret("sk-rpc-secret-1");
    await using rpc = await startRpc(folder, [], {
      models: {
        list: async () => [],
        resolve: async () => {
          throw new Error("no key sk-rpc-secret-1 here");
        },
      },
    });
    const refused = await rpc.send({ type: "set_model", provider: "test", modelId: "none" });
    assert.deepEqual(
      [refused.command, refused.success, refused.error],
      ["set_model", false, "no key [secret] here"],
    );
    for (const command of [
      { type: "get_entries", since: "nowhere" },
      { type: "fork", entryId: "nowhere" },
      { type: "branch", entryId: "nowhere" },
      { type: "switch_session", sessionPath: "/nonexistent/session.jsonl" },
      { type: "compact" },
      { type: "set_session_name", name: "  " },
    ]) {
      const { success, error } = await rpc.send(command);
      assert.deepEqual([success, typeof error], [false, "string"], command.type);
    }
  });

  test("sees no headers of models: a key may be in them", async () => {
    using folder = new Folder();
    const other = new ScriptedModel([], { id: "other", headers: { "x-api-key": "hidden" } });
    await using rpc = await startRpc(folder, [], {
      models: { list: async () => [other.model], resolve: async () => other },
    });
    await rpc.send({ type: "set_model", provider: "test", modelId: "other" });
    await rpc.send({ type: "get_available_models" });
    await rpc.send({ type: "get_state" });
    assert.doesNotMatch(JSON.stringify(rpc.records.all), /hidden/);
  });

  test("runs a command of its own, whose output comes under the id that it gave", async () => {
    using folder = new Folder();
    await using rpc = await startRpc(folder, [{ text: "I see" }], { env: { PATH: process.env.PATH ?? "" } });
    const ran = await rpc.send({ type: "bash", command: "printf hello" });
    assert.deepEqual(ran.data, { output: "hello", exitCode: 0, cancelled: false, truncated: false });
    const parts = rpc.records.all.filter(({ type }) => type === "bash_execution_update");
    assert.deepEqual(
      [parts.map(({ delta }) => delta).join(""), new Set(parts.map(({ id }) => id))],
      ["hello", new Set([ran.id])],
    );
    const slow = rpc.send({ type: "bash", command: "echo on; sleep 60" });
    await rpc.records.find(({ delta }) => delta === "on\n");
    assert.equal((await rpc.send({ type: "abort_bash" })).success, true);
    assert.equal(((await slow).data as { cancelled: boolean }).cancelled, true);
  });

  test("exports the session as HTML, whether it is kept, or has no answer yet", async () => {
    using folder = new Folder();
    await using rpc = await startRpc(folder, [{ text: "A fine answer." }]);
    const early = await rpc.send({ type: "export_html", outputPath: "early.html" });
    assert.deepEqual(early.data, { path: `${folder.path}/early.html` });
    await rpc.send({ type: "set_session_name", name: "A name" });
    await rpc.send({ type: "prompt", message: "A <question>" });
    await rpc.records.find(settled());
    const { path } = (await rpc.send({ type: "export_html" })).data as { path: string };
    const html = readFileSync(path, "utf8");
    assert.match(html, /A name/);
    assert.match(html, /A &lt;question&gt;/);
    assert.match(html, /A fine answer\./);
    assert.equal(statSync(path).mode & 0o777, 0o600);
    const refused = await rpc.send({ type: "export_html", outputPath: "/nonexistent/x.html" });
    assert.equal(refused.success, false);
  });
});

describe("at the end", () => {
  test("of its input, commands are answered, a run is ended and the session disposed of", async () => {
    using folder = new Folder();
    const rpc = await startRpc(
      folder,
      [
        ({ signal }) =>
          new Promise((resolve) => signal?.addEventListener("abort", () => resolve({ text: "" }))),
      ],
      { env: { PATH: process.env.PATH ?? "" } },
    );
    await rpc.send({ type: "prompt", message: "go" });
    await rpc.harness.model.request(0);
    const slow = rpc.send({ type: "bash", command: "sleep 60" });
    const last = rpc.send({ type: "get_state" });
    rpc.input.end();
    assert.equal(await rpc.served, 0);
    assert.equal((await last).success, true);
    assert.equal(((await slow).data as { cancelled: boolean }).cancelled, true);
    assert.ok(rpc.types().includes("session_shutdown"));
    assert.equal(rpc.harness.session.state.isStreaming, false);
  });

  test("the commands that were written before it are carried out in their order", async () => {
    using folder = new Folder();
    const rpc = await startRpc(folder, []);
    rpc.input.end(
      '{"id":"1","type":"set_session_name","name":"one"}\n{"id":"2","type":"new_session"}\n{"id":"3","type":"get_state"}',
    );
    await rpc.served;
    const answers = rpc.records.all.filter(({ type }) => type === "response");
    assert.deepEqual(
      answers.map(({ id, success }) => [id, success]),
      [
        ["1", true],
        ["2", true],
        ["3", true],
      ],
    );
    assert.equal((answers[2]!.data as { sessionName?: string }).sessionName, undefined);
  });

  test("of the program, an interrupt does the same although the input goes on", async () => {
    using folder = new Folder();
    const rpc = await startRpc(folder, []);
    await rpc.send({ type: "get_state" });
    rpc.interrupt.abort();
    assert.equal(await rpc.served, 0);
    assert.ok(rpc.input.destroyed);
    await rpc[Symbol.asyncDispose]();
  });

  test("a session that can't begin is the error of the whole", async () => {
    using folder = new Folder();
    const rpc = await startRpc(folder, [], { start: () => Promise.reject(new Error("no beginning")) });
    await assert.rejects(rpc.served, /no beginning/);
  });
});

describe("a client that does not read", () => {
  const long = "x".repeat(3_000_000);

  test("makes the run wait, and its own commands; nothing is lost", async () => {
    using folder = new Folder();
    await using rpc = await startRpc(folder, [{ toolCalls: [{ name: "long" }] }, { text: "done" }], {
      tools: [tool("long", () => long)],
      contextWindow: 10_000_000,
    });
    rpc.records.stopReading();
    rpc.write('{"id":"go","type":"prompt","message":"go"}');
    await rpc.records.find(({ type }) => type === "tool_execution_end");
    const state = rpc.send({ type: "get_state" });
    // Everything that can go on without the client has done so after some turns of the event loop.
    for (let turn = 0; turn < 200; turn++) await new Promise((resolve) => setImmediate(resolve));
    assert.equal(rpc.harness.model.requests.length, 1);
    assert.ok(!rpc.types().includes("agent_settled"));
    rpc.records.readOn();
    await rpc.records.find(settled());
    assert.equal((await state).success, true);
    assert.equal(rpc.harness.model.requests.length, 2);
  });

  test("and goes away leaves nothing that waits for it", async () => {
    using folder = new Folder();
    const rpc = await startRpc(folder, [{ toolCalls: [{ name: "long" }] }, { text: "done" }], {
      tools: [tool("long", () => long)],
      contextWindow: 10_000_000,
    });
    rpc.records.stopReading();
    rpc.write('{"id":"go","type":"prompt","message":"go"}');
    await rpc.records.find(({ type }) => type === "tool_execution_end");
    rpc.interrupt.abort();
    assert.equal(await rpc.served, 0);
    await rpc[Symbol.asyncDispose]();
    assert.equal(rpc.harness.session.state.isStreaming, false);
  });
});

describe("the tree", () => {
  test("of a session goes out as it is", async () => {
    using folder = new Folder();
    await using rpc = await startRpc(folder, [{ text: "one" }, { text: "two" }]);
    await rpc.send({ type: "prompt", message: "first" });
    await rpc.records.find(settled());
    const { messages } = (await rpc.send({ type: "get_fork_messages" })).data as {
      messages: { entryId: string; text: string }[];
    };
    assert.deepEqual((await rpc.send({ type: "get_branch_messages" })).data, { messages });
    await rpc.harness.session.navigateTree(messages[0]!.entryId);
    await rpc.send({ type: "prompt", message: "second" });
    await rpc.records.find(settled(2));
    const { data } = await rpc.send({ type: "get_tree" });
    assert.deepEqual(data, JSON.parse(JSON.stringify(rpc.harness.session.tree())));
    const { entries } = (await rpc.send({ type: "get_entries" })).data as { entries: { id: string }[] };
    const rest = (await rpc.send({ type: "get_entries", since: entries[1]!.id })).data as {
      entries: object[];
    };
    assert.deepEqual(rest.entries, entries.slice(2));
  });

  test("of 100,000 entries behind each other is written, too", () => {
    let node: TreeNode | undefined;
    for (let count = 0; count < 100_000; count++) {
      const entry = { type: "custom", id: `${count}`, parentId: null, timestamp: "", customType: "t" };
      node = { entry: entry as TreeNode["entry"], children: node ? [node] : [] };
    }
    const json = treeJson([node!]);
    assert.equal(json.match(/"children":\[/g)?.length, 100_000);
    assert.ok(json.endsWith('"children":[]}'.concat("]}".repeat(99_999), "]")));
  });
});
