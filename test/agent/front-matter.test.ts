/** The head of a Markdown file: what is read without a parser is what the parser reads. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { parse } from "yaml";
import { listOf, splitFrontMatter } from "../../src/agent/front-matter.ts";
import { plainLines } from "../../src/agent/front-matter-head.ts";

describe("front matter", () => {
  test("is what stands between two lines of ---, and the rest is text", async () => {
    assert.deepEqual(await splitFrontMatter("---\na: b\n---\n\ntext\n"), { data: { a: "b" }, body: "text" });
    assert.deepEqual(await splitFrontMatter("\ufeff---\r\na: b\r\n---"), { data: { a: "b" }, body: "" });
    assert.deepEqual(await splitFrontMatter("---\n---\ntext"), { data: {}, body: "text" });
    for (const text of ["text", "--- \ntext", "---\na: b\ntext", "a\n---\nb: c\n---"]) {
      assert.deepEqual(await splitFrontMatter(text), { data: {}, body: text });
    }
  });

  test("that is wrong is told with the line of the file", async () => {
    await assert.rejects(splitFrontMatter("---\na: b\nc: d: e\n---\n"), /^Error: line 3: /);
    await assert.rejects(splitFrontMatter("---\na: b\na: c\n---\n"), /line 3: .*unique/);
    const bomb = Array.from(
      { length: 9 },
      (_, at) => `k${at}: &a${at} [${at ? `*a${at - 1},*a${at - 1}`.repeat(5) : "x"}]`,
    );
    await assert.rejects(splitFrontMatter(`---\n${bomb.join("\n")}\n---\n`));
    assert.throws(() => listOf({ a: [1] }, "a"), /a is neither a text nor a list of texts/);
  });

  const values = [
    ..."plain|with spaces |it's|a:b|a: b|a:|a #b|a#b|true|false|True|null|NULL|nullable|yes|no|on|y|~|1|1.5|0x1|1e3|.inf|Infinity".split(
      "|",
    ),
    ..."-a|- a|?a|[a]|{a}|&a|*a|!a|%a|@a|`a`|>|\\|".split("|"),
    "a,b",
    "a, [b]",
    "a {b}",
    "a \\n b",
    "a & b * c",
    "é",
    "aé😀",
    "a\tb",
    "",
    " ",
    "2026-11-30",
    "a|b",
    "|",
    '"a b"',
    '"a\\nb"',
    '"a" b',
    '"a: b # c"',
    "'a b'",
    "'it''s'",
    "'a\\nb'",
    '""',
    "''",
    '"é"',
    "a\u2028b",
    "a\u0085b",
    "a\u00a0",
  ];
  for (const value of values) {
    test(`is read without a parser only as the parser reads it: ${JSON.stringify(value)}`, () => {
      for (const head of [`k: ${value}`, `k: ${value}\nother-key: x`, `k: ${value}\n\n`, `k: ${value}  `]) {
        const plain = plainLines(head);
        if (plain) assert.deepEqual(plain, parse(head));
      }
    });
  }

  test("of most files needs no parser", () => {
    assert.deepEqual(
      plainLines(
        'name: pdf-tools\ndescription: Reads PDF files (all), e.g. for you\nhint: "[focus]"\nx: true',
      ),
      {
        name: "pdf-tools",
        description: "Reads PDF files (all), e.g. for you",
        hint: "[focus]",
        x: true,
      },
    );
    for (const head of [
      "a: b\n  c",
      "a:\n  b: c",
      "a: >\n  b",
      "- a",
      "a: b\na: c",
      "__proto__: a",
      "a:b",
      "# a",
    ]) {
      assert.equal(plainLines(head), undefined, head);
    }
  });
});
