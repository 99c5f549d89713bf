/** Sessions of the compiled program: what is kept, how one goes on, and `xdev sessions`. */
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { commandsOf, page } from "../docs/pages.ts";
import { startModelServer } from "../fixtures/model-server.ts";
import { Folder } from "../support/folder.ts";
import { events, type Outcome, xdev } from "../support/xdev.ts";

/** A folder to work in, with its own data dir. */
class Place implements Disposable {
  readonly folder = new Folder();
  readonly data = join(this.folder.path, "data");
  #replays = 0;

  [Symbol.dispose](): void {
    this.folder[Symbol.dispose]();
  }

  run(turns: unknown[], ...more: string[]): Promise<Outcome> {
    const file = this.folder.file(`replay${this.#replays++}.json`, JSON.stringify(turns));
    const args = ["-p", "--model", `replay:${file}`, "--data-dir", this.data, ...more];
    return xdev(args, { cwd: this.folder.path });
  }

  sessions(...args: string[]): Promise<Outcome> {
    return xdev(["sessions", ...args, "--data-dir", this.data], { cwd: this.folder.path });
  }

  /** The session files in the data dir. */
  files(): string[] {
    const root = join(this.data, "sessions");
    if (!existsSync(root)) return [];
    const all = readdirSync(root, { recursive: true, encoding: "utf8" });
    return all.filter((name) => name.endsWith(".jsonl")).map((name) => join(root, name));
  }
}

