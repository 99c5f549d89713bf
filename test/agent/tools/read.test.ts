import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdir, open } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { MAX_BYTES } from "../../../src/agent/tools/limits.ts";
import { inFolder, textOf } from "./support.ts";

const PNG = Buffer.from("89504e470d0a1a0a0000000d49484452", "hex");

describe("read", () => {
  test("gives lines with their numbers, without CR and byte order mark", () =>
    inFolder(async ({ call, put }) => {
      await put("a.txt", "\uFEFFone\r\ntwo\r\n");
      assert.equal(textOf(await call("read", { path: "a.txt" })), "1\tone\n2\ttwo");
    }));

  test("gives a range and says how to go on", () =>
    inFolder(async ({ call, put }) => {
      await put("a.txt", "1\n2\n3\n4\n5\n");
      assert.equal(
        textOf(await call("read", { path: "a.txt", offset: 2, limit: 2 })),
        "2\t2\n3\t3\n\n[Lines 2-3 of 5; go on with offset=4]",
      );
      assert.equal(textOf(await call("read", { path: "a.txt", offset: 5 })), "5\t5");
    }));

  test("stops at 2,000 lines and at 50 KB", () =>
    inFolder(async ({ call, put }) => {
      await put("many.txt", "x\n".repeat(5000));
      assert.match(
        textOf(await call("read", { path: "many.txt" })),
        /\[Lines 1-2000 of 5000; go on with offset=2001\]$/,
      );
      await put("wide.txt", `${"y".repeat(999)}\n`.repeat(200));
      const wide = textOf(await call("read", { path: "wide.txt" }));
      assert.ok(Buffer.byteLength(wide) < MAX_BYTES + 100);
      assert.match(wide, /of 200; go on with offset=52\]$/);
    }));

  test("cuts a huge line between characters, says where it goes on, and reads the lines behind it", () =>
    inFolder(async ({ call, put }) => {
      await put("it's.js", `head\n${"€".repeat(3_500_000)}\ntail\n`);
      assert.match(
        textOf(await call("read", { path: "it's.js" })),
        /^1\thead\n\n\[Lines 1-1 of 3; go on with offset=2\]$/,
      );
      const text = textOf(await call("read", { path: "it's.js", offset: 2 }));
      assert.ok(Buffer.byteLength(text) < MAX_BYTES + 300);
      assert.ok(!text.includes("\uFFFD"));
      assert.match(text, /go on with offset=3\]$/);
      // What the note says is a command that works.
      const command = /more with bash: (.*)\]/.exec(text)![1]!;
      assert.ok(textOf(await call("bash", { command })).startsWith("€€"));
      assert.equal(textOf(await call("read", { path: "it's.js", offset: 3 })), "3\ttail");
    }));

  test("says that a file is empty, and that an offset is beyond the end", () =>
    inFolder(async ({ call, put }) => {
      await put("empty", "");
      assert.equal(textOf(await call("read", { path: "empty" })), "empty is empty");
      await put("two", "1\n2\n");
      await assert.rejects(
        call("read", { path: "two", offset: 3 }),
        /has 2 lines; offset 3 is beyond the end/,
      );
    }));

  test("refuses folders, binary files and UTF-16, and says what they are", () =>
    inFolder(async ({ call, put, cwd }) => {
      await mkdir(join(cwd, "folder"));
      await assert.rejects(call("read", { path: "folder" }), /folder is a folder/);
      await put("a.bin", Buffer.from([1, 2, 0, 3]));
      await assert.rejects(call("read", { path: "a.bin" }), /a\.bin is a binary file \(4 B\)/);
      await put("wide.txt", Buffer.from("\uFEFFhi", "utf16le"));
      await assert.rejects(call("read", { path: "wide.txt" }), /UTF-16/);
    }));

  test("refuses a FIFO and a device instead of waiting for them", () =>
    inFolder(async ({ call, cwd }) => {
      execFileSync("mkfifo", [join(cwd, "pipe")]);
      await assert.rejects(call("read", { path: "pipe" }), /not a regular file/);
      await assert.rejects(call("read", { path: "/dev/zero" }), /not a regular file/);
    }));

  test("suggests names when a file is missing", () =>
    inFolder(async ({ call, put }) => {
      await put("src/settings.ts", "");
      await put("src/other.ts", "");
      await assert.rejects(call("read", { path: "src/setings.ts" }), {
        message: "src/setings.ts does not exist. Similar: src/settings.ts",
      });
      await assert.rejects(call("read", { path: "src/settings.js" }), /Similar: src\/settings\.ts/);
      await assert.rejects(call("read", { path: "no/where" }), /nor does its folder/);
    }));

  test("gives images by their content, whatever the name, up to 5 MB", () =>
    inFolder(async ({ call, put }) => {
      await put("picture.dat", PNG);
      const result = await call("read", { path: "picture.dat" });
      assert.deepEqual(result.content[1], {
        type: "image",
        data: PNG.toString("base64"),
        mimeType: "image/png",
      });
      for (const [head, type] of [
        ["\xff\xd8\xff\xe0", "image/jpeg"],
        ["GIF89a", "image/gif"],
        ["RIFF\0\0\0\0WEBP", "image/webp"],
      ] as const) {
        await put("image", Buffer.from(head, "latin1"));
        assert.match(textOf(await call("read", { path: "image" })), new RegExp(`<${type}>`));
      }
      await put("huge.png", Buffer.concat([PNG, Buffer.alloc(5 * 1024 * 1024)]));
      await assert.rejects(call("read", { path: "huge.png" }), /the most is 5 MB/);
    }));

  test("reads a small range of a huge file in bounded memory", () =>
    inFolder(async ({ call, put, cwd }) => {
      await put("huge.log", `first\n${"line\n".repeat(10_000)}`);
      // Sparse: 1 GB of NULs behind the text, as one endless line.
      const handle = await open(join(cwd, "huge.log"), "r+");
      await handle.truncate(1024 ** 3);
      await handle.close();
      const before = process.memoryUsage().rss;
      const text = textOf(await call("read", { path: "huge.log", offset: 9000, limit: 2 }));
      assert.equal(text, "9000\tline\n9001\tline\n\n[Lines 9000-9001; go on with offset=9002]");
      assert.ok(process.memoryUsage().rss - before < 100 * 1024 * 1024);
    }));

  test("reads files of /proc, which have no size", { skip: process.platform !== "linux" }, () =>
    inFolder(async ({ call }) =>
      assert.match(textOf(await call("read", { path: "/proc/self/status" })), /^1\tName/),
    ),
  );
});
