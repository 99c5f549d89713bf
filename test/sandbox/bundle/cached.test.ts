import assert from "node:assert/strict";
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { freshBundle, keptBundle } from "../../../sandbox/bundle/cached.ts";
import { type Cache, openCache } from "../../../src/base/cache.ts";
import { Folder } from "../../support/folder.ts";

/** A cache whose writes can be waited for. */
function settledCache(folder: Folder, build = "b"): Cache & { written(): Promise<unknown> } {
  const cache = openCache(join(folder.path, "data"), build);
  const writes: Promise<void>[] = [];
  return {
    read: cache.read,
    write: (...args) => {
      const done = cache.write(...args);
      writes.push(done);
      return done;
    },
    written: () => Promise.all(writes),
  };
}

async function bundled() {
  const folder = new Folder();
  const entry = folder.file("ext/index.ts", 'import { a } from "./a"; export default () => a;');
  folder.file("ext/a.ts", "export const a = 1;");
  const cache = settledCache(folder);
  const bundle = await freshBundle(entry, cache);
  await cache.written();
  return { folder, entry, cache, bundle };
}

describe("a kept bundle", () => {
  test("is what bundling gave", async () => {
    const { folder, entry, cache, bundle } = await bundled();
    using _ = folder;
    assert.equal((await keptBundle(entry, cache))?.source, bundle.source);
  });

  test("is not used once a file that went into it has changed, is gone, or has become a link", async () => {
    for (const change of ["changed", "gone", "link"] as const) {
      const { folder, entry, cache } = await bundled();
      using _ = folder;
      const file = join(folder.path, "ext/a.ts");
      if (change === "changed") writeFileSync(file, "export const a = 2;");
      else renameSync(file, join(folder.path, "elsewhere.ts"));
      if (change === "link") {
        const { symlinkSync } = await import("node:fs");
        symlinkSync("../elsewhere.ts", file);
      }
      assert.equal(await keptBundle(entry, cache), undefined, change);
    }
  });

  test("is not used once something appears that would have been found first", async () => {
    const { folder, entry, cache } = await bundled();
    using _ = folder;
    folder.file("ext/a", "no module");
    assert.equal(await keptBundle(entry, cache), undefined);
  });

  test("is not used once a link that was followed leads somewhere else", async () => {
    using folder = new Folder();
    const { symlinkSync, unlinkSync } = await import("node:fs");
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
    const { readdirSync } = await import("node:fs");
    const [name] = readdirSync(join(folder.path, "data/cache"));
    const file = join(folder.path, "data/cache", name ?? "");
    writeFileSync(file, readFileSync(file, "utf8").replace("a = 1", "a = 9"));
    assert.equal(await keptBundle(entry, cache), undefined);
  });
});
