import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import {
  chmodSync,
  lstatSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
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

  test("keeps bytes beside a value", async () => {
    using folder = new Folder();
    const cache = openCache(folder.path, "b");
    const bytes = Uint8Array.from({ length: 3_000_000 }, (_, i) => i);
    await cache.write("bytes", "key", { n: 1 }, bytes);
    await cache.write("text", "key", null, "ü\n\u{1f600}".repeat(700_001));
    const entry = await cache.readWithBytes("bytes", "key");
    assert.deepEqual(entry?.value, { n: 1 });
    assert.ok(Buffer.from(bytes).equals(entry?.bytes ?? new Uint8Array()));
    const text = await cache.readWithBytes("text", "key");
    assert.equal(Buffer.from(text?.bytes ?? []).toString(), "ü\n\u{1f600}".repeat(700_001));
  });

  test("an entry is used only if this installation made it, under that name", async () => {
    using folder = new Folder();
    using other = new Folder();
    const cache = openCache(folder.path, "b");
    await cache.write("thing", "key", "mine");
    await openCache(other.path, "b").write("thing", "key", "theirs");
    const file = join(folder.path, "cache/thing.json");
    const mine = readFileSync(file);
    assert.equal(statSync(join(folder.path, "cache.key")).mode & 0o777, 0o600);
    writeFileSync(file, readFileSync(join(other.path, "cache/thing.json")));
    assert.equal(await cache.read("thing", "key"), undefined);
    // A digest, which whoever can write there can compute.
    const body = mine
      .subarray(mine.indexOf("\n") + 1)
      .toString()
      .replace("mine", "evil");
    writeFileSync(file, `${createHash("sha256").update(body).digest("hex")}\n${body}`);
    assert.equal(await cache.read("thing", "key"), undefined);
    writeFileSync(join(folder.path, "cache/other.json"), mine);
    assert.equal(await cache.read("other", "key"), undefined);
    writeFileSync(file, mine);
    assert.equal(await cache.read("thing", "key"), "mine");
  });

  test("a key that others can read, or that is none, is replaced, and what it sealed is not used", async () => {
    for (const spoil of [
      (key: string) => chmodSync(key, 0o644),
      (key: string) => writeFileSync(key, "short"),
      (key: string) => {
        renameSync(key, `${key}.elsewhere`);
        symlinkSync(`${key}.elsewhere`, key);
      },
    ]) {
      using folder = new Folder();
      const key = join(folder.path, "cache.key");
      await openCache(folder.path, "b").write("thing", "key", 1);
      spoil(key);
      const cache = openCache(folder.path, "b");
      assert.equal(await cache.read("thing", "key"), undefined);
      await cache.write("thing", "key", 2);
      assert.equal(await openCache(folder.path, "b").read("thing", "key"), 2);
      assert.equal(lstatSync(key).mode & 0o777, 0o600);
      assert.ok(lstatSync(key).isFile());
    }
  });

  test("made by several at once is sealed by one key", async () => {
    using folder = new Folder();
    const names = Array.from({ length: 20 }, (_, i) => `n${i}`);
    await Promise.all(names.map((name) => openCache(folder.path, "b").write(name, "key", name)));
    const cache = openCache(folder.path, "b");
    assert.deepEqual(await Promise.all(names.map((name) => cache.read(name, "key"))), names);
    assert.deepEqual(readdirSync(folder.path).sort(), ["cache", "cache.key"]);
  });

  test("stays within its limits: what was written first goes first", async () => {
    using folder = new Folder();
    const cache = openCache(folder.path, "b", { folderEntries: 3 });
    for (let i = 0; i < 5; i++) {
      await cache.write(`n${i}`, "key", i);
      utimesSync(join(folder.path, `cache/n${i}.json`), 1000 + i, 1000 + i);
    }
    await cache.write("last", "key", 9);
    assert.deepEqual(readdirSync(join(folder.path, "cache")).sort(), ["last.json", "n3.json", "n4.json"]);
    const small = openCache(folder.path, "b", { folderLimit: 10_000 });
    await small.write("large", "key", "x".repeat(50_000));
    assert.deepEqual(readdirSync(join(folder.path, "cache")), ["large.json"]);
  });
});
