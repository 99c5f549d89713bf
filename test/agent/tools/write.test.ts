import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { inFolder, textOf } from "./support.ts";

describe("write", () => {
  test("creates a file and its folders, replaces one, and says which with the number of bytes", () =>
    inFolder(async ({ call, get, cwd }) => {
      assert.equal(
        textOf(await call("write", { path: "a/b/c.txt", content: "é" })),
        "Created a/b/c.txt (2 bytes)",
      );
      assert.equal(
        textOf(await call("write", { path: "a/b/c.txt", content: "new" })),
        "Replaced a/b/c.txt (3 bytes)",
      );
      assert.equal(await get("a/b/c.txt"), "new");
      assert.deepEqual(await readdir(join(cwd, "a/b")), ["c.txt"]);
    }));

  test("refuses folders, FIFOs and devices", () =>
    inFolder(async ({ call, cwd }) => {
      await mkdir(join(cwd, "folder"));
      await assert.rejects(call("write", { path: "folder", content: "" }), /is a folder/);
      await assert.rejects(call("write", { path: "new/", content: "" }), /names a folder/);
      execFileSync("mkfifo", [join(cwd, "pipe")]);
      await assert.rejects(call("write", { path: "pipe", content: "" }), /not a regular file/);
      await assert.rejects(call("write", { path: "/dev/null", content: "" }), /not a regular file/);
    }));

  test("refuses a path that leads through a file", () =>
    inFolder(async ({ call, put }) => {
      await put("file", "");
      await assert.rejects(
        call("write", { path: "file/below", content: "" }),
        /a part of this path is a file/,
      );
    }));

  test("waits for an edit of the same file that is under way", () =>
    inFolder(async ({ call, put, get }) => {
      await put("a.txt", "old");
      await Promise.allSettled([
        call("edit", { path: "a.txt", edits: [{ oldText: "old", newText: "edited" }] }),
        call("write", { path: "a.txt", content: "written" }),
      ]);
      assert.equal(await get("a.txt"), "written");
    }));

  test("changes nothing once it is aborted", () =>
    inFolder(async ({ call, cwd }) => {
      const abort = new AbortController();
      const running = call("write", { path: "a.txt", content: "x" }, { signal: abort.signal });
      abort.abort();
      await assert.rejects(running, { message: "aborted" });
      assert.deepEqual(await readdir(cwd), []);
    }));
});
