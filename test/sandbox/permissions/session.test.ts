/** An extension's permissions over several sessions: asked about once, kept, narrowed, and never more than was said yes to. */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import {
  type LoadAnswer,
  type LoadQuestion,
  oneAtATime,
  type User,
} from "../../../sandbox/permissions/asker.ts";
import { readAudit } from "../../../sandbox/permissions/audit.ts";
import { declaredPermissions } from "../../../sandbox/permissions/declared.ts";
import { changeGrants, grantsFile, NO_RECORD, readGrants } from "../../../sandbox/permissions/grants.ts";
import type { Permissions } from "../../../sandbox/permissions/permissions.ts";
import { extensionRights, type SessionOptions } from "../../../sandbox/permissions/session.ts";
import { redact } from "../../../src/base/log.ts";
import { Folder } from "../../support/folder.ts";

/** A data dir with one extension, and sessions with it. */
class Sessions {
  readonly folder = new Folder();
  readonly dataDir = join(this.folder.path, "data");
  readonly cwd = join(this.folder.path, "work");
  readonly path = join(this.dataDir, "extensions/foo.ts");
  readonly questions: LoadQuestion[] = [];
  readonly notices: string[] = [];

  constructor() {
    mkdirSync(this.cwd);
    mkdirSync(this.dataDir);
  }

  user(answer: LoadAnswer | "allow" | undefined): User {
    return {
      ask: async () => "deny",
      askAtLoad: async (question) => {
        this.questions.push(question);
        return answer === "allow" ? { granted: question.toAsk, lasts: "always" } : answer;
      },
    };
  }

  start(more: Partial<SessionOptions> = {}) {
    return extensionRights({
      name: "foo",
      path: this.path,
      bundleSource: "code 1",
      imports: [],
      declared: { read: ["$CWD"] },
      dataDir: this.dataDir,
      cwd: this.cwd,
      env: { PATH: "" },
      notice: (text) => void this.notices.push(text),
      ...more,
    });
  }

  /** Whether a session with these options may read a file of the working folder. */
  async mayRead(more: Partial<SessionOptions> = {}): Promise<boolean> {
    const { rights, close } = await this.start(more);
    const may = rights.has({ kind: "read", path: join(this.cwd, "x") });
    await close();
    return may;
  }

  [Symbol.dispose](): void {
    this.folder[Symbol.dispose]();
  }
}

