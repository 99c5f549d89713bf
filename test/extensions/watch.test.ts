/** What extensions are made of is watched: each change is told once, when it is over, and nothing is watched behind the end. */
import assert from "node:assert/strict";
import { mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { ExtensionWatch } from "../../src/extensions/watch.ts";
import { Folder } from "../support/folder.ts";

function watching(folder: Folder, files: string[] = [], work: () => Promise<void> = async () => {}) {
  let calls = 0;
  let wake = () => {};
  const watch = new ExtensionWatch({
    files: () => files.map((name) => join(folder.path, name)),
    folders: [join(folder.path, "extensions")],
    quietMs: 60,
    async changed() {
      calls++;
      await work();
      wake();
    },
  });
  return {
    watch,
    calls: () => calls,
    /** Resolves when it has been told that often. */
    async told(times: number) {
      while (calls < times) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
    [Symbol.asyncDispose]: () => watch.close(),
  };
}

const settled = () => new Promise((resolve) => setTimeout(resolve, 250));

describe("a watch", () => {
  test("tells of a file that is written, put in another's place, and gone", async () => {
    using folder = new Folder();
    folder.file("lib/a.ts", "1");
    folder.file("extensions/x.ts", "");
    await using watched = watching(folder, ["lib/a.ts"]);
    folder.file("lib/a.ts", "2");
    await watched.told(1);
    renameSync(folder.file("lib/a.ts.new", "3"), join(folder.path, "lib/a.ts"));
    await watched.told(2);
    rmSync(join(folder.path, "lib/a.ts"));
    await watched.told(3);
  });

  test("tells once of many changes in a row, and of nothing that is no matter of an extension's", async () => {
    using folder = new Folder();
    folder.file("lib/a.ts", "1");
    await using watched = watching(folder, ["lib/a.ts"]);
    folder.file("lib/run.log", "noise");
    await settled();
    assert.equal(watched.calls(), 0);
    for (let i = 0; i < 20; i++) folder.file("lib/a.ts", String(i));
    await watched.told(1);
    await settled();
    assert.equal(watched.calls(), 1);
  });

  test("tells of an extension that appears, also in a folder of its own, and where there was no folder", async () => {
    using folder = new Folder();
    await using watched = watching(folder);
    folder.file("extensions/first.ts", "");
    await watched.told(1);
    mkdirSync(join(folder.path, "extensions/second"));
    await watched.told(2);
    await settled();
    const before = watched.calls();
    folder.file("extensions/second/index.ts", "");
    await watched.told(before + 1);
  });

  test("goes on with a folder that was removed and made again", async () => {
    using folder = new Folder();
    folder.file("extensions/a/index.ts", "");
    await using watched = watching(folder);
    rmSync(join(folder.path, "extensions/a"), { recursive: true });
    folder.file("extensions/a/index.ts", "");
    await watched.told(1);
    await settled();
    const before = watched.calls();
    folder.file("extensions/a/index.ts", "changed");
    await watched.told(before + 1);
  });

  test("lets one reload end before it asks for the next", async () => {
    using folder = new Folder();
    folder.file("extensions/a.ts", "1");
    let running = 0;
    let most = 0;
    await using watched = watching(folder, [], async () => {
      most = Math.max(most, ++running);
      await settled();
      running--;
    });
    folder.file("extensions/a.ts", "2");
    await watched.told(1).catch(() => {});
    folder.file("extensions/a.ts", "3");
    await watched.told(2);
    assert.equal(most, 1);
  });

  test("watches nothing any more once it is closed, and not more than it must before", async () => {
    using folder = new Folder();
    for (let i = 0; i < 5; i++) folder.file(`extensions/e${i}/index.ts`, "");
    await using watched = watching(folder);
    assert.equal(watched.watch.size, 6);
    for (let i = 0; i < 100; i++) watched.watch.refresh();
    assert.equal(watched.watch.size, 6);
    rmSync(join(folder.path, "extensions/e0"), { recursive: true });
    await watched.told(1);
    watched.watch.refresh();
    assert.equal(watched.watch.size, 5);
    const calls = watched.calls();
    await watched.watch.close();
    assert.equal(watched.watch.size, 0);
    folder.file("extensions/e1/index.ts", "changed");
    await settled();
    assert.equal(watched.calls(), calls);
  });
});
