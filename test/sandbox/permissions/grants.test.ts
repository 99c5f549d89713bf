/** permissions.json: nothing in it is lost, invented or written over, and new code gets no more than the old was granted. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import {
  afterAnswer,
  changeGrants,
  type GrantRecord,
  grantedBy,
  grantsFile,
  judge,
  NO_RECORD,
  readGrants,
} from "../../../sandbox/permissions/grants.ts";
import { withLock } from "../../../sandbox/permissions/lock.ts";
import { isEmpty, type Permissions } from "../../../sandbox/permissions/permissions.ts";
import { Folder } from "../../support/folder.ts";

const RECORD: GrantRecord = {
  name: "foo",
  digest: "d1",
  asked: { read: ["$CWD"], run: ["git"] },
  granted: { read: ["$CWD"] },
  added: { net: ["a.com"] },
  denied: { env: ["TOKEN"] },
};

describe("the file", () => {
  test("is the user's alone, and keeps what was written", async () => {
    using folder = new Folder();
    const dataDir = `${folder.path}/data`;
    assert.equal((await readGrants(dataDir)).size, 0);
    assert.deepEqual(readdirSync(folder.path), [], "a look makes nothing");
    await changeGrants(dataDir, "/x/foo.ts", () => RECORD);
    assert.equal(statSync(grantsFile(dataDir)).mode & 0o777, 0o600);
    chmodSync(grantsFile(dataDir), 0o644);
    await changeGrants(dataDir, "/x/bar.ts", () => RECORD);
    assert.equal(statSync(grantsFile(dataDir)).mode & 0o777, 0o600);
    assert.deepEqual((await readGrants(dataDir)).get("/x/foo.ts"), RECORD);
    await changeGrants(dataDir, "/x/foo.ts", () => undefined);
    assert.deepEqual([...(await readGrants(dataDir)).keys()], ["/x/bar.ts"]);
    assert.deepEqual(readdirSync(dataDir), ["permissions.json"], "no lock and no temporary file is left");
  });

  test("loses nothing when many write at once", async () => {
    using folder = new Folder();
    const add = (index: number) =>
      changeGrants(folder.path, "/x/foo.ts", (record) => ({
        ...record,
        added: { env: [...(record.added.env ?? []), `V${index}`] },
      }));
    await Promise.all(Array.from({ length: 20 }, (_, index) => add(index)));
    assert.equal((await readGrants(folder.path)).get("/x/foo.ts")?.added.env?.length, 20);
  });

  test("loses nothing when several processes write at once", async () => {
    using folder = new Folder();
    const module = fileURLToPath(new URL("../../../sandbox/permissions/grants.ts", import.meta.url));
    const script = folder.file(
      "writer.ts",
      `import { changeGrants } from ${JSON.stringify(module)};
const [dataDir, who] = process.argv.slice(2) as [string, string];
for (let index = 0; index < 10; index++) {
  await changeGrants(dataDir, "/x/foo.ts", (record) => ({ ...record, added: { env: [...(record.added.env ?? []), who + index] } }));
}
`,
    );
    const args = "Deno" in globalThis ? ["run", "--allow-all", "--no-check", script] : [script];
    const writers = ["A", "B", "C"].map(
      (who) =>
        new Promise((resolve) =>
          spawn(process.execPath, [...args, `${folder.path}/data`, who], { stdio: "inherit" }).on(
            "close",
            resolve,
          ),
        ),
    );
    assert.deepEqual(await Promise.all(writers), [0, 0, 0]);
    assert.equal((await readGrants(`${folder.path}/data`)).get("/x/foo.ts")?.added.env?.length, 30);
  });

  for (const [what, text] of [
    ["no JSON", "{"],
    ["empty", ""],
    ["of another version", '{"version":2,"extensions":{}}'],
    [
      "of another shape",
      '{"version":1,"extensions":{"/x":{"name":"x","asked":{},"granted":[],"added":{},"denied":{}}}}',
    ],
    [
      "with a member that is not known",
      '{"version":1,"extensions":{"/x":{"name":"x","asked":{},"granted":{},"added":{},"denied":{},"only":{}}}}',
    ],
    [
      "with a kind that is none",
      '{"version":1,"extensions":{"/x":{"name":"x","asked":{},"granted":{"all":["*"]},"added":{},"denied":{}}}}',
    ],
    [
      "with a value that is none",
      '{"version":1,"extensions":{"/x":{"name":"x","asked":{},"granted":{"net":["http://a"]},"added":{},"denied":{}}}}',
    ],
    [
      "with a relative path",
      '{"version":1,"extensions":{"/x":{"name":"x","asked":{},"granted":{"read":["a"]},"added":{},"denied":{}}}}',
    ],
  ] as const) {
    test(`grants nothing, says so and is not written over when it is ${what}`, async () => {
      using folder = new Folder();
      const file = folder.file("permissions.json", text, 0o600);
      await assert.rejects(readGrants(folder.path), /permissions\.json can't be used, so nothing is granted/);
      await assert.rejects(changeGrants(folder.path, "/x", () => RECORD));
      assert.equal(readFileSync(file, "utf8"), text);
      assert.deepEqual(readdirSync(folder.path), ["permissions.json"]);
    });
  }

  test("grants nothing when others can write it", async () => {
    using folder = new Folder();
    await changeGrants(folder.path, "/x", () => RECORD);
    chmodSync(grantsFile(folder.path), 0o666);
    await assert.rejects(readGrants(folder.path), /can be written by other users/);
  });
});

describe("the lock", () => {
  test("of a process that is gone is no obstacle, however many find it", async () => {
    using folder = new Folder();
    const gone = spawn(process.execPath, ["--version"], { stdio: "ignore" });
    await new Promise((resolve) => gone.on("close", resolve));
    const lock = folder.file("lock", `${gone.pid} abc`);
    let inside = 0;
    const work = async () => {
      assert.equal(++inside, 1, "one at a time");
      await new Promise((resolve) => setImmediate(resolve));
      inside--;
    };
    await Promise.all(Array.from({ length: 10 }, () => withLock(lock, work)));
    assert.deepEqual(readdirSync(folder.path), []);
  });

  test("is given back when the work fails, and is not removed when it is another's", async () => {
    using folder = new Folder();
    const lock = `${folder.path}/lock`;
    await assert.rejects(
      withLock(lock, () => Promise.reject(new Error("no"))),
      /no/,
    );
    assert.deepEqual(readdirSync(folder.path), []);
    await withLock(lock, async () => writeFileSync(lock, `${process.pid} other`));
    assert.deepEqual(readdirSync(folder.path), ["lock"]);
  });
});

describe("other code at the same path", () => {
  const next = (record: GrantRecord, digest: string, requested: Permissions, granted: Permissions = {}) => {
    const { record: kept, toAsk } = judge(record, digest, requested);
    return { toAsk, record: afterAnswer(kept, { name: "foo", digest, requested, granted }) };
  };

  test("that asks for the same or less is not asked about, and keeps what it still asks for", () => {
    for (const requested of [
      { read: ["$CWD"], run: ["git"] },
      { read: ["$CWD"] },
      { read: ["$CWD/src"] },
    ] as Permissions[]) {
      const { toAsk, record } = next(RECORD, "d2", requested);
      assert.ok(isEmpty(toAsk));
      assert.deepEqual(record.granted, { read: requested.read });
    }
  });

  test("that asks for more is asked about the difference only, and has the rest meanwhile", () => {
    const { record, toAsk } = judge(RECORD, "d2", {
      read: ["$CWD", "$HOME"],
      run: ["git"],
      net: ["a.com", "b.com"],
    });
    assert.deepEqual(toAsk, { read: ["$HOME"], net: ["b.com"] });
    assert.deepEqual(grantedBy(record), { read: ["$CWD"], net: ["a.com"] });
  });

  test("is not asked again what was refused before, and does not get it by asking for less of it", () => {
    const { toAsk, record } = next(RECORD, "d2", { run: ["git status"] });
    assert.ok(isEmpty(toAsk));
    assert.ok(isEmpty(record.granted));
  });

  test("that stopped asking for something is asked when it comes back to it", () => {
    const { record } = next(RECORD, "d2", {});
    assert.deepEqual(grantedBy(record), { net: ["a.com"] }, "what the user gave by himself stays");
    assert.deepEqual(next(record, "d3", { read: ["$CWD"] }).toAsk, { read: ["$CWD"] });
  });

  test("can't ask for what is denied for good", () => {
    assert.ok(isEmpty(judge(RECORD, "d2", { env: ["TOKEN"] }).toAsk));
  });

  test("gets nothing by an answer but what it asked for", () => {
    const { record } = next(NO_RECORD, "d1", { read: ["$CWD"] }, { read: ["*"], run: ["sh"] });
    assert.deepEqual(record.granted, { read: ["$CWD"] });
  });

  test("is no other code: the same digest is never asked about twice", () => {
    assert.deepEqual(judge(RECORD, "d1", { run: ["sh"] }), { record: RECORD, toAsk: {} });
  });
});
