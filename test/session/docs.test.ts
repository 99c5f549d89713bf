/** `xdev docs sessions` says what is so. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { SessionManager } from "@earendil-works/pi-coding-agent";
import type * as v from "valibot";
import { SessionStore } from "../../src/session/index.ts";
import { LARGE } from "../../src/session/large.ts";
import { HEAD, TAIL } from "../../src/session/preview.ts";
import { ENTRY_SCHEMAS, LINE_LIMIT, MESSAGE_SCHEMAS } from "../../src/session/schema.ts";
import { PROBLEM_KINDS } from "../../src/session/types.ts";
import { Folder } from "../support/folder.ts";

const page = readFileSync(new URL("../../src/docs/sessions.md", import.meta.url), "utf8");
const fence = (info: string) => new RegExp(`^\`\`\`${info}\n([\\s\\S]*?)^\`\`\`$`, "m").exec(page)![1]!;

describe("the page on sessions", () => {
  test("shows a session that we and another agent read alike", async () => {
    using folder = new Folder();
    const path = folder.file("2026_s.jsonl", fence("json session"));
    using store = await SessionStore.open(path, { dataDir: folder.path });
    assert.deepEqual(store.problems, []);
    assert.equal(store.name, "What a.txt says");
    assert.equal(store.buildContext().messages.length, 4);
    const theirs = SessionManager.open(path);
    assert.deepEqual(JSON.parse(JSON.stringify(store.buildContext())), theirs.buildSessionContext());
  });

  test("shows a program that reads it", {
    skip: spawnSync("python3", ["--version"]).status === 0 ? false : "needs python3",
  }, () => {
    using folder = new Folder();
    const path = folder.file("s.jsonl", fence("json session"));
    const program = folder.file("read.py", fence("python session"));
    const { stdout, stderr } = spawnSync("python3", [program, path], { encoding: "utf8" });
    assert.deepEqual([stdout, stderr], ["What is in a.txt?\n", ""]);
  });

  test("names every type of entry with its members, and every role", () => {
    for (const [type, schema] of Object.entries(ENTRY_SCHEMAS)) {
      const row = new RegExp(`^\\| \`${type}\` \\|.*$`, "m").exec(page)?.[0];
      assert.ok(row, type);
      const { entries } = schema as v.LooseObjectSchema<v.ObjectEntries, undefined>;
      for (const member of Object.keys(entries))
        assert.ok(row.includes(`\`${member}\``), `${type}.${member}`);
    }
    for (const role of Object.keys(MESSAGE_SCHEMAS)) {
      assert.ok(role.endsWith("Summary") || page.includes(`\`${role}\``), role);
    }
  });

  test("names every problem", () => {
    for (const name of PROBLEM_KINDS) assert.match(page, new RegExp(`^\\| \`${name}\`:`, "m"));
  });

  test("gives the limits that are", () => {
    assert.ok(page.includes(`first ${HEAD / 1024} KB`));
    assert.ok(page.includes(`last ${TAIL} bytes`));
    assert.ok(page.includes(`${LARGE} characters`));
    assert.ok(page.includes(`more than ${LINE_LIMIT / 1024 / 1024} MB`));
  });
});
