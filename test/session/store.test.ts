/** What a session promises: nothing is lost, branches stay, and what others wrote stays as they wrote it. */
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { cloneSession, cwdSlug, forkSession, SessionStore, type TreeNode } from "../../src/session/index.ts";
import { Folder } from "../support/folder.ts";
import { assistant, fileOf, HEADER, parseLines, toolResult, user } from "./support.ts";

const texts = (store: SessionStore, leaf?: string | null) =>
  store.buildContext(leaf).messages.map((message) => {
    const { content } = message as { content: string | { text: string }[] };
    return typeof content === "string" ? content : content[0]!.text;
  });

describe("a new session", () => {
  test("has no file until a model has answered, and then has all of it", () => {
    using folder = new Folder();
    using store = SessionStore.create({ dataDir: folder.path, cwd: "/work/demo" });
    store.append({ type: "model_change", provider: "local", modelId: "small" });
    store.append(user("hello"));
    assert.deepEqual(readdirSync(folder.path), []);
    store.append(assistant("hi"));
    const lines = parseLines(readFileSync(store.file!, "utf8"));
    assert.deepEqual(
      lines.map(({ type }) => type),
      ["session", "model_change", "message", "message"],
    );
    assert.equal(lines[0]!.version, 3);
    assert.match(
      store.file!,
      /sessions[/\\]--work-demo--[/\\]\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z_[0-9a-f-]{36}\.jsonl$/,
    );
    for (const { id } of lines.slice(1)) assert.match(String(id), /^[0-9a-f]{8}$/);
  });

  test("has none after a request that failed", () => {
    using folder = new Folder();
    using store = SessionStore.create({ dataDir: folder.path, cwd: "/work/demo" });
    store.append(user("hello"));
    const failed = assistant("");
    assert.ok(failed.type === "message" && failed.message.role === "assistant");
    store.append({ type: "message", message: { ...failed.message, content: [], stopReason: "error" } });
    store.close();
    assert.deepEqual(readdirSync(folder.path), []);
  });

  test("in memory leaves none at all", () => {
    using store = SessionStore.inMemory({ cwd: "/work/demo" });
    store.append(user("hello"));
    store.append(assistant("hi"));
    assert.deepEqual(texts(store), ["hello", "hi"]);
    assert.equal(store.file, undefined);
  });

  test("is its user's alone: the file is 0600, its folders 0700", {
    skip: process.platform === "win32",
  }, () => {
    using folder = new Folder();
    using store = SessionStore.create({ dataDir: folder.path, cwd: "/work/demo" });
    store.append(assistant("hi"));
    assert.equal(statSync(store.file!).mode & 0o777, 0o600);
    assert.equal(statSync(store.folder!).mode & 0o777, 0o700);
    assert.equal(statSync(join(folder.path, "sessions")).mode & 0o777, 0o700);
  });

  test("is in the file that it was told to be in", () => {
    using folder = new Folder();
    const file = join(folder.path, "deep", "mine.jsonl");
    using store = SessionStore.create({ dataDir: folder.path, cwd: "/work/demo", file });
    store.append(assistant("hi"));
    assert.equal(store.file, file);
    assert.ok(existsSync(file));
  });

  test("takes only an id that can be a file's name", () => {
    for (const id of ["../x", "a/b", "", ".x", "x".repeat(200)]) {
      assert.throws(() => SessionStore.create({ dataDir: "/nowhere", cwd: "/", id }), {
        code: "bad-session-id",
      });
    }
  });

  test("goes into the folder that the agents of this family make of the cwd", () => {
    assert.equal(cwdSlug("/work/my app"), "--work-my app--");
    assert.equal(cwdSlug("/a:b\\c/d"), "--a-b-c-d--");
    assert.ok(Buffer.byteLength(cwdSlug(`/${"ö".repeat(300)}`)) <= 255);
  });
});

