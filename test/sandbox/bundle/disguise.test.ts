import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { runInThisContext } from "node:vm";
import fc from "fast-check";
import { disguise } from "../../../sandbox/bundle/disguise.ts";
import { findLookAlike } from "../../../sandbox/bundle/look-alikes.ts";
import { checkSource } from "../../../sandbox/guest/source-check.ts";
import { inCompartments } from "./harness.ts";

/** The body of a function, which returns what is compared. */
const PROGRAMS = [
  "return 'import(1)'",
  'return "a import (1) b"',
  "return 'import/* x */' + 'import// y'",
  "return '<!-- a -->'",
  "return 'eval(1)' + 'eval (2)'",
  "return '\\import(1) \\eval(2) \\<!-- --\\>'",
  "return `import(${1}) eval(${2}) <!-- ${3} -->`",
  "return `a\nimport\n(${1})\n-->\n`",
  "return `${`import(${`eval(1)`})`}`",
  "return String.raw`import(1)\\n${2}<!--${3}\\u0041-->`",
  "const o = { t(s, ...v) { return [this === o, s, s.raw, v] } }; return o.t`eval(${1})import(2)`",
  "const t = s => s; const f = () => t`import(1)`; return [f() === f(), Object.isFrozen(f()), t`import(1)` === t`import(1)`]",
  "function T(s) { return function () { this.s = s } } return new (T`import(1)`)().s",
  "function T(s) { return function () { this.s = s } } return new T`import(1)`().s",
  "const t = (s, a, b) => [s.raw, a, b]; return t`-->${(1, 2)}import(${[1, 2]}`",
  "const t = (s) => [s[0] === undefined, s.raw[0]]; return t`\\u import(1)`",
  "return /import(a)/.test('importa')",
  "return [/import(a)/g.source, String(/<!--|-->/gi), /eval(1)/y.flags]",
  "return /\\import\\(/.source",
  "return 'x import/2'.split(/import//2)[0] === undefined",
  "const a = 4, g = 2; return a/ 2 /g",
  "const RegExp = 5; return /import(x)/.source + RegExp",
  "return typeof/-->/",
  "return /import/.source.length /2",
  "let x = 3, n = 0; while (x-->0) n++; return [x, n]",
  "let x = 3; return [x-->3, x-->=2, x-->>0, x-->>>0]",
  "let a = 1, b = 3; return [a<!--b, b]",
  "let a = 1, b = 3; return [a<<!--b, b]",
  "const o = { import() { return 1 }, eval() { return 2 } }; return [o.import(), o.eval(), o. import(), o\n.eval (), o?.import(), o?. eval(), o.import/* c */()]",
  "const o = { async import() { return 1 }, get eval() { return () => 2 }, *gen() {} }; return o.eval() + o.import.name",
  "class A { static import() { return 1 } static async *eval() { return 2 } import() { return 3 } } return [A.import(), A.eval.name, new A().import(), A.import.name]",
  "class A { a = 1\n import() { return 2 }\n get = 5\n eval() { return 3 } } const x = new A(); return [x.a, x.import(), x.get, x.eval()]",
  "class A { #import(x) { return x } #eval (x) { return x } go() { return [this.#import(1), this.#eval(2)] } } return new A().go()",
  "class A { import(x) { return x } } class B extends A { go() { return super.import(4) + super. import(5) } } return new B().go()",
  "const $import = (x) => x, é$eval = (x) => x + 1; return [$import(1), é$eval (2), $import\n(3)]",
  "const o = { $import(x) { return x } }; return o.$import(1)",
  "return eval('1 + 1')",
  "return eval ( '2' ) + eval/* c */('3')",
  "const a = 5\neval('6')\nreturn a",
  "let a = 1\nif (a) eval('2')\nelse eval('3')\ndo eval('4'); while (0)\nreturn a",
  "try { new eval('1') } catch (e) { return e.name }",
  "return [...eval('[1, 2]')]",
  "return eval('({ a: 1 })').a + (eval)('1')",
  "return eval?.('7')",
  "return 1 // import(1)\n+ 1 /* eval(1) */ + 1 /* <!--\n--> */",
  "return 1 /*\n*/ + 1",
  "const o = { 'import(': 1, 'eval(': 2, ['-->']: 3 }; return Object.keys(o)",
  "const o = { import: { meta: 1 } }; return o.import.meta",
  "const __template = 1, __regExp = 2; const t = (s) => s.raw[0]; return [__template, __regExp, t`import(1)`, /-->/.source]",
  "const f = /* @__PURE__ */ (() => 'import (')(); return f",
  "return `${'a'/* import( */}${/-->/.source}`",
];

