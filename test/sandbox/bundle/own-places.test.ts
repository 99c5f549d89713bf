import assert from "node:assert/strict";
import { symlink } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { bundleFile, bundleFiles, type Files, failureOf, inFolder, runBundle } from "./harness.ts";

/** What `out` of `ext/index.ts` is. */
async function out(files: Files): Promise<unknown> {
  const { value, error } = await runBundle(files);
  assert.equal(error, undefined);
  return (value as { out: unknown }).out;
}

describe("a computed import", () => {
  test("loads files below the text that its path begins with, each once and when it is asked for", async () => {
    const result = await out({
      "ext/index.ts": `
        import { order } from "./order.ts";
        import * as direct from "./commands/a.ts";
        const load = (name: string) => import("./commands/" + name + ".ts");
        const before = [...order];
        const b = await load("b");
        const template = await import(\`./commands/\${"c"}.js\`);
        const same = (await load("a")) === direct || (await load("a")).made === direct.made;
        const deep = (await load("deep/d")).default;
        export const out = [before, b.default, template.default, same, deep, order];`,
      "ext/order.ts": "export const order: string[] = [];",
      "ext/commands/a.ts": `import { order } from "../order.ts"; order.push("a"); export const made = {};`,
      "ext/commands/b.ts": `import { order } from "../order.ts"; order.push("b"); await 0; export default "b!" as string;`,
      "ext/commands/c.ts": `import { order } from "../order.ts"; order.push("c"); export default "c!";`,
      "ext/commands/deep/d.ts": `export default "d!"`,
      "ext/commands/never.ts": `import { order } from "../order.ts"; order.push("never");`,
    });
    assert.deepEqual(result, [["a"], "b!", "c!", true, "d!", ["a", "b", "c"]]);
  });

  test("of a file that is not there rejects and says so", async () => {
    const result = (await out({
      "ext/index.ts": `
        const tries = ["./commands/" + "nope.ts", "../" + "outside.ts", "/etc/" + "passwd", "file:///etc/" + "passwd"];
        const failures: unknown[] = [];
        for (const one of tries) {
          try { await import(one.slice(0)); failures.push("loaded"); } catch (error: any) { failures.push([error.code, error.message]); }
        }
        try { await import("./commands/" + "nope.ts"); } catch (error: any) { failures.push(error.message); }
        export const out = failures;`,
      "ext/commands/a.ts": "export default 1",
      "outside.ts": "export default 1",
    })) as unknown[];
    assert.equal(result.length, 5);
    for (const failure of result.slice(0, 4) as string[][]) {
      assert.equal(failure[0], "ERR_MODULE_NOT_FOUND");
      assert.match(failure[1] ?? "", /^Cannot find module "\/.*it is not in the bundle/);
    }
    assert.match(String(result[4]), /"\/ext\/commands\/nope\.ts" \(from \/ext\/index\.ts\)/);
  });

  test("finds what a URL of import.meta.url or a joined path names, with a query or a missing extension", async () => {
    const result = await out({
      "ext/index.ts": `
        const join = (...parts: string[]) => parts.join("/");
        const folder = join(import.meta.dirname, "many");
        const file = join(folder, "two.ts");
        class URL { href: string; constructor(path: string, base: string) { this.href = base.replace(/[^/]*$/, "") + path } toString() { return this.href } }
        const url: any = new URL("./one.ts", import.meta.url);
        export const out = [
          (await import(file)).default,
          (await import("file://" + file + "?t=1")).default,
          (await import(folder + "/two")).default,
          (await import(folder)).default,
          (await import(url)).default,
          (await import(url.href)).default,
        ];`,
      "ext/one.ts": "export default 1",
      "ext/many/two.ts": "export default 2",
      "ext/many/index.ts": "export default 3",
      "ext/many/data.txt": "no code",
    });
    assert.deepEqual(result, [2, 2, 2, 3, 1, 1]);
  });

  test("of a bare name is the guest's loader's", async () => {
    const { calls } = await runBundle({
      "ext/index.ts": `const name = () => "zod"; export const out = (await import(name())).a`,
    });
    assert.deepEqual(calls, ["dynamic:zod"]);
  });

  test("may be a require, in CommonJS and in modules", async () => {
    const result = await out({
      "ext/index.ts": `
        import c from "./lib/c.cjs";
        const n = () => "x";
        export const out = [c("x"), c("y"), require("./lib/parts/" + n()).v, require(n() === "x" ? "zod" : "").a];`,
      "ext/lib/c.cjs": `module.exports = (name) => { try { return require("./parts/" + name).v } catch (error) { return error.code } }`,
      "ext/lib/parts/x.js": "exports.v = 'x!'",
    });
    assert.deepEqual(result, ["x!", "MODULE_NOT_FOUND", "x!", "a of zod"]);
  });

  test("follows no link, and brings no hidden file, no test and no package", async () => {
    await inFolder(
      {
        "ext/index.ts": `export default (n: string) => import("./commands/" + n)`,
        "ext/commands/good.ts": "export default 'GOOD'",
        "ext/commands/types.d.ts": "export default 'BAD1'",
        "ext/commands/good.test.ts": "export default 'BAD2'",
        "ext/commands/.hidden.ts": "export default 'BAD3'",
        "ext/commands/node_modules/p/index.ts": "export default 'BAD4'",
        "ext/commands/.git/x.ts": "export default 'BAD5'",
        "outside/secret.ts": "export default 'BAD6'",
      },
      async (folder) => {
        await symlink(join(folder, "outside"), join(folder, "ext/commands/link"));
        await symlink(join(folder, "outside/secret.ts"), join(folder, "ext/commands/linked.ts"));
        const { source } = await bundleFile(join(folder, "ext/index.ts"));
        assert.ok(source.includes("GOOD"));
        assert.deepEqual(source.match(/BAD\d/g), null);
      },
    );
  });

  test("that leads out of the extension's folder brings nothing", async () => {
    await inFolder(
      {
        "ext/index.ts": `export default (n: string) => import("../outside/" + n)`,
        "outside/secret.ts": "export default 'SECRET'",
      },
      async (folder) => {
        const { source } = await bundleFile(join(folder, "ext/index.ts"));
        assert.ok(!source.includes("SECRET"));
      },
    );
  });

  test("that means hundreds of files is refused", async () => {
    const many = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`ext/many/f${i}.ts`, ""]));
    const error = await failureOf(
      bundleFiles({ ...many, "ext/index.ts": `export default (n: string) => import("./many/" + n)` }),
    );
    assert.equal(error.code, "bundle-refused");
    assert.match(error.message, /more than 256 files/);
  });

  test("makes the same bundle wherever the extension lies", async () => {
    const files = {
      "ext/index.ts": `import c from "./c.cjs"; export default async (n: string) => [c, import.meta.url, await import("./sub/" + n)]`,
      "ext/c.cjs": "module.exports = [__dirname, __filename]",
      "ext/sub/b.ts": "export default import.meta.dirname",
      "ext/sub/a.ts": "export default __dirname",
    };
    const [one, two] = await Promise.all([bundleFiles(files), bundleFiles(files)]);
    const plain = (text: string) => text.replace(/\/\/.*|"?xdev:[^"\s]*"?/g, "");
    assert.equal(plain(one.source), plain(two.source));
    assert.equal(one.source, two.source);
  });
});

