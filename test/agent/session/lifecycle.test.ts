import assert from "node:assert/strict";
import { readFile, stat } from "node:fs/promises";
import { describe, test } from "node:test";
import { parseSessionEntries } from "@earendil-works/pi-coding-agent";
import { SessionStore } from "../../../src/session/index.ts";
import type { ScriptTurn } from "../../support/agent-session.ts";
import { ask, said, startSession, tool } from "../../support/agent-session.ts";
import { loadExtensions } from "../../support/extensions.ts";
import { Folder } from "../../support/folder.ts";

describe("a session", () => {
  test("is kept as it goes: what was said, by whom, with which model", async () => {
    using folder = new Folder();
    await using t = await startSession(
      folder,
      [{ toolCalls: [{ name: "run", id: "1" }] }, { text: "done" }],
      { tools: [tool("run", () => "ran")], thinkingLevel: "off" },
    );
    await ask(t.session, "Please do\nthis and that");
    const file = t.session.state.sessionFile!;
    assert.equal((await stat(file)).mode & 0o777, 0o600);
    const lines = (await readFile(file, "utf8")).trim().split("\n");
    const entries = lines.map((line) => JSON.parse(line));
    assert.deepEqual(
      entries.map((entry) => entry.message?.role ?? entry.type),
      ["session", "model_change", "session_info", "user", "assistant", "toolResult", "assistant"],
    );
    assert.equal(entries[2].name, "Please do");
    assert.equal(
      parseSessionEntries(lines.join("\n")).length,
      entries.length,
      "others of the family read it",
    );
  });

  test("that never got an answer leaves no file", async () => {
    using folder = new Folder();
    await using t = await startSession(folder, []);
    await t.session.start("startup");
    assert.equal(await stat(t.session.state.sessionFile!).catch(() => "none"), "none");
  });

  test("goes on where it was: conversation, model and level", async () => {
    using folder = new Folder();
    let file = "";
    {
      await using t = await startSession(folder, [{ text: "one" }], { reasoning: true });
      t.session.setThinkingLevel("high");
      await ask(t.session, "first");
      file = t.session.state.sessionFile!;
    }
    const store = await SessionStore.open(file, { dataDir: folder.path });
    await using t = await startSession(folder, [{ text: "two" }], {
      store,
      reasoning: true,
      isModelChosen: false,
    });
    assert.equal(t.session.state.thinkingLevel, "high");
    assert.equal(t.session.state.sessionName, "first");
    await ask(t.session, "second");
    assert.deepEqual(said(t.model.requests[0]), ["user: first", "assistant: one", "user: second"]);
    assert.equal(t.model.requests[0]?.reasoning, "high");
    assert.equal(t.session.entries().entries.filter(({ type }) => type === "model_change").length, 1);
  });

  test("has the name that the user gives it, whatever is said", async () => {
    using folder = new Folder();
    await using t = await startSession(folder, [{ text: "one" }]);
    t.session.setSessionName("mine");
    await ask(t.session, "go");
    assert.equal(t.session.state.sessionName, "mine");
    assert.deepEqual(t.of("session_info_changed"), [{ type: "session_info_changed", name: "mine" }]);
  });

  test("counts what was said and what it cost", async () => {
    using folder = new Folder();
    await using t = await startSession(
      folder,
      [
        { toolCalls: [{ name: "run" }], tokens: 100 },
        { text: "done", tokens: 150 },
      ],
      { tools: [tool("run", () => "ran")] },
    );
    await ask(t.session, "go");
    const stats = t.session.stats();
    assert.deepEqual(
      [stats.userMessages, stats.assistantMessages, stats.toolCalls, stats.toolResults, stats.totalMessages],
      [1, 2, 1, 1, 4],
    );
    assert.equal(stats.tokens.input, 250);
    assert.equal(stats.contextUsage?.tokens, 150);
  });
});

