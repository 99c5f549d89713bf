/** What is wrong with a file costs what can't be read, and nothing else; and it is said. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  appendFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { createInterface } from "node:readline";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { SessionStore } from "../../src/session/index.ts";
import { Folder } from "../support/folder.ts";
import { assistant, fileOf, parseLines, user } from "./support.ts";

const WRITER = fileURLToPath(new URL("writer.ts", import.meta.url));
const RUN = [process.execPath, ...("Deno" in globalThis ? ["run", "--allow-all", "--no-check"] : []), WRITER];

const texts = (store: SessionStore) =>
  store.buildContext().messages.map((message) => {
    const { content } = message as { content: string | { text: string }[] };
    return typeof content === "string" ? content : content[0]!.text;
  });
const kinds = (store: SessionStore) => store.problems.map(({ kind }) => kind);

async function opened(folder: Folder, text: string): Promise<SessionStore> {
  return SessionStore.open(folder.file("s.jsonl", text), { dataDir: folder.path });
}

describe("a damaged file", () => {
  const whole = fileOf([user("one"), assistant("1"), user("two"), assistant("2")]);

  test("with a last line that was cut off loses that entry, whatever was left of it", async () => {
    using folder = new Folder();
    const start = whole.trimEnd().lastIndexOf("\n") + 1;
    for (let end = start; end < whole.length - 1; end += 7) {
      const path = folder.file("s.jsonl", whole.slice(0, end));
      const store = await SessionStore.open(path, { dataDir: folder.path });
      assert.deepEqual(texts(store), ["one", "1", "two"]);
      assert.deepEqual(kinds(store), end === start ? [] : ["torn"]);
      store.append(assistant("again"));
      store.close();
      using after = await SessionStore.open(path, { dataDir: folder.path });
      assert.deepEqual(texts(after), ["one", "1", "two", "again"]);
      assert.ok(readFileSync(path, "utf8").startsWith(whole.slice(0, end)), "nothing is taken away");
    }
  });

  test("without the last line's end loses nothing", async () => {
    using folder = new Folder();
    const path = folder.file("s.jsonl", whole.slice(0, -1));
    const store = await SessionStore.open(path, { dataDir: folder.path });
    assert.deepEqual([texts(store), kinds(store)], [["one", "1", "two", "2"], []]);
    store.append(user("three"));
    store.close();
    assert.equal(parseLines(readFileSync(path, "utf8")).length, 6);
  });

  for (const [what, garbage] of [
    ["text", "what is this"],
    ["zeros", "\0".repeat(4096)],
    ["a half entry", '{"type":"message","id":"00000001","par'],
    ["another value", "[1, 2]"],
    ["an entry without an id", '{"type":"message"}'],
    ["bytes that are no text", "\ufffd\ufffd{"],
  ] as const) {
    test(`with ${what} in the place of a line keeps the conversation around it`, async () => {
      using folder = new Folder();
      const lines = whole.split("\n");
      lines[2] = garbage;
      using store = await opened(folder, lines.join("\n"));
      assert.deepEqual(texts(store), ["one", "two", "2"]);
      assert.deepEqual(kinds(store), ["garbage", "missing-parent"]);
      assert.equal(store.problems[0]!.line, 3);
    });
  }

  test("with an entry whose members are wrong keeps it, without effect", async () => {
    using folder = new Folder();
    const wrong = [
      { message: { role: "assistant", content: "text" } },
      { message: null },
      { type: "compaction", summary: 1, firstKeptEntryId: [], tokensBefore: "many" },
      { type: "model_change", provider: {} },
      { type: "label", targetId: 7 },
    ];
    const path = folder.file("s.jsonl", fileOf([user("one"), ...wrong, user("two")]));
    using store = await SessionStore.open(path, { dataDir: folder.path });
    assert.deepEqual(texts(store), ["one", "two"]);
    assert.deepEqual(
      kinds(store),
      wrong.map(() => "invalid"),
    );
    assert.equal(store.getEntries().length, 7);
  });

  test("with a parent that is nowhere begins a branch there", async () => {
    using folder = new Folder();
    const lost = { parentId: "deadbeef" };
    using store = await opened(folder, fileOf([user("one"), { ...user("two"), ...lost }, assistant("2")]));
    assert.deepEqual(texts(store), ["two", "2"]);
    assert.deepEqual(kinds(store), ["missing-parent"]);
    assert.equal(store.getTree().length, 2);
    assert.equal(store.getEntry("00000001")!.parentId, null);
  });

  test("with entries in a circle opens it, and every entry is on a branch", async () => {
    using folder = new Folder();
    const circle = [
      user("zero"),
      { ...user("one"), parentId: "00000003" },
      user("two"),
      user("three"),
      user("four"),
      { ...user("self"), parentId: "00000005" },
    ];
    using store = await opened(folder, fileOf(circle));
    assert.deepEqual(kinds(store).sort(), ["cycle", "cycle"]);
    store.branch("00000004");
    assert.deepEqual(texts(store), ["one", "two", "three", "four"]);
    const count = (nodes: ReturnType<SessionStore["getTree"]>): number =>
      nodes.reduce((sum, { children }) => sum + 1 + count(children), 0);
    assert.equal(count(store.getTree()), circle.length);
  });

  test("with one id twice keeps both entries", async () => {
    using folder = new Folder();
    const text = fileOf([user("one"), { ...user("two"), id: "00000000", parentId: null }]);
    using store = await opened(folder, text);
    assert.deepEqual(kinds(store), ["duplicate-id"]);
    assert.equal(new Set(store.getEntries().map(({ id }) => id)).size, 2);
  });

  test("without a header is still a session", async () => {
    using folder = new Folder();
    using store = await opened(folder, fileOf([user("one"), assistant("1")], null));
    assert.deepEqual(texts(store), ["one", "1"]);
    assert.deepEqual(kinds(store), ["garbage"]);
  });

  test("in which nothing can be read is none, and so is a folder or an empty file", async () => {
    using folder = new Folder();
    for (const text of ["", "no session\n", '{"a":1}\n']) {
      const path = folder.file("s.jsonl", text);
      await assert.rejects(SessionStore.open(path, { dataDir: folder.path }), { code: "not-a-session" });
      assert.equal(existsSync(`${path}.lock`), false);
      assert.equal(readFileSync(path, "utf8"), text);
    }
    await assert.rejects(SessionStore.open(folder.path, { dataDir: folder.path, access: "read" }));
  });
});

describe("two who have one session", () => {
  test("are told of each other: the second gets an error that names the first", async () => {
    using folder = new Folder();
    const path = folder.file("s.jsonl", fileOf([user("one"), assistant("1")]));
    const { child, firstLine } = await startWriter(folder, path);
    try {
      await firstLine;
      await assert.rejects(
        SessionStore.open(path, { dataDir: folder.path }),
        (error: Error & { code: string }) => {
          assert.equal(error.code, "session-in-use");
          assert.match(error.message, new RegExp(`in use by process ${child.pid}`));
          return true;
        },
      );
      using reader = await SessionStore.open(path, { dataDir: folder.path, access: "read" });
      assert.ok(reader.entryCount >= 2, "reading needs no lock");
      assert.throws(() => reader.append(user("x")), { code: "read-only" });
    } finally {
      child.kill("SIGKILL");
      await once(child, "close");
    }
    using store = await SessionStore.open(path, { dataDir: folder.path });
    assert.ok(store.entryCount > 2, "who was killed holds nothing");
  });

  test("of one process are two, too", async () => {
    using folder = new Folder();
    const path = folder.file("s.jsonl", fileOf([user("one"), assistant("1")]));
    const first = await SessionStore.open(path, { dataDir: folder.path });
    await assert.rejects(SessionStore.open(path, { dataDir: folder.path }), { code: "session-in-use" });
    first.close();
    using second = await SessionStore.open(path, { dataDir: folder.path });
    second.append(user("two"));
  });

  test("do not mix when the other knows no lock: what it adds is a branch beside ours", async () => {
    using folder = new Folder();
    const path = folder.file("s.jsonl", fileOf([user("one"), assistant("1")]));
    const store = await SessionStore.open(path, { dataDir: folder.path });
    const theirs = {
      id: "ffffffff",
      parentId: "00000001",
      timestamp: "",
      ...user("theirs"),
    };
    appendFileSync(path, `${JSON.stringify(theirs)}\n`);
    store.append(user("ours"));
    assert.deepEqual(texts(store), ["one", "1", "ours"]);
    assert.deepEqual(kinds(store), ["foreign-write"]);
    store.close();
    using again = await SessionStore.open(path, { dataDir: folder.path });
    assert.deepEqual(kinds(again), []);
    again.branch("ffffffff");
    assert.deepEqual(texts(again), ["one", "1", "theirs"]);
  });

  test("do not write into a file that the other has shortened", async () => {
    using folder = new Folder();
    const path = folder.file("s.jsonl", fileOf([user("one"), assistant("1")]));
    using store = await SessionStore.open(path, { dataDir: folder.path });
    truncateSync(path, 40);
    store.append(user("two"));
    assert.equal(readFileSync(path).length, 40);
    assert.deepEqual(kinds(store), ["unwritten"]);
  });

  test("a lock without an owner, or of a process whose id another has by now, stops nobody", {
    skip: process.platform === "linux" ? false : "needs /proc",
  }, async () => {
    using folder = new Folder();
    const { hostname } = await import("node:os");
    const path = folder.file("s.jsonl", fileOf([user("one"), assistant("1")]));
    for (const owner of [`${process.pid} 1 00ff ${hostname()}`, `999999999 - 00ff ${hostname()}`]) {
      writeFileSync(`${path}.lock`, owner);
      (await SessionStore.open(path, { dataDir: folder.path })).close();
      assert.equal(existsSync(`${path}.lock`), false);
    }
  });
});

describe("a lock that nobody holds any more", () => {
  test("is taken away by one process at a time", async () => {
    using folder = new Folder();
    const { hostname } = await import("node:os");
    const path = folder.file("s.jsonl", fileOf([user("one"), assistant("1")]));
    const guard = `${path}.lock.breaking`;
    const left = `999999999 - 00ff ${hostname()}`;
    writeFileSync(`${path}.lock`, left);
    writeFileSync(guard, `${process.pid} - 00ff ${hostname()}`);
    await assert.rejects(SessionStore.open(path, { dataDir: folder.path }), { code: "session-in-use" });
    assert.equal(readFileSync(`${path}.lock`, "utf8"), left);
    // As left by one that was killed while it did so.
    utimesSync(guard, 1, 1);
    (await SessionStore.open(path, { dataDir: folder.path })).close();
    assert.deepEqual(readdirSync(folder.path).sort(), ["s.jsonl"]);
  });
});

const ROUNDS = process.env.XDEV_TEST_DEEP ? 200 : 6;

describe("kill -9 at any moment", () => {
  test(`loses at most the entry that is being written (${ROUNDS} times)`, { timeout: 300_000 }, async () => {
    using folder = new Folder();
    const path = folder.file("s.jsonl", fileOf([user("one"), assistant("1")]));
    let expected = 2;
    for (let round = 0; round < ROUNDS; round++) {
      const { child, ids } = await startWriter(folder, path, 1 + ((round * 37) % 60));
      const written = await ids;
      assert.equal(child.signalCode, "SIGKILL");
      using store = await SessionStore.open(path, { dataDir: folder.path });
      for (const id of written) assert.ok(store.getEntry(id), `round ${round}: an entry is gone`);
      expected += written.length;
      // The last may have been written, and its process ended before it could say so.
      assert.ok(store.entryCount === expected || store.entryCount === expected + 1, `round ${round}`);
      expected = store.entryCount;
      assert.ok(store.problems.every(({ kind }) => kind === "torn" || kind === "garbage"));
      assert.equal(store.getBranchIds().length, expected, "all of it is one branch");
    }
  });
});

describe("a full disk", () => {
  const TMPFS = ["unshare", "-Urm", "sh", "-c"];
  const canMount =
    spawnSync(TMPFS[0]!, [...TMPFS.slice(1), "mount -t tmpfs -o size=64k none /mnt"]).status === 0;

  test("loses nothing that was written, says so, and takes the rest when there is room again", {
    skip: canMount ? false : "needs a mount namespace",
  }, () => {
    using folder = new Folder();
    const command = `mount -t tmpfs -o size=256k none "$0" && exec "$@" fill "$0"`;
    const args = [...TMPFS.slice(1), command, folder.path, ...RUN];
    const { status, stdout, stderr } = spawnSync(TMPFS[0]!, args, { encoding: "utf8" });
    assert.equal(status, 0, stderr);
    const { problems, inMemory, onDisk, found, after } = JSON.parse(stdout);
    assert.equal(problems[0].kind, "unwritten");
    assert.match(problems[0].message, /ENOSPC|No space/);
    assert.equal(inMemory, 7);
    assert.ok(onDisk.entries >= 2 && onDisk.entries < 7);
    assert.deepEqual(onDisk.problems, [], "no half line is left");
    assert.equal(found, 6);
    assert.deepEqual(after, []);
  });
});

/** Starts a process that writes to the session; with `limit` it is killed when it has said so many ids. */
async function startWriter(folder: Folder, path: string, limit?: number) {
  const args = [...RUN.slice(1), "append", folder.path, path];
  const child: ChildProcess = spawn(RUN[0]!, args, { stdio: ["ignore", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout! });
  const firstLine = once(lines, "line");
  const said: string[] = [];
  lines.on("line", (line) => {
    if (said.push(line) === limit) child.kill("SIGKILL");
  });
  const ids = once(child, "close").then(() => said);
  return { child, firstLine, ids };
}