const entriesOf = (file: string): Record<string, unknown>[] =>
  readFileSync(file, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
const idOf = (file: string) => String(entriesOf(file)[0]!.id);
describe("a run", () => {
  test("keeps its session in the data dir, readable for its user alone", async () => {
    using place = new Place();
    assert.equal((await place.run([{ text: "hello" }], "first")).stdout, "hello\n");
    const [file] = place.files();
    assert.equal(statSync(file!).mode & 0o777, 0o600);
    assert.equal(statSync(join(file!, "..")).mode & 0o777, 0o700);
    const [header, ...entries] = entriesOf(file!);
    assert.deepEqual([header!.type, header!.version, header!.cwd], ["session", 3, place.folder.path]);
    const roles = entries.flatMap((entry) => (entry.message as { role: string } | undefined)?.role ?? []);
    assert.deepEqual(roles, ["user", "assistant"]);
    assert.ok(!readdirSync(join(file!, "..")).some((name) => name.endsWith(".lock")), "the lock is gone");
  });

  test("that never got an answer leaves no file", async () => {
    using place = new Place();
    const wrong = await xdev(["-p", "go", "--model", "replay:/nonexistent.yml", "--data-dir", place.data], {
      cwd: place.folder.path,
    });
    assert.equal(wrong.status, 2);
    assert.equal((await place.run([{ error: "out" }], "go")).status, 1);
    assert.deepEqual(place.files(), []);
  });

  test("that can't be kept is said, and goes on", async () => {
    using place = new Place();
    place.folder.file("data/sessions", "no folder");
    const outcome = await place.run([{ text: "hello" }], "first");
    assert.deepEqual([outcome.status, outcome.stdout], [0, "hello\n"]);
    assert.match(outcome.stderr, /^xdev: .*an entry was not written/);
  });

  test("with --no-session writes nothing", async () => {
    using place = new Place();
    assert.equal((await place.run([{ text: "hello" }], "first", "--no-session")).stdout, "hello\n");
    assert.deepEqual(place.files(), []);
  });

  test("with --session-dir has its file there, and with --session in the file that it names", async () => {
    using place = new Place();
    await place.run([{ text: "hello" }], "first", "--session-dir", "mine");
    const there = join(place.folder.path, "mine");
    assert.equal(readdirSync(there).filter((name) => name.endsWith(".jsonl")).length, 1);
    const file = join(place.folder.path, "one.jsonl");
    await place.run([{ text: "hello" }], "the beginning", "--session", "one.jsonl");
    const before = entriesOf(file).length;
    await place.run([{ text: "again" }], "more", "--session", "one.jsonl");
    assert.ok(entriesOf(file).length > before);
    assert.deepEqual(place.files(), []);
  });
});

describe("a session goes on", () => {
  test("with --continue: the one of this folder that was used last", async () => {
    using place = new Place();
    await place.run([{ text: "hello" }], "first");
    const [file] = place.files();
    const outcome = await place.run([{ text: "yes" }], "second", "-c", "--mode", "json");
    const [header, start] = events(outcome);
    assert.deepEqual([header!.type, header!.id], ["session", idOf(file!)]);
    assert.deepEqual([start!.type, start!.reason], ["session_start", "resume"]);
    assert.deepEqual(place.files(), [file]);
    const texts = entriesOf(file!).flatMap(({ message }) => {
      const { role, content } = (message ?? {}) as { role?: string; content?: { text: string }[] };
      return role ? [content![0]!.text] : [];
    });
    assert.deepEqual(texts, ["first", "hello", "second", "yes"]);
  });

  test("with --continue where there is none: a new one begins, which is said", async () => {
    using place = new Place();
    const outcome = await place.run([{ text: "hello" }], "first", "--continue");
    assert.equal(outcome.stdout, "hello\n");
    assert.match(outcome.stderr, /there is no session of this folder to continue/);
    assert.equal(place.files().length, 1);
  });

  test("with --resume: the one that is named by the beginning of its id, with the model that it had", async () => {
    using place = new Place();
    await place.run([{ text: "hello" }], "first");
    const [file] = place.files();
    await place.run([{ text: "other" }], "other session");
    const args = ["-p", "again", "-r", idOf(file!), "--data-dir", place.data];
    const outcome = await xdev(args, { cwd: place.folder.path });
    assert.deepEqual([outcome.status, outcome.stdout], [0, "hello\n"], outcome.stderr);
    const unknown = await place.run([], "go", "--resume", "ffff");
    assert.equal(unknown.status, 2);
    assert.match(unknown.stderr, /no session has an id that begins with "ffff"/);
  });

  test("with --session and an id is wrong use: no file of that name is begun", async () => {
    using place = new Place();
    await place.run([{ text: "one" }], "first");
    const id = idOf(place.files()[0]!);
    const outcome = await place.run([{ text: "two" }], "second", "--session", id);
    assert.equal(outcome.status, 2);
    assert.match(outcome.stderr, new RegExp(`there is no session file ${id}[\\s\\S]*-r ${id}`));
    assert.ok(!existsSync(join(place.folder.path, id)));
  });

  test("with --fork: in a new file that has all of the old one, which stays as it is", async () => {
    using place = new Place();
    await place.run([{ text: "hello" }], "first");
    const [file] = place.files();
    const before = readFileSync(file!, "utf8");
    for (const name of [file!, idOf(file!)]) {
      const outcome = await place.run([{ text: "yes" }], "second", "--fork", name, "--mode", "json");
      const start = events(outcome).find(({ type }) => type === "session_start");
      assert.deepEqual([start!.reason, start!.previousSessionFile], ["fork", file]);
    }
    assert.equal(readFileSync(file!, "utf8"), before);
    const copies = place.files().filter((one) => one !== file);
    assert.equal(copies.length, 2);
    for (const copy of copies) {
      const [header, ...entries] = entriesOf(copy);
      assert.equal(header!.parentSession, file);
      assert.equal(entries.filter(({ type }) => type === "message").length, 4);
    }
  });

  test("and the model sees what was said before", async () => {
    using place = new Place();
    await place.run([{ text: "noted" }], "the word is mirabelle");
    const body = await place.run(
      [{ text: "ok", toolCalls: [{ name: "bash", arguments: { command: "true" } }] }, { text: "done" }],
      "go",
      "-c",
      "--mode",
      "json",
    );
    const answer = events(body).find(
      ({ type, message }) => type === "message_end" && (message as { role: string }).role === "assistant",
    )!.message as { usage: { input: number } };
    const alone = await place.run([{ text: "ok" }], "go", "--no-session", "--mode", "json");
    const first = events(alone).find(
      ({ type, message }) => type === "message_end" && (message as { role: string }).role === "assistant",
    )!.message as { usage: { input: number } };
    assert.ok(answer.usage.input > first.usage.input, "the request was longer");
  });

  test("only one way: two of the options together are wrong use", async () => {
    using place = new Place();
    for (const options of [
      ["-c", "-r", "1"],
      ["--session", "a", "--fork", "b"],
      ["-c", "--no-session"],
    ]) {
      assert.equal((await place.run([], "go", ...options)).status, 2, options.join(" "));
    }
  });
});

describe("xdev sessions", () => {
  test("lists those of this folder, the last used first, as text and as JSON", async () => {
    using place = new Place();
    assert.match((await place.sessions()).stdout, /^there are no sessions of this folder/);
    await place.run([{ text: "a" }], "the first one");
    await place.run([{ text: "b" }], "the second one");
    const lines = (await place.sessions()).stdout.trimEnd().split("\n");
    assert.match(lines[0]!, /the second one$/);
    assert.match(lines[1]!, /the first one$/);
    const list = JSON.parse((await place.sessions("list", "--json")).stdout) as Record<string, unknown>[];
    assert.deepEqual(
      list.map(({ firstMessage, cwd }) => [firstMessage, cwd]),
      [
        ["the second one", place.folder.path],
        ["the first one", place.folder.path],
      ],
    );
    const elsewhere = await xdev(["sessions", "list", "--data-dir", place.data], { cwd: "/" });
    assert.match(elsewhere.stdout, /^there are no sessions of this folder/);
    const all = await xdev(["sessions", "--all", "--data-dir", place.data], { cwd: "/" });
    assert.equal(all.stdout.trimEnd().split("\n").length, 2);
  });

  test("shows what was said, as text and as JSON lines", async () => {
    using place = new Place();
    await place.run([{ text: "hello \u001b[2J" }], "first");
    const [file] = place.files();
    const shown = await place.sessions("show", idOf(file!).slice(0, 13));
    assert.match(shown.stdout, /first · .*\n\n> first\n\nhello\n/);
    assert.ok(!shown.stdout.includes("\u001b"), "no escape code of the model");
    const json = (await place.sessions("show", file!, "--json")).stdout.trimEnd().split("\n");
    assert.deepEqual(
      json.map((line) => JSON.parse(line).type),
      entriesOf(file!).map(({ type }) => type),
    );
  });

  test("shows why a run failed, and says where a page can't be written", async () => {
    using place = new Place();
    await place.run([{ text: "one" }], "first");
    await place.run([{ expect: { contains: "something else" }, text: "two" }], "second", "--continue");
    const id = idOf(place.files()[0]!);
    assert.match((await place.sessions("show", id)).stdout, /> second\n[\s\S]*! .*something else/);
    const { status, stderr } = await place.sessions("export", id, "--html", "nowhere/page.html");
    assert.equal(status, 1);
    assert.match(stderr, /cannot write .*nowhere\/page\.html: [\s\S]*a folder that is there/);
  });

  test("exports a page that only its user can read", async () => {
    using place = new Place();
    await place.run([{ text: "hello <b>" }], "first");
    const outcome = await place.sessions("export", idOf(place.files()[0]!), "--html", "page.html");
    const page = join(place.folder.path, "page.html");
    assert.deepEqual([outcome.status, outcome.stdout], [0, `${page}\n`]);
    assert.match(readFileSync(page, "utf8"), /^<!doctype html>[\s\S]*hello &lt;b&gt;/);
    assert.equal(statSync(page).mode & 0o777, 0o600);
  });

  test("deletes one, and says which; without it nothing is left of it", async () => {
    using place = new Place();
    await place.run([{ text: "hello" }], "first");
    const [file] = place.files();
    const outcome = await place.sessions("delete", idOf(file!), "--json");
    assert.deepEqual(JSON.parse(outcome.stdout), { deleted: file });
    assert.deepEqual(place.files(), []);
    assert.equal((await place.sessions("delete", "ffff")).status, 2);
  });
});

/** The commands of the first block of sh on the page, as they stand there; `01a2` stands for the id of a session. */
describe("the commands on the page", () => {
  test("do what it says, one after the other", async () => {
    using place = new Place();
    const server = await startModelServer({ script: Array(3).fill({ text: "It says hello." }) });
    try {
      const provider = { baseUrl: server.baseUrl, apiKey: "sk-test", models: [{ id: "m" }] };
      place.folder.file("data/models.yml", JSON.stringify({ providers: { local: provider } }));
      const commands = commandsOf(page("sessions"));
      assert.ok(commands.length >= 7);
      let id = "";
      for (const words of commands) {
        const given = words.map((word) => (word === "01a2" ? id : word));
        const outcome = await xdev([...given, "--data-dir", place.data], { cwd: place.folder.path });
        assert.equal(outcome.status, 0, `xdev ${given.join(" ")}: ${outcome.stderr}`);
        id ||= idOf(place.files()[0]!);
      }
      assert.equal(place.files().length, 1, "the copy is left");
      assert.match(readFileSync(join(place.folder.path, "conversation.html"), "utf8"), /and b\.txt\?/);
    } finally {
      await server.close();
    }
  });
});
