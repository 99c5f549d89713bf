import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, test } from "node:test";
import { originalPlace } from "../../../sandbox/bundle/positions.ts";
import { bundleFile, bundleFiles, failureOf, inCompartments, inFolder, runBundle } from "./harness.ts";

const RELEVANT = /^[^_]/;

describe("a bundle, run in a compartment", () => {
  test("gets its imports from the guest's loader, each with the names it needs", async () => {
    const { value, error, calls, bundle } = await runBundle({
      "ext/index.ts": `
        import type { Gone } from "zod";
        import whole, { a, b as c, "odd name" as odd } from "zod";
        import * as ns from "node:fs";
        import "typebox";
        const again: Gone = ns.a;
        export default () => [whole, a, c, odd, again];`,
    });
    assert.equal(error, undefined);
    assert.deepEqual((value as { default: unknown }).default, [
      "default of zod",
      "a of zod",
      "b of zod",
      "odd",
      "a of node:fs",
    ]);
    assert.deepEqual(calls, ["import:zod:a,b,default,odd name", "import:node:fs:*", "import:typebox:"]);
    assert.deepEqual(bundle.imports, ["node:fs", "typebox", "zod"]);
  });

  test("exports in every form, re-exports of the host's modules included", async () => {
    const { value, error } = await runBundle({
      "ext/index.ts": `
        export * from "zod";
        export * as all from "typebox";
        export { a as renamed, default as standard } from "node:path";
        import { b } from "node:fs";
        export { b as passedOn };
        export const { x, y: [z = 5] } = { x: 1, y: [] };
        export let later = 1;
        later++;
        export class K { static v = 2 }
        export const k = K.v, h = hoisted();
        export function hoisted() { return "hoisted" }
        export const a = "own";
        export default main;
        async function main() { return await Promise.resolve("main") }`,
    });
    assert.equal(error, undefined);
    const { all, ...rest } = value as Record<string, unknown>;
    assert.equal((all as { a: string }).a, "a of typebox");
    assert.deepEqual(rest, {
      a: "own",
      b: "b of zod",
      "odd name": "odd",
      renamed: "a of node:path",
      standard: "default of node:path",
      passedOn: "b of node:fs",
      x: 1,
      z: 5,
      later: 2,
      k: 2,
      h: "hoisted",
      default: "main",
    });
  });

  for (const [what, text, expected] of [
    ["an arrow function", "export default () => 1", 1],
    ["a function without a name", "export default function () { return 2 }", 2],
    [
      "a class without a name, called 'default'",
      "const v = 3; export default class { static v = v }",
      undefined,
    ],
    ["an expression", "export default 1 + 3", 4],
    ["CommonJS", "module.exports = () => 5", 5],
    ["CommonJS that requires", "const { a } = require('zod'); module.exports = () => a", "a of zod"],
  ] as const) {
    test(`has as its default export ${what}`, async () => {
      const { value, error } = await runBundle({
        "ext/index.js": text,
        "ext/index.ts": `export { default } from "./index.js"`,
      });
      if (what.startsWith("a class")) assert.match(String(error), /class/i);
      else assert.deepEqual([error, (value as { default: unknown }).default], [undefined, expected]);
    });
  }

  test("loads at run time through the loader: literals, local files and computed names", async () => {
    const { value, error, calls, bundle } = await runBundle({
      "ext/index.ts": `
        const host = await import("node:os");
        const local = await import("./local.ts");
        const name = ["zod"].join("");
        export const out = [host.a, local.v, local.default(), (await import(name)).b];`,
      "ext/local.ts": `export const v = 1; export default () => "local"`,
    });
    assert.equal(error, undefined);
    assert.deepEqual((value as { out: unknown }).out, ["a of node:os", 1, "local", "b of zod"]);
    assert.deepEqual(
      calls.filter((call) => call.startsWith("dynamic")),
      ["dynamic:node:os", "dynamic:zod"],
    );
    assert.deepEqual(bundle.imports, ["node:os"]);
  });

  test("requires through the loader, from TypeScript and from CommonJS files", async () => {
    const { value, error, calls, bundle } = await runBundle({
      "ext/index.ts": `
        import fs = require("fs");
        const c = require("./c.cjs");
        const name = ["zo", "d"].join("");
        export const out = [fs.a, c.p, c.file, require(name).b];`,
      "ext/c.cjs": `exports.p = require("path").a; exports.file = typeof __filename`,
    });
    assert.equal(error, undefined);
    assert.deepEqual((value as { out: unknown }).out, ["a of fs", "a of path", "string", "b of zod"]);
    assert.deepEqual(calls, ["require:fs", "require:path", "require:zod"]);
    assert.deepEqual(bundle.imports, ["fs", "path"]);
  });

  test("sees import.meta, strict mode, top-level await and live local bindings", async () => {
    const { value, error } = await runBundle({
      "ext/index.ts": `
        import { count, up } from "./counter.js";
        up();
        const self = (function (this: unknown) { return this })();
        export const out = [import.meta.url, import . meta.dirname, self === undefined, await Promise.resolve(3), count];`,
      "ext/counter.ts": `export let count = 1; export function up() { count++ }`,
    });
    assert.equal(error, undefined);
    assert.deepEqual((value as { out: unknown }).out, ["file:///ext/index.ts", "/ext", true, 3, 2]);
  });

  test("survives names that look like ours, and look-alikes anywhere", async () => {
    const { value, error } = await runBundle({
      "ext/index.ts": `
        import { a } from "zod";
        const __xdev = 1, __m1 = 2, __template1 = 3, Object = 4;
        let x = 2, n = 0;
        while (x-->0) n++;
        const o = { import(v: number) { return v } }; // import(
        export const out = [__xdev, __m1, __template1, Object, a, "import(1) <!-- --> eval(2)", String.raw\`import(\${1})\`, n, o.import(7), eval("8")];`,
    });
    assert.equal(error, undefined);
    assert.deepEqual((value as { out: unknown }).out, [
      1,
      2,
      3,
      4,
      "a of zod",
      "import(1) <!-- --> eval(2)",
      "import(1)",
      2,
      7,
      8,
    ]);
  });

  test("may have cycles, JSON and packages of its own", async () => {
    const { value, error, bundle } = await runBundle({
      "ext/package.json": `{ "name": "x", "pi": {} }`,
      "ext/index.ts": `
        import { b } from "./b"; import data from "./d.json"; import dep, { esm } from "dep"; import sub from "@s/dep/sub";
        import { inner } from "dep/features/one.js"; import old from "old";
        export const a = 1;
        export const out = [b(), data.n, dep, esm, sub, inner, old];`,
      "ext/b.ts": `import { a } from "./index.ts"; export const b = () => a;`,
      "ext/d.json": `{ "n": 2 }`,
      "ext/node_modules/dep/package.json": `{ "name": "dep", "main": "wrong.js", "exports": { ".": { "require": "./r.cjs", "import": "./i.mjs" }, "./features/*.js": "./f/*.js", "./features/no.js": null } }`,
      "ext/node_modules/dep/i.mjs": `import deep from "deep"; export default deep; export const esm = 3;`,
      "ext/node_modules/dep/f/one.js": `export const inner = 4`,
      "ext/node_modules/dep/node_modules/deep/index.js": `export default "deep"`,
      "ext/node_modules/@s/dep/sub.js": `module.exports = "sub"`,
      "ext/node_modules/old/package.json": `{ "main": "lib/main" }`,
      "ext/node_modules/old/lib/main.js": `module.exports = "old"`,
      "ext/node_modules/zod/index.js": `throw new Error("the host's zod is meant")`,
    });
    assert.equal(error, undefined);
    assert.deepEqual((value as { out: unknown }).out, [1, 2, "deep", 3, "sub", 4, "old"]);
    assert.deepEqual(bundle.imports, []);
    assert.ok(bundle.files.every((path) => RELEVANT.test(path)));
    assert.equal(bundle.files.length, 8);
  });

  test("may import what is not installed: that is for the guest to report", async () => {
    const { imports } = await bundleFiles({
      "ext/index.ts": `import x from "left-pad"; import y from "@a/b/c"; export default [x, y]`,
    });
    assert.deepEqual(imports, ["@a/b/c", "left-pad"]);
  });
});

