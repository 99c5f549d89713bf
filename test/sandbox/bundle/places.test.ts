import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { bundleFrames } from "../../../sandbox/bundle/frames.ts";
import { placesIn } from "../../../sandbox/bundle/places.ts";
import { bundleFile, type Files, inFolder, run } from "./harness.ts";

/** Where the error comes from that the extension throws, in the author's terms, and what the extension sees of it. */
async function placesOf(files: Files): Promise<{ places: string; seen: string }> {
  return inFolder(files, async (folder) => {
    const { source, places } = await bundleFile(join(folder, "ext/index.ts"));
    const program = fileURLToPath(new URL("./places-program.mjs", import.meta.url));
    const args = "Deno" in globalThis ? ["run", "-A", program] : [program];
    const out = await run(process.execPath, args, { input: JSON.stringify([source]) });
    const [found] = JSON.parse(out) as { frames: string[]; seen: string }[];
    const text = placesIn(found!.frames.join(" "), places);
    return { places: text.replaceAll(`${folder}/`, ""), seen: found!.seen };
  });
}

describe("an error of an extension", () => {
  test("is placed in the author's file and line, thrown by a handler", async () => {
    const { places, seen } = await placesOf({
      "ext/index.ts": `import type { X } from "./nowhere";\nimport { fail } from "./lib/fail.ts";\n\nexport default (x?: X) => {\n  fail();\n};`,
      "ext/lib/fail.ts": `// A comment\n/* that is\n   long */\nenum A { B }\nexport function fail(): void {\n  if (A.B === 0)\n    throw new TypeError("import(this)");\n}\n`,
    });
    assert.match(places, /^ext\/lib\/fail\.ts:7 ext\/index\.ts:5\b/);
    assert.equal(seen, "");
  });

  test("is placed when it is thrown while the extension loads, or after it has waited", async () => {
    assert.match(
      (await placesOf({ "ext/index.ts": `export default 1;\n\n(null as any).x;` })).places,
      /^ext\/index\.ts:3\b/,
    );
    assert.match(
      (await placesOf({ "ext/index.ts": `export default async () => {\n  await null;\n  undefined!.x;\n}` }))
        .places,
      /^ext\/index\.ts:3\b/,
    );
  });

  test("is placed by line when its file is computed, required or behind look-alikes", async () => {
    const files = {
      "ext/index.ts": `export default async () => {\n  const name = "a";\n  const { f } = await import("./" + name + ".cjs");\n  f();\n};`,
      "ext/a.cjs": `/* -->\n <!-- */ const s = \`\nimport(1)\n\`;\nexports.f = () => {\n  String.raw\`import(\n\${1})\`;\n  throw new Error(s);\n};`,
    };
    assert.match((await placesOf(files)).places, /^ext\/a\.cjs:8\b/);
  });
});

describe("places of a stack trace", () => {
  test("are replaced a few times in one text, which does not grow by all that it names", () => {
    const table = { files: ["/a/long/path.ts"], lines: new Uint32Array([1, 7]) };
    const text = placesIn("xdev-bundle:1 ".repeat(1000), table);
    assert.match(text, /^(\/a\/long\/path\.ts:7 ){20}(xdev-bundle:1 ){980}$/);
  });

  test("are the bundle's only, and few", () => {
    const stack = `\n  at f (xdev-bundle:12:5)\n  at /home/user/secret.ts:1:1\n  at xdev-bundle:3:1\n${"  at g (xdev-bundle:1:1)\n".repeat(100)}`;
    assert.deepEqual(bundleFrames(stack), [
      "xdev-bundle:12:5",
      "xdev-bundle:3:1",
      "xdev-bundle:1:1",
      "xdev-bundle:1:1",
      "xdev-bundle:1:1",
    ]);
    assert.deepEqual(bundleFrames(""), []);
  });
});
