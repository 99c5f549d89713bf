/** Lists are made from the ends of files; what is deleted is gone, with what was kept for it alone. */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, utimesSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, test } from "node:test";
import {
  cwdSlug,
  deleteSession,
  findSession,
  forkSession,
  latestSession,
  listSessions,
  SessionStore,
} from "../../src/session/index.ts";
import { Folder } from "../support/folder.ts";
import { assistant, fileOf, HEADER, toolResult, user } from "./support.ts";

function session(folder: Folder, cwd: string, text: string, name?: string): SessionStore {
  const store = SessionStore.create({ dataDir: folder.path, cwd });
  store.append(user(text));
  store.append(assistant("answer"));
  if (name) store.setName(name);
  store.close();
  return store;
}

describe("a list of sessions", () => {
  test("has the last used first, with name, first message, time and cwd", async () => {
    using folder = new Folder();
    const [a, b] = [
      session(folder, "/work/a", "first\n  message"),
      session(folder, "/work/b", "other", "Named"),
    ];
    utimesSync(a.file!, 2000, 2000);
    utimesSync(b.file!, 1000, 1000);
    const [first, second] = await listSessions(folder.path);
    assert.deepEqual(first, {
      path: a.file,
      id: a.id,
      cwd: "/work/a",
      name: undefined,
      firstMessage: "first message",
      created: a.header.timestamp,
      modified: 2_000_000,
      size: readFileSync(a.file!).length,
      parentSession: undefined,
    });
    assert.deepEqual([second!.id, second!.name], [b.id, "Named"]);
    assert.deepEqual(
      (await listSessions(folder.path, { cwd: "/work/b" })).map(({ id }) => id),
      [b.id],
    );
    assert.equal((await latestSession(folder.path))!.id, a.id);
    assert.equal((await latestSession(folder.path, { cwd: "/work/b" }))!.id, b.id);
  });

  test("tells two folders apart that share a name, and knows a folder of one's own", async () => {
    using folder = new Folder();
    session(folder, "/work/a-b", "one");
    session(folder, "/work/a/b", "two");
    assert.equal(cwdSlug("/work/a-b"), cwdSlug("/work/a/b"));
    const here = await listSessions(folder.path, { cwd: "/work/a/b" });
    assert.deepEqual(
      here.map(({ firstMessage }) => firstMessage),
      ["two"],
    );
    const store = SessionStore.create({
      dataDir: folder.path,
      cwd: "/x",
      sessionDir: join(folder.path, "own"),
    });
    store.append(user("mine"));
    store.append(assistant("1"));
    store.close();
    const own = await listSessions(folder.path, { sessionDir: join(folder.path, "own") });
    assert.deepEqual(
      own.map(({ firstMessage }) => firstMessage),
      ["mine"],
    );
  });

  test("shows the first message although much comes before it, or it is long itself", async () => {
    using folder = new Folder();
    const store = SessionStore.create({ dataDir: folder.path, cwd: "/work/a" });
    store.append({ type: "custom", customType: "big", data: "x".repeat(10_000) });
    store.append(user("behind much"));
    store.append(assistant("1"));
    store.close();
    session(folder, "/work/b", `begins ${'\\"ü'.repeat(5000)}`);
    const messages = (await listSessions(folder.path)).map(({ firstMessage }) => firstMessage!).sort();
    assert.equal(messages[1], "behind much");
    assert.match(messages[0]!, /^begins (\\"ü)+/);
    assert.equal(messages[0]!.length, 200);
  });

  test("shows the name wherever in a long session it was given", async () => {
    using folder = new Folder();
    const store = SessionStore.create({ dataDir: folder.path, cwd: "/work/a" });
    const fill = () => {
      for (let n = 0; n < 20; n++) store.append(assistant("x".repeat(1000)));
    };
    fill();
    store.setName("In the middle ü");
    fill();
    store.close();
    assert.equal((await listSessions(folder.path))[0]!.name, "In the middle ü");
    const again = await SessionStore.open(store.file!, { dataDir: folder.path });
    again.setName("");
    again.close();
    assert.equal((await listSessions(folder.path))[0]!.name, undefined);
  });

  test("reads the title line of another agent", async () => {
    using folder = new Folder();
    const title = {
      type: "title",
      v: 1,
      title: "Titled",
      updatedAt: "2026-02-01T00:00:00.000Z",
      pad: " ".repeat(100),
    };
    folder.file("sessions/x/a_b.jsonl", `${JSON.stringify(title)}\n${fileOf([user("one"), assistant("1")])}`);
    const [summary] = await listSessions(folder.path);
    assert.deepEqual([summary!.name, summary!.firstMessage, summary!.id], ["Titled", "one", HEADER.id]);
  });

  test("remembers what it said of many sessions, and sees what has changed since", async () => {
    using folder = new Folder();
    const stores = Array.from({ length: 80 }, (_, n) => session(folder, "/work/a", `message ${n}`));
    const first = await listSessions(folder.path);
    assert.ok(existsSync(join(folder.path, "sessions", ".list.json")));
    assert.deepEqual(await listSessions(folder.path), first);
    const changed = await SessionStore.open(stores[7]!.file!, { dataDir: folder.path });
    changed.setName("Changed");
    changed.close();
    await deleteSession(stores[8]!.file!, { dataDir: folder.path });
    assert.equal(existsSync(join(folder.path, "sessions", ".list.json")), false, "nothing is left of it");
    const second = await listSessions(folder.path);
    assert.equal(second.length, 79);
    assert.equal(second.find(({ id }) => id === stores[7]!.id)!.name, "Changed");
    for (const broken of ["{", "null", '{"version":1,"rows":[null]}', '{"version":1,"rows":[["a",{}]]}']) {
      folder.file("sessions/.list.json", broken);
      assert.deepEqual(await listSessions(folder.path), second);
    }
  });

  test("leaves out what is no session, and is empty where there is nothing", async () => {
    using folder = new Folder();
    assert.deepEqual(await listSessions(folder.path), []);
    assert.equal(await latestSession(folder.path), undefined);
    folder.file("sessions/x/a.jsonl", "garbage");
    folder.file("sessions/x/b.jsonl", "");
    folder.file("sessions/x/c.txt", fileOf([user("one")]));
    folder.file("sessions/x/d.jsonl/e", "a folder");
    assert.deepEqual(await listSessions(folder.path), []);
  });
});

describe("a session is found", () => {
  test("by the beginning of its id, here before elsewhere", async () => {
    using folder = new Folder();
    const make = (id: string, cwd: string) => {
      const store = SessionStore.create({ dataDir: folder.path, cwd, id });
      store.append(assistant("1"));
      store.close();
      return store.file!;
    };
    const [a, b, c] = [make("abc1", "/a"), make("abc2", "/b"), make("abc", "/c")];
    assert.equal(await findSession(folder.path, "ABC1"), a);
    assert.equal(await findSession(folder.path, "abc"), c, "the whole id counts more");
    assert.equal(await findSession(folder.path, "ab", { cwd: "/b" }), b);
    await assert.rejects(findSession(folder.path, "ab"), { code: "ambiguous-session" });
    await assert.rejects(findSession(folder.path, "x"), { code: "no-session" });
    await assert.rejects(findSession(folder.path, ""), { code: "no-session" });
  });
});

describe("large outputs", () => {
  const text = `start ${"long ".repeat(20_000)}`;
  const image = Buffer.alloc(60_000, 7).toString("base64");
  const blobs = (folder: Folder) =>
    existsSync(join(folder.path, "blobs"))
      ? readdirSync(join(folder.path, "blobs")).filter((name) => !name.includes("."))
      : [];

  function large(folder: Folder): SessionStore {
    const store = SessionStore.create({ dataDir: folder.path, cwd: "/work/a" });
    store.append(user(text));
    assert.deepEqual(blobs(folder), [], "nothing is kept of a session without an answer");
    store.append(assistant("1", "c"));
    const result = toolResult("c", text);
    assert.ok(result.type === "message" && result.message.role === "toolResult");
    result.message.content.push({ type: "image", data: image, mimeType: "image/png" });
    result.message.details = { diff: text, other: 1 };
    store.append(result);
    store.append({ type: "custom_message", customType: "x", content: text, display: true });
    return store;
  }

  test("are kept once beside the sessions, and come back as they were", async () => {
    using folder = new Folder();
    const store = large(folder);
    const written = store.getEntries();
    store.close();
    assert.equal(blobs(folder).length, 2);
    assert.ok(readFileSync(store.file!).length < 12_000);
    using again = await SessionStore.open(store.file!, { dataDir: folder.path });
    assert.deepEqual(again.getEntries(), written);
    assert.deepEqual((written[2] as unknown as { message: { content: unknown[] } }).message.content, [
      { type: "text", text },
      { type: "image", data: image, mimeType: "image/png" },
    ]);
    assert.deepEqual(again.problems, []);
  });

  test("that are gone leave their beginning, and the session says so", async () => {
    using folder = new Folder();
    const store = large(folder);
    store.close();
    for (const name of blobs(folder)) folder.file(`blobs/${name}`, "something else");
    using again = await SessionStore.open(store.file!, { dataDir: folder.path });
    const { messages } = again.buildContext();
    assert.match(
      (messages[0] as { content: string }).content,
      /^start long [\s\S]*blob sha256:[0-9a-f]{64}\]$/,
    );
    assert.ok(again.problems.every(({ kind }) => kind === "missing-blob"));
    assert.ok(again.problems.length > 0);
  });

  test("of oh-my-pi come back from where it puts them", async () => {
    using folder = new Folder();
    const store = large(folder);
    store.close();
    const [, digest = ""] = /"sha256":"([0-9a-f]{64})","kind":"image"/.exec(
      readFileSync(store.file!, "utf8"),
    )!;
    const content = [{ type: "image", data: `blob:sha256:${digest}`, mimeType: "image/png" }];
    const path = folder.file("s.jsonl", fileOf([{ message: { role: "user", content, timestamp: 1 } }]));
    using theirs = await SessionStore.open(path, { dataDir: folder.path });
    const [message] = theirs.buildContext().messages as unknown as [{ content: [{ data: string }] }];
    assert.equal(message.content[0].data, image);
  });

  test("go with the last session that has them", async () => {
    using folder = new Folder();
    const store = large(folder);
    const fork = forkSession(store);
    fork.close();
    await assert.rejects(deleteSession(store.file!, { dataDir: folder.path }), { code: "session-in-use" });
    store.close();
    await deleteSession(store.file!, { dataDir: folder.path });
    assert.equal(existsSync(store.file!), false);
    assert.equal(blobs(folder).length, 2);
    using again = await SessionStore.open(fork.file!, { dataDir: folder.path });
    assert.equal((again.buildContext().messages[0] as { content: string }).content, text);
    again.close();
    await deleteSession(fork.file!, { dataDir: folder.path });
    assert.deepEqual(readdirSync(join(folder.path, "blobs")), []);
    assert.deepEqual(await listSessions(folder.path), []);
  });

  test("stay when the data dir, or the session's file in it, is moved", async () => {
    using folder = new Folder();
    const store = large(folder);
    store.close();
    const moved = { path: join(folder.path, "moved") };
    mkdirSync(join(moved.path, "sessions", "other"), { recursive: true });
    renameSync(join(folder.path, "blobs"), join(moved.path, "blobs"));
    const file = join(moved.path, "sessions", "other", basename(store.file!));
    renameSync(store.file!, file);
    const other = SessionStore.create({ dataDir: moved.path, cwd: "/" });
    other.append(assistant("1"));
    other.close();
    await deleteSession(other.file!, { dataDir: moved.path });
    using again = await SessionStore.open(file, { dataDir: moved.path });
    assert.equal((again.buildContext().messages[0] as { content: string }).content, text);
  });

  test("stay for a copy that has no file yet", async () => {
    using folder = new Folder();
    const store = large(folder);
    const fork = forkSession(store, { upTo: store.getBranchIds()[0]! });
    store.close();
    assert.equal(fork.isOnDisk, false);
    fork.append(assistant("2"));
    await deleteSession(store.file!, { dataDir: folder.path });
    assert.equal((fork.buildContext().messages[0] as { content: string }).content, text);
    fork.close();
  });

  test("a reference in a session leads nowhere but into the store", async () => {
    using folder = new Folder();
    const secret = folder.file("secret", "top secret");
    for (const sha256 of [`../secret`, secret, "../".repeat(9)]) {
      const entry = { ...user("one"), blobs: [{ at: ["message", "content"], sha256, kind: "text" }] };
      const proto = { at: ["__proto__", "x"], sha256, kind: "text" };
      const path = folder.file("s.jsonl", fileOf([entry, { ...user("two"), blobs: [proto] }]));
      using store = await SessionStore.open(path, { dataDir: folder.path });
      assert.deepEqual(
        store.buildContext().messages.map((m) => (m as { content: string }).content),
        ["one", "two"],
      );
    }
  });

  test("nothing but a session is deleted", async () => {
    using folder = new Folder();
    const path = folder.file("notes.jsonl", "mine");
    await assert.rejects(deleteSession(path, { dataDir: folder.path }), { code: "not-a-session" });
    assert.ok(existsSync(path));
  });
});
