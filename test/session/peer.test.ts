/** Another agent of this family reads what we write, and we read what it writes: its own parser is the judge. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { SessionManager } from "@earendil-works/pi-coding-agent";
import { forkSession, listSessions, SessionStore } from "../../src/session/index.ts";
import type { NewEntry } from "../../src/session/types.ts";
import { Folder } from "../support/folder.ts";
import { assistant, parseLines, toolResult, user } from "./support.ts";

/** As it goes through JSON: members that are undefined are none. */
const plain = (value: unknown) => JSON.parse(JSON.stringify(value)) as unknown;
type Message = Parameters<SessionManager["appendMessage"]>[0];
const message = (entry: NewEntry) => (entry as { message: Message }).message;

const system: NewEntry = {
  type: "message",
  message: { role: "system", content: "be brief", toolsAdded: [], timestamp: 1 } as never,
};

/** Everything that says something about a context, on several branches. Gives the leaves. */
function tell(store: SessionStore): string[] {
  const leaves: string[] = [];
  const at = (id: string) => {
    leaves.push(id);
    return id;
  };
  store.append(system);
  store.append({ type: "model_change", provider: "local", modelId: "large" });
  store.append({ type: "thinking_level_change", thinkingLevel: "high" });
  const first = store.append(user("one"));
  at(store.append(assistant("1", "call-1")));
  const result = store.append(toolResult("call-1", "output"));
  const kept = store.append(user("two"));
  store.append({ type: "custom", customType: "state", data: { n: 1 } });
  store.append({
    type: "custom_message",
    customType: "note",
    content: "psst",
    display: true,
    details: { a: 1 },
  });
  store.append({ type: "context_edit", targetId: result, replacement: { content: "shorter" } });
  store.append({ type: "context_edit", targetId: first, replacement: null });
  const before = at(store.append(assistant("2")));
  store.setLabel(first, "start");
  at(
    store.append({
      type: "compaction",
      summary: "what was",
      firstKeptEntryId: kept,
      tokensBefore: 1000,
      details: { readFiles: [] },
      systemMessage: message(system) as never,
    }),
  );
  store.append(user("three"));
  at(store.append(assistant("3")));
  at(store.append({ type: "compaction", summary: "again", firstKeptEntryId: kept, tokensBefore: 2000 }));
  at(store.append({ type: "compaction", summary: "all", firstKeptEntryId: "", tokensBefore: 3000 }));
  store.append({ type: "model_change", provider: "other", modelId: "tiny" });
  at(store.append(user("four")));
  const left = store.leafId!;
  store.branch(before);
  store.append({ type: "branch_summary", fromId: left, summary: "it did not work" });
  store.append({ type: "usage", kind: "warm", provider: "p", model: "m", usage: {} as never });
  at(store.append(user("five")));
  store.branch(null);
  at(store.append(user("six")));
  store.setName("A name");
  return leaves;
}

/** Compares the contexts at these leaves. */
function assertSame(ours: SessionStore, theirs: SessionManager, leaves: readonly string[]): void {
  assert.deepEqual(plain(ours.getEntries()), plain(theirs.getEntries()));
  for (const leaf of leaves) {
    theirs.branch(leaf);
    assert.deepEqual(plain(ours.buildContext(leaf)), plain(theirs.buildSessionContext()), leaf);
    assert.deepEqual(plain(ours.getBranch(leaf)), plain(theirs.getBranch()));
    assert.deepEqual(plain(ours.contextEntries(leaf)), plain(theirs.buildContextEntries()));
  }
}

