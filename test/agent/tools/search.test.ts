import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFile, symlink } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { compilePattern, countRepeats } from "../../../src/agent/tools/pattern.ts";
import { inFolder, type Place, spillPath, textOf } from "./support.ts";

const found = async ({ call }: Place, pattern: string, path?: string) =>
  textOf(await call("find", { pattern, ...(path && { path }) })).split("\n");

describe("find and grep", () => {
  test("respect .gitignore, nested ones too, with the deepest rule deciding", () =>
    inFolder(async (place) => {
      const { put } = place;
      await put(".gitignore", "*.log\nbuild/\n/only-here\nlogs/\n");
      await put("a.log", "needle");
      await put("build/a.txt", "needle");
      await put("only-here", "needle");
      await put("sub/.gitignore", "!keep.log\n*.tmp\n!logs/\n");
      await put("sub/keep.log", "needle");
      await put("sub/other.log", "needle");
      await put("sub/x.tmp", "needle");
      await put("sub/only-here", "needle");
      await put("sub/logs/today.txt", "needle");
      await put("x.tmp", "needle");
      await put(".git/config", "needle");
      const expected = ["x.tmp", "sub/keep.log", "sub/only-here", "sub/logs/today.txt"];
      const names = (await found(place, "*")).filter(
        (name) => !name.endsWith("/") && !name.includes(".gitignore"),
      );
      assert.deepEqual(names, expected);
      const grep = textOf(await place.call("grep", { pattern: "needle" }));
      assert.deepEqual(
        grep.split("\n"),
        expected.map((name) => `${name}:1:needle`),
      );
    }));

  test("respect the rules of the folders above, up to the repository's top, but search a folder that is named", () =>
    inFolder(async (place) => {
      await place.put(".git/HEAD", "");
      await place.put(".git/info/exclude", "secret\n");
      await place.put(".gitignore", "*.log\nvendor/\n");
      await place.put("pkg/src/a.log", "");
      await place.put("pkg/src/a.ts", "");
      await place.put("pkg/src/secret", "");
      await place.put("vendor/lib/b.ts", "");
      assert.deepEqual(await found(place, "*", "pkg/src"), ["pkg/src/a.ts"]);
      assert.deepEqual(await found(place, "*.ts", "vendor/lib"), ["vendor/lib/b.ts"]);
      assert.deepEqual(await found(place, "*.ts", "vendor"), ["vendor/lib/b.ts"]);
    }));

  test("are not caught in loops of links, and don't wait for FIFOs", () =>
    inFolder(async (place) => {
      await place.put("a/file.txt", "needle");
      await symlink("..", join(place.cwd, "a/up"));
      await symlink("self", join(place.cwd, "a/self"));
      execFileSync("mkfifo", [join(place.cwd, "a/pipe")]);
      assert.deepEqual(await found(place, "**"), ["a/", "a/file.txt", "a/pipe", "a/self", "a/up"]);
      assert.equal(textOf(await place.call("grep", { pattern: "needle" })), "a/file.txt:1:needle");
    }));

  test("stop at once when they are aborted", () =>
    inFolder(async ({ call, put }) => {
      for (let index = 0; index < 50; index++) await put(`d${index}/f`, "x\n".repeat(1000));
      for (const [name, params] of [
        ["grep", { pattern: "y" }],
        ["find", { pattern: "y" }],
      ] as const) {
        const abort = new AbortController();
        const running = call(name, params, { signal: abort.signal });
        abort.abort();
        await assert.rejects(running, { message: "aborted" });
      }
    }));
});

describe("find", () => {
  test("understands globs", () =>
    inFolder(async (place) => {
      for (const name of ["a.ts", "b.tsx", "src/c.ts", "src/deep/d.ts", "src/[x].ts", ".hidden.ts"])
        await place.put(name, "");
      assert.deepEqual(await found(place, "*.ts"), [
        ".hidden.ts",
        "a.ts",
        "src/[x].ts",
        "src/c.ts",
        "src/deep/d.ts",
      ]);
      assert.deepEqual(await found(place, "src/*.ts"), ["src/[x].ts", "src/c.ts"]);
      assert.deepEqual(await found(place, "src/**/*.ts"), ["src/[x].ts", "src/c.ts", "src/deep/d.ts"]);
      assert.deepEqual(await found(place, "**/deep/*"), ["src/deep/d.ts"]);
      assert.deepEqual(await found(place, "./src/?.ts"), ["src/c.ts"]);
      assert.deepEqual(await found(place, "{a,b}.{ts,tsx}"), ["a.ts", "b.tsx"]);
      assert.deepEqual(await found(place, "[!a-b].ts"), ["src/c.ts", "src/deep/d.ts"]);
      assert.deepEqual(await found(place, "[[]x].ts"), ["src/[x].ts"]);
      assert.deepEqual(await found(place, "deep/"), ["src/deep/"]);
      assert.deepEqual(await found(place, join(place.cwd, "src/*.ts")), ["src/[x].ts", "src/c.ts"]);
      assert.deepEqual(await found(place, "*.py"), ["No files found"]);
    }));

  test("has a limit and says so", () =>
    inFolder(async ({ call, put }) => {
      for (const name of ["a", "b", "c"]) await put(name, "");
      assert.equal(
        textOf(await call("find", { pattern: "*", limit: 2 })),
        "a\nb\n\n[More than 2; narrow the pattern or raise limit]",
      );
      assert.equal(textOf(await call("find", { pattern: "*", limit: 3 })), "a\nb\nc");
    }));

  test("refuses a missing folder and a file", () =>
    inFolder(async ({ call, put }) => {
      await put("file", "");
      await assert.rejects(call("find", { pattern: "*", path: "fil" }), /Similar: file/);
      await assert.rejects(call("find", { pattern: "*", path: "file" }), /is a file, not a folder/);
    }));
});

