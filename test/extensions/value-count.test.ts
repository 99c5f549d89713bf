/** JSON that holds too much is known before it is parsed, and without holding up the loop. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { holdsTooMany, ValueCount } from "../../src/extensions/value-count.ts";

/** Values and members, counted by the parser. */
function count(value: unknown): number {
  if (typeof value !== "object" || value === null) return 1;
  return 1 + Object.values(value).reduce((sum: number, member) => sum + count(member), 0);
}

describe("counting the values of JSON text", () => {
  test("misses none, and counts none more than twice", () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 5 }), fc.integer({ min: 1, max: 9 }), (text, steps) => {
        const values = count(JSON.parse(text));
        const ends = (most: number): boolean => {
          const one = new ValueCount(text, most);
          for (;;) {
            const found = one.go(steps);
            if (found !== undefined) return found;
          }
        };
        assert.equal(ends(2 * values), false);
        if (values > 1) assert.equal(ends(values - 1), true);
      }),
    );
  });

  test("what stands in strings is no value, however it is escaped", async () => {
    const long = JSON.stringify(["a,b,[,{".repeat(100_000), '"\\,'.repeat(100_000), "\\"]);
    assert.equal(await holdsTooMany(long, 10), false);
  });

  test("8 MB of anything are no reason to hold up the loop", async () => {
    const texts = [
      "[".repeat(8e6),
      `[${"{},".repeat(2.6e6)}1]`,
      `[${"1,".repeat(4e6)}1]`,
      `"${"\\u0041".repeat(1.3e6)}"`,
      `"${'\\"'.repeat(4e6)}"`,
      " ".repeat(8e6),
    ];
    for (const text of texts) {
      // Whatever else the machine does meanwhile is in the figure: the best of three says what this takes.
      let worst = Number.POSITIVE_INFINITY;
      for (let round = 0; round < 3; round++) worst = Math.min(worst, longestStep(text));
      assert.ok(worst < 50, `${worst} ms for ${text.slice(0, 10)}`);
    }
  });

  test("what is no JSON is left to the parser", async () => {
    for (const text of ["", '"', '"\\', "{{{", "\\"]) assert.equal(await holdsTooMany(text, 10), false);
  });
});

/** The longest of the steps in which the values of a text are counted, in ms. */
function longestStep(text: string): number {
  const one = new ValueCount(text, 400_000);
  let longest = 0;
  for (let found: boolean | undefined; found === undefined; ) {
    const start = performance.now();
    found = one.go(30_000);
    longest = Math.max(longest, performance.now() - start);
  }
  return longest;
}
