import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { AgentMessage } from "@earendil-works/pi-agent-core";
import fc from "fast-check";
import { planCompaction } from "../../../src/agent/session/compaction-plan.ts";
import { SessionStore } from "../../../src/session/index.ts";
import type { SessionEntry } from "../../../src/session/types.ts";
import { ask, type ScriptStep, said, startSession, tool } from "../../support/agent-session.ts";
import { loadExtensions } from "../../support/extensions.ts";
import { Folder } from "../../support/folder.ts";

const read = tool("read", () => "x".repeat(400));

describe("a compaction that the user asks for", () => {
  test("puts a summary in the place of what was said, and keeps the last turn", async () => {
    using folder = new Folder();
    await using t = await startSession(
      folder,
      [
        { toolCalls: [{ name: "read", arguments: { path: "a.ts" } }] },
        { text: "one" },
        { text: "two" },
        { text: "## Goal\nto test" },
        { text: "three" },
      ],
      { tools: [read] },
    );
    await ask(t.session, "first");
    await ask(t.session, "second");
    const result = await t.session.compact("mind the tests");
    assert.match(result.summary, /## Goal\nto test/);
    assert.match(result.summary, /<read-files>\na\.ts\n<\/read-files>/);
    assert.deepEqual(result.details, { readFiles: ["a.ts"], modifiedFiles: [] });
    assert.ok(result.tokensBefore > 0 && (result.estimatedTokensAfter ?? 0) > 0);
    const asked = said(t.model.requests[3])[0] ?? "";
    assert.match(asked, /\[User\]: first/);
    assert.match(asked, /mind the tests/);
    assert.doesNotMatch(asked, /\[User\]: second/);
    await ask(t.session, "third");
    const request = said(t.model.requests[4]);
    assert.match(request[0] ?? "", /to test/);
    assert.deepEqual(request.slice(1), ["user: second", "assistant: two", "user: third"]);
    assert.deepEqual(
      t.types().filter((type) => type.includes("compact")),
      ["compaction_start", "session_compact", "compaction_end"],
    );
    assert.equal(t.of("compaction_end")[0]?.reason, "manual");
  });

  test("goes on from the summary before it", async () => {
    using folder = new Folder();
    await using t = await startSession(folder, [
      { text: "one" },
      { text: "SUMMARY ONE" },
      { text: "two" },
      { text: "SUMMARY TWO" },
      { text: "three" },
    ]);
    await ask(t.session, "first");
    await t.session.compact();
    await ask(t.session, "second");
    await t.session.compact();
    assert.match(said(t.model.requests[3])[0] ?? "", /SUMMARY ONE/);
    await ask(t.session, "third");
    const request = said(t.model.requests[4]).join("\n");
    assert.match(request, /SUMMARY TWO/);
    assert.doesNotMatch(request, /SUMMARY ONE/);
  });

  test("is refused when there is nothing to summarise", async () => {
    using folder = new Folder();
    await using t = await startSession(folder, []);
    await assert.rejects(t.session.compact(), { code: "nothing-to-compact" });
  });

  test("that fails changes nothing", async () => {
    using folder = new Folder();
    await using t = await startSession(folder, [{ text: "one" }, { text: "half", stopReason: "length" }]);
    await ask(t.session, "first");
    const before = t.session.messages;
    await assert.rejects(t.session.compact(), { code: "summary-failed" });
    assert.deepEqual(t.session.messages, before);
    assert.equal(t.session.state.isCompacting, false);
  });

  test("can be aborted", async () => {
    using folder = new Folder();
    await using t = await startSession(folder, [
      { text: "one" },
      ({ signal }) =>
        new Promise((resolve) => signal?.addEventListener("abort", () => resolve({ text: "" }))),
    ]);
    await ask(t.session, "first");
    const compacted = t.session.compact();
    await t.model.request(1);
    assert.equal(t.session.state.isCompacting, true);
    const refused = assert.rejects(compacted, { code: "aborted" });
    await t.session.abort();
    await refused;
    assert.equal(t.of("compaction_end")[0]?.aborted, true);
  });
});

describe("a conversation that fills the model's window", () => {
  const long = "y".repeat(2000);

  test("is made shorter between two turns, and the run goes on", async () => {
    using folder = new Folder();
    await using t = await startSession(
      folder,
      [
        { toolCalls: [{ name: "read", arguments: { path: "a" } }], tokens: 100 },
        { toolCalls: [{ name: "read", arguments: { path: "b" } }], tokens: 7900 },
        { text: "THE SUMMARY" },
        { text: "done" },
      ],
      { contextWindow: 8000, tools: [tool("read", () => long.repeat(4))] },
    );
    await ask(t.session, "go");
    assert.equal(t.of("auto_compaction_start")[0]?.reason, "threshold");
    assert.equal(t.of("auto_compaction_end")[0]?.aborted, false);
    assert.equal(t.session.lastAssistantText(), "done");
    const request = said(t.model.requests[3]);
    assert.match(request[0] ?? "", /THE SUMMARY/);
    assert.match(request.at(-1) ?? "", /^toolResult/);
    assert.equal(t.session.messages.at(-1)?.role, "assistant");
  });

  test("is made shorter before the next prompt", async () => {
    using folder = new Folder();
    await using t = await startSession(
      folder,
      [{ text: long.repeat(3), tokens: 7900 }, { text: "THE SUMMARY" }, { text: "done" }],
      { contextWindow: 8000 },
    );
    await ask(t.session, "go");
    assert.equal(t.session.contextUsage()?.percent, 98.75);
    await ask(t.session, "on");
    assert.match(said(t.model.requests[2])[0] ?? "", /THE SUMMARY/);
    assert.equal(said(t.model.requests[2]).at(-1), "user: on");
  });

  test("is left as it is where that is switched off", async () => {
    using folder = new Folder();
    await using t = await startSession(folder, [{ text: long, tokens: 7900 }, { text: "done" }], {
      contextWindow: 8000,
    });
    t.session.setAutoCompaction(false);
    await ask(t.session, "go");
    await ask(t.session, "on");
    assert.equal(t.of("auto_compaction_start").length, 0);
  });
});

describe("a request that is too long for the model", () => {
  const overflow = { error: 'provider "test" answered 400 Bad Request: prompt is too long: 9 tokens > 8' };

  test("is made shorter and sent once more", async () => {
    using folder = new Folder();
    await using t = await startSession(folder, [
      { text: "one" },
      overflow,
      { text: "THE SUMMARY" },
      { text: "done" },
    ]);
    await ask(t.session, "first");
    await ask(t.session, "second");
    assert.equal(t.of("auto_compaction_start")[0]?.reason, "overflow");
    assert.equal(t.of("auto_compaction_end")[0]?.willRetry, true);
    assert.equal(t.session.lastAssistantText(), "done");
    const request = said(t.model.requests[3]);
    assert.match(request[0] ?? "", /THE SUMMARY/);
    assert.deepEqual(request.slice(1), ["user: second"]);
    assert.equal(t.of("auto_retry_start").length, 0);
  });

  test("is not sent a third time", async () => {
    using folder = new Folder();
    await using t = await startSession(folder, [
      { text: "one" },
      overflow,
      { text: "THE SUMMARY" },
      overflow,
      { text: "never" },
    ]);
    await ask(t.session, "first");
    await ask(t.session, "second");
    assert.equal(t.model.requests.length, 4);
    assert.equal(t.of("agent_end").at(-1)?.willRetry, false);
  });

  test("ends the run if there is nothing to leave out", async () => {
    using folder = new Folder();
    await using t = await startSession(folder, [overflow]);
    await ask(t.session, "first");
    assert.equal(t.model.requests.length, 1);
    assert.equal(t.of("auto_compaction_start").length, 0);
  });
});

test("how full the window is, is known from the last answer and an estimate of what came since", async () => {
  using folder = new Folder();
  await using t = await startSession(folder, [
    { text: "a", tokens: 5000 },
    { text: "SUMMARY" },
    { text: "b", tokens: 300 },
  ]);
  await ask(t.session, "go");
  assert.deepEqual(t.session.contextUsage(), { tokens: 5000, contextWindow: 100_000, percent: 5 });
  await t.session.sendCustomMessage({ customType: "n", content: "z".repeat(350), display: true });
  assert.equal(t.session.contextUsage()?.tokens, 5100);
  await t.session.compact();
  assert.deepEqual(t.session.contextUsage(), { tokens: null, contextWindow: 100_000, percent: null });
  await ask(t.session, "on");
  assert.equal(t.session.contextUsage()?.tokens, 300);
});

describe("a module", () => {
  const withModule = async (folder: Folder, body: string, steps: readonly ScriptStep[]) => {
    const path = folder.file("ext/m.ts", `export default (pi) => { ${body} };`);
    const loaded = await loadExtensions([path], {}, { changeSession: true });
    const t = await startSession(folder, steps, { manager: loaded.manager });
    return {
      ...t,
      loaded,
      [Symbol.asyncDispose]: async () => {
        await t.session.dispose();
        await loaded[Symbol.asyncDispose]();
      },
    };
  };

  test("can cancel a compaction", async () => {
    using folder = new Folder();
    await using t = await withModule(folder, `pi.on("session_before_compact", () => ({ cancel: true }));`, [
      { text: "one" },
    ]);
    await ask(t.session, "go");
    await assert.rejects(t.session.compact(), { code: "cancelled" });
    assert.equal(t.model.requests.length, 1);
  });

  test("can bring the summary; what it would keep from the middle of a call is not taken", async () => {
    using folder = new Folder();
    await using t = await withModule(
      folder,
      `pi.on("session_before_compact", (e) => ({ compaction: {
         summary: "MINE " + e.preparation.messagesToSummarize.length + " " + e.customInstructions,
         firstKeptEntryId: e.branchEntries.find((one) => one.message?.role === "toolResult").id } }));
       pi.on("session_compact", (e, ctx) => ctx.ui.notify(e.compactionEntry.summary + " " + e.fromExtension));`,
      [{ toolCalls: [{ name: "none" }] }, { text: "one" }, { text: "two" }, { text: "three" }],
    );
    await ask(t.session, "go");
    await ask(t.session, "on");
    const result = await t.session.compact("please");
    assert.equal(result.summary, "MINE 4 please");
    await ask(t.session, "then");
    assert.deepEqual(said(t.model.requests[3]).slice(1), ["user: on", "assistant: two", "user: then"]);
    await t.loaded.manager.events.settled();
    assert.deepEqual(t.loaded.notifications, ["m info MINE 4 please true"]);
  });

  test("can say what the summary is to take into account", async () => {
    using folder = new Folder();
    await using t = await withModule(
      folder,
      `pi.on("session.compacting", (e) => ({ context: ["the build is broken"], prompt: "Write a haiku of " + e.messages.length, preserveData: { a: 1 } }));`,
      [{ text: "one" }, { text: "haiku" }],
    );
    await ask(t.session, "go");
    const { details } = await t.session.compact();
    const asked = said(t.model.requests[1])[0] ?? "";
    assert.match(asked, /the build is broken/);
    assert.match(asked, /Write a haiku of 2/);
    assert.doesNotMatch(asked, /## Goal/);
    assert.deepEqual((details as { preserveData?: unknown }).preserveData, { a: 1 });
  });
});

test("a session that goes on begins with its summary", async () => {
  using folder = new Folder();
  let file: string | undefined;
  {
    await using t = await startSession(folder, [{ text: "one" }, { text: "THE SUMMARY" }, { text: "two" }]);
    await ask(t.session, "first");
    await t.session.compact();
    await ask(t.session, "second");
    file = t.session.state.sessionFile;
  }
  const store = await SessionStore.open(file!, { dataDir: folder.path });
  await using t = await startSession(folder, [{ text: "three" }], { store });
  await ask(t.session, "third");
  const request = said(t.model.requests[0]);
  assert.match(request[0] ?? "", /THE SUMMARY/);
  assert.deepEqual(request.slice(1), ["user: second", "assistant: two", "user: third"]);
});

test("a cut never separates a call from its result, whatever the conversation is", () => {
  const step = fc.record({
    kind: fc.constantFrom("user", "answer", "calls", "custom"),
    calls: fc.integer({ min: 1, max: 4 }),
    size: fc.integer({ min: 0, max: 50 }),
    /** Something said between the results. */
    between: fc.boolean(),
  });
  fc.assert(
    fc.property(
      fc.array(step, { maxLength: 25 }),
      fc.integer({ min: 0, max: 400 }),
      fc.constantFrom("last-turn" as const, "all" as const),
      (steps, keep, always) => {
        const messages: AgentMessage[] = [];
        let id = 0;
        for (const { kind, calls, size, between } of steps) {
          const text = "x".repeat(size);
          if (kind === "user") messages.push({ role: "user", content: text, timestamp: 0 });
          else if (kind === "custom")
            messages.push({ role: "custom", customType: "n", content: text, display: true, timestamp: 0 });
          else {
            const ids = kind === "calls" ? Array.from({ length: calls }, () => `c${id++}`) : [];
            messages.push(answer(text, ids));
            for (const toolCallId of ids) {
              messages.push(result(toolCallId, text));
              if (between) messages.push({ role: "user", content: "between", timestamp: 0 });
            }
          }
        }
        const entries = messages.map(
          (message, at): SessionEntry => ({
            type: "message",
            id: `e${at}`,
            parentId: at === 0 ? null : `e${at - 1}`,
            timestamp: new Date(0).toISOString(),
            message,
          }),
        );
        const plan = planCompaction(entries, keep, (message) => JSON.stringify(message).length, always);
        if (!plan) return;
        const cut = plan.messagesToSummarize.length;
        assert.equal(plan.firstKeptEntryId, entries[cut]?.id);
        const before = new Set(callsOf(messages.slice(0, cut)));
        for (const message of messages.slice(cut)) {
          if (message.role === "toolResult") assert.ok(!before.has(message.toolCallId));
        }
      },
    ),
    { numRuns: 2000 },
  );
});

function answer(text: string, ids: readonly string[]): AgentMessage {
  return {
    role: "assistant",
    content: [
      { type: "text", text },
      ...ids.map((id) => ({ type: "toolCall" as const, id, name: "t", arguments: {} })),
    ],
    api: "x",
    provider: "x",
    model: "x",
    usage: {
      input: 0,
      output: 0,
      cacheRead: 0,
      cacheWrite: 0,
      totalTokens: 0,
      cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
    },
    stopReason: ids.length > 0 ? "toolUse" : "stop",
    timestamp: 0,
  };
}

function result(toolCallId: string, text: string): AgentMessage {
  return {
    role: "toolResult",
    toolCallId,
    toolName: "t",
    content: [{ type: "text", text }],
    isError: false,
    timestamp: 0,
  };
}

function callsOf(messages: readonly AgentMessage[]): string[] {
  return messages.flatMap((message) =>
    message.role === "assistant"
      ? message.content.flatMap((block) => (block.type === "toolCall" ? [block.id] : []))
      : [],
  );
}
