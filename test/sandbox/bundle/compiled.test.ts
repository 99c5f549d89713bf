import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { inFolder, run } from "./harness.ts";

const skip = "Deno" in globalThis;

test("a compiled binary bundles, whatever lies in the folder that it is started in", {
  skip,
  timeout: 120_000,
}, async () => {
  const index = fileURLToPath(new URL("../../../sandbox/bundle/index.ts", import.meta.url));
  const link = fileURLToPath(new URL("../../../src/platform/bun-bundle.ts", import.meta.url));
  const hostile = {
    "bunfig.toml": `preload = ["./evil.ts"]\n[define]\n"answer" = "'evil'"\n[loader]\n".ts" = "text"`,
    "tsconfig.json": `{ "compilerOptions": { "paths": { "./v": ["/etc/hostname"] }, "jsx": "react", "jsxFactory": "evil" } }`,
    "package.json": `{ "name": "evil", "imports": { "#a": "/etc/hostname" }, "sideEffects": false }`,
    ".env": "NODE_ENV=evil",
    "evil.ts": `require("node:fs").writeFileSync(__dirname + "/canary", "")`,
  };
  const broken = { "tsconfig.json": "{ broken", "package.json": "{ broken", "bunfig.toml": "= broken" };
  const under = (folder: string, files: Record<string, string>) =>
    Object.fromEntries(Object.entries(files).map(([name, text]) => [`${folder}/${name}`, text]));
  const files = {
    "program.ts": `
      import { bundleExtension } from ${JSON.stringify(index)};
      import { bundle } from ${JSON.stringify(link)};
      process.chdir("/"); // as src/base/start-folder.ts does
      const all = await Promise.all(Array.from({ length: 10 }, () => bundleExtension(process.argv[2]!, bundle)));
      console.log(JSON.stringify(all[9]!.source));`,
    "empty/x": "",
    ...under("hostile", hostile),
    ...under("broken", broken),
    ...under("a/ext", hostile),
    "a/ext/index.tsx": `import { v } from "./v"; export default [v, <b/>, answer, process.env.NODE_ENV]`,
    "a/ext/v.ts": `console.log("side effect"); export const v: string = "import(good)"`,
    ...under("b/ext", broken),
    "b/ext/index.tsx": `import { v } from "./v"; export default [v, <b/>, answer, process.env.NODE_ENV]`,
    "b/ext/v.ts": `console.log("side effect"); export const v: string = "import(good)"`,
  };
  await inFolder(files, async (folder) => {
    const binary = join(folder, "empty/program");
    const flags = [
      "--compile",
      "--external",
      "xdev:guest-sources",
      "--no-compile-autoload-dotenv",
      "--no-compile-autoload-bunfig",
    ];
    await run(process.execPath, ["build", ...flags, "--outfile", binary, "../program.ts"], {
      cwd: join(folder, "empty"),
    });
    const sources = new Set<string>();
    for (const cwd of ["empty", "hostile", "broken"]) {
      for (const ext of ["a/ext", "b/ext"]) {
        const out = await run(binary, [join(folder, ext, "index.tsx")], { cwd: join(folder, cwd) });
        sources.add(JSON.parse(out) as string);
      }
    }
    assert.equal(sources.size, 1, [...sources].join("\n-----\n"));
    const [source] = [...sources] as [string];
    assert.ok(
      source.includes("side effect") && source.includes("i\\x6dport(good)") && !source.includes("evil"),
    );
    assert.ok(!existsSync(join(folder, "hostile/canary")) && !existsSync(join(folder, "a/ext/canary")));
  });
});
