/** Work that is long for as many things as there are: everything else has its turn in between. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { inTurns, jsonSlowly } from "../../src/base/slices.ts";

/** How many turns the loop had while something went on. */
async function turnsDuring(work: Promise<unknown>): Promise<number> {
  let turns = 0;
  let isOver = false;
  const count = () => {
    turns++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  await work;
  isOver = true;
  return turns;
}

/** Takes so many ms. */
function busy(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

test("what an iterable gives is taken in short turns, in its order", async () => {
  const given: number[] = [];
  function* slow() {
    for (let number = 0; number < 20; number++) {
      busy(6);
      yield number;
    }
  }
  const turns = await turnsDuring(inTurns(slow()).then((all) => given.push(...all)));
  assert.deepEqual(
    given,
    Array.from({ length: 20 }, (_, number) => number),
  );
  assert.ok(turns > 10, `${turns} turns`);
});

test("a long list is made JSON in short turns, and is what it is otherwise", async () => {
  const list = [1, "a", null, undefined, { b: [undefined, { c: "\u2028" }] }, [], () => {}];
  assert.equal(await jsonSlowly(list), JSON.stringify(list));
  assert.equal(await jsonSlowly([]), "[]");
  const slow = Array.from({ length: 20 }, () => ({ toJSON: () => busy(6) }));
  assert.ok((await turnsDuring(jsonSlowly(slow))) > 10);
  const circle: unknown[] = [];
  circle.push(circle);
  await assert.rejects(jsonSlowly(circle), TypeError);
});
