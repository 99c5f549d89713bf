import assert from "node:assert/strict";
import { renameSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { bundleExtension } from "../../../sandbox/bundle/index.ts";
import { loadPlatform } from "../../../src/platform/index.ts";
import { bundleFile, bundleFiles, type Files, failureOf, inFolder } from "./harness.ts";

const SECRET = "top secret";
const { bundle: link } = await loadPlatform();

/** What bundling gives: its source, or the error's message. */
async function outcome(files: Files): Promise<string> {
  return bundleFiles(files).then(
    ({ source }) => source,
    (error: Error) => error.message,
  );
}

describe("a hostile extension", () => {
  test("that swaps a file for a link while it is bundled gets nothing of what the link leads to", {
    timeout: 30_000,
  }, async () => {
    const swaps: [string, (folder: string) => void][] = [
      [
        "the file",
        (folder) => {
          unlinkSync(join(folder, "ext/lib/a.ts"));
          symlinkSync(join(folder, "outside/a.ts"), join(folder, "ext/lib/a.ts"));
        },
      ],
      [
        "its folder",
        (folder) => {
          renameSync(join(folder, "ext/lib"), join(folder, "ext/lib2"));
          symlinkSync(join(folder, "outside"), join(folder, "ext/lib"));
        },
      ],
    ];
    for (const [what, swap] of swaps) {
      for (const when of ["resolved", "loaded"] as const) {
        await inFolder(
          {
            "ext/package.json": `{ "name": "x" }`,
            "ext/index.ts": `import a from "./lib/a"; export default a`,
            "ext/lib/a.ts": "export default 'good'",
            "outside/a.ts": `export default "${SECRET}"`,
          },
          async (folder) => {
            const found = await bundleExtension(join(folder, "ext/index.ts"), (entry, hooks) =>
              link(entry, {
                resolve: async (...args) => {
                  if (when === "resolved") {
                    const resolved = await hooks.resolve(...args);
                    swap(folder);
                    return resolved;
                  }
                  swap(folder);
                  return hooks.resolve(...args);
                },
                load: hooks.load,
              }),
            ).then(
              ({ source }) => source,
              (error: Error) => error.message,
            );
            assert.ok(!found.includes(SECRET), `${what}, ${when}`);
            assert.match(found, /outside|no longer|changed/, `${what}, ${when}`);
          },
        );
      }
    }
  });

  test("that swaps without end gets the good file or an error", { timeout: 30_000 }, async () => {
    await inFolder(
      {
        "ext/index.ts": `import a from "./a.ts"; export default a`,
        "ext/good.ts": "export default 'good'",
        "outside.ts": `export default "${SECRET}"`,
      },
      async (folder) => {
        const name = join(folder, "ext/a.ts");
        let on = true;
        let round = 0;
        const swap = () => {
          if (!on) return;
          try {
            if (round++ % 2) {
              symlinkSync(join(folder, "outside.ts"), `${name}.new`);
            } else {
              writeFileSync(`${name}.new`, "export default 'good'");
            }
            renameSync(`${name}.new`, name);
          } catch {
            // Left over from the last round.
          }
          setImmediate(swap);
        };
        swap();
        for (let i = 0; i < 40; i++) {
          const found = await bundleFile(join(folder, "ext/index.ts")).then(
            ({ source }) => source,
            (error: Error) => error.message,
          );
          assert.ok(!found.includes(SECRET));
        }
        on = false;
      },
    );
  });

  for (const [what, name] of [
    ["a NUL", "./a\\0.ts"],
    ["a NUL behind a good name", "./a.ts\\0.png"],
    ["a line break", "./a\\n.ts"],
    ["quotes", `./a\\"';--.ts`],
    ["terminal codes", "./\\u001b[2J.ts"],
    ["a backslash", "..\\\\..\\\\outside.ts"],
    ["half a character", "./\\ud800.ts"],
    ["percent signs", "./%2e%2e/%2e%2e/outside.ts"],
    ["a URL of Deno", "deno:fs"],
    ["a URL of Bun", "bun:jsc"],
    ["a URL of node and another", "node:bun:ffi"],
    ["a FILE URL in capitals", "FILE:///etc/hostname"],
    ["a blob", "blob:null/1"],
    ["a drive", "c:/windows/win.ini"],
    ["no host", "//etc/hostname"],
    ["Bun's global", "bun"],
    ["a macro", "macro:./a.ts"],
  ] as const) {
    test(`that imports a name with ${what} reads nothing and breaks nothing`, async () => {
      for (const form of [
        `import x from "${name}"; export default x`,
        `export * from "${name}"`,
        `export default () => import("${name}")`,
        `export default require("${name}")`,
        `import { createRequire } from "module"; export default createRequire(import.meta.url)("${name}")`,
        `export default (n: string) => import("${name}" + n)`,
      ]) {
        const found = await outcome({
          "ext/index.ts": form,
          "ext/a.ts": "export default 'fine'",
          "outside.ts": `export default "${SECRET}"`,
        });
        assert.ok(!found.includes(SECRET), form);
        assert.ok(!found.includes("\u001b") && !found.includes("\0"), form);
      }
    });
  }

  test("of thousands of files that import each other is bundled or refused in bounded time", {
    timeout: 60_000,
  }, async () => {
    const count = 1_500;
    const ring: Files = {};
    for (let i = 0; i < count; i++) {
      ring[`ext/f${i}.ts`] = `import { v as w } from "./f${(i + 1) % count}.ts"; export const v = () => w;`;
    }
    const { files } = await bundleFiles({
      ...ring,
      "ext/index.ts": `import { v } from "./f0.ts"; export default v`,
    });
    assert.equal(files.length, count + 1);
  });

  test("of too many files is refused", { timeout: 60_000 }, async () => {
    const count = 5_100;
    const many: Files = {};
    for (let i = 0; i < count; i++) many[`ext/f${i}.js`] = "";
    const index = Array.from({ length: count }, (_, i) => `import "./f${i}.js";`).join("");
    const error = await failureOf(bundleFiles({ ...many, "ext/index.ts": index }));
    assert.equal(error.code, "bundle-refused");
    assert.match(error.message, /more than 5000 files/);
  });

  test("that asks for one package ten thousand times does not have it read each time", {
    timeout: 60_000,
  }, async () => {
    const index = Array.from({ length: 10_000 }, (_, i) => `import a${i} from "p/a?${i}";`).join("\n");
    const error = await failureOf(
      bundleFiles({
        "ext/package.json": `{ "name": "x" }`,
        "ext/index.ts": `import "./all.js"`,
        "ext/all.js": `import "p";\n${index}`,
        "ext/node_modules/p/package.json": `{ "name": "p", "description": "${"x".repeat(100_000)}" }`,
        "ext/node_modules/p/index.js": "",
      }),
    );
    assert.match(error.message, /has no such file/);
  });

  test("whose text is made to slow down the search for marks is bundled soon", {
    timeout: 60_000,
  }, async () => {
    for (const text of [
      `/*${"import.meta".repeat(100_000)}*/`,
      `/*${"import(`".repeat(60_000)}*/`,
      `/*${"import( ".repeat(60_000)}*/`,
      `/*${"require(x".repeat(60_000)}*/`,
      `/*${'import("./a/" + '.repeat(30_000)}*/`,
      `/*"module"${"createRequire(x)(".repeat(30_000)}*/`,
      `/*"module"${"a=createRequire(".repeat(30_000)}*/`,
      `/*${"new URL('./x".repeat(30_000)} import(x)*/`,
      `/*${"join(a, 'b".repeat(30_000)} import(x)*/`,
      `/*\n${"export * from\n".repeat(60_000)}*/`,
      `//${" ".repeat(500_000)}import(x)`,
      `/*${"import\t".repeat(60_000)}*/`,
    ]) {
      const start = performance.now();
      await bundleFiles({ "ext/index.ts": `${text}\nexport default 1` }).catch((error: Error) =>
        assert.match(error.message, /more than 256/),
      );
      assert.ok(performance.now() - start < 10_000, text.slice(0, 30));
    }
  });

  test("that writes our marks itself gets paths of its own files at most", async () => {
    const { source } = await bundleFiles({
      "ext/index.ts": `export default [__xdevMeta_000000000000_, "__xdevLoad_000000000000_(__xdevLoads_000000000000_,", __xdevAll_6e6f64653a766d_]`,
    });
    assert.ok(!source.includes("i\\x6dport.meta") && !source.includes('"node:vm"'));
    const refused = await failureOf(
      bundleFiles({ "ext/index.ts": `import vm from "__xdevAll_6e6f64653a766d_"; export default vm` }),
    );
    assert.equal(refused.code, "bundle-refused");
  });
});
