/** Records between the agent and an extension host: whole or not at all, however they come. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { encodeRecord, KIND, partText, RecordReader, type WireRecord } from "../../../sandbox/host/wire.ts";

type Plain = [number, number, number, readonly string[]];

function reader(maxBytes = 1_000_000) {
  const records: Plain[] = [];
  const problems: string[] = [];
  const take = new RecordReader(
    () => maxBytes,
    ({ extension, kind, number, parts }: WireRecord) =>
      void records.push([extension, kind, number, parts.map(partText)]),
    (problem) => void problems.push(problem),
  );
  return { take, records, problems };
}

const text = fc.string({ unit: "binary", maxLength: 40 }).map((value) => value.toWellFormed());
const number = fc.integer({ min: 0, max: 2 ** 32 - 1 });
const record: fc.Arbitrary<Plain> = fc.oneof(
  fc.tuple(number, fc.constantFrom(KIND.start, KIND.end), number, fc.constant([])),
  fc.tuple(number, fc.constantFrom(KIND.frame, KIND.log, KIND.exit), number, fc.tuple(text)),
  fc.tuple(number, fc.constant(KIND.call), number, fc.array(text, { minLength: 2, maxLength: 3 })),
);

describe("records of the extension host", () => {
  test("what is written is what is read, in whatever pieces it comes", () => {
    fc.assert(
      fc.property(fc.array(record, { maxLength: 8 }), fc.integer({ min: 1, max: 50 }), (sent, size) => {
        const bytes = Buffer.concat(
          sent.map(([extension, kind, id, parts]) => encodeRecord(extension, kind, id, parts)),
        );
        const { take, records, problems } = reader();
        for (let at = 0; at < bytes.length; at += size) take.push(bytes.subarray(at, at + size));
        assert.deepEqual(records, sent);
        assert.deepEqual(problems, []);
      }),
    );
  });

  test("bytes that are no record are told once, and nothing after them is read", () => {
    const good = encodeRecord(1, KIND.log, 0, ["x"]);
    const wrongKind = Buffer.from(good);
    wrongKind.writeUInt8(99, 8);
    const tooLong = Buffer.from(good);
    tooLong.writeUInt32LE(0xffffffff, 0);
    const tooShort = Buffer.from([1, 0, 0, 0, 7]);
    const longPart = Buffer.from(good);
    longPart.writeUInt32LE(100, 13);
    const noPart = encodeRecord(1, KIND.log, 0, []);
    const manyParts = encodeRecord(1, KIND.log, 0, ["a", "b"]);
    const rest = Buffer.concat([good, Buffer.from([1, 2])]);
    rest.writeUInt32LE(good.length - 4 + 2, 0);
    for (const bad of [wrongKind, tooLong, tooShort, longPart, noPart, manyParts, rest]) {
      const { take, records, problems } = reader();
      take.push(Buffer.concat([good, bad, good]));
      take.push(good);
      assert.equal(records.length, 1);
      assert.equal(problems.length, 1, String(problems));
    }
  });

  test("a record may be no longer than the limit, and its head alone is enough to refuse it", () => {
    const { take, records, problems } = reader(1000);
    take.push(encodeRecord(1, KIND.log, 0, ["x".repeat(900)]));
    assert.equal(records.length, 1);
    take.push(encodeRecord(1, KIND.log, 0, ["x".repeat(1001)]).subarray(0, 9));
    assert.deepEqual(problems, ["sent a record of 1018 bytes"]);
  });

  test("any bytes at all leave the reader in one piece", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        const { take, problems } = reader();
        take.push(bytes);
        assert.ok(problems.length <= 1);
      }),
    );
  });
});
