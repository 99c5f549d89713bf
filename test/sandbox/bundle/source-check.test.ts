import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { disguise } from "../../../sandbox/bundle/disguise.ts";
import { checkSource } from "../../../sandbox/guest/source-check.ts";
import { findImport } from "../../../sandbox/guest/source-words.ts";
import { inCompartments } from "./harness.ts";

const HOSTILE = [
  'import("node:fs")',
  'import ("node:fs")',
  'import\n("node:fs")',
  'import/* */("node:fs")',
  'import//\n("node:fs")',
  'import\u2028("node:fs")',
  'import\ufeff("node:fs")',
  'import.defer("node:fs")',
  'import . defer("node:fs")',
  'import/**/.defer("node:fs")',
  'import.source("node:fs")',
  'import.anything("node:fs")',
  "import.meta",
  "import . meta.url",
  'import fs from "node:fs"',
  'import defer * as fs from "node:fs"',
  'import "node:fs"',
  '\\u0069mport("node:fs")',
  'i\\u{6d}port("node:fs")',
  'im\\u0070ort.defer("node:fs")',
  '`${import("node:fs")}`',
  '`${`${import.defer("node:fs")}`}`',
  'String.raw`${import("node:fs")}`',
  '(() => import("node:fs"))',
  'async () => await import("node:fs")',
  'function f(a = import("node:fs")) {}',
  'class A { [import("node:fs")] = 1 }',
  'class A { static { import.defer("node:fs") } }',
  '({ [import("node:fs")]: 1 })',
  'a[import("node:fs")]',
  'a?.[import.defer("node:fs")]',
  'new import("node:fs")',
  "({ import })",
  "({ import } = {})",
  "import: 1",
  "let import = 1",
  "(import)",
  '"use strict"; import("node:fs")',
  '(function anonymous(a = import("node:fs")\n) {\n\n})',
  '(function anonymous(\n) {\nimport.defer("node:fs")\n})',
  '#!/usr/bin/env node\nimport("node:fs")',
  '0 <!-- \nimport("node:fs")',
  '/*\n*/ --> comment\nimport("node:fs")',
  '/*" */import("node:fs")/* "*/',
  '/[/]/;import("node:fs");/[/]/',
  'export default import("node:fs")',
  'export * from "node:fs"',
  "with (a) {}",
  "010",
  "await import.meta",
  "return 1",
  "}); import('x'); ({",
  "a +",
];

const HARMLESS = [
  "1",
  "",
  "a.import",
  "a?.import",
  "a.import(1)",
  "a.import.meta",
  "super_.import.defer('x')",
  "class A { #import = 1; has() { return #import in this } }",
  "imports(1)",
  "$import(1)",
  "importScripts",
  "x = 1; var x",
  "const await = 1",
  "async () => { await 1 }",
  "(async (x) => { for await (const a of x) ; })",
  "(function anonymous(a,b\n) {\nreturn a + b\n})",
  "(function anonymous(\n) {\n\n})",
  "a.\\u0069mport",
];

/** Harmless where they stand, and refused as they are: the bundler writes them in another way. */
const REWRITTEN = [
  "({ import: 1 })",
  "({ import() {} })",
  "({ async import() {} })",
  "({ get import() { return 1 } })",
  "({ import: a } = {})",
  "class A { import() {} static import = 1; get import2() {} }",
  '"import(1)"',
  "'import.defer(1)'",
  "`import(1)`",
  "/import(1)/",
  "// import(1)",
  "/* import.defer(1) */",
  "/(?<import>x)/",
];

/**
 * After each of these acorn takes a slash for the start of a regular expression, and the engine for a division: what
 * follows is code that no parser of ours would have seen.
 */
const MISREAD = [
  "y\nof",
  "y?.of",
  "y?.return",
  "y?.typeof",
  "y?.in",
  "y?.else",
  "y?.do",
  "y?.case",
  "x=0?1:function(){}",
  "x=0?1:class{}",
  "x=0?1:async function(){}",
  "x=0?1:function*(){}",
  "let z=async function(){}",
].map((head) => `${head}\n/ (p = import.defer('node:os')) /g`);

