/** `node:fs` in the sandbox: what it does is what the runtime's own does, within the extension's rights. */
import assert from "node:assert/strict";
import * as fs from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { CallError, type Rights } from "../../../sandbox/broker/broker.ts";
import { createBroker } from "../../../sandbox/broker/index.ts";
import { openCache } from "../../../src/base/cache.ts";
import { isInside } from "../../../src/base/files.ts";
import { Guests, levelOf } from "../../../src/extensions/guests.ts";
import { workerChannel } from "../../../src/extensions/worker.ts";
import { loadPlatform } from "../../../src/platform/index.ts";
import { Folder } from "../../support/folder.ts";
import { TEST_LEVEL } from "../../support/level.ts";

const CALLS = fileURLToPath(new URL("../../fixtures/fs-calls.mjs", import.meta.url));

/** Runs a module as an extension that may read and write `work`, until it has loaded. Gives what it logged; throws why it failed. */
async function runGuest(root: Folder, source: string, work: string): Promise<string[]> {
  const path = join(root.path, "extension", "index.ts");
  root.file("extension/index.ts", source);
  const folders = {
    cwd: work,
    home: root.path,
    data: join(root.path, "agent", "storage", "own"),
    tmp: work,
    dataDir: join(root.path, "agent"),
  };
  const has: Rights["has"] = (request) =>
    (request.kind === "read" || request.kind === "write") &&
    (isInside(request.path, work) || isInside(request.path, folders.data));
  const faults: unknown[] = [];
  const broker = createBroker({
    extension: "guest",
    rights: {
      has,
      demand: async (request) => {
        if (!has(request)) throw new CallError("EACCES", "EACCES: permission denied: not granted");
      },
    },
    folders,
    limits: { pendingCalls: 64, openFiles: 64, maxCallBytes: 4 * 1024 * 1024 },
    env: {},
    onFault: (operation, error) => faults.push([operation, error]),
  });
  const { platform, arch, pid } = process;
  const about = { ...folders, env: {}, platform, arch, pid, wasm: false };
  const runtime = await loadPlatform();
  const level = levelOf(TEST_LEVEL, "user", runtime.endsLoops);
  const startGuest = () => new Guests().start("guest", level, { maxHeapBytes: 256 * 1024 * 1024 });
  const channel = await workerChannel({
    name: "guest",
    path,
    maxFrameBytes: 1_000_000,
    maxTimers: 100,
    cache: openCache(undefined),
    platform: { ...runtime, startGuest },
    authority: async () => ({ rights: { has, demand: async () => {} }, broker, about }),
  });
  const lines: string[] = [];
  try {
    await new Promise<void>((resolve, reject) =>
      channel.open({
        onMessage: (frame) => {
          const { type } = frame as { type: string };
          if (type === "capabilities") resolve();
          else lines.push(JSON.stringify(frame));
        },
        onProblem: reject,
        onLog: (line) => lines.push(line),
        onClose: ({ reason }) => reject(new Error(`${reason}\n${lines.join("\n")}`)),
      }),
    );
  } finally {
    await channel.close(0);
    await broker.close();
  }
  assert.deepEqual(faults, []);
  return lines;
}

