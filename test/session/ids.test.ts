import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { Ids } from "../../src/session/ids.ts";

describe("ids", () => {
  const id = fc.oneof(
    fc.integer({ min: 0, max: 0xffffffff }).map((number) => number.toString(16).padStart(8, "0")),
    fc.string(),
    fc.constantFrom("00000000", "ffffffff", "FFFFFFFF", "0000000", "__proto__", ""),
  );

  test("are found at their places, whatever they are", () => {
    fc.assert(
      fc.property(fc.uniqueArray(id, { maxLength: 500 }), fc.array(id), (all, others) => {
        const ids = new Ids();
        all.forEach((text, place) => {
          assert.equal(ids.placeOf(text), undefined);
          assert.equal(ids.push(text), place);
        });
        assert.equal(ids.length, all.length);
        for (const [place, text] of all.entries()) {
          assert.equal(ids.placeOf(text), place);
          assert.equal(ids.at(place), text);
        }
        for (const other of others) assert.equal(ids.placeOf(other) ?? -1, all.indexOf(other));
        assert.deepEqual([ids.at(-1), ids.at(all.length), ids.at(0.5)], [undefined, undefined, undefined]);
      }),
    );
  });
});
