/** What comes at the wrong moment. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { ScriptTurn } from "../../support/agent-session.ts";
import { ask, said, startSession, tool } from "../../support/agent-session.ts";
import { Folder } from "../../support/folder.ts";

/** An answer that comes when its request is aborted. */
const untilAborted = ({ signal }: { signal: AbortSignal | undefined }) =>
  new Promise<ScriptTurn>((resolve) => signal?.addEventListener("abort", () => resolve({ text: "late" })));

describe("a compaction that the user asks for", () => {
  test("ends the run that goes on; what is queued waits until it is done", async () => {
    using folder = new Folder();
    const summary = Promise.withResolvers<ScriptTurn>();
    await using t = await startSession(folder, [
      { text: "one" },
      untilAborted,
      () => summary.promise,
      { text: "after" },
    ]);
    await ask(t.session, "first");
    await t.session.prompt("second");
    await t.model.request(1);
    await t.session.steer("queued");
    const compacted = t.session.compact();
    await t.model.request(2);
    assert.equal(t.model.requests.length, 3);
    summary.resolve({ text: "SUMMARY" });
    await compacted;
    await t.session.waitForIdle();
    const request = said(t.model.requests[3]);
    assert.match(request[0] ?? "", /SUMMARY/);
    assert.equal(request.at(-1), "user: queued");
  });

  test("is waited for by a prompt", async () => {
    using folder = new Folder();
    const summary = Promise.withResolvers<ScriptTurn>();
    await using t = await startSession(folder, [{ text: "one" }, () => summary.promise, { text: "two" }]);
    await ask(t.session, "first");
    const compacted = t.session.compact();
    await t.model.request(1);
    assert.deepEqual(await t.session.prompt("second"), { disposition: "started" });
    summary.resolve({ text: "SUMMARY" });
    await compacted;
    await t.session.waitForIdle();
    assert.match(said(t.model.requests[2])[0] ?? "", /SUMMARY/);
    assert.equal(said(t.model.requests[2]).at(-1), "user: second");
  });

  test("is refused while another goes on", async () => {
    using folder = new Folder();
    const summary = Promise.withResolvers<ScriptTurn>();
    await using t = await startSession(folder, [{ text: "one" }, () => summary.promise]);
    await ask(t.session, "first");
    const compacted = t.session.compact();
    await assert.rejects(t.session.compact(), { code: "busy" });
    summary.resolve({ text: "SUMMARY" });
    await compacted;
  });
});

describe("an abort", () => {
  test("during an automatic compaction ends the run, and nothing is lost", async () => {
    using folder = new Folder();
    await using t = await startSession(
      folder,
      [
        { toolCalls: [{ name: "read" }], tokens: 100 },
        { toolCalls: [{ name: "read" }], tokens: 7900 },
        untilAborted,
      ],
      { contextWindow: 8000, tools: [tool("read", () => "y".repeat(8000))] },
    );
    await t.session.prompt("go");
    await t.model.request(2);
    assert.equal(t.session.state.isCompacting, true);
    await t.session.abort();
    assert.equal(t.session.state.isCompacting, false);
    assert.equal(t.of("auto_compaction_end")[0]?.aborted, true);
    assert.equal(t.session.messages.filter(({ role }) => role === "toolResult").length, 2);
    assert.equal(t.of("agent_settled")[0]?.aborted, true);
  });

  test("while nothing goes on does nothing", async () => {
    using folder = new Folder();
    await using t = await startSession(folder, [{ text: "one" }]);
    await t.session.abort();
    t.session.abortRetry();
    t.session.abortBash();
    t.session.abortCompaction();
    await ask(t.session, "go");
    assert.equal(t.session.lastAssistantText(), "one");
  });

  test("can be followed by a prompt at once", async () => {
    using folder = new Folder();
    await using t = await startSession(folder, [untilAborted, { text: "two" }]);
    await t.session.prompt("one");
    await t.model.request(0);
    await t.session.abort();
    await ask(t.session, "two");
    assert.equal(t.session.lastAssistantText(), "two");
  });
});

test("two prompts at once: one starts a run, the other is refused", async () => {
  using folder = new Folder();
  await using t = await startSession(folder, [{ text: "one" }]);
  const outcomes = await Promise.allSettled([t.session.prompt("a"), t.session.prompt("b")]);
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ["fulfilled", "rejected"],
  );
  await t.session.waitForIdle();
  assert.equal(t.model.requests.length, 1);
});

test("a session that is ended in the middle of a run leaves every call with a result", async () => {
  using folder = new Folder();
  const running = Promise.withResolvers<void>();
  const t = await startSession(folder, [{ toolCalls: [{ name: "slow" }, { name: "slow" }] }], {
    tools: [
      tool("slow", (_params, signal) => {
        running.resolve();
        return new Promise((_resolve, reject) =>
          signal?.addEventListener("abort", () => reject(new Error("aborted"))),
        );
      }),
    ],
  });
  await t.session.prompt("go");
  await running.promise;
  await t.session.dispose();
  assert.equal(t.session.messages.filter(({ role }) => role === "toolResult").length, 2);
  await assert.rejects(t.session.prompt("more"), { code: "closed" });
  assert.ok(t.types().includes("session_shutdown"));
});
