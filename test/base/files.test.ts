import assert from "node:assert/strict";
import { lstatSync, readdirSync, readFileSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { canonicalPath, isInside, writeFileAtomic } from "../../src/base/files.ts";
import { Folder } from "../support/folder.ts";

describe("paths", () => {
  test("a canonical path has its links resolved, as far as it exists", async () => {
    using folder = new Folder();
    folder.file("real/a.txt", "");
    symlinkSync("real", join(folder.path, "link"));
    assert.equal(await canonicalPath(join(folder.path, "link/a.txt")), join(folder.path, "real/a.txt"));
    assert.equal(
      await canonicalPath(join(folder.path, "link/new/b.txt")),
      join(folder.path, "real/new/b.txt"),
    );
  });

  test("a link to something that does not exist yet is followed to where it would be made", async () => {
    using folder = new Folder();
    using outside = new Folder();
    symlinkSync(join(outside.path, "new.txt"), join(folder.path, "dangling"));
    assert.equal(await canonicalPath(join(folder.path, "dangling")), join(outside.path, "new.txt"));
    assert.equal(await canonicalPath(join(folder.path, "dangling/x")), join(outside.path, "new.txt/x"));
  });

  test("a path of two thousand missing names takes a moment, links on the way to them or not", async () => {
    using folder = new Folder();
    folder.file("real/a.txt", "");
    symlinkSync("real", join(folder.path, "link"));
    symlinkSync("new", join(folder.path, "dangling"));
    const missing = "/a".repeat(1900);
    for (const [name, leadsTo] of [
      ["link", "real"],
      ["link/a.txt", "real/a.txt"],
      ["dangling", "new"],
      ["dangling/b/c/d", "new/b/c/d"],
      ["none", "none"],
    ] as const) {
      const start = performance.now();
      const paths = Array.from({ length: 20 }, () => canonicalPath(join(folder.path, name, missing)));
      for (const path of await Promise.all(paths)) assert.equal(path, join(folder.path, leadsTo, missing));
      assert.ok(performance.now() - start < 1000, name);
    }
  });

  test("a loop of links is an error, not a path", async () => {
    using folder = new Folder();
    symlinkSync("b", join(folder.path, "a"));
    symlinkSync("a", join(folder.path, "b"));
    await assert.rejects(canonicalPath(join(folder.path, "a")));
  });

  test("inside is the folder itself and what is below it, not a neighbour with a longer name", () => {
    assert.ok(isInside("/a/b", "/a/b"));
    assert.ok(isInside("/a/b/c", "/a/b"));
    assert.ok(isInside("/a/b/..c", "/a/b"));
    assert.ok(!isInside("/a/bc", "/a/b"));
    assert.ok(!isInside("/a", "/a/b"));
  });
});

describe("an atomic write", () => {
  test("replaces the content, keeps the mode, and leaves no other file", async () => {
    using folder = new Folder();
    const path = folder.file("a", "old", 0o640);
    await writeFileAtomic(path, "new");
    assert.equal(readFileSync(path, "utf8"), "new");
    assert.equal(statSync(path).mode & 0o777, 0o640);
    assert.deepEqual(readdirSync(folder.path), ["a"]);
  });

  test("goes through a link, dangling or not, and the link stays", async () => {
    using folder = new Folder();
    symlinkSync("target", join(folder.path, "link"));
    await writeFileAtomic(join(folder.path, "link"), "1");
    assert.equal(readFileSync(join(folder.path, "target"), "utf8"), "1");
    await writeFileAtomic(join(folder.path, "link"), "2");
    assert.equal(readFileSync(join(folder.path, "target"), "utf8"), "2");
    assert.ok(lstatSync(join(folder.path, "link")).isSymbolicLink());
  });

  test("makes a new file with the mode asked for", async () => {
    using folder = new Folder();
    await writeFileAtomic(join(folder.path, "new/secret"), "x", { mode: 0o600 });
    assert.equal(statSync(join(folder.path, "new/secret")).mode & 0o777, 0o600);
  });
});
