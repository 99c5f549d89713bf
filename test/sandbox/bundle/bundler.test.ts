import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, test } from "node:test";
import { Bundler } from "../../../sandbox/bundle/bundler.ts";
import { XdevError } from "../../../src/base/errors.ts";
import { type GuestWorker, loadPlatform } from "../../../src/platform/index.ts";
import { Folder } from "../../support/folder.ts";
import { children } from "../../support/processes.ts";
import { failureOf, longestTurn } from "./harness.ts";

/** Starts real workers, and counts those that run. */
function workers(spoil: (worker: GuestWorker, number: number) => GuestWorker = (worker) => worker) {
  const seen = { started: 0, running: 0, mostRunning: 0 };
  const start = async (): Promise<GuestWorker> => {
    const worker = await (await loadPlatform()).startBundler();
    seen.started++;
    seen.running++;
    seen.mostRunning = Math.max(seen.mostRunning, seen.running);
    const counted: GuestWorker = {
      ...worker,
      async terminate() {
        seen.running--;
        await worker.terminate();
      },
    };
    return spoil(counted, seen.started);
  };
  return { seen, start };
}

/** Resolves when `holds`, which some event of the loop must bring about. */
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve));
}

const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);

describe("the bundler", () => {
  test("bundles all extensions of a start in one worker, which ends when it is idle", async () => {
    using folder = new Folder();
    const entries = Array.from({ length: 10 }, (_, i) =>
      folder.file(`e${i}/index.ts`, `import { v } from "./v"; export default () => v`),
    );
    for (let i = 0; i < 10; i++) folder.file(`e${i}/v.ts`, `export const v: number = ${i}`);
    const { seen, start } = workers();
    const bundler = new Bundler(start, { idleMs: 1 });
    bundler.prepare();
    const bundles = await Promise.all(entries.map((entry) => bundler.bundle(entry)));
    for (const [i, { source }] of bundles.entries()) assert.ok(text(source).includes(`v = ${i}`));
    assert.deepEqual([seen.started, seen.mostRunning], [1, 1]);
    await until(() => seen.running === 0);
    await bundler.bundle(entries[0]!);
    assert.equal(seen.started, 2);
    await until(() => seen.running === 0);
  });

  test("no linker is left running once its work is done", { timeout: 30_000 }, async () => {
    using folder = new Folder();
    const entry = folder.file("index.ts", "export default 1");
    const platform = await loadPlatform();
    const { start } = workers();
    await Promise.all([platform.guestSource("path"), new Bundler(start, { idleMs: 1 }).bundle(entry)]);
    await platform.guestSource("events");
    const linkers = () => children().filter(({ command }) => command.includes("esbuild"));
    while (linkers().length > 0) await new Promise((resolve) => setTimeout(resolve, 5));
  });

  test("passes on what is wrong with an extension, with code, place and hint", async () => {
    using folder = new Folder();
    const broken = folder.file("a/index.ts", "let b = ;");
    const refused = folder.file("b/index.ts", `import "bun:ffi"`);
    const { start } = workers();
    const bundler = new Bundler(start, { idleMs: 1 });
    const [one, two, three] = await Promise.all([
      failureOf(bundler.bundle(broken)),
      failureOf(bundler.bundle(refused)),
      failureOf(bundler.bundle(join(folder.path, "nowhere.ts"))),
    ]);
    assert.equal(one.code, "bundle-failed");
    assert.match(one.message, /a\/index\.ts:1:9: /);
    assert.equal(two.code, "bundle-refused");
    assert.match(two.message, /b\/index\.ts:1:8: cannot import "bun:ffi"/);
    assert.match(String(two.hint), /a file or a package/);
    assert.equal(three.code, "bundle-failed");
  });

  test("fails the one that hangs, ends its worker, and does the others in another", {
    timeout: 60_000,
  }, async () => {
    using folder = new Folder();
    const entries = ["a", "b", "c"].map((name) =>
      folder.file(`${name}/index.ts`, `export default "${name}"`),
    );
    const { seen, start } = workers((worker, number) =>
      // The first worker is never asked: it does not answer, as one that hangs.
      number > 1 ? worker : { ...worker, post: () => {} },
    );
    const bundler = new Bundler(start, { timeoutMs: 5_000, idleMs: 1 });
    const [hung, ...others] = entries.map((entry) => bundler.bundle(entry));
    const error = await failureOf(hung!);
    assert.equal(error.code, "bundle-failed");
    assert.match(error.message, /a\/index\.ts: bundling took longer than/);
    const sources = (await Promise.all(others)).map(({ source }) => text(source));
    assert.ok(sources[0]?.includes('"b"') && sources[1]?.includes('"c"'));
    await until(() => seen.running === 0);
    assert.equal(seen.started, 2);
  });

  test("survives the crash of its worker", async () => {
    using folder = new Folder();
    const entries = ["a", "b"].map((name) => folder.file(`${name}/index.ts`, `export default "${name}"`));
    const exits: ((reason: string) => void)[] = [];
    const { start } = workers((worker, number) =>
      number > 1
        ? worker
        : {
            ...worker,
            onExit: (listener) => void exits.push(listener),
            post: () => exits[0]?.("failed: out of memory"),
          },
    );
    const bundler = new Bundler(start, { idleMs: 1 });
    const [first, second] = entries.map((entry) => bundler.bundle(entry));
    const error = await failureOf(first!);
    assert.match(error.message, /a\/index\.ts: the bundler ended \(failed: out of memory\)/);
    assert.ok(text((await second!).source).includes('"b"'));
  });

  test("that cannot be started is a failure of each bundle", async () => {
    const bundler = new Bundler(() => Promise.reject(new XdevError("unsupported", "no threads")), {
      idleMs: 1,
    });
    const error = await failureOf(bundler.bundle("/nowhere/index.ts"));
    assert.equal(error.code, "bundle-failed");
    assert.match(error.message, /could not be started/);
  });

  test("does not hold up this thread, whatever it parses", { timeout: 60_000 }, async () => {
    using folder = new Folder();
    const slow = {
      large: Array.from(
        { length: 30_000 },
        (_, i) => `export const v${i} = (a: number) => [a, { a }, "${i}"];`,
      ).join("\n"),
      nested: `export default [${`${"[".repeat(500)}${"]".repeat(500)},\n`.repeat(1_000)}]`,
      "regular expressions": `export default [\n${"/(a+)+$/,".repeat(200_000)}];`,
    };
    const { start } = workers();
    const bundler = new Bundler(start, { idleMs: 1 });
    for (const [name, source] of Object.entries(slow)) {
      const entry = folder.file(`${name}/index.ts`, source);
      // Measured: a thousandth of the time. A collection of garbage may fall into one of three tries.
      const shares: number[] = [];
      while (shares.length < 3 && !shares.some((share) => share < 0.05)) {
        const begin = performance.now();
        const turn = await longestTurn(async () => void (await bundler.bundle(entry).catch(() => {})));
        shares.push(turn / (performance.now() - begin));
      }
      assert.ok(Math.min(...shares) < 0.05, `${name}: ${shares.join(", ")} of the time`);
    }
  });
});
