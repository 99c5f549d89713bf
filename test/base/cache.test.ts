import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { openCache } from "../../src/base/cache.ts";
import { Folder } from "../support/folder.ts";

describe("the cache", () => {
  test("gives back what was kept for that very key, and nothing for another key or another build", async () => {
    using folder = new Folder();
    const cache = openCache(folder.path, "build-1");
    await cache.write("thing", "key", { a: [1] });
    assert.deepEqual(await cache.read("thing", "key"), { a: [1] });
    assert.equal(await cache.read("thing", "other key"), undefined);
    assert.equal(await cache.read("other thing", "key"), undefined);
    assert.equal(await openCache(folder.path, "build-2").read("thing", "key"), undefined);
  });

  test("is the user's alone", async () => {
    using folder = new Folder();
    await openCache(folder.path, "b").write("thing", "key", 1);
    assert.equal(statSync(join(folder.path, "cache")).mode & 0o777, 0o700);
    assert.equal(statSync(join(folder.path, "cache/thing.json")).mode & 0o777, 0o600);
    assert.deepEqual(readdirSync(join(folder.path, "cache")), ["thing.json"]);
  });

  test("an entry that is torn, edited or no entry at all is not used", async () => {
    using folder = new Folder();
    const cache = openCache(folder.path, "b");
    await cache.write("thing", "key", { text: "good" });
    const file = join(folder.path, "cache/thing.json");
    const whole = readFileSync(file, "utf8");
    for (const text of [
      "",
      "x",
      whole.slice(0, -3),
      whole.replace("good", "evil"),
      whole.replace(/^\w/, "0x"),
    ]) {
      writeFileSync(file, text);
      assert.equal(await cache.read("thing", "key"), undefined, JSON.stringify(text.slice(0, 20)));
    }
  });

  test("that cannot be written or read is no error", async () => {
    using folder = new Folder();
    folder.file("cache", "a file where the folder should be");
    const cache = openCache(folder.path, "b");
    await cache.write("thing", "key", 1);
    assert.equal(await cache.read("thing", "key"), undefined);
    await openCache(undefined, "b").write("thing", "key", 1);
    assert.equal(await openCache(folder.path, undefined).read("thing", "key"), undefined);
  });
});