describe("what we write", () => {
  test("the other agent reads, every branch of it, with the same contexts", async () => {
    using folder = new Folder();
    const store = SessionStore.create({ dataDir: folder.path, cwd: "/work/demo" });
    const leaves = tell(store);
    const { leafId } = store;
    store.close();
    using ours = await SessionStore.open(store.file!, { dataDir: folder.path, access: "read" });
    const theirs = SessionManager.open(store.file!);
    assert.equal(theirs.getLeafId(), leafId);
    assert.equal(theirs.getSessionId(), store.id);
    assert.equal(theirs.getSessionName(), "A name");
    assert.equal(theirs.getCwd(), "/work/demo");
    assertSame(ours, theirs, leaves);
    const labels = (nodes: ReturnType<SessionManager["getTree"]>): unknown[] =>
      nodes.map(({ entry, label, children }) => [entry.id, label, labels(children)]);
    assert.deepEqual(plain(labels(ours.getTree() as never)), plain(labels(theirs.getTree())));
  });

  test("the other agent goes on with, and we go on with that", async () => {
    using folder = new Folder();
    const store = SessionStore.create({ dataDir: folder.path, cwd: "/work/demo" });
    tell(store);
    store.close();
    const theirs = SessionManager.open(store.file!);
    theirs.appendMessage(message(assistant("theirs")));
    {
      using ours = await SessionStore.open(store.file!, { dataDir: folder.path });
      assert.deepEqual(ours.problems, []);
      ours.append(user("ours"));
    }
    using ours = await SessionStore.open(store.file!, { dataDir: folder.path, access: "read" });
    assertSame(ours, SessionManager.open(store.file!), [ours.leafId!]);
  });

  test("is listed and forked by the other agent as a session of its own", async () => {
    using folder = new Folder();
    const store = SessionStore.create({ dataDir: folder.path, cwd: "/work/demo" });
    const leaves = tell(store);
    store.close();
    const [listed] = await SessionManager.list("/work/demo", store.folder);
    const [ours] = await listSessions(folder.path);
    assert.equal(listed!.id, ours!.id);
    assert.equal(listed!.name, ours!.name);
    assert.equal(listed!.firstMessage, ours!.firstMessage);
    const forked = SessionManager.open(store.file!).createBranchedSession(leaves[3]!)!;
    using read = await SessionStore.open(forked, { dataDir: folder.path });
    assert.equal(read.header.parentSession, store.file);
    assert.deepEqual(read.problems, []);
    assertSame(read, SessionManager.open(forked), [read.leafId!]);
  });

  test("has large outputs that the other agent sees the beginning of", async () => {
    using folder = new Folder();
    const store = SessionStore.create({ dataDir: folder.path, cwd: "/work/demo" });
    store.append(assistant("1", "call-1"));
    const id = store.append(toolResult("call-1", `the beginning ${"x".repeat(200_000)}`));
    store.close();
    assert.ok(readFileSync(store.file!).length < 10_000);
    const entry = SessionManager.open(store.file!).getEntry(id) as unknown as {
      message: { content: [{ type: string; text: string }] };
    };
    assert.equal(entry.message.content[0].type, "text");
    assert.match(
      entry.message.content[0].text,
      /^the beginning x+\n\[… 200014 bytes in all: blob sha256:[0-9a-f]{64}\]$/,
    );
  });
});

describe("what the other agent writes", () => {
  test("we read, every branch of it, with the same contexts, and leave as it is", async () => {
    using folder = new Folder();
    const theirs = SessionManager.create("/work/demo", folder.path);
    theirs.appendMessage(message(system));
    theirs.appendModelChange("local", "large");
    theirs.appendThinkingLevelChange("low");
    const first = theirs.appendMessage(message(user("one")));
    const answer = theirs.appendMessage(message(assistant("1", "call-1")));
    const result = theirs.appendMessage(message(toolResult("call-1", "output")));
    theirs.appendMessage({
      role: "bashExecution",
      command: "ls",
      output: "a",
      exitCode: 0,
      cancelled: false,
      truncated: false,
      timestamp: 4,
    });
    theirs.appendCustomMessageEntry("note", [{ type: "text", text: "psst" }], false, { a: 1 });
    theirs.appendCustomEntry("state", { n: 1 });
    theirs.appendContextEdit(result, { content: "shorter" });
    theirs.appendLabelChange(first, "start");
    const compaction = theirs.appendCompaction("what was", result, 1000, { readFiles: ["a"] });
    const last = theirs.appendMessage(message(user("two")));
    const empty = theirs.appendCompaction("all of it", null, 2000);
    const summary = theirs.branchWithSummary(answer, "it did not work");
    const other = theirs.appendMessage(message(user("three")));
    theirs.appendSessionInfo("Their name");
    const path = theirs.getSessionFile()!;
    const before = readFileSync(path, "utf8");
    {
      using ours = await SessionStore.open(path, { dataDir: folder.path });
      assert.deepEqual(ours.problems, []);
      assert.equal(ours.name, "Their name");
      assert.equal(ours.getLabel(first), "start");
      assert.equal(ours.leafId, theirs.getLeafId());
      assertSame(ours, theirs, [first, answer, result, compaction, last, empty, summary, other]);
      const copy = forkSession(ours, { upTo: last });
      copy.close();
      assertSame(
        await SessionStore.open(copy.file!, { dataDir: folder.path, access: "read" }),
        SessionManager.open(copy.file!),
        [last],
      );
    }
    assert.equal(readFileSync(path, "utf8"), before);
    assert.equal(parseLines(before).length, 18);
  });
});