describe("an entry", () => {
  test("is one line of the file, added at its end", async () => {
    using folder = new Folder();
    using store = SessionStore.create({ dataDir: folder.path, cwd: "/work/demo" });
    store.append(assistant("hi"));
    let before = readFileSync(store.file!, "utf8");
    for (const entry of [
      user("one\u2028line\nor two"),
      toolResult("c", "x".repeat(40_000)),
      assistant("b"),
    ]) {
      store.append(entry);
      const after = readFileSync(store.file!, "utf8");
      assert.ok(after.startsWith(before));
      assert.match(after.slice(before.length), /^[^\n]+\n$/);
      before = after;
    }
  });

  test("comes back as it was", async () => {
    using folder = new Folder();
    const store = SessionStore.create({ dataDir: folder.path, cwd: "/work/demo" });
    store.append(assistant("hi"));
    store.append({ type: "custom", customType: "x", data: { a: [1, null, "ü\ud800"] } });
    store.append({
      type: "custom_message",
      customType: "y",
      content: "note",
      display: false,
      details: { b: 1 },
    });
    store.append({ type: "usage", kind: "warm", provider: "p", model: "m", usage: {} as never });
    const written = store.getEntries();
    store.close();
    using again = await SessionStore.open(store.file!, { dataDir: folder.path });
    assert.deepEqual(again.getEntries(), written);
    assert.deepEqual(again.problems, []);
    assert.equal(again.leafId, written.at(-1)!.id);
  });

  test("that could not be read again is refused, and changes nothing", () => {
    using store = SessionStore.inMemory({ cwd: "/" });
    const circle: Record<string, unknown> = {};
    circle.self = circle;
    const refused = [
      { type: "custom", customType: "x", data: circle },
      { type: "message", message: { role: "assistant" } },
      { type: "message", message: { role: "nobody", content: "" } },
      { type: "what" },
    ];
    for (const entry of refused) assert.throws(() => store.append(entry as never), { code: "bad-entry" });
    assert.equal(store.entryCount, 0);
    assert.equal(store.leafId, null);
  });

  test("of a type that we do not know survives untouched, in a copy too", async () => {
    using folder = new Folder();
    const invalid = { type: "compaction", summary: 7 };
    const unknown = { type: "ttsr_injection", injectedRules: ["a"], deep: { x: [1, { y: null }] } };
    const message = { ...user("hello"), extra: { kept: true } };
    const path = folder.file("s.jsonl", fileOf([message, assistant("hi"), unknown, invalid, user("more")]));
    const before = readFileSync(path, "utf8");
    using store = await SessionStore.open(path, { dataDir: folder.path });
    assert.deepEqual(
      store.problems.map(({ kind }) => kind),
      ["invalid"],
    );
    assert.deepEqual(texts(store), ["hello", "hi", "more"]);
    store.append(assistant("yes"));
    assert.ok(readFileSync(path, "utf8").startsWith(before));
    using copy = forkSession(store);
    assert.deepEqual(texts(copy), ["hello", "hi", "more", "yes"]);
    const lines = parseLines(readFileSync(copy.file!, "utf8"));
    assert.deepEqual(lines.slice(1, 5), parseLines(before).slice(1, 5));
  });
});

describe("branches", () => {
  test("stay, each with its own conversation", async () => {
    using folder = new Folder();
    const store = SessionStore.create({ dataDir: folder.path, cwd: "/work/demo" });
    const first = store.append(user("one"));
    const answer = store.append(assistant("1"));
    const left = store.append(user("left"));
    store.branch(answer);
    const right = store.append(user("right"));
    store.branch(null);
    const other = store.append(user("other"));
    store.close();
    using again = await SessionStore.open(store.file!, { dataDir: folder.path });
    assert.deepEqual(texts(again, left), ["one", "1", "left"]);
    assert.deepEqual(texts(again, right), ["one", "1", "right"]);
    assert.deepEqual(texts(again), ["other"]);
    assert.deepEqual(again.buildContext(null).messages, []);
    const shape = (node: TreeNode): unknown => [node.entry.id, ...node.children.map(shape)];
    assert.deepEqual(again.getTree().map(shape), [[first, [answer, [left], [right]]], [other]]);
    assert.deepEqual(
      again.getBranch(right).map(({ id }) => id),
      [first, answer, right],
    );
    assert.throws(() => again.branch("nothing"), { code: "no-entry" });
  });

  test("have labels, which can be taken away", async () => {
    using folder = new Folder();
    const store = SessionStore.create({ dataDir: folder.path, cwd: "/work/demo" });
    const [a, b] = [store.append(user("one")), store.append(assistant("1"))];
    store.setLabel(a, "start");
    store.setLabel(b, "end");
    store.setLabel(b, undefined);
    store.close();
    using again = await SessionStore.open(store.file!, { dataDir: folder.path });
    assert.equal(again.getLabel(a), "start");
    assert.equal(again.getLabel(b), undefined);
    assert.equal(again.getTree()[0]!.label, "start");
  });

  test("become a session of their own: fork copies the way to an entry, and names where it comes from", () => {
    using folder = new Folder();
    using store = SessionStore.create({ dataDir: folder.path, cwd: "/work/demo" });
    store.append(user("one"));
    const answer = store.append(assistant("1"));
    store.append(user("two"));
    store.setLabel(answer, "here");
    using fork = forkSession(store, { upTo: answer });
    assert.deepEqual(texts(fork), ["one", "1"]);
    assert.equal(fork.getLabel(answer), "here");
    assert.equal(parseLines(readFileSync(fork.file!, "utf8"))[0]!.parentSession, store.file);
    assert.notEqual(fork.id, store.id);
    using clone = cloneSession(store);
    assert.deepEqual(texts(clone), ["one", "1", "two"]);
    using all = forkSession(store, { upTo: "all", cwd: "/work/elsewhere" });
    assert.match(all.file!, /--work-elsewhere--/);
    assert.equal(all.cwd, "/work/elsewhere");
    using none = forkSession(store, { upTo: null });
    assert.equal(none.isOnDisk, false);
    assert.equal(existsSync(none.file!), false);
  });
});

