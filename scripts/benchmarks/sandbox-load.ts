/**
 * The program that `scripts/bench sandbox` compiles and times: starts `count` bare workers, or `count` extensions as a
 * session does, waits until all are ready, and prints `{ms, mb}`, the time it took and the growth of the resident memory.
 *
 * Usage: sandbox-load bare|extensions COUNT DATA_DIR [EXTENSION…]
 */
import { readFileSync } from "node:fs";
import { DEFAULT_SETTINGS } from "../../src/config/settings.ts";
import { identifyExtensions } from "../../src/extensions/discovery.ts";
import { ExtensionManager } from "../../src/extensions/manager.ts";

const [side, count = "1", dataDir = "", ...paths] = process.argv.slice(2);
/** Memory is given back, and asked for, in the moments after a start; in ms. */
const SETTLE_MS = 300;

const before = resident();
const start = performance.now();
let stop: () => Promise<void> | void;
if (side === "bare") {
  const workers = Array.from({ length: Number(count) }, bareWorker);
  await Promise.all(workers.map(({ ready }) => ready));
  stop = () => {
    for (const { worker } of workers) worker.terminate();
  };
} else {
  const sources = (await Promise.all(paths.slice(0, Number(count)).map(identifyExtensions))).flat();
  const refuse = (text: string): never => {
    throw new Error(text);
  };
  const manager = await ExtensionManager.load({
    sources,
    settings: DEFAULT_SETTINGS.extensionHost,
    env: process.env,
    dataDir,
    host: { notice: refuse, notify: (_extension, text) => refuse(text), action: () => refuse("an action") },
  });
  stop = () => manager.stop();
}
const ms = performance.now() - start;
await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
console.log(JSON.stringify({ ms, mb: (resident() - before) / 2 ** 20 }));
await stop();

function bareWorker(): { worker: Worker; ready: Promise<void> } {
  const worker = new Worker("./scripts/benchmarks/bare-worker.ts");
  return {
    worker,
    ready: new Promise((resolve) => {
      worker.onmessage = () => resolve();
    }),
  };
}

/** Bytes, as the kernel counts them. */
function resident(): number {
  if (process.platform !== "linux") return process.memoryUsage.rss();
  return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1]) * 1024;
}