describe("going elsewhere", () => {
  test("a new session begins with nothing of the old one", async () => {
    using folder = new Folder();
    await using t = await startSession(folder, [{ text: "one" }, { text: "two" }]);
    await ask(t.session, "first");
    const { sessionId, sessionFile } = t.session.state;
    await t.session.steer("left over");
    assert.deepEqual(await t.session.newSession(), { cancelled: false });
    assert.notEqual(t.session.state.sessionId, sessionId);
    assert.equal(t.session.state.pendingMessageCount, 0);
    await ask(t.session, "second");
    assert.deepEqual(said(t.model.requests[1]), ["user: second"]);
    assert.deepEqual(t.of("session_switch"), [
      { type: "session_switch", reason: "new", previousSessionFile: sessionFile },
    ]);
    assert.equal(t.of("session_start")[0]?.reason, "new");
  });

  test("a switch ends what goes on, and takes up the other conversation", async () => {
    using folder = new Folder();
    let file = "";
    {
      await using other = await startSession(folder, [{ text: "old answer" }]);
      await ask(other.session, "old");
      file = other.session.state.sessionFile!;
    }
    await using t = await startSession(folder, [
      ({ signal }) =>
        new Promise<ScriptTurn>((resolve) => signal?.addEventListener("abort", () => resolve({ text: "" }))),
      { text: "new answer" },
    ]);
    await t.session.prompt("going on");
    await t.model.request(0);
    assert.deepEqual(await t.session.switchSession(file), { cancelled: false });
    assert.equal(t.session.state.isStreaming, false);
    await ask(t.session, "new");
    assert.deepEqual(said(t.model.requests[1]), ["user: old", "assistant: old answer", "user: new"]);
  });

  test("a file that is no session changes nothing", async () => {
    using folder = new Folder();
    await using t = await startSession(folder, [{ text: "one" }]);
    const { sessionId } = t.session.state;
    await assert.rejects(t.session.switchSession(folder.file("x.jsonl", "no session")));
    assert.equal(t.session.state.sessionId, sessionId);
  });

  test("a fork has what came before a message, and gives its text", async () => {
    using folder = new Folder();
    await using t = await startSession(folder, [{ text: "one" }, { text: "two" }, { text: "three" }]);
    await ask(t.session, "first");
    await ask(t.session, "second");
    const old = t.session.state.sessionFile;
    const messages = t.session.forkMessages();
    assert.deepEqual(
      messages.map(({ text }) => text),
      ["first", "second"],
    );
    assert.deepEqual(await t.session.fork(messages[1]!.entryId), { text: "second", cancelled: false });
    await ask(t.session, "instead");
    assert.deepEqual(said(t.model.requests[2]), ["user: first", "assistant: one", "user: instead"]);
    assert.deepEqual(t.of("session_branch"), [{ type: "session_branch", previousSessionFile: old }]);
    assert.notEqual(t.session.state.sessionFile, old);
    await assert.rejects(t.session.fork("nowhere"), { code: "unknown-entry" });
  });

  test("a clone has all of the branch", async () => {
    using folder = new Folder();
    await using t = await startSession(folder, [{ text: "one" }, { text: "two" }]);
    await ask(t.session, "first");
    const { sessionId } = t.session.state;
    assert.deepEqual(await t.session.clone(), { cancelled: false });
    assert.notEqual(t.session.state.sessionId, sessionId);
    await ask(t.session, "second");
    assert.deepEqual(said(t.model.requests[1]), ["user: first", "assistant: one", "user: second"]);
  });

  test("is what a module can cancel", async () => {
    using folder = new Folder();
    const path = folder.file(
      "ext/m.ts",
      `export default (pi) => {
        pi.on("session_before_switch", (e) => ({ cancel: e.reason !== "fork" }));
        pi.on("session_before_branch", () => ({ cancel: true }));
        pi.on("session_before_tree", () => ({ cancel: true }));
      };`,
    );
    await using loaded = await loadExtensions([path], {}, { changeSession: true });
    await using t = await startSession(folder, [{ text: "one" }], { manager: loaded.manager });
    await ask(t.session, "first");
    const { sessionId } = t.session.state;
    assert.deepEqual(await t.session.newSession(), { cancelled: true });
    assert.deepEqual(await t.session.switchSession("x"), { cancelled: true });
    assert.deepEqual(await t.session.clone(), { cancelled: true });
    const [first] = t.session.forkMessages();
    assert.deepEqual(await t.session.navigateTree(first!.entryId), { cancelled: true });
    assert.equal(t.session.state.sessionId, sessionId);
  });
});

