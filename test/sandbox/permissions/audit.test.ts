/** The audit holds what was done and denied, bounded, without secrets, and never holds up what was allowed. */
import assert from "node:assert/strict";
import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { describe, test } from "node:test";
import { type Decision, openAudit, readAudit } from "../../../sandbox/permissions/audit.ts";
import { addSecret } from "../../../src/base/log.ts";
import { Folder } from "../../support/folder.ts";

const allowed = (what: string): Decision => ({ kind: "read", what, allowed: true, by: "grant" });
const denied = (what: string): Decision => ({ kind: "read", what, allowed: false, by: "nobody" });

describe("the audit", () => {
  test("is a file for the user alone, one line for what happened several times", async () => {
    using folder = new Folder();
    const audit = openAudit(folder.path, "foo");
    assert.deepEqual(readdirSync(folder.path), [], "nothing is made before the first decision");
    for (let index = 0; index < 3; index++) audit.record(allowed("/a"));
    audit.record(denied("/a"));
    audit.record({ kind: "net", what: "a.com:443", allowed: true, by: "user" });
    await audit.close();
    assert.deepEqual(
      (await readAudit(folder.path, "foo")).map(({ kind, what, allowed: yes, by, count }) => [
        kind,
        what,
        yes,
        by,
        count,
      ]),
      [
        ["read", "/a", true, "grant", 3],
        ["read", "/a", false, "nobody", 1],
        ["net", "a.com:443", true, "user", 1],
      ],
    );
    assert.equal(statSync(`${folder.path}/audit/foo.jsonl`).mode & 0o777, 0o600);
    assert.equal(statSync(`${folder.path}/audit`).mode & 0o777, 0o700);
  });

  test("has no secrets, no controls and no line that somebody forged", async () => {
    using folder = new Folder();
    const audit = openAudit(folder.path, "foo");
    addSecret("s3cr3t-value");
    audit.record(denied('/x/s3cr3t-value\n{"time":"forged"}\u001b[2J\u202e'));
    audit.record(denied("/".padEnd(100_000, "x")));
    await audit.close();
    const entries = await readAudit(folder.path, "foo");
    assert.equal(entries.length, 2);
    assert.equal(entries[0]?.what, '/x/[secret] {"time":"forged"}\\x1b[2J\\u{202e}');
    assert.ok(entries[1]!.what.length <= 2000);
  });

  test("counts what is too much of what was allowed, and writes all that was denied", async () => {
    using folder = new Folder();
    const audit = openAudit(folder.path, "foo");
    for (let index = 0; index < 2000; index++) {
      assert.equal(audit.record(allowed(`/a${index}`)), undefined, "nobody waits");
    }
    const waiting = Array.from({ length: 1200 }, (_, index) => audit.record(denied(`/d${index}`)));
    assert.equal(waiting[0], undefined);
    assert.ok(waiting.at(-1) instanceof Promise, "a flood waits");
    await audit.close();
    await Promise.all(waiting);
    const entries = await readAudit(folder.path, "foo");
    assert.equal(entries.filter((entry) => !entry.allowed).length, 1200);
    const yes = entries.filter((entry) => entry.allowed);
    assert.ok(yes.length > 400 && yes.length <= 502, `${yes.length} lines`);
    assert.equal(
      yes.reduce((sum, { count }) => sum + count, 0),
      2000,
    );
  });

  test("keeps what can't be written until it can", async () => {
    using folder = new Folder();
    const blocked = folder.file("audit", "a file in the folder's place");
    const audit = openAudit(folder.path, "foo");
    audit.record(denied("/first"));
    await audit.close();
    rmSync(blocked);
    audit.record(denied("/second"));
    await audit.close();
    assert.deepEqual(
      (await readAudit(folder.path, "foo")).map(({ what }) => what),
      ["/first", "/second"],
    );
  });

  test("is read with what was rotated, and without lines that are none", async () => {
    using folder = new Folder();
    const line = (what: string) =>
      JSON.stringify({ time: "t", kind: "read", what, allowed: true, by: "grant", count: 1 });
    mkdirSync(`${folder.path}/audit`);
    writeFileSync(`${folder.path}/audit/foo.jsonl.1`, `${line("/old")}\nnonsense\n{}\n`);
    writeFileSync(`${folder.path}/audit/foo.jsonl`, `${line("/new")}\n{"time":`);
    assert.deepEqual(
      (await readAudit(folder.path, "foo")).map(({ what }) => what),
      ["/old", "/new"],
    );
    assert.deepEqual(await readAudit(folder.path, "bar"), []);
    await assert.rejects(readAudit(folder.path, "../foo"), /not the name of an extension/);
  });
});
