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
  const level = levelOf("auto", "user", runtime.endsLoops);
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
  test("gives what the runtime's own gives, call by call", async () => {
    using root = new Folder();
    const [work, own] = ["work", "own"].map((name) => join(root.path, name)) as [string, string];
    fs.mkdirSync(work);
    fs.mkdirSync(own);
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
    const { run } = await import(CALLS);
    const expected = JSON.parse(JSON.stringify(await run(own)));
    assert.ok(Object.keys(expected).length > 120);
    const differing = Object.keys(expected).filter(
      (name) => JSON.stringify(results[name]) !== JSON.stringify(expected[name]),
    );
    for (const name of differing)
      console.log(name, JSON.stringify(results[name]), JSON.stringify(expected[name]));
    assert.deepEqual(results, expected);
  });
});