describe("the source check", () => {
  for (const source of MISREAD) {
    test(`refuses ${JSON.stringify(source)}, which acorn reads wrongly`, () => {
      assert.throws(() => checkSource(source), /word import/);
    });
  }

  test("refuses the word alone, wherever it stands and whatever follows", () => {
    for (const source of REWRITTEN) assert.throws(() => checkSource(source), /word import/, source);
    for (const before of [
      "",
      " ",
      "\n",
      "(",
      "/",
      "...",
      "\u00e9",
      "\\",
      "`",
      "'",
      "\0",
      "\u2028",
      "@",
      "?",
    ]) {
      for (const after of ["", "(", ".", " ", "\n", "/", "\u00e9", "\\u0061", "`"]) {
        assert.ok(findImport(`${before}import${after}`) >= 0, JSON.stringify(`${before}import${after}`));
      }
    }
    for (const source of [
      "a.import",
      "a?.import(1)",
      "#import",
      "imports",
      "reimport",
      "$import",
      "import_",
      "_import",
      "0import",
    ]) {
      assert.equal(findImport(source), -1, source);
    }
    assert.ok(findImport("a.import; import(1)") > 0);
    assert.ok(findImport("[...import]") > 0);
  });

  test("is passed by what the bundler makes of harmless text with the word in it", () => {
    for (const source of REWRITTEN) {
      const text = disguise(
        `(() => { return ${source.startsWith("/*") || source.startsWith("//") ? `1 ${source}\n` : source} })()`,
        0,
      );
      checkSource(text);
    }
  });

  for (const source of HOSTILE) {
    test(`refuses ${JSON.stringify(source)}`, () => {
      assert.throws(() => checkSource(source), SyntaxError);
    });
  }

  for (const source of HARMLESS) {
    test(`lets ${JSON.stringify(source)} pass`, () => checkSource(source));
  }

  test("refuses what is nested too deeply instead of overflowing", () => {
    for (const [open, close] of [
      ["(", ")"],
      ["[", "]"],
      ["{", "}"],
    ] as const) {
      assert.throws(() => checkSource(open.repeat(100_000) + close.repeat(100_000)), SyntaxError);
    }
    assert.throws(() => checkSource("`${".repeat(50_000) + "}`".repeat(50_000)), SyntaxError);
  });

  test("takes a long chain, whose tree is deep", () => {
    checkSource(`a${".import".repeat(500)}`);
    checkSource(`1${"+1".repeat(500)}`);
  });

  test("takes a regular expression as the text that it is", () => {
    for (const source of ["/[/]x/.x", "/\\/x(/u", "a = /]/", "/[\\]/]/.test(x)", "x\n/y/g", "/x/v"])
      checkSource(source);
    for (const source of [
      "/[/]/import(1)",
      "/a\n/",
      "/[\\]/;import(1)//]/;import.meta",
      "/a/\\u0067",
      "/a",
      "x/y/import(1)",
    ]) {
      assert.throws(() => checkSource(source), SyntaxError, source);
    }
  });

  test("is not held up by sources made for that", { timeout: 20_000 }, () => {
    const many = (item: (i: number) => string) => Array.from({ length: 50_000 }, (_, i) => item(i)).join("");
    checkSource(many((i) => `var a${i};`));
    checkSource(`/${many((i) => `(?<a${i}>)`)}/`);
    checkSource(`class A { ${many((i) => `#a${i};`)} }`);
    checkSource(many(() => "a.import;"));
    checkSource(
      `${"class A { x = ".repeat(300)}class { #a; f() { ${"this.#a;".repeat(20_000)} } }${" }".repeat(300)}`,
    );
  });

  test("refuses what is not text", () => {
    assert.throws(() => checkSource({ toString: () => "1" } as unknown as string), SyntaxError);
  });

  test("in a compartment, holds for eval, Function and the bundle alike", async () => {
    const direct = HOSTILE;
    const viaEval = HOSTILE.map((source) => `(0,eval)(${JSON.stringify(source)})`);
    const viaFunction = HOSTILE.map((source) => `Function(${JSON.stringify(`${source}\n`)})()`);
    const hidden = (text: string) =>
      JSON.stringify(text)
        .replace(/import/g, "i\\u006dport")
        .replace(/<!--|-->/g, (found) => found.split("").join('"+"'));
    const viaHidden = HOSTILE.map((source) => `(0,eval)(${hidden(source)})`);
    const outcomes = await inCompartments([...direct, ...viaEval, ...viaHidden]);
    outcomes.forEach((outcome, i) => {
      assert.ok(
        outcome.error,
        `${[...direct, ...viaEval, ...viaHidden][i]} gave ${JSON.stringify(outcome.value)}`,
      );
    });
    // A function's body may hold `return`, so not all of the table is wrong there.
    const bodies = HOSTILE.map((source, i) => [source, viaFunction[i]!] as const).filter(([source]) =>
      source.includes("node:fs"),
    );
    for (const outcome of await inCompartments(bodies.map(([, call]) => call))) assert.ok(outcome.error);
  });

  test("in a compartment, harmless sources still run through eval and Function", async () => {
    const [a, b, c] = await inCompartments([
      '(0,eval)("1 + 1")',
      'Function("a", "b", "return a * b")(6, 7)',
      'const o = { "i\\x6dport": 5 }; o.import',
    ]);
    assert.deepEqual([a?.value, b?.value, c?.value], [2, 42, 5]);
  });
});