describe("node:fs in the sandbox", () => {
  test("gives what Node gives, call by call", async () => {
    using root = new Folder();
    const work = join(root.path, "work");
    fs.mkdirSync(work);
    root.file("extension/calls.mjs", fs.readFileSync(CALLS));
    await runGuest(
      root,
      `import { writeFileSync } from "node:fs";
       import { run } from "./calls.mjs";
       export default async () => {
         const results = await run(${JSON.stringify(work)});
         writeFileSync("results.json", JSON.stringify(results));
       };`,
      work,
    );
    const results = JSON.parse(fs.readFileSync(join(work, "results.json"), "utf8"));
    const expected = JSON.parse(fs.readFileSync(CALLS.replace(/mjs$/, "json"), "utf8"));
    assert.ok(Object.keys(expected).length > 120);
    assert.deepEqual(results, expected);
  });

  test("reaches nothing else, in any form, and the errors say so", async () => {
    using root = new Folder();
    const work = join(root.path, "work");
    fs.mkdirSync(work);
    const secret = root.file("secret/file", "secret");
    await runGuest(
      root,
      `import fs, { promises } from "fs";
       import { readFile } from "node:fs/promises";
       export default async () => {
         const secret = ${JSON.stringify(secret)};
         const out = {};
         const note = async (name, call) => {
           try { out[name] = await call(); } catch (error) { out[name] = error.code + " " + error.syscall; }
         };
         await note("sync", () => fs.readFileSync(secret, "utf8"));
         await note("promise", () => readFile(secret));
         await note("callback", () => new Promise((resolve) => fs.readFile(secret, (error) => resolve(error.code))));
         await note("stream", () => new Promise((resolve) => fs.createReadStream(secret).on("error", (e) => resolve(e.code))));
         await note("exists", () => fs.existsSync(secret));
         await note("write", () => fs.writeFileSync(secret, "x"));
         await note("none", () => fs.statSync(secret + "-none"));
         await note("quiet", () => fs.statSync(secret + "-none", { throwIfNoEntry: false }));
         await note("relative", () => fs.readFileSync("../secret/file"));
         await note("forced", () => fs.rmSync(secret, { force: true }));
         await note("cp", () => fs.cpSync(secret, "copy"));
         await note("watch", () => fs.watch(secret));
         await note("watch promise", () => promises.watch(secret)[Symbol.asyncIterator]().next());
         await note("link", () => { fs.symlinkSync(secret, "link"); });
         fs.writeFileSync("results.json", JSON.stringify(out));
       };`,
      work,
    );
    assert.deepEqual(JSON.parse(fs.readFileSync(join(work, "results.json"), "utf8")), {
      sync: "EACCES open",
      promise: "EACCES open",
      callback: "EACCES",
      stream: "EACCES",
      exists: false,
      write: "EACCES open",
      none: "EACCES stat",
      quiet: "EACCES stat",
      relative: "EACCES open",
      forced: "EACCES rm",
      cp: "EACCES lstat",
      watch: "EACCES watch",
      "watch promise": "EACCES watch",
      link: "EACCES symlink",
    });
    assert.deepEqual(fs.readdirSync(work), ["results.json"]);
    assert.equal(fs.readFileSync(secret, "utf8"), "secret");
  });

  test("its own storage is there without a question, and what it prints by descriptor is logged", async () => {
    using root = new Folder();
    const work = join(root.path, "work");
    fs.mkdirSync(work);
    const data = join(root.path, "agent", "storage", "own");
    const lines = await runGuest(
      root,
      `const fs = require("fs");
       export default () => {
         fs.writeFileSync(${JSON.stringify(join(data, "state"))}, "kept");
         fs.writeSync(1, "out");
         fs.writeFileSync(2, "err");
       };`,
      work,
    );
    assert.equal(fs.readFileSync(join(data, "state"), "utf8"), "kept");
    assert.match(lines.join("\n"), /out.*err/s);
  });

  test("functions can be replaced and classes extended, as packages do", async () => {
    using root = new Folder();
    const work = join(root.path, "work");
    fs.mkdirSync(work);
    await runGuest(
      root,
      `const fs = require("fs");
       export default async () => {
         const patched = Object.assign({}, fs, { readFileSync: () => "patched" });
         class Mine extends fs.ReadStream {
           mine = true;
         }
         fs.writeFileSync("f", "text");
         const stream = new Mine("f", "utf8");
         let text = "";
         for await (const chunk of stream) text += chunk;
         const called = fs.WriteStream("g");
         await new Promise((resolve) => called.end("called", resolve));
         const original = fs.statSync;
         fs.statSync = () => "replaced";
         const replaced = fs.statSync("f");
         fs.statSync = original;
         fs.writeFileSync("results.json", JSON.stringify([
           patched.readFileSync("f"), text, stream.mine, stream instanceof fs.ReadStream,
           fs.readFileSync("g", "utf8"), replaced, fs.statSync("f").size,
         ]));
       };`,
      work,
    );
    const results = JSON.parse(fs.readFileSync(join(work, "results.json"), "utf8"));
    assert.deepEqual(results, ["patched", "text", true, true, "called", "replaced", 4]);
  });
});
