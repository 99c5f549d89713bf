import assert from "node:assert/strict";
import { mkdir, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, test } from "node:test";
import { bundleFile, type Files, inCompartments, inFolder, runBundle } from "./harness.ts";

const EXT = { "ext/package.json": `{ "name": "x" }` };

/** What `out` of `ext/index.ts` is. */
async function out(files: Files): Promise<unknown> {
  const { value, error } = await runBundle({ ...EXT, ...files });
  assert.equal(error, undefined);
  return (value as { out: unknown }).out;
}

describe("packages", () => {
  test("are found by their exports: conditions within conditions, patterns, arrays and what is null", async () => {
    const exports = {
      ".": { browser: "./wrong.js", node: { import: { default: "./esm.js" }, require: "./cjs.cjs" } },
      "./list": [{ unknown: "./wrong.js" }, "./list.js"],
      "./sub/*.js": "./lib/*.js",
      "./sub/deep/*.js": "./deep/*.js",
      "./sub/secret.js": null,
      "./package.json": "./package.json",
    };
    const result = await out({
      "ext/index.ts": `
        import dep from "dep"; import cjs from "./c.cjs"; import list from "dep/list"; import one from "dep/sub/one.js";
        import two from "dep/sub/deep/two.js"; import json from "dep/package.json";
        export const out = [dep, cjs, list, one, two, json.name];`,
      "ext/c.cjs": `module.exports = require("dep")`,
      "ext/node_modules/dep/package.json": JSON.stringify({ name: "dep", exports }),
      "ext/node_modules/dep/esm.js": "export default 'esm'",
      "ext/node_modules/dep/cjs.cjs": "module.exports = 'cjs'",
      "ext/node_modules/dep/list.js": "export default 'list'",
      "ext/node_modules/dep/lib/one.js": "export default 'one'",
      "ext/node_modules/dep/deep/two.js": "export default 'two'",
      "ext/node_modules/dep/wrong.js": "throw new Error('wrong')",
    });
    assert.deepEqual(result, ["esm", "cjs", "list", "one", "two", "dep"]);
  });

  test("use names of their own: # names with conditions and patterns, and their own name", async () => {
    const result = await out({
      "ext/package.json": JSON.stringify({
        name: "x",
        exports: { "./util": "./src/util.ts" },
        imports: { "#src/*": "./src/*.ts", "#dep": "dep", "#fs": { node: "node:fs", default: "./no.js" } },
      }),
      "ext/index.ts": `
        import util from "#src/util"; import self from "x/util"; import dep from "#dep"; import { a } from "#fs";
        export const out = [util, self === util, dep, a];`,
      "ext/src/util.ts": "export default { util: 1 }",
      "ext/node_modules/dep/package.json": JSON.stringify({
        name: "dep",
        exports: { ".": "./index.js", "./own": "./own.js" },
        imports: { "#internal/*.js": { require: "./no.js", default: "./lib/*.js" } },
      }),
      "ext/node_modules/dep/index.js": `import v from "#internal/v.js"; import own from "dep/own"; export default [v, own]`,
      "ext/node_modules/dep/lib/v.js": "export default 'v'",
      "ext/node_modules/dep/own.js": "export default 'own'",
    });
    assert.deepEqual(result, [{ util: 1 }, true, ["v", "own"], "a of node:fs"]);
  });

  test("have a main without extension, a folder as main, an index, or a module for imports", async () => {
    const result = await out({
      "ext/index.ts": `
        import a from "a"; import b from "b"; import c from "c"; import d from "@s/d"; import e from "a/lib/e"; const d2 = require("@s/d");
        export const out = [a, b, c, d, d2, e];`,
      "ext/node_modules/a/package.json": `{ "main": "lib/main" }`,
      "ext/node_modules/a/lib/main.js": "module.exports = 'a'",
      "ext/node_modules/a/lib/e.js": "module.exports = 'e'",
      "ext/node_modules/b/package.json": `{ "main": "./lib" }`,
      "ext/node_modules/b/lib/index.js": "module.exports = 'b'",
      "ext/node_modules/c/index.json": `"c"`,
      "ext/node_modules/@s/d/package.json": `{ "main": "d.js", "module": "d.mjs", "browser": "no.js" }`,
      "ext/node_modules/@s/d/d.js": "module.exports = 'd'",
      "ext/node_modules/@s/d/d.mjs": "export default 'd module'",
    });
    assert.deepEqual(result, ["a", "b", "c", "d module", "d", "e"]);
  });

  test("import packages: nested before hoisted, and by the links of a store", async () => {
    await inFolder(
      {
        ...EXT,
        "ext/index.ts": `import a from "a"; import b from "b"; export const out = [a, b]`,
        "ext/node_modules/.pnpm/a@1/node_modules/a/index.js": `import v from "v"; export default ["a", v]`,
        "ext/node_modules/.pnpm/v@1/node_modules/v/index.js": "export default 'v1'",
        "ext/node_modules/b/index.js": `import v from "v"; import h from "h"; export default ["b", v, h]`,
        "ext/node_modules/b/node_modules/v/index.js": "export default 'v2'",
        "ext/node_modules/h/index.js": "export default 'hoisted'",
      },
      async (folder) => {
        const modules = join(folder, "ext/node_modules");
        for (const [link, target] of [
          ["a", ".pnpm/a@1/node_modules/a"],
          [".pnpm/a@1/node_modules/v", ".pnpm/v@1/node_modules/v"],
        ] as const) {
          await mkdir(dirname(join(modules, link)), { recursive: true });
          await symlink(join(modules, target), join(modules, link));
        }
        const { source } = await bundleFile(join(folder, "ext/index.ts"));
        const [outcome] = await inCompartments([source]);
        assert.deepEqual((outcome!.value as { out: unknown }).out, [
          ["a", "v1"],
          ["b", "v2", "hoisted"],
        ]);
      },
    );
  });

  test("of CommonJS and modules meet: defaults, names, __esModule and live exports", async () => {
    const result = await out({
      "ext/index.ts": `
        import cjs, { named } from "cjs"; import * as star from "cjs"; import compiled, { other } from "compiled"; import fn from "fn";
        const esm = require("./esm.ts");
        export const out = [cjs.named, named, star.named, compiled, other, fn(), esm.default, esm.x, require("cjs") === cjs];`,
      "ext/esm.ts": "export default 'default'; export const x = 'x'",
      "ext/node_modules/cjs/index.js": "exports.named = 'named'",
      "ext/node_modules/compiled/index.js":
        "Object.defineProperty(exports, '__esModule', { value: true }); exports.default = 'compiled'; exports.other = 'other'",
      "ext/node_modules/fn/index.js":
        "module.exports = function () { return 'fn' }; module.exports.default = module.exports",
    });
    assert.deepEqual(result, ["named", "named", "named", "compiled", "other", "fn", "default", "x", true]);
  });

  test("may be circular, in CommonJS and as modules", async () => {
    const result = await out({
      "ext/index.ts": `
        import { even } from "./even.ts"; import a from "./a.cjs";
        export const out = [even(4), even(3), a.b.a === a];`,
      "ext/even.ts": `import { odd } from "./odd.ts"; export const even = (n: number): boolean => n === 0 || odd(n - 1)`,
      "ext/odd.ts": `import { even } from "./even.ts"; export const odd = (n: number): boolean => n !== 0 && even(n - 1)`,
      "ext/a.cjs": "exports.b = require('./b.cjs')",
      "ext/b.cjs": "exports.a = require('./a.cjs')",
    });
    assert.deepEqual(result, [true, false, true]);
  });

  test("re-export everything, the host's modules included, also below the entry", async () => {
    const result = await out({
      "ext/index.ts": `
        import { a, own, nested } from "./all.ts"; import * as everything from "./all.ts";
        const again = await import("./all.ts");
        export const out = [a, own, nested, everything.own, again.own, again.b];`,
      "ext/all.ts": `export * from "zod"; export * from "./nested.ts"; export const own = "own"`,
      "ext/nested.ts": `export const nested = "nested"`,
    });
    assert.deepEqual(result, ["a of zod", "own", "nested", "own", "own", "b of zod"]);
  });
});