describe("the name of a session", () => {
  test("is the last that was given, or the title line's if that is newer", async () => {
    using folder = new Folder();
    const title = {
      type: "title",
      v: 1,
      title: "From elsewhere",
      updatedAt: "2026-02-01T00:00:00.000Z",
      pad: "   ",
    };
    const body = fileOf([user("a"), assistant("b"), { type: "session_info", name: "Old" }]);
    const path = folder.file("s.jsonl", `${JSON.stringify(title)}\n${body}`);
    const before = readFileSync(path, "utf8");
    using store = await SessionStore.open(path, { dataDir: folder.path });
    assert.deepEqual(store.problems, []);
    assert.equal(store.id, HEADER.id);
    assert.equal(store.name, "From elsewhere");
    store.setName("  New\nname ");
    assert.equal(store.name, "New name");
    assert.ok(readFileSync(path, "utf8").startsWith(before), "the title line is kept");
  });
});

describe("older versions", () => {
  const message = (role: string, content: unknown) => ({
    type: "message",
    message: { role, content, timestamp: 1 },
  });

  test("are read as they are: a list becomes a branch, a compaction finds its first kept entry", async () => {
    using folder = new Folder();
    const lines = [
      { type: "session", id: "old-1", timestamp: "2025-01-01T00:00:00.000Z", cwd: "/work/demo" },
      { ...message("user", "one"), timestamp: "2025-01-01T00:00:01.000Z" },
      { ...message("user", "two"), timestamp: "2025-01-01T00:00:02.000Z" },
      {
        type: "compaction",
        summary: "sum",
        firstKeptEntryIndex: 2,
        tokensBefore: 9,
        timestamp: "2025-01-01T00:00:03.000Z",
      },
      { ...message("hookMessage", "note"), customType: "x" },
      {
        type: "message",
        message: { role: "hookMessage", customType: "x", content: "note", display: true, timestamp: 1 },
      },
    ];
    const text = lines.map((line) => `${JSON.stringify(line)}\n`).join("");
    const path = folder.file("2025-01-01_old-1.jsonl", text);
    using store = await SessionStore.open(path, { dataDir: folder.path, access: "read" });
    const { messages } = store.buildContext();
    assert.deepEqual(
      messages.map(({ role }) => role),
      ["compactionSummary", "user", "custom"],
    );
    assert.equal(readFileSync(path, "utf8"), text, "reading changes nothing");
    const ids = store.getBranchIds();
    assert.equal(ids.length, 5);
    using again = await SessionStore.open(path, { dataDir: folder.path, access: "read" });
    assert.deepEqual(again.getBranchIds(), ids, "the ids are the same each time");
  });

  test("become version 3 before they are written to, and the old file stays beside the new one", async () => {
    using folder = new Folder();
    const lines = [
      { type: "session", version: 2, id: "old-2", timestamp: "2025-01-01T00:00:00.000Z", cwd: "/x", more: 1 },
      { ...message("user", "one"), id: "aaaaaaaa", parentId: null, timestamp: "" },
      {
        type: "message",
        id: "bbbbbbbb",
        parentId: "aaaaaaaa",
        timestamp: "",
        message: { role: "hookMessage", customType: "x", content: "note", display: true, timestamp: 1 },
      },
    ];
    const text = lines.map((line) => `${JSON.stringify(line)}\n`).join("");
    const path = folder.file("2025_old-2.jsonl", text);
    using store = await SessionStore.open(path, { dataDir: folder.path });
    store.append(assistant("new"));
    const now = parseLines(readFileSync(path, "utf8"));
    assert.deepEqual([now[0]!.version, now[0]!.more], [3, 1]);
    assert.equal((now[2]!.message as { role: string }).role, "custom");
    assert.equal(now[3]!.parentId, "bbbbbbbb");
    assert.equal(readFileSync(`${path}.v2`, "utf8"), text);
  });
});
