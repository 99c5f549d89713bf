/** What a regular expression of a stream rule may cost, and what is refused before it can freeze the program. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { costOfPattern } from "../../src/agent/pattern-cost.ts";
import { compileStreamPattern } from "../../src/agent/stream-pattern.ts";

describe("the cost of a regular expression", () => {
  const costs: [string, number, number][] = [
    ["abc", 0, 0],
    ["a?b", 0, 1],
    ["a|b|c|d", 0, 2],
    [".*x.*", 2, 0],
    ["(a+|b+)c+", 2, 1],
    ["(?:\\d+\\.){3}", 3, 0],
    ["[*+?|(]\\+\\(", 0, 0],
    ["(?:(?!end).)*", 1, 0],
    ["(?<name>a+)(?<=b)(?<!c)", 1, 0],
    ["a{20}b{2,3}", 0, 1],
    ["a{3,}", 1, 0],
    ["(a?){8}", 0, 8],
  ];
  for (const [source, repeats, choices] of costs) {
    test(`is counted: ${source}`, () => assert.deepEqual(costOfPattern(source), { repeats, choices }));
  }

  const refused = [
    "(a+)+",
    "(a|a)*",
    "(a|b)+c",
    "(a?)*",
    "((a{2,3})b)*",
    "(?:x(?:y|z))*",
    "(a?){30}a{30}",
    "(a*){17}",
    ".*.*.*.*.*.*.*x",
    "a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?",
    "a*",
    "",
    "^",
    "(",
    "(?i)(",
    `${"(".repeat(60)}a${")".repeat(60)}`,
    "x".repeat(3000),
  ];
  for (const source of refused) {
    test(`is too high, or there is none: ${source.slice(0, 40)}`, () =>
      assert.throws(() => compileStreamPattern(source)));
  }

  test("keeps the worst that is accepted from freezing the program", () => {
    const worst = ["a*a*b", "(a?){12}a*b"];
    for (const source of worst) {
      const started = performance.now();
      assert.equal(compileStreamPattern(source).find("a".repeat(4000), 64, false, true), false);
      const time = performance.now() - started;
      assert.ok(time < 10_000, `${source}: ${Math.round(time)} ms`);
    }
  });
});
