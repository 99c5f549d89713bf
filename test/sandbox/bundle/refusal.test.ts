import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { packageRoot } from "../../../sandbox/bundle/root.ts";
import { bundleFile, bundleFiles, type Files, failureOf, inFolder } from "./harness.ts";

const SECRET = "top secret";

/** Bundles `ext/index.ts` after `prepare`; asserts that it is refused with such a message, which names the importer. */
async function refused(
  files: Files,
  message: RegExp,
  prepare: (folder: string) => Promise<void> = async () => {},
): Promise<void> {
  await inFolder(files, async (folder) => {
    await prepare(folder);
    const error = await failureOf(bundleFile(join(folder, "ext/index.ts")));
    assert.equal(error.code, "bundle-refused", error.message);
    assert.match(error.message, message);
    assert.ok(!error.message.includes(SECRET));
  });
}

describe("an extension is refused that", () => {
  for (const type of ["text", "file", "bytes", "sqlite", "macro", "toml", "html", "json"]) {
    test(`imports with { type: "${type}" }`, () =>
      refused(
        {
          "ext/index.ts": `\nimport x from "./data.ts" with { type: "${type}" };\nexport default x`,
          "ext/data.ts": "export default 1",
        },
        new RegExp(`index\\.ts:2:1: import attributes \\{ type: "${type}" \\}`),
      ));
  }

  test("imports with attributes in other spellings", async () => {
    for (const text of [
      `export { default } from "./data.ts" with { "type": 'text' };`,
      `export * from './data.ts' with{type:"text"};`,
      `import {\n  a,\n  b\n} from "./data.ts" with {\n  type: "text",\n};`,
      `import x from "zod" with { type: "text" }; export default x`,
      `import "./data.ts" assert { type: "text" }`,
    ]) {
      await refused({ "ext/index.ts": text, "ext/data.ts": "export default 1" }, /import attributes/);
    }
  });

  for (const name of [
    "vm",
    "node:vm",
    "worker_threads",
    "inspector/promises",
    "node:cluster",
    "repl",
    "v8",
    "wasi",
    "trace_events",
  ]) {
    test(`imports ${name} itself`, () =>
      refused(
        { "ext/index.ts": `import "./b";`, "ext/b.js": `const x = 1;\nconst m = require("${name}");` },
        new RegExp(`b\\.js:2:19: cannot import "${name}": this module is not available`),
      ));
  }

  for (const name of ["bindings", "node-gyp-build", "@mapbox/node-pre-gyp"]) {
    test(`loads native addons itself, by ${name}`, () =>
      refused(
        {
          "ext/package.json": `{ "name": "x" }`,
          "ext/index.ts": `const a = 1;\nmodule.exports = require("${name}")(__dirname);`,
          [`ext/node_modules/${name}/index.js`]: "module.exports = () => {}",
        },
        new RegExp(`index\\.ts:2:26: cannot import "${name}": this package loads native addons`),
      ));
  }

  for (const url of [
    "data:text/javascript,1",
    "http://localhost/x.js",
    "file:///etc/passwd",
    "blob:x",
    "bun:ffi",
    "npm:zod",
    "jsr:@a/b",
  ]) {
    test(`imports the URL ${url}`, () =>
      refused({ "ext/index.ts": `import x from "${url}"; export default x` }, /by URL/));
    test(`imports the URL ${url} dynamically`, () =>
      refused({ "ext/index.ts": `export default () => import("${url}")` }, /by URL/));
  }

  test("leaves its folder, by a relative or an absolute path", async () => {
    const files = {
      "ext/index.ts": `import x from "../outside.ts"; export default x`,
      "outside.ts": `export default "${SECRET}"`,
    };
    await refused(files, /index\.ts:1:15: .*outside the extension's folder/);
    await refused({ "ext/index.ts": `import x from "/etc/hostname"; export default x` }, /outside/);
    await refused({ "ext/index.ts": `import x from "../.."; export default x` }, /outside/);
    await refused({ "ext/index.ts": `export default require("/etc/passwd")` }, /outside/);
  });

  test("leaves its folder by a JSON import", () =>
    refused(
      { "ext/index.ts": `import x from "../secret.json"; export default x`, "secret.json": `"${SECRET}"` },
      /outside/,
    ));

  test("leaves its folder by a link to a file, a folder or a package", async () => {
    const outside = { "outside/secret.ts": `export default "${SECRET}"`, "outside/package.json": "{}" };
    await refused(
      { ...outside, "ext/index.ts": `import x from "./link.ts"; export default x` },
      /outside/,
      (folder) => symlink(join(folder, "outside/secret.ts"), join(folder, "ext/link.ts")),
    );
    await refused(
      { ...outside, "ext/index.ts": `import x from "./sub/secret"; export default x` },
      /outside/,
      (folder) => symlink(join(folder, "outside"), join(folder, "ext/sub")),
    );
    await refused(
      { ...outside, "ext/index.ts": `import x from "dep/secret.ts"; export default x` },
      /outside/,
      async (folder) => {
        await mkdir(join(folder, "ext/node_modules"));
        await symlink(join(folder, "outside"), join(folder, "ext/node_modules/dep"));
      },
    );
    await refused(
      {
        ...outside,
        "ext/index.ts": `import x from "dep"; export default x`,
        "ext/node_modules/dep/a.js": "",
      },
      /outside|leads out/,
      async (folder) => {
        await symlink(
          join(folder, "outside/package.json"),
          join(folder, "ext/node_modules/dep/package.json"),
        );
      },
    );
  });

  test("has a package that points out of itself", async () => {
    const files = {
      "ext/index.ts": `import x from "dep"; export default x`,
      "ext/other.js": "export default 1",
    };
    for (const json of [`{ "main": "../../other.js" }`, `{ "exports": "./../../other.js" }`]) {
      await refused({ ...files, "ext/node_modules/dep/package.json": json }, /leads out of its package/);
    }
    await refused(
      {
        ...files,
        "ext/node_modules/dep/package.json": `{ "exports": { "./a": "./a.js" } }`,
        "ext/node_modules/dep/a.js": "",
      },
      /does not export/,
    );
    await refused({ ...files, "ext/node_modules/dep/package.json": "{ not json" }, /is not JSON/);
  });

  test("has a link that leads to itself", () =>
    refused({ "ext/index.ts": `import "./loop.ts"` }, /leads to itself/, (folder) =>
      symlink("loop.ts", join(folder, "ext/loop.ts")),
    ));

  test("names a FIFO, a folder's FIFO, or is one", { timeout: 10_000 }, async () => {
    const fifo = (name: string) => async (folder: string) =>
      void execFileSync("mkfifo", [join(folder, name)]);
    await refused({ "ext/index.ts": `import "./pipe.ts"` }, /not a regular file/, fifo("ext/pipe.ts"));
    await refused({ "ext/index.ts": `import "./pipe"` }, /not a regular file/, fifo("ext/pipe.ts"));
    await inFolder({ "ext/index.ts": `export default 1` }, async (folder) => {
      await fifo("ext/package.json")(folder);
      await fifo("package.json")(folder);
      await fifo("ext/tsconfig.json")(folder);
      await bundleFile(join(folder, "ext/index.ts"));
      await fifo("ext/entry.ts")(folder);
      const error = await failureOf(bundleFile(join(folder, "ext/entry.ts")));
      assert.match(error.message, /not a regular file/);
    });
  });

  test("reads hidden files and folders", async () => {
    await refused(
      { "ext/index.ts": `import "./.git/config.js"`, "ext/.git/config.js": "1" },
      /hidden "\.git"/,
    );
    await refused({ "ext/index.ts": `import "./.env.ts"`, "ext/.env.ts": "1" }, /hidden "\.env\.ts"/);
    await refused({ "ext/index.ts": `import "./a"`, "ext/.h/a.ts": "1" }, /hidden "\.h"/, (folder) =>
      symlink(".h/a.ts", join(folder, "ext/a.ts")),
    );
  });

  test("reads files of other kinds", async () => {
    await refused(
      { "ext/index.ts": `import x from "./data.txt"; export default x`, "ext/data.txt": SECRET },
      /can't be bundled, only/,
    );
    await refused(
      { "ext/index.ts": `import x from "./id_rsa"; export default x`, "ext/id_rsa": SECRET },
      /can't be bundled/,
    );
    await refused(
      { "ext/index.ts": `import x from "./a.node"; export default x`, "ext/a.node": SECRET },
      /native addons/,
    );
    await refused({ "ext/index.ts": `import "./a.wasm"`, "ext/a.wasm": SECRET }, /can't be bundled/);
    await refused(
      { "ext/index.ts": `import x from "./a.txt?raw"; export default x`, "ext/a.txt": SECRET },
      /no such file/,
    );
  });

  test("is too big", { timeout: 60_000 }, async () => {
    const mb = `/*${"x".repeat(1024 * 1024)}*/`;
    await refused({ "ext/index.ts": `import "./big"`, "ext/big.ts": mb.repeat(9) }, /larger than 8 MB/);
    const numbers = [1, 2];
    const parts = Object.fromEntries(numbers.map((i) => [`ext/p${i}.ts`, mb.repeat(7)]));
    const imports = numbers.map((i) => `import "./p${i}";`).join("");
    await refused({ "ext/index.ts": imports, ...parts }, /more than 12 MB/);
    const dense = `export default [${"a,".repeat(2_000_000)}]`;
    await refused(
      { "ext/index.js": dense, "ext/index.ts": `export * from "./index.js"` },
      /more than 3000000 words/,
    );
  });

  test("exports a name with many stars, or imports one of a length that no module has", async () => {
    const ext = { "ext/package.json": `{ "name": "x" }` };
    const exports = { "./*": `./${"*".repeat(500)}` };
    const packaged = { ...ext, "ext/node_modules/p/package.json": JSON.stringify({ name: "p", exports }) };
    await refused(
      { ...packaged, "ext/index.ts": `import x from "p/${"a".repeat(900)}"; export default x` },
      /does not export this/,
    );
    await refused(
      { ...packaged, "ext/index.ts": `import x from "p/${"a".repeat(200_000)}"; export default x` },
      /too long/,
    );
  });

  test("uses `imports` or `exports` of a package.json that lead out, or to what is refused anyhow", async () => {
    const outside = { "outside.ts": `export default "${SECRET}"` };
    for (const [target, message] of [
      ["/etc/hostname", /no "imports"/],
      ["../outside.ts", /no "imports"/],
      ["./../outside.ts", /leads out of its package/],
      ["./a/../../outside.ts", /leads out of its package/],
      ["file:///etc/hostname", /by URL/],
      ["data:text/javascript,1", /by URL/],
      ["node:vm", /not available/],
      ["#other", /no "imports"/],
      ["./nope.ts", /no such file/],
      ["./.env.ts", /hidden/],
      ["./data.txt", /can't be bundled/],
      [["./../outside.ts"], /leads out/],
      [{ browser: "./a.ts", types: "./a.ts" }, /no "imports"/],
      [null, /no "imports"/],
      [7, /no "imports"/],
    ] as const) {
      await refused(
        {
          ...outside,
          "ext/index.ts": `import x from "#secret"; export default x`,
          "ext/package.json": JSON.stringify({ name: "x", imports: { "#secret": target } }),
          "ext/.env.ts": SECRET,
          "ext/data.txt": SECRET,
          "ext/a.ts": "export default 1",
        },
        message,
      );
    }
    await refused(
      {
        ...outside,
        "ext/index.ts": `import x from "#a/../../outside.ts"; export default x`,
        "ext/package.json": JSON.stringify({ name: "x", imports: { "#a/*": "./src/*" } }),
      },
      /leads out/,
    );
    await refused(
      {
        ...outside,
        "ext/index.ts": `import x from "dep/../../../../outside.ts"; export default x`,
        "ext/package.json": `{ "name": "x" }`,
        "ext/node_modules/dep/package.json": JSON.stringify({ exports: { "./*": "./*" } }),
      },
      /leads out/,
    );
  });

  test("uses another package's `#` names", () =>
    refused(
      {
        "ext/package.json": JSON.stringify({ name: "x", imports: { "#own": "./own.ts" } }),
        "ext/own.ts": "export default 1",
        "ext/index.ts": `import "dep"`,
        "ext/node_modules/dep/package.json": `{ "name": "dep" }`,
        "ext/node_modules/dep/index.js": `import "#own"`,
      },
      /dep\/index\.js:1:8: cannot import "#own"/,
    ));

  test("loads a native addon by createRequire, a refused module, or a file outside", async () => {
    const head = `import { createRequire } from "node:module"; const load = createRequire(import.meta.url);\n`;
    await refused(
      { "ext/index.ts": `${head}export default load("./a.node")`, "ext/a.node": SECRET },
      /index\.ts:\d+:\d+: cannot import "\.\/a\.node": .*native addons/,
    );
    await refused(
      { "ext/index.ts": `${head}export default load("node:vm")` },
      /"node:vm": this module is not/,
    );
    await refused(
      { "ext/index.ts": `${head}export default load("../s.json")`, "s.json": `"${SECRET}"` },
      /outside/,
    );
  });

  test("uses syntax that is not known to the checker", async () => {
    for (const text of [
      `import defer * as fs from "node:fs"; export default fs`,
      `export default import.defer("node:fs")`,
      `export default import.source("node:fs")`,
      `with (a) {}`,
    ]) {
      const error = await failureOf(bundleFiles({ "ext/index.js": text }, "ext/index.js"));
      assert.match(error.code, /^bundle-(?:failed|refused)$/);
      assert.match(error.message, /index\.js:1:\d+: /);
    }
  });

  test("is not UTF-8", () =>
    inFolder({ "ext/x": "" }, async (folder) => {
      await writeFile(join(folder, "ext/index.ts"), Uint8Array.of(0x22, 0xff, 0x22));
      assert.match((await failureOf(bundleFile(join(folder, "ext/index.ts")))).message, /UTF-8/);
    }));
});

describe("no configuration of the extension has a say:", () => {
  test("tsconfig paths, browser maps and sideEffects change nothing", async () => {
    const { source, imports } = await bundleFiles({
      "ext/package.json": `{ "name": "x", "sideEffects": false, "browser": { "./a.ts": "./evil.ts", "node:fs": "./evil.ts" }, "type": "commonjs" }`,
      "ext/tsconfig.json": `{ "compilerOptions": { "baseUrl": "/etc", "paths": { "./a": ["./evil.ts"], "zod": ["./evil.ts"], "*": ["/etc/*"] }, "jsxFactory": "evil" } }`,
      "ext/bunfig.toml": `preload = ["./evil.ts"]\n[define]\n"answer" = "'evil'"`,
      "ext/.env": "ANSWER=evil",
      "ext/evil.ts": `export default "evil"`,
      "ext/index.ts": `import "./side"; import a from "./a"; import z from "zod"; import fs from "node:fs"; import h from "hostname"; export default [a, z, fs, h, process.env.ANSWER, process.env.NODE_ENV, answer]`,
      "ext/a.ts": `export default "good"`,
      "ext/side.ts": `console.log("side effect")`,
    });
    assert.ok(!source.includes("evil"));
    assert.ok(source.includes("side effect") && source.includes("process.env.NODE_ENV"));
    assert.deepEqual(imports, ["hostname", "node:fs", "zod"]);
  });

  test("a macro is not executed", async () => {
    await inFolder({}, async (folder) => {
      const canary = join(folder, "canary");
      await mkdir(join(folder, "ext"));
      await writeFile(
        join(folder, "ext/macro.ts"),
        `import { writeFileSync } from "node:fs"; writeFileSync(${JSON.stringify(canary)}, ""); export function m() { writeFileSync(${JSON.stringify(canary)}, ""); return 1 }`,
      );
      for (const text of [
        `import { m } from "./macro.ts" with { type: "macro" }; export default m();`,
        `import { m } from "./macro.ts" with/**/{ type: "macro" }; export default m();`,
        `import { m } from "./macro.ts" /**/ with { /**/ "type": "macro" }; export default m();`,
        `import { m } from "macro:./macro.ts"; export default m();`,
      ]) {
        await writeFile(join(folder, "ext/index.ts"), text);
        await bundleFile(join(folder, "ext/index.ts")).catch(() => {});
        assert.ok(!existsSync(canary), text);
      }
    });
  });

  test("attributes that escape the check of the text have no effect", async () => {
    for (const type of ["text", "file", "bytes", "sqlite"]) {
      const files = {
        "ext/index.ts": `import x from "./data.ts" /**/ with /**/ { type: "${type}" }; export default x`,
        "ext/data.ts": `// ${SECRET}\nexport default 1`,
      };
      const source = await bundleFiles(files).then(
        (bundle) => bundle.source,
        () => "",
      );
      assert.ok(!source.includes(SECRET), type);
    }
  });
});

describe("the extension's folder", () => {
  test("is the nearest with a package.json that declares something, at most three above", async () => {
    await inFolder(
      { "p/package.json": `{ "name": "p" }`, "p/a/package.json": `{}`, "p/a/b/c/d/index.ts": "" },
      async (folder) => {
        assert.equal((await packageRoot(join(folder, "p/a/b/c/index.ts"))).root, join(folder, "p"));
        assert.equal((await packageRoot(join(folder, "p/a/b/c/d/index.ts"))).root, join(folder, "p/a/b/c/d"));
        assert.equal((await packageRoot(join(folder, "p/index.ts"))).root, join(folder, "p"));
      },
    );
  });

  test("is never the home folder for what lies below it, nor `/`", async () => {
    assert.equal((await packageRoot(join(homedir(), "x/index.ts"))).root, join(homedir(), "x"));
    assert.equal((await packageRoot("/nowhere/index.ts")).root, "/nowhere");
  });
});
