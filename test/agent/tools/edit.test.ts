import assert from "node:assert/strict";
import { lstat, stat, symlink } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { createBuiltinTools } from "../../../src/agent/tools/index.ts";
import { inFolder, textOf } from "./support.ts";

const one = (oldText: string, newText: string) => [{ oldText, newText }];

describe("edit", () => {
  test("replaces exactly what it was given and reports a diff", () =>
    inFolder(async ({ call, put, get }) => {
      await put("a.ts", "one\ntwo\nthree\n");
      const result = await call("edit", { path: "a.ts", edits: one("two", "2\n2b") });
      assert.equal(await get("a.ts"), "one\n2\n2b\nthree\n");
      assert.equal(textOf(result), "Edited a.ts: 1 replaced");
      assert.deepEqual(result.details, {
        diff: "@@ -1,4 +1,5 @@\n one\n-two\n+2\n+2b\n three\n ",
        firstChangedLine: 2,
      });
    }));

  test("refuses a text that is not found, and names a place that differs only in whitespace", () =>
    inFolder(async ({ call, put, get }) => {
      await put("a.ts", "if (x) {\n\treturn 1;\n}\n");
      await assert.rejects(
        call("edit", { path: "a.ts", edits: one("nothing", "x") }),
        /oldText was not found in a\.ts/,
      );
      await assert.rejects(
        call("edit", { path: "a.ts", edits: one("    return 1;", "x") }),
        /Line 2 differs only in whitespace/,
      );
      assert.equal(await get("a.ts"), "if (x) {\n\treturn 1;\n}\n");
    }));

  test("refuses a text that is found twice, overlapping or not, and says where", () =>
    inFolder(async ({ call, put }) => {
      await put("a.ts", "x\ny\nx\n");
      await assert.rejects(
        call("edit", { path: "a.ts", edits: one("x", "z") }),
        /found twice in a\.ts \(lines 1, 3\)/,
      );
      await put("b.ts", "aaa");
      await assert.rejects(call("edit", { path: "b.ts", edits: one("aa", "z") }), /found twice/);
    }));

  test("refuses an edit that changes nothing, and an empty text", () =>
    inFolder(async ({ call, put }) => {
      await put("a.ts", "x\n");
      await assert.rejects(call("edit", { path: "a.ts", edits: one("x", "x") }), /nothing would change/);
      await assert.rejects(call("edit", { path: "a.ts", edits: one("", "x") }), /oldText is empty/);
      await assert.rejects(call("edit", { path: "a.ts", edits: [] }), /edits is empty/);
    }));

  test("matches all edits against the original, applies all or none, refuses overlaps", () =>
    inFolder(async ({ call, put, get }) => {
      await put("a.ts", "a b c\n");
      const edits = [...one("c", "a"), ...one("a", "b2")];
      await call("edit", { path: "a.ts", edits });
      assert.equal(await get("a.ts"), "b2 b a\n");
      await assert.rejects(
        call("edit", { path: "a.ts", edits: [...one("b2", "x"), ...one("zz", "y")] }),
        /edits\[1\]\.oldText was not found/,
      );
      await assert.rejects(
        call("edit", { path: "a.ts", edits: [...one("b a", "x"), ...one("b2 b", "y")] }),
        /edits\[1\] and edits\[0\] overlap/,
      );
      assert.equal(await get("a.ts"), "b2 b a\n");
    }));

  test("keeps CRLF and the byte order mark", () =>
    inFolder(async ({ call, put, get }) => {
      await put("a.txt", "\uFEFFone\r\ntwo\r\nthree\r\n");
      await call("edit", { path: "a.txt", edits: one("one\ntwo", "1\nnew\ntwo") });
      assert.equal(await get("a.txt"), "\uFEFF1\r\nnew\r\ntwo\r\nthree\r\n");
      await call("edit", { path: "a.txt", edits: one("new\r\ntwo\r\n", "") });
      assert.equal(await get("a.txt"), "\uFEFF1\r\nthree\r\n");
    }));

  test("keeps the endings of untouched lines in a file that mixes them", () =>
    inFolder(async ({ call, put, get }) => {
      await put("a.txt", "a\r\nb\nc\r\nd\r\ne\n");
      await call("edit", { path: "a.txt", edits: [...one("b\nc\nd", "b\nC\nnew\nd"), ...one("e\n", "E\n")] });
      assert.equal(await get("a.txt"), "a\r\nb\nC\r\nnew\r\nd\r\nE\n");
    }));

  test("takes dollar signs in the new text as they are", () =>
    inFolder(async ({ call, put, get }) => {
      await put("a.txt", "price");
      await call("edit", { path: "a.txt", edits: one("price", "$& $1 $$") });
      assert.equal(await get("a.txt"), "$& $1 $$");
    }));

  test("loses none of many edits that are made at the same time, through a link too", () =>
    inFolder(async ({ call, put, get, cwd }) => {
      const names = Array.from({ length: 20 }, (_, index) => `<${index}>`);
      await put("a.txt", names.join("\n"));
      await symlink("a.txt", join(cwd, "link.txt"));
      await Promise.all(
        names.map((name, index) =>
          call("edit", { path: index % 2 ? "a.txt" : "link.txt", edits: one(name, `done${index}.`) }),
        ),
      );
      assert.equal(await get("a.txt"), names.map((_, index) => `done${index}.`).join("\n"));
      assert.ok((await lstat(join(cwd, "link.txt"))).isSymbolicLink());
    }));

  test("keeps the mode of the file", () =>
    inFolder(async ({ call, cwd }) => {
      await call("bash", { command: "echo old > run.sh; chmod 755 run.sh" });
      await call("edit", { path: "run.sh", edits: one("old", "new") });
      assert.equal((await stat(join(cwd, "run.sh"))).mode & 0o777, 0o755);
    }));

  test("refuses a missing file, a binary one, and one that is not UTF-8", () =>
    inFolder(async ({ call, put }) => {
      await put("name.ts", "");
      await assert.rejects(call("edit", { path: "nme.ts", edits: one("a", "b") }), /Similar: name\.ts/);
      await put("a.bin", Buffer.from([0x61, 0]));
      await assert.rejects(call("edit", { path: "a.bin", edits: one("a", "b") }), /binary/);
      await put("latin1.txt", Buffer.from([0x61, 0xe9]));
      await assert.rejects(call("edit", { path: "latin1.txt", edits: one("a", "b") }), /not valid UTF-8/);
    }));

  test("changes nothing once it is aborted", () =>
    inFolder(async ({ call, put, get }) => {
      await put("a.txt", "old");
      const abort = new AbortController();
      const running = call("edit", { path: "a.txt", edits: one("old", "new") }, { signal: abort.signal });
      abort.abort();
      await assert.rejects(running, { message: "aborted" });
      assert.equal(await get("a.txt"), "old");
    }));

  test("understands the other shapes in which models send edits", () => {
    const [edit] = createBuiltinTools({ cwd: "/", env: {}, scratch: async () => "/" }, ["edit"]);
    const wanted = { path: "a", edits: one("x", "y") };
    for (const shape of [
      wanted,
      { path: "a", edits: JSON.stringify(one("x", "y")) },
      { path: "a", edits: { oldText: "x", newText: "y" } },
      { path: "a", oldText: "x", newText: "y" },
    ]) {
      assert.deepEqual(edit!.prepareArguments!(shape), wanted);
    }
  });
});

describe("the diff of an edit", () => {
  test("has one hunk for near changes and two for far ones, with the right line numbers", () =>
    inFolder(async ({ call, put }) => {
      const lines = Array.from({ length: 30 }, (_, index) => `line ${index + 1}.`);
      await put("a.txt", `\n${lines.join("\n")}\n`);
      const result = await call("edit", {
        path: "a.txt",
        edits: [
          ...one("\nline 1.", "top\nline 1."),
          ...one("line 4.", "four\nfour b"),
          ...one("line 25.\n", ""),
        ],
      });
      const { diff } = result.details as { diff: string };
      assert.deepEqual(diff.match(/^@@.*$/gm), ["@@ -1,8 +1,9 @@", "@@ -23,7 +24,6 @@"]);
      assert.deepEqual(diff.match(/^[-+].*$/gm), ["-", "+top", "-line 4.", "+four", "+four b", "-line 25."]);
    }));
});
