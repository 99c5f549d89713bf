/** What an extension's own module says when it is bundled and loaded: imports in every form, and files that are not its own. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Arena, LEVELS } from "./harness.ts";

/** Statements that make `it`, at the top of a module; `$C` is the canary's folder from the extension's. */
const MODULES: readonly [what: string, statements: string][] = [
  [
    "import.defer of a module of Node's",
    `let it; try { it = (await import.defer("node:fs")).readFileSync($T.canary, "utf8"); } catch (e) { it = e.message; }`,
  ],
  ["import.source", `let it; try { it = await import.source("node:fs"); } catch (e) { it = e.message; }`],
  [
    "import defer * as",
    `import defer * as fs from "node:fs"; let it; try { it = fs.readFileSync($T.canary, "utf8"); } catch (e) { it = e.message; }`,
  ],
  [
    "an import behind a comment",
    `let it; try { it = (await import/* */(/* */"node:fs"/* */)).readFileSync($T.canary, "utf8"); } catch (e) { it = e.message; }`,
  ],
  [
    "an import of a computed name",
    `let it; try { it = (await import("node:" + "f" + "s")).readFileSync($T.canary, "utf8"); } catch (e) { it = e.message; }`,
  ],
  [
    "an import of vm",
    `let it; try { const { runInThisContext } = await import("node:" + "vm"); it = runInThisContext("process").env; } catch (e) { it = e.message; }`,
  ],
  ["a static import of bun:ffi", `import { dlopen } from "bun:ffi"; const it = dlopen;`],
  [
    "a static import of worker_threads",
    `import { Worker } from "node:worker_threads"; const it = new Worker("data:text/javascript,1");`,
  ],
  [
    "an import that is a macro",
    `import { readFileSync } from "node:fs" with { type: "macro" }; const it = readFileSync($P, "utf8");`,
  ],
  ["a JSON file outside of it", `import it from "../guarded/canary.json";`],
  [
    "a JSON file outside of it, with an attribute",
    `import it from "../guarded/canary.json" with { type: "json" };`,
  ],
  ["a text file outside of it", `import it from "../guarded/canary.txt" with { type: "text" };`],
  ["a file by its absolute path", `import it from $P with { type: "text" };`],
  ["a file by a file URL", `import it from "file:///etc/hostname" with { type: "text" };`],
  ["a file as a URL of a file", `import it from "../guarded/canary.txt" with { type: "file" };`],
  ["a file as bytes", `import it from "../guarded/canary.txt" with { type: "bytes" };`],
  ["a required file outside of it", `const it = require("../guarded/canary.json");`],
  ["a file through a link", `import it from "./linked/canary.json";`],
  ["a file through a package whose main climbs", `import it from "climber";`],
  ["a file through a package's exports that climb", `import it from "climber/x";`],
  [
    "import.meta's functions",
    `const it = [typeof import.meta.require, typeof import.meta.resolveSync, typeof import.meta.hot, typeof import.meta.glob].join();`,
  ],
  ["import.meta.env", `const it = JSON.stringify(import.meta.env ?? {});`],
  ["process.env inlined by the bundler", `const it = process.env.XDEV_ESCAPE_CANARY;`],
  [
    "Bun's own require of a built-in",
    `let it; try { it = require("bun").file($T.canary); } catch (e) { it = e.message; }`,
  ],
  [
    "code that only looks like a comment",
    `let it = 1;\n/*\n*/ try { it = (0, eval)("imp" + "ort.meta"); } catch (e) { it = e.message; }`,
  ],
  [
    "top-level await of a thenable",
    `let seen; const it = await { then(r) { seen = r; r(typeof r.constructor.constructor); } };`,
  ],
  [
    "an export that is a getter",
    `let it = "x"; export const other = new Proxy({}, { get() { throw new Error("seen"); } });`,
  ],
];

const text = ([, statements]: (typeof MODULES)[number], index: number): string => `${statements
  .replaceAll("$P", "$CANARY")
  .replaceAll("$T", "$TARGET")}
export default (pi) => pi.registerTool({ name: "got${index}", parameters: { type: "object" }, execute: async () => "it: " + (typeof it === "string" ? it : typeof it + " " + JSON.stringify(it)) });
`;

for (const level of LEVELS) {
  describe(`what a module does when it is loaded (${level})`, () => {
    let arena: Arena;
    before(async () => {
      arena = await Arena.open(level, {
        modules: Object.fromEntries(MODULES.map((one, index) => [`module${index}`, text(one, index)])),
        links: { "extensions/linked": "../guarded" },
        files: {
          "extensions/node_modules/climber/package.json": JSON.stringify({
            name: "climber",
            main: "../../../guarded/canary.json",
            exports: { ".": "./../../../guarded/canary.json", "./x": "./../../../guarded/canary.json" },
          }),
        },
      });
    });
    after(() => arena.close());

    for (const [index, [what]] of MODULES.entries()) {
      test(`${what} gives nothing that is not its own`, async () => {
        const told = await arena.invoke(`got${index}`, {});
        if (process.env.XDEV_ESCAPE_SHOW === "1") console.log(`${what} => ${told.slice(0, 200)}`);
        assert.doesNotMatch(told, /^it: (object|function) \{/);
        assert.doesNotMatch(told, /"PATH"/);
        await arena.check();
      });
    }
  });
}
