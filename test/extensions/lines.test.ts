import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { LineReader } from "../../src/extensions/lines.ts";

function read(chunks: readonly (string | Uint8Array)[], limit = 64): { lines: string[]; tooLong: number } {
  const lines: string[] = [];
  let tooLong = 0;
  const reader = new LineReader(limit, {
    line: (line) => lines.push(line.toString()),
    tooLong: () => tooLong++,
  });
  for (const chunk of chunks) reader.push(Buffer.from(chunk as string));
  reader.end();
  return { lines, tooLong };
}

describe("LineReader", () => {
  test("a frame split over any number of reads is one line", () => {
    const text = '{"type":"log","text":"é😀"}\n{"b":2}\n';
    for (let size = 1; size < 12; size++) {
      const bytes = Buffer.from(text);
      const chunks = [];
      for (let at = 0; at < bytes.length; at += size) chunks.push(bytes.subarray(at, at + size));
      assert.deepEqual(read(chunks).lines, text.trim().split("\n"), `reads of ${size} bytes`);
    }
  });

  test("lines glued into one read come out one by one", () => {
    assert.deepEqual(read(["a\nb\nc\n"]).lines, ["a", "b", "c"]);
  });

  test("CRLF is accepted, empty lines and a byte-order mark are skipped", () => {
    assert.deepEqual(read(["\ufeffa\r\n\r\n\n", "b\r", "\n"]).lines, ["a", "b"]);
  });

  test("a byte-order mark in a later line is data", () => {
    assert.deepEqual(read(["a\n\ufeffb\n"]).lines, ["a", "\ufeffb"]);
  });

  test("a last line without a line end is a line", () => {
    assert.deepEqual(read(["a\nb"]).lines, ["a", "b"]);
  });

  test("a line at the limit passes, one over it is reported once and skipped, and reading goes on", () => {
    assert.deepEqual(read([`${"x".repeat(64)}\r\n`]), { lines: ["x".repeat(64)], tooLong: 0 });
    assert.deepEqual(read([`${"x".repeat(65)}\nok\n`]), { lines: ["ok"], tooLong: 1 });
    assert.deepEqual(read(["x".repeat(50), "x".repeat(50), "x".repeat(500), "\nok\n"]), {
      lines: ["ok"],
      tooLong: 1,
    });
  });
});