const wrap = (body: string) => `(() => {\nreturn (() => {\n${body}\n})()\n})()`;
const AT = "(() => {".length;

function evaluate(source: string): string {
  return JSON.stringify(runInThisContext(`"use strict";${source}`)) ?? "undefined";
}

/** What the author meant: as a module `<!--` is no comment. */
function meant(source: string): string {
  return evaluate(source.replace(/(\w)<!--b/g, "$1< !--b").replace(/<<!--b/g, "<< !--b"));
}

describe("a program that only looks dangerous", () => {
  for (const body of PROGRAMS) {
    test(`means the same afterwards: ${JSON.stringify(body)}`, () => {
      const source = wrap(body);
      const result = disguise(source, AT);
      assert.equal(findLookAlike(result), -1, result);
      checkSource(result);
      assert.equal(evaluate(result), meant(source), result);
      assert.equal(result.split("\n").length, source.split("\n").length, "lines keep their numbers");
    });
  }

  test("means the same inside a compartment", async () => {
    const outcomes = await inCompartments(PROGRAMS.map((body) => disguise(wrap(body), AT)));
    outcomes.forEach((outcome, i) => {
      assert.equal(outcome.error, undefined, `${PROGRAMS[i]}`);
      assert.equal(JSON.stringify(outcome.value) ?? "undefined", meant(wrap(PROGRAMS[i]!)), `${PROGRAMS[i]}`);
    });
  });
});

const pieces = fc.constantFrom(
  ..."import,eval,(,),/*,//,*/,<!--,-->,<,!,-,>, ,a,é,$,.,..., \n,\\\\,\\x69,\\u0069,\\i,\\e,\\-,\\!,[,],{,},'".split(
    ",",
  ),
);
const rawText = fc.array(pieces, { maxLength: 12 }).map((parts) => parts.join(""));
const asString = rawText.map((text) => `"${text.replace(/\n/g, "")}"`);
const asTemplate = fc.tuple(rawText, rawText).map(([a, b]) => `\`${a}\${1}${b}\``);
const asTagged = asTemplate.map((template) => `tag${template}`);
const asRaw = asTemplate.map((template) => `String.raw${template}`);
const asRegExp = rawText.map((text) => `/${text.replace(/[\n/]/g, "")}./.source`);
const asCode = fc.constantFrom(
  "x-->y",
  "x--/*-->*/>y",
  "o.import(1)",
  "o. eval(2)",
  "$import(3)",
  "eval('4')",
  "/import//2",
  "/import/*2",
  "({import(){return 5}}).import()",
);
const expression = fc.oneof(asString, asTemplate, asTagged, asRaw, asRegExp, asCode);

test("any program made of such pieces evaluates to the same value", () => {
  const prelude =
    "let x = 9, y = 2; const o = { import: (v) => v, eval: (v) => v }; const $import = (v) => v; const tag = (s, ...v) => [s, s.raw, v];";
  const isProgram = (source: string): boolean => {
    try {
      evaluate(source);
      return true;
    } catch {
      return false;
    }
  };
  let tried = 0;
  fc.assert(
    fc.property(fc.array(expression, { minLength: 1, maxLength: 4 }), (expressions) => {
      const source = wrap(`${prelude}\nreturn [${expressions.join(", ")}];`);
      if (!isProgram(source)) return;
      tried++;
      const result = disguise(source, AT);
      assert.equal(findLookAlike(result), -1, result);
      checkSource(result);
      assert.equal(evaluate(result), evaluate(source), result);
    }),
    { numRuns: 3000 },
  );
  assert.ok(tried > 500, `only ${tried} of the generated texts were programs`);
});