describe("TypeScript", () => {
  test("keeps its own syntax: enums, namespaces, parameter properties, satisfies, decorators and using", async () => {
    const result = await out({
      "ext/index.ts": `
        import type { Missing } from "./nowhere.ts"; import { type Gone, kept } from "./types.ts"; export type { Gone };
        enum Color { Red, Green = 5, Blue } const enum Size { Big = "big" }
        namespace Space { export const v = 1; export namespace In { export const w = 2 } }
        class P { constructor(private readonly x: number, public y = 2) {} sum() { return this.x + this.y } }
        const config = { a: 1 } satisfies Record<string, number>;
        const calls: string[] = [];
        function logged(value: any, context: { name: string }) { calls.push(String(context.name)); return value }
        class D { @logged method() { return 1 } }
        abstract class A { declare z: number; abstract f(): void; accessor v = 3 }
        class B extends A { override f() {} }
        let ended = "";
        { using resource = { [Symbol.dispose]() { ended = "ended" } } as Disposable; void resource; }
        let assertion = <number>(1 as unknown); let definite!: number;
        export const out = [Color.Blue, Color[5], Size.Big, Space.In.w + Space.v, new P(1).sum(), config.a, new D().method(), calls, new B().v, ended, kept, assertion];
        function overloaded(a: string): string; function overloaded(a: any) { return a }
        export const m: Missing | undefined = undefined;`,
      "ext/types.ts": "export interface Gone { a: 1 } export const kept = 'kept'",
    });
    assert.deepEqual(result, [6, "Green", "big", 3, 3, 1, 1, ["method"], 3, "ended", "kept", 1]);
  });

  test("may wait at its top level in a dependency", async () => {
    const result = await out({
      "ext/index.ts": `import { v } from "dep"; import w from "./w.ts"; export const out = [v, w]`,
      "ext/node_modules/dep/index.js": "export const v = await Promise.resolve('v')",
      "ext/w.ts": `import { v } from "dep"; export default await Promise.resolve(v + "w")`,
    });
    assert.deepEqual(result, ["v", "vw"]);
  });

  test("has JSX: automatic, and by the factory that a comment names", async () => {
    const result = await out({
      "ext/index.ts": `import a from "./a.tsx"; import b from "./b.jsx"; export const out = [a, b]`,
      "ext/a.tsx": `/** @jsx h */ /** @jsxFrag "fragment" */\nconst h = (type: string, props: object | null, ...children: unknown[]) => [type, props, ...children];\nexport default <b id="1">text {1 + 1}</b>;`,
      "ext/b.jsx": "/** @jsxImportSource ui */\nexport default <i>{'x'}</i>",
      "ext/node_modules/ui/jsx-runtime.js":
        "export const jsx = (type, props) => ({ type, ...props }); export const jsxs = jsx",
    });
    assert.deepEqual(result, [["b", { id: "1" }, "text ", 2], { type: "i", children: "x" }]);
  });

  test("may be written with other line ends, a BOM, a hashbang and odd separators", async () => {
    for (const text of [
      "#!/usr/bin/env node\nexport const out = [1,\n2]",
      "#!/usr/bin/env node\r\nimport.meta.url;\r\nexport const out = [1,\r\n2]",
      "\ufeffexport const out = [1,\n2]",
      "// one\r\nexport const out = [1,\r\n2]",
      "// one\rexport const out = [1,\r2]",
      "// one\u2028export const out = [1,\u20292]",
      "export const out = [1, '\u2028'.length + 1]",
    ]) {
      assert.deepEqual(await out({ "ext/index.ts": text }), [1, 2], JSON.stringify(text));
    }
  });
});
