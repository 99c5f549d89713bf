import assert from "node:assert/strict";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { discoverExtensions, identifyExtensions } from "../../src/extensions/discovery.ts";
import { Folder } from "../support/folder.ts";

async function found(dataDir: string) {
  return (await discoverExtensions(dataDir)).map(({ name, kind }) => [name, kind]);
}

describe("discovery", () => {
  test("a data dir without the folder means no extensions", async () => {
    using folder = new Folder();
    assert.deepEqual(await found(folder.path), []);
  });

  test("executables and modules are found in lexical order; what is neither is skipped", async () => {
    using folder = new Folder();
    folder.program("extensions/b", "#!/bin/sh\n");
    folder.file("extensions/a.ts", "");
    folder.file("extensions/c.py", "");
    folder.file("extensions/.hidden.ts", "");
    folder.program("extensions/B", "#!/bin/sh\n");
    folder.file("extensions/d/readme.md", "");
    assert.deepEqual(await found(folder.path), [
      ["B", "process"],
      ["a", "worker"],
      ["b", "process"],
    ]);
  });

  test("an executable module is a process only if it says how it is run", async () => {
    using folder = new Folder();
    folder.program("extensions/a.ts", "export default () => {};");
    folder.program("extensions/b.mjs", "#!/usr/bin/env node\n");
    assert.deepEqual(await found(folder.path), [
      ["a", "worker"],
      ["b", "process"],
    ]);
  });

  test("a folder is its index module, or what its package.json names, under the folder's name", async () => {
    using folder = new Folder();
    folder.file("extensions/one/index.ts", "");
    folder.file("extensions/two/package.json", '{"pi":{"extensions":["./src/main.ts"]}}');
    folder.file("extensions/two/src/main.ts", "");
    folder.file("extensions/three/package.json", '{"xdev":{"extensions":["./x.ts","./y.ts"]}}');
    folder.file("extensions/three/x.ts", "");
    folder.file("extensions/three/y.ts", "");
    assert.deepEqual(await found(folder.path), [
      ["one", "worker"],
      ["three_x", "worker"],
      ["three_y", "worker"],
      ["two", "worker"],
    ]);
  });

  test("a package.json cannot name a file outside its folder, by path or by link", async () => {
    using folder = new Folder();
    folder.file("outside.ts", "");
    folder.file("p/package.json", '{"xdev":{"extensions":["../outside.ts"]}}');
    folder.file("q/package.json", '{"xdev":{"extensions":["./link.ts"]}}');
    symlinkSync("../outside.ts", join(folder.path, "q/link.ts"));
    for (const name of ["p", "q"]) {
      await assert.rejects(identifyExtensions(join(folder.path, name)), /is not inside its folder/);
    }
  });

  test("a package.json that is a device, a FIFO, a link out or huge is refused, and holds nobody up", async () => {
    using folder = new Folder();
    const { execFileSync } = await import("node:child_process");
    const { mkdirSync } = await import("node:fs");
    for (const name of ["device", "fifo", "out", "huge"]) mkdirSync(join(folder.path, name));
    symlinkSync("/dev/zero", join(folder.path, "device/package.json"));
    execFileSync("mkfifo", [join(folder.path, "fifo/package.json")]);
    folder.file("secret.json", '{"xdev":{}}');
    symlinkSync("../secret.json", join(folder.path, "out/package.json"));
    folder.file("huge/package.json", `{"a":"${"x".repeat(2_000_000)}"}`);
    for (const name of ["device", "fifo", "out", "huge"]) {
      await assert.rejects(identifyExtensions(join(folder.path, name)), /package\.json/, name);
    }
  });

  test("what cannot be loaded is an error that says what to do", async () => {
    using folder = new Folder();
    await assert.rejects(
      identifyExtensions(join(folder.path, "none.ts")),
      /cannot load extension .*none\.ts/,
    );
    await assert.rejects(identifyExtensions(folder.path), /a folder without an index\.ts/);
    const text = folder.file("notes.txt", "");
    await assert.rejects(
      identifyExtensions(text),
      /neither executable nor a TypeScript or JavaScript module/,
    );
    folder.file("bad/package.json", '{"xdev":{"extensions":"main.ts"}}');
    await assert.rejects(identifyExtensions(join(folder.path, "bad")), /xdev\.extensions/);
  });
});