describe("another branch of the session", () => {
  test("goes on from before a message of the user, whose text comes back", async () => {
    using folder = new Folder();
    await using t = await startSession(folder, [{ text: "one" }, { text: "two" }, { text: "three" }]);
    await ask(t.session, "first");
    await ask(t.session, "second");
    const [, second] = t.session.forkMessages();
    assert.deepEqual(await t.session.navigateTree(second!.entryId), {
      cancelled: false,
      editorText: "second",
    });
    await ask(t.session, "instead");
    assert.deepEqual(said(t.model.requests[2]), ["user: first", "assistant: one", "user: instead"]);
    const { tree } = t.session.tree();
    assert.equal(tree.length, 1);
    assert.equal(t.of("session_tree").length, 1);
  });

  test("knows by a summary what was left, if the user wants one", async () => {
    using folder = new Folder();
    await using t = await startSession(
      folder,
      [
        { text: "one" },
        { toolCalls: [{ name: "write", arguments: { path: "b.ts" } }] },
        { text: "two" },
        { text: "IT FAILED" },
        { text: "three" },
      ],
      { tools: [tool("write", () => "written")] },
    );
    await ask(t.session, "first");
    await ask(t.session, "second");
    const [, second] = t.session.forkMessages();
    const { summaryEntry } = await t.session.navigateTree(second!.entryId, { summarize: true });
    assert.equal(summaryEntry?.type, "branch_summary");
    assert.match(said(t.model.requests[3])[0] ?? "", /\[User\]: second/);
    assert.doesNotMatch(said(t.model.requests[3])[0] ?? "", /\[User\]: first/);
    await ask(t.session, "instead");
    const request = said(t.model.requests[4]);
    assert.deepEqual(
      [request[0], request[1], request[3]],
      ["user: first", "assistant: one", "user: instead"],
    );
    assert.match(request[2] ?? "", /IT FAILED[\s\S]*b\.ts/);
  });

  test("can be summarised by a module", async () => {
    using folder = new Folder();
    const path = folder.file(
      "ext/m.ts",
      `export default (pi) => {
        pi.on("session_before_tree", (e) => e.preparation.userWantsSummary && { summary: { summary: "OURS " + e.preparation.entriesToSummarize.length } });
      };`,
    );
    await using loaded = await loadExtensions([path], {}, { changeSession: true });
    await using t = await startSession(folder, [{ text: "one" }, { text: "two" }, { text: "three" }], {
      manager: loaded.manager,
    });
    await ask(t.session, "first");
    await ask(t.session, "second");
    const [, second] = t.session.forkMessages();
    await t.session.navigateTree(second!.entryId, { summarize: true });
    await ask(t.session, "instead");
    assert.match(said(t.model.requests[2])[2] ?? "", /OURS 2/);
    assert.equal(t.of("session_tree")[0]?.fromExtension, true);
  });

  test("is nowhere", async () => {
    using folder = new Folder();
    await using t = await startSession(folder, []);
    await assert.rejects(t.session.navigateTree("nowhere"), { code: "unknown-entry" });
  });
});

test("others of this family see the same conversation in the file", async () => {
  using folder = new Folder();
  await using t = await startSession(folder, [
    { text: "one" },
    { text: "half", error: 'provider "test": overloaded' },
    { text: "two" },
    { text: "SUMMARY" },
    { text: "three" },
    { text: "BRANCH" },
    { text: "four" },
  ]);
  await ask(t.session, "first");
  await ask(t.session, "second");
  await t.session.compact();
  await ask(t.session, "third");
  const third = t.session.forkMessages().at(-1)!;
  await t.session.navigateTree(third.entryId, { summarize: true });
  t.session.nextTurn({ customType: "note", content: "a note", display: true });
  await ask(t.session, "fourth");
  const { SessionManager } = await import("@earendil-works/pi-coding-agent");
  const theirs = SessionManager.open(t.session.state.sessionFile!).buildSessionContext();
  const told = (messages: readonly unknown[]) =>
    messages.map((message) => {
      const { role, content, summary } = message as Record<string, unknown>;
      return [role, summary ?? content];
    });
  assert.deepEqual(told(theirs.messages), told(t.session.messages));
  assert.deepEqual(
    t.session.messages.map(({ role }) => role),
    ["compactionSummary", "user", "assistant", "branchSummary", "custom", "user", "assistant"],
  );
  assert.deepEqual(theirs.model, { provider: "test", modelId: "scripted" });
});