describe("grep", () => {
  test("finds by regular expression, literal text, and without case", () =>
    inFolder(async ({ call, put }) => {
      await put("a.txt", "\uFEFFfoo(1)\r\nFOO\r\nbar\r\n");
      assert.equal(textOf(await call("grep", { pattern: "^foo1" })), "No matches");
      assert.equal(textOf(await call("grep", { pattern: "^foo\\(\\d\\)$" })), "a.txt:1:foo(1)");
      assert.equal(textOf(await call("grep", { pattern: "foo(", literal: true })), "a.txt:1:foo(1)");
      assert.equal(textOf(await call("grep", { pattern: "(?i)foo$" })), "a.txt:2:FOO");
      assert.equal(
        textOf(await call("grep", { pattern: "foo", ignoreCase: true, path: "a.txt" })),
        "a.txt:1:foo(1)\na.txt:2:FOO",
      );
    }));

  test("shows lines around a match, with marks between groups", () =>
    inFolder(async ({ call, put }) => {
      await put("a.txt", "1\nx\n3\n4\n5\n6\nx\nx\n9\n10\n");
      assert.equal(
        textOf(await call("grep", { pattern: "x", context: 1 })),
        "a.txt-1-1\na.txt:2:x\na.txt-3-3\n--\na.txt-6-6\na.txt:7:x\na.txt:8:x\na.txt-9-9",
      );
    }));

  test("chooses files by glob, also inverted", () =>
    inFolder(async ({ call, put }) => {
      await put("a.ts", "x");
      await put("b.test.ts", "x");
      assert.equal(textOf(await call("grep", { pattern: "x", glob: "!*.test.ts" })), "a.ts:1:x");
      assert.equal(textOf(await call("grep", { pattern: "x", glob: "*.test.*" })), "b.test.ts:1:x");
    }));

  test("skips binary files, large or small, and refuses one that is named", () =>
    inFolder(async ({ call, put }) => {
      await put("a.bin", "needle\0");
      await put("large.bin", Buffer.concat([Buffer.alloc(2_000_000), Buffer.from("\nneedle")]));
      assert.equal(textOf(await call("grep", { pattern: "needle" })), "No matches");
      await assert.rejects(call("grep", { pattern: "needle", path: "a.bin" }), /binary file/);
    }));

  test("stops at the limit and says so", () =>
    inFolder(async ({ call, put }) => {
      await put("a.txt", "x\n".repeat(101));
      const text = textOf(await call("grep", { pattern: "x" }));
      assert.equal(text.split("\n").filter((line) => line.endsWith(":x")).length, 100);
      assert.match(text, /\[More than 100 matches; narrow the search or raise limit\]$/);
    }));

  test("puts what is too much for a result into a file", () =>
    inFolder(async ({ call, put }) => {
      await put("a.txt", "x\n".repeat(3000));
      const result = await call("grep", { pattern: "x", limit: 5000 });
      assert.match(textOf(result), /Showing 2000 of 3000 lines\. Full output: /);
      assert.equal((await readFile(spillPath(result), "utf8")).split("\n").length, 3001);
    }));

  test("finds in lines and files of any length, and cuts what it shows around the match", () =>
    inFolder(async ({ call, put }) => {
      await put("min.js", `${"a".repeat(50_000)}needle${"b".repeat(50_000)}`);
      await put("large.txt", `${"line\n".repeat(500_000)}needle\n`);
      const lines = textOf(await call("grep", { pattern: "needle" })).split("\n");
      assert.equal(lines[0], "large.txt:500001:needle");
      assert.match(lines[1]!, /^min\.js:1:…a+needleb+…$/);
      assert.ok(lines[1]!.length < 330);
    }));

  test("says that of a very long line only the beginning was searched", () =>
    inFolder(async ({ call, put }) => {
      await put("min.js", `${"a".repeat(50_000)}needle1`);
      assert.match(
        textOf(await call("grep", { pattern: "needle\\d+" })),
        /1 very long lines were searched only at their beginning/,
      );
    }));

  test("says what is wrong with a regular expression", () =>
    inFolder(async ({ call }) => {
      await assert.rejects(call("grep", { pattern: "foo(" }), /Set literal to search/);
      await assert.rejects(call("grep", { pattern: "" }), /pattern is empty/);
      await assert.rejects(call("grep", { pattern: "(a+)+$" }), /repeat inside a repeat/);
    }));

  test("refuses only patterns that repeat a repeat without bound", () => {
    for (const pattern of ["(\\w+\\s?)*x", "((a*)b)+", "(?:a{1,3}){2,}", "(a|b+)*"]) {
      assert.throws(() => compilePattern(pattern, {}), /repeat/, pattern);
    }
    for (const pattern of [
      "(a+)?",
      "(\\d{1,3}\\.){3}",
      "[(+]*",
      "\\(a+\\)+",
      "(async\\s+)?function\\s+\\w+",
      "(ab)+c*",
    ]) {
      compilePattern(pattern, {});
    }
    assert.equal(countRepeats("a.*b.*c+").count, 3);
  });

  test("does not hold up the event loop while it searches", () =>
    inFolder(async ({ call, put }) => {
      await put("large.txt", "some line of text\n".repeat(400_000));
      let turns = 0;
      const timer = setInterval(() => turns++, 1);
      await call("grep", { pattern: "nothing\\s+here" });
      clearInterval(timer);
      assert.ok(turns >= 3, `${turns} turns`);
    }));
});