describe("what depends on the file it stands in", () => {
  test("is that file's: import.meta, __dirname and __filename", async () => {
    const result = await out({
      "ext/index.ts": `
        import lib from "./lib/a.ts"; import c from "./lib/deep/c.cjs"; import { here } from "dep";
        const { url, filename: f } = import.meta;
        export const out = [url, f, import.meta.dirname, lib, c, here, import.meta === import.meta];`,
      "ext/package.json": `{ "name": "x" }`,
      "ext/lib/a.ts": `export default [import.meta.url, import.meta.filename, import.meta.dirname, typeof import.meta.main]`,
      "ext/lib/deep/c.cjs": `module.exports = [__dirname, __filename, (() => { const __dirname = 1; return { __dirname } })()]`,
      "ext/node_modules/dep/index.js": `export const here = [import.meta.url, import.meta.dirname]`,
    });
    assert.deepEqual(result, [
      "file:///ext/index.ts",
      "/ext/index.ts",
      "/ext",
      ["file:///ext/lib/a.ts", "/ext/lib/a.ts", "/ext/lib", "boolean"],
      ["/ext/lib/deep", "/ext/lib/deep/c.cjs", { __dirname: 1 }],
      ["file:///ext/node_modules/dep/index.js", "/ext/node_modules/dep"],
      true,
    ]);
  });

  test("may be declared by the author", async () => {
    const result = await out({
      "ext/index.ts": `
        import { __dirname as others } from "./lib/util.ts";
        const __filename = "mine";
        export const out = [others, __filename, { __filename }];`,
      "ext/lib/util.ts": `export const __dirname = import.meta.url.slice(0, -8);`,
    });
    assert.deepEqual(result, ["file:///ext/lib", "mine", { __filename: "mine" }]);
  });

  test("is left alone in strings, templates, patterns, comments and names", async () => {
    const result = await out({
      "ext/index.tsx": `
        const h = (_: unknown, __: unknown, text: string) => text; const React = { createElement: h };
        // import.meta import(x) require(x)
        const o = { import(v: number, w = 1) { return v + w }, require(v: number) { return v } };
        class K { import(v: number) { return v } static require(a: number, b: number) { return a + b } }
        function require(name: string) { return "own " + name }
        const n = "x";
        export const out = [
          "import.meta and import(n) and require(n)", \`import.meta \${n} import(n)\`, /import.meta/.source,
          o.import(1), o.require(2), new K().import(3), K.require(4, 5), require(n), require("lit"),
          String.raw\`import.meta\`,
        ];`,
      "ext/index.ts": `export * from "./index.tsx"`,
    });
    assert.deepEqual(result, [
      "import.meta and import(n) and require(n)",
      "import.meta x import(n)",
      "import.meta",
      2,
      2,
      3,
      9,
      "own x",
      "own lit",
      "import.meta",
    ]);
  });

  test("resolves: import.meta.resolve and require.resolve", async () => {
    const result = await out({
      "ext/package.json": `{ "name": "x" }`,
      "ext/index.ts": `
        import c from "./lib/c.cjs";
        const failure = (() => { try { return import.meta.resolve("nowhere") } catch (error: any) { return error.code } })();
        export const out = [import.meta.resolve("./data file.txt"), import.meta.resolve("dep"), import.meta.resolve("node:fs"), failure, c];`,
      "ext/lib/c.cjs": `module.exports = [require.resolve("./d"), require.resolve("dep"), require.resolve("fs")]`,
      "ext/lib/d.ts": "",
      "ext/node_modules/dep/package.json": `{ "main": "./lib/main.js" }`,
      "ext/node_modules/dep/lib/main.js": "",
    });
    assert.deepEqual(result, [
      "file:///ext/data%20file.txt",
      "file:///ext/node_modules/dep/lib/main.js",
      "node:fs",
      "ERR_MODULE_NOT_FOUND",
      ["/ext/lib/d.ts", "/ext/node_modules/dep/lib/main.js", "fs"],
    ]);
  });

  test("requires by createRequire: JSON, files, packages and the guest's modules", async () => {
    const { value, error, bundle } = await runBundle({
      "ext/package.json": `{ "name": "x", "version": "1.2.3" }`,
      "ext/index.ts": `
        import { createRequire } from "node:module";
        import lib from "./lib/a.ts";
        const require = createRequire(import.meta.url);
        const { version } = require("./package.json");
        const failure = (() => { try { return require("./nope.json") } catch (error: any) { return error.code } })();
        export const out = [version, require("dep"), createRequire(import.meta.url)("./d.json").d, require("node:os").a, lib, failure, require.resolve("./d.json")];`,
      "ext/d.json": `{ "d": 4 }`,
      "ext/lib/a.ts": `import module from "module"; const load = module.createRequire(import.meta.url); export default [load("../d.json").d, load("./b")]`,
      "ext/lib/b.cjs": "module.exports = 'b'",
      "ext/node_modules/dep/index.js": "module.exports = 'dep'",
    });
    assert.equal(error, undefined);
    assert.deepEqual((value as { out: unknown }).out, [
      "1.2.3",
      "dep",
      4,
      "a of node:os",
      [4, "b"],
      "MODULE_NOT_FOUND",
      "/ext/d.json",
    ]);
    assert.ok(bundle.imports.includes("node:os"));
  });
});
