import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, renameSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { freshBundle, keptBundle } from "../../../sandbox/bundle/cached.ts";
import { type Cache, openCache } from "../../../src/base/cache.ts";
import { Folder } from "../../support/folder.ts";
import { longestTurn } from "./harness.ts";

/** A cache whose writes can be waited for. */
function settledCache(folder: Folder, build = "b"): Cache & { written(): Promise<unknown> } {
  const cache = openCache(join(folder.path, "data"), build);
  const writes: Promise<void>[] = [];
  return {
    ...cache,
    write: (...args) => {
      const done = cache.write(...args);
      writes.push(done);
      return done;
    },
    written: () => Promise.all(writes),
  };
}

const FILES = {
  "ext/index.ts": 'import { a } from "./a"; export default () => a;',
  "ext/a.ts": "export const a = 1;",
};

async function bundled(files: Record<string, string> = FILES) {
  const folder = new Folder();
  for (const [name, text] of Object.entries(files)) folder.file(name, text);
  const entry = join(folder.path, "ext/index.ts");
  const cache = settledCache(folder);
  const bundle = await freshBundle(entry, cache);
  await cache.written();
  return { folder, entry, cache, bundle };
}

describe("a kept bundle", () => {
  test("is what bundling gave", async () => {
    const { folder, entry, cache, bundle } = await bundled();
    using _ = folder;
    const kept = await keptBundle(entry, cache);
    assert.equal(kept?.source, bundle.source);
    assert.deepEqual(kept?.imports, bundle.imports);
    assert.equal(kept?.digest, bundle.digest);
    assert.equal(bundle.digest, createHash("sha256").update(bundle.source).digest("hex"));
  });

  test("is not used once a file that went into it has changed, is gone, or has become a link", async () => {
    for (const change of ["changed", "gone", "link"] as const) {
      const { folder, entry, cache } = await bundled();
      using _ = folder;
      const file = join(folder.path, "ext/a.ts");
      if (change === "changed") writeFileSync(file, "export const a = 2;");
      else renameSync(file, join(folder.path, "elsewhere.ts"));
      if (change === "link") symlinkSync("../elsewhere.ts", file);
      assert.equal(await keptBundle(entry, cache), undefined, change);
    }
  });

  test("is not used once a dependency or its package.json has changed", async () => {
    for (const file of ["package.json", "index.js"]) {
      const { folder, entry, cache } = await bundled({
        "ext/package.json": `{ "name": "x" }`,
        "ext/index.ts": `import d from "dep"; export default d`,
        "ext/node_modules/dep/package.json": `{ "name": "dep" }`,
        "ext/node_modules/dep/index.js": "export default 1",
      });
      using _ = folder;
      assert.ok(await keptBundle(entry, cache));
      const path = join(folder.path, "ext/node_modules/dep", file);
      writeFileSync(path, `${readFileSync(path, "utf8")}\n`);
      assert.equal(await keptBundle(entry, cache), undefined, file);
    }
  });

  test("is not used once something appears that would have been found first", async () => {
    const { folder, entry, cache } = await bundled();
    using _ = folder;
    folder.file("ext/a", "no module");
    assert.equal(await keptBundle(entry, cache), undefined);
  });

  test("is not used once a file appears that a computed import may mean", async () => {
    const { folder, entry, cache } = await bundled({
      "ext/index.ts": 'export default (n: string) => import("./commands/" + n + ".ts");',
      "ext/commands/a.ts": "export const a = 1;",
    });
    using _ = folder;
    assert.ok(await keptBundle(entry, cache));
    folder.file("ext/commands/b.ts", "export const b = 1;");
    assert.equal(await keptBundle(entry, cache), undefined);
  });

  test("is not used once a link that was followed leads somewhere else", async () => {
    using folder = new Folder();
    folder.file("ext/v1.ts", "export const v = 1;");
    folder.file("ext/v2.ts", "export const v = 2;");
    symlinkSync("v1.ts", join(folder.path, "ext/current.ts"));
    const entry = folder.file("ext/index.ts", 'import { v } from "./current"; export default () => v;');
    const cache = settledCache(folder);
    await freshBundle(entry, cache);
    await cache.written();
    assert.ok(await keptBundle(entry, cache));
    unlinkSync(join(folder.path, "ext/current.ts"));
    symlinkSync("v2.ts", join(folder.path, "ext/current.ts"));
    assert.equal(await keptBundle(entry, cache), undefined);
  });

  test("is not used by another build, nor when it was tampered with", async () => {
    const { folder, entry, cache } = await bundled();
    using _ = folder;
    assert.equal(await keptBundle(entry, settledCache(folder, "another")), undefined);
    const file = cacheFile(folder, "bundle-");
    const whole = readFileSync(file, "utf8");
    assert.ok(whole.includes("a = 1"));
    const evil = whole.replace("a = 1", "a = 9");
    writeFileSync(file, evil);
    assert.equal(await keptBundle(entry, cache), undefined);
    // With the digest put right, as whoever can write there could.
    const body = evil.slice(evil.indexOf("\n") + 1);
    writeFileSync(file, `${createHash("sha256").update(body).digest("hex")}\n${body}`);
    assert.equal(await keptBundle(entry, cache), undefined);
    writeFileSync(file, whole);
    assert.ok(await keptBundle(entry, cache));
  });

  test("is not used when it is another extension's", async () => {
    const { folder, entry, cache } = await bundled();
    using _ = folder;
    const other = folder.file("ext/other.ts", "export default 2;");
    const own = cacheFile(folder, "bundle-");
    await freshBundle(other, cache);
    await cache.written();
    const others = cacheFile(folder, "bundle-", own);
    writeFileSync(own, readFileSync(others));
    assert.equal(await keptBundle(entry, cache), undefined);
  });

  test("knows the author's lines, fresh and kept, whatever the extension had at hand", async () => {
    const { folder, entry, cache, bundle } = await bundled({
      "ext/index.ts": 'import { a } from "./a";\n\nexport default () => a();\n',
      "ext/a.ts": "\n\n\nexport function a() {\n  throw new Error('here');\n}\n",
    });
    using _ = folder;
    const line = bundle.source.split("\n").findIndex((text) => text.includes("here")) + 1;
    const kept = await keptBundle(entry, cache);
    for (const one of [bundle, kept]) {
      assert.equal(
        await one?.authorPlaces(`Error: here\n  at a (xdev-bundle:${line}:9)`),
        `Error: here\n  at a (${join(folder.path, "ext/a.ts")}:5)`,
      );
      assert.equal(await one?.authorPlaces("xdev-bundle:999999:1"), "xdev-bundle:999999:1");
    }
    unlinkSync(cacheFile(folder, "places-"));
    const without = await keptBundle(entry, cache);
    assert.equal(await without?.authorPlaces("xdev-bundle:1:1"), "xdev-bundle:1:1");
  });

  test("of the largest size is made, kept and loaded without holding up this thread for 10 ms", {
    timeout: 120_000,
  }, async () => {
    const parts = [0, 1].map((part) =>
      Array.from(
        { length: 45_000 },
        (_, i) => `export const v${part}_${i} = (a) => { return [a, "ü ${i}", { a }]; };`,
      ),
    );
    const files = Object.fromEntries(parts.map((lines, i) => [`ext/p${i}.js`, lines.join("\n")]));
    const index = parts.map((_, i) => `import * as p${i} from "./p${i}.js";`).join("");
    using folder = new Folder();
    for (const [name, text] of Object.entries(files)) folder.file(name, text);
    const entry = folder.file("ext/index.ts", `${index} export default [p0, p1, p2]`);
    const cache = settledCache(folder);
    // 4 to 10 ms each, the loading of code included; a collection of garbage may fall into one of three tries.
    const tries: string[] = [];
    for (let round = 0; round < 3; round++) {
      const making = await longestTurn(async () => {
        const bundle = await freshBundle(entry, cache);
        assert.ok(bundle.source.length > 5_000_000, String(bundle.source.length));
        await cache.written();
      });
      const loading = await longestTurn(async () => assert.ok(await keptBundle(entry, cache)));
      if (making < 20 && loading < 20) return;
      tries.push(`making ${making} ms, loading ${loading} ms`);
    }
    assert.fail(tries.join("; "));
  });
});

function cacheFile(folder: Folder, begin: string, other = ""): string {
  const cache = join(folder.path, "data/cache");
  const name = readdirSync(cache).find((one) => one.startsWith(begin) && join(cache, one) !== other);
  return join(cache, name ?? "");
}