describe("bundling", () => {
  test("says where a syntax error is, in the author's file", async () => {
    const error = await failureOf(
      bundleFiles({ "ext/index.ts": `import "./b";`, "ext/b.ts": "const a: number = 1;\nlet b = ;\n" }),
    );
    assert.equal(error.code, "bundle-failed");
    assert.match(error.message, /ext\/b\.ts:2:9: /);
  });

  test("says where a file that is missing is imported", async () => {
    const error = await failureOf(
      bundleFiles({ "ext/index.ts": `\n  import x from "./nope"; export default x` }),
    );
    assert.match(error.message, /ext\/index\.ts:2:17: cannot import "\.\/nope": no such file/);
  });

  test("maps lines of the script to the author's", async () => {
    const text = `import "./b";\nconst type: string = "x";\n\nexport default function marker() {}\n`;
    const { source, map } = await bundleFiles({ "ext/index.ts": text, "ext/b.ts": "console.log(1)" });
    const line = source.split("\n").findIndex((text) => text.includes("function marker"));
    const place = originalPlace(map, line + 1, 1);
    assert.match(String(place?.file), /index\.ts$/);
    assert.equal(place?.line, 4);
  });

  test("can be done ten at a time", async () => {
    const bundles = await Promise.all(
      Array.from({ length: 10 }, (_, i) =>
        bundleFiles({
          "ext/index.ts": `import { v } from "./v"; export const out = v`,
          "ext/v.ts": `export const v = ${i}`,
        }),
      ),
    );
    const outcomes = await inCompartments(bundles.map((bundle) => bundle.source));
    assert.deepEqual(
      outcomes.map((outcome) => (outcome.value as { out: number }).out),
      [...Array(10).keys()],
    );
  });

  test("takes a file of 40,000 lines, and refuses what is nested too deeply", {
    timeout: 60_000,
  }, async () => {
    const lines = Array.from({ length: 40_000 }, (_, i) => `export const v${i} = "import(${i})"; //-->`);
    const { source } = await bundleFiles({ "ext/index.ts": lines.join("\n") });
    assert.ok(source.includes("v39999"));
    const deep = await failureOf(
      bundleFiles({ "ext/index.ts": `export default ${"[".repeat(100_000)}${"]".repeat(100_000)}` }),
    );
    assert.match(deep.code, /^bundle-/);
    const medium = await failureOf(
      bundleFiles({ "ext/index.ts": `export default ${"a=>".repeat(20_000)}1` }),
    );
    assert.match(medium.code, /^bundle-/);
  });

  test("does not take long over a text made to slow it down", { timeout: 30_000 }, async () => {
    const slow = ["import\n", 'import "" with {\n', "export * \n"].map(
      (line) => `/*\n${line.repeat(80_000)}*/`,
    );
    for (const text of slow) await bundleFiles({ "ext/index.ts": `${text}export default 1` });
    const tags = "String.raw`import(`;".repeat(3_000);
    const { source } = await bundleFiles({ "ext/index.ts": tags });
    assert.ok(source.length < 1_000_000);
  });

  test("works on the entry that a folder's index is", async () => {
    await inFolder({ "ext/index.ts": "export default 1" }, async (folder) => {
      const { files } = await bundleFile(join(folder, "ext"));
      assert.deepEqual(files, [join(folder, "ext/index.ts")]);
    });
  });
});