describe("an extension", () => {
  test("that asks for nothing costs nothing and leaves nothing", async () => {
    using sessions = new Sessions();
    const { close, env, wasm, folders } = await sessions.start({
      declared: undefined,
      user: sessions.user("allow"),
    });
    await close();
    assert.deepEqual([env, wasm, sessions.questions.length], [{}, false, 0]);
    assert.equal(folders.data, join(sessions.dataDir, "storage/foo"));
    assert.equal(existsSync(grantsFile(sessions.dataDir)), false);
    assert.equal(existsSync(folders.data), false);
  });

  test("is not asked about any more after five denials of its package, whichever module asks, however many at a time", async () => {
    using sessions = new Sessions();
    let asked = 0;
    const user = oneAtATime({
      ask: async () => {
        asked++;
        return "deny";
      },
      askAtLoad: async () => {
        asked++;
        return undefined;
      },
    });
    const denials = { count: 0 };
    const modules = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        sessions.start({ path: `${sessions.path}${index}`, user, denials }),
      ),
    );
    assert.equal(asked, 5);
    denials.count = 3;
    const uses = modules.map(({ rights }) => rights.demand({ kind: "model" }).catch(() => {}));
    await Promise.all(uses);
    assert.equal(asked, 7);
    for (const { close } of modules) await close();
  });

  test("has nothing where nobody is asked, and is asked about the next time somebody is there", async () => {
    using sessions = new Sessions();
    assert.equal(await sessions.mayRead(), false);
    assert.equal(existsSync(grantsFile(sessions.dataDir)), false);
    assert.equal(await sessions.mayRead({ user: sessions.user("allow") }), true);
    assert.equal(await sessions.mayRead(), true, "kept, for sessions without a terminal, too");
    assert.equal(await sessions.mayRead({ user: sessions.user(undefined) }), true);
    assert.equal(sessions.questions.length, 1);
  });

  test("is asked about again when nobody answered or the answer was for a session", async () => {
    using sessions = new Sessions();
    assert.equal(await sessions.mayRead({ user: sessions.user(undefined) }), false);
    const session: LoadAnswer = { granted: { read: ["$CWD"] }, lasts: "session" };
    assert.equal(await sessions.mayRead({ user: sessions.user(session) }), true);
    assert.equal(await sessions.mayRead(), false);
    assert.equal(existsSync(grantsFile(sessions.dataDir)), false);
    await sessions.mayRead({ user: sessions.user({ granted: {}, lasts: "always" }) });
    await sessions.mayRead({ user: sessions.user("allow") });
    assert.equal(sessions.questions.length, 3, "who said no is not asked again");
  });

  test("with new code keeps what it was granted, and is asked about what is new", async () => {
    using sessions = new Sessions();
    await sessions.mayRead({ user: sessions.user("allow") });
    assert.equal(await sessions.mayRead({ bundleSource: "code 2" }), true);
    const more = { bundleSource: "code 3", declared: { read: ["$CWD"], net: ["a.com"] } };
    assert.equal(await sessions.mayRead(more), true);
    const { rights, close } = await sessions.start({ ...more, user: sessions.user("allow") });
    await close();
    assert.ok(rights.has({ kind: "net", host: "a.com", port: 1 }));
    assert.deepEqual(sessions.questions.at(-1)?.toAsk, { net: ["a.com"] } satisfies Permissions);
    assert.deepEqual(sessions.questions.at(-1)?.had, { read: ["$CWD"] } satisfies Permissions);
    assert.equal(sessions.questions.at(-1)?.isChanged, true);
  });

  test("whose declaration changes without its code is asked about", async () => {
    using sessions = new Sessions();
    await sessions.mayRead({ user: sessions.user("allow") });
    await sessions.mayRead({ declared: { read: ["$CWD"], run: ["sh"] }, user: sessions.user(undefined) });
    assert.deepEqual(sessions.questions.at(-1)?.toAsk, { run: ["sh"] });
  });

  test("that stops asking loses what it had, and what comes after it is asked about", async () => {
    using sessions = new Sessions();
    await sessions.mayRead({ user: sessions.user("allow") });
    assert.equal(await sessions.mayRead({ bundleSource: "code 2", declared: { model: true } }), false);
    assert.equal(await sessions.mayRead({ bundleSource: "code 2", declared: {} }), false);
    assert.equal(await sessions.mayRead({ bundleSource: "code 3" }), false);
  });

  test("without a declaration is asked about what its code seems to use", async () => {
    using sessions = new Sessions();
    const bundleSource = 'fetch("https://a.com/")';
    await sessions.mayRead({ declared: undefined, bundleSource, user: sessions.user("allow") });
    assert.deepEqual(sessions.questions[0]?.toAsk, { net: ["a.com"] });
    assert.equal(sessions.questions[0]?.declaration.source, "inferred");
    await sessions.mayRead({ declared: undefined, bundleSource, user: sessions.user("allow") });
    assert.equal(sessions.questions.length, 1);
  });

  test("is not asked about what the command line allows for this run, and has nothing of it in the next", async () => {
    using sessions = new Sessions();
    const user = sessions.user("allow");
    assert.equal(await sessions.mayRead({ user, flags: { permissions: { read: ["*"] }, all: [] } }), true);
    assert.equal(await sessions.mayRead({ user, flags: { permissions: {}, all: ["foo"] } }), true);
    assert.equal(await sessions.mayRead({ flags: { permissions: {}, all: ["bar"] } }), false);
    assert.equal(sessions.questions.length, 0);
    assert.equal(await sessions.mayRead(), false);
  });

  test("at another path has nothing of it, whatever its name: no grants, no storage, no flag for that name", async () => {
    using sessions = new Sessions();
    await sessions.mayRead({ user: sessions.user("allow") });
    const path = join(sessions.folder.path, "repo/.xdev/extensions/foo.ts");
    assert.equal(await sessions.mayRead({ path, flags: { permissions: {}, all: ["foo"] } }), false);
    assert.equal(await sessions.mayRead({ path, flags: { permissions: {}, all: [path] } }), true);
    const { folders, close } = await sessions.start({ path });
    await close();
    assert.match(folders.data, /\/storage\/foo@[0-9a-f]{16}$/);
  });

  test("sees the variables that were granted, whose secrets then reach no log", async () => {
    using sessions = new Sessions();
    const env = { PATH: "/bin", MY_TOKEN: "t0ken-value", OTHER: "x" };
    const started = await sessions.start({
      env,
      declared: { env: ["MY_TOKEN"] },
      user: sessions.user("allow"),
    });
    await started.close();
    assert.deepEqual(started.env, { MY_TOKEN: "t0ken-value" });
    assert.equal(redact("it is t0ken-value"), "it is [secret]");
    const entries = await readAudit(sessions.dataDir, "foo");
    assert.deepEqual(
      entries.map(({ kind, what, allowed }) => [kind, what, allowed]),
      [["env", "MY_TOKEN", true]],
    );
  });

  test("keeps an answer for good that is given at the point of use", async () => {
    using sessions = new Sessions();
    const user: User = { ask: async () => "always", askAtLoad: async () => undefined };
    const { rights, close } = await sessions.start({ user });
    await rights.demand({ kind: "net", host: "a.com", port: 443 });
    await close();
    const record = (await readGrants(sessions.dataDir)).get(sessions.path);
    assert.deepEqual([record?.added, record?.granted], [{ net: ["a.com:443"] }, {}]);
    const next = await sessions.start({ bundleSource: "code 2" });
    await next.close();
    assert.ok(next.rights.has({ kind: "net", host: "a.com", port: 443 }));
  });

  test("has what it is allowed at the start, whatever was said to the same thing before, and nothing more", async () => {
    using sessions = new Sessions();
    const file = join(sessions.cwd, "notes.txt");
    const other = join(sessions.cwd, "other.txt");
    for (const lasts of ["session", "always"] as const) {
      await changeGrants(sessions.dataDir, sessions.path, () => ({
        ...NO_RECORD,
        name: "foo",
        denied: { read: [file, other] },
      }));
      const granted: Permissions = { read: ["$CWD/notes.txt", "$CWD"] };
      const user = sessions.user({ granted, lasts });
      const { rights, close } = await sessions.start({ declared: granted, user });
      await close();
      assert.ok(rights.has({ kind: "read", path: file }), lasts);
      assert.ok(!rights.has({ kind: "read", path: other }), lasts);
      const denied = (await readGrants(sessions.dataDir)).get(sessions.path)?.denied;
      assert.deepEqual(denied, { read: lasts === "always" ? [other] : [file, other] });
    }
  });

  test("has nothing when permissions.json is damaged, which is said and not written over", async () => {
    using sessions = new Sessions();
    const file = sessions.folder.file("data/permissions.json", "{", 0o600);
    assert.equal(await sessions.mayRead({ user: sessions.user("allow") }), false);
    assert.match(sessions.notices.join(), /permissions\.json can't be used, so nothing is granted/);
    assert.equal(sessions.questions.length, 0);
    assert.equal(readFileSync(file, "utf8"), "{");
  });
});

