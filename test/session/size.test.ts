/** A long session costs time, not memory. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { closeSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { listSessions, SessionStore } from "../../src/session/index.ts";
import { LineSplitter } from "../../src/session/lines.ts";
import { Folder } from "../support/folder.ts";
import { assistant, HEADER, user } from "./support.ts";

const WRITER = fileURLToPath(new URL("writer.ts", import.meta.url));
const RUN = ["Deno" in globalThis ? ["run", "--allow-all", "--no-check"] : [], WRITER].flat();

/** A session of so many MB (10^6 bytes), with entries of about so many bytes. */
function write(path: string, megabytes: number, size: number): number {
  const fd = openSync(path, "w");
  writeSync(fd, `${JSON.stringify(HEADER)}\n`);
  let parentId: string | null = null;
  let entries = 0;
  for (let written = 0; written < megabytes * 1e6; ) {
    let text = "";
    while (text.length < 1e6) {
      const id = (entries++).toString(16).padStart(8, "0");
      const entry = { ...(entries % 2 ? user : assistant)("word ".repeat(size / 5)), id, parentId };
      text += `${JSON.stringify({ ...entry, timestamp: HEADER.timestamp })}\n`;
      parentId = id;
    }
    written += writeSync(fd, text);
  }
  closeSync(fd);
  return entries;
}

describe("a session of 100 MB", () => {
  for (const size of [100, 100_000]) {
    test(`with entries of ${size} bytes opens in less than 150 MB`, {
      skip: process.platform === "linux" ? false : "needs /proc",
      timeout: 60_000,
    }, () => {
      using folder = new Folder();
      const path = join(folder.path, "s.jsonl");
      const entries = write(path, 100, size);
      const { stdout, stderr } = spawnSync(process.execPath, [...RUN, "open", folder.path, path], {
        encoding: "utf8",
      });
      const result = JSON.parse(stdout || stderr) as { entries: number; last: string; peakMb: number };
      assert.deepEqual([result.entries, result.last], [entries, "message"]);
      assert.ok(result.peakMb < 150, `${result.peakMb} MB`);
    });
  }

  test("is listed by its first 4 KB", async () => {
    using folder = new Folder();
    const path = folder.file("sessions/x/2026_s.jsonl", "");
    write(path, 10, 1000);
    const [summary] = await listSessions(folder.path);
    assert.match(summary!.firstMessage!, /^word word/);
    // What comes behind is not even looked at.
    const fd = openSync(path, "r+");
    writeSync(fd, Buffer.alloc(1e6, "x"), 0, 1e6, 4096);
    closeSync(fd);
    assert.equal((await listSessions(folder.path))[0]!.firstMessage, summary!.firstMessage);
  });
});

describe("lines", () => {
  const split = (pieces: readonly string[], limit?: number) => {
    const lines: unknown[] = [];
    const splitter = new LineSplitter(0, ({ text, at, isEnded }) => lines.push([text, at, isEnded]), limit);
    for (const piece of pieces) splitter.add(Buffer.from(piece, "latin1"));
    splitter.end();
    return lines;
  };

  test("are the same in whatever pieces they come", () => {
    const text = Buffer.from('a\n\n{"ü":"\u2028"}\nlast').toString("latin1");
    const whole = split([text]);
    assert.deepEqual(whole.at(-1), ["last", text.length - 4, false]);
    for (let at = 0; at <= text.length; at++)
      assert.deepEqual(split([text.slice(0, at), text.slice(at)]), whole);
    assert.deepEqual(split([...text]), whole);
  });

  test("that are too long are left out, and cost no memory", () => {
    assert.deepEqual(split(["aaaa", "aaaa", "a\nb", "bb\ncccccc\n"], 5), [
      [undefined, 0, true],
      ["bbb", 10, true],
      [undefined, 14, true],
    ]);
  });
});

describe("a session in use", () => {
  test("does not keep in memory what is in its file", async () => {
    using folder = new Folder();
    using store = SessionStore.create({ dataDir: folder.path, cwd: "/work/demo" });
    store.append(assistant("hi"));
    const id = store.append(user("x".repeat(10_000)));
    const fd = openSync(store.file!, "r+");
    const text = JSON.stringify(store.getEntry(id));
    // The file is what counts: another text at the entry's place is what is read.
    const at =
      JSON.stringify(store.header).length +
      1 +
      JSON.stringify(store.getEntry(store.getBranchIds()[0]!)).length +
      1;
    const bytes = Buffer.from(text.replace("xxx", "yyy"));
    writeSync(fd, bytes, 0, bytes.length, at);
    closeSync(fd);
    const { message } = store.getEntry(id) as unknown as { message: { content: string } };
    assert.match(message.content, /^yyyx/);
  });
});