describe("what an extension declares", () => {
  test("is in the package.json of its package, under xdev", async () => {
    using folder = new Folder();
    folder.file("package.json", JSON.stringify({ name: "x", xdev: { permissions: { read: ["$CWD"] } } }));
    assert.deepEqual(await declaredPermissions(folder.file("src/index.ts", "")), { read: ["$CWD"] });
    folder.file("other/package.json", JSON.stringify({ name: "y", pi: { permissions: { read: ["*"] } } }));
    assert.equal(await declaredPermissions(folder.file("other/index.ts", "")), undefined);
    assert.equal(
      (await declaredPermissions(folder.file("none/deep/index.ts", ""))) === undefined,
      false,
      "the nearest above",
    );
  });

  test("is refused when it stands beside xdev", async () => {
    using folder = new Folder();
    folder.file("package.json", JSON.stringify({ name: "x", permissions: { read: ["$CWD"] } }));
    await assert.rejects(declaredPermissions(folder.file("index.ts", "")), /it belongs under "xdev"/);
  });

  test("is refused whole when a part of it is wrong", async () => {
    using folder = new Folder();
    folder.file(
      "package.json",
      JSON.stringify({ name: "x", xdev: { permissions: { read: ["$CWD"], run: [""] } } }),
    );
    await assert.rejects(
      declaredPermissions(folder.file("index.ts", "")),
      /package\.json: xdev\.permissions\.run\.0: is empty/,
    );
  });
});
