/**
 * The program that `scripts/bench sandbox` compiles and times, so that everything is as in the executable. One of
 *
 *     load bare COUNT                   COUNT bare workers; without a look at the memory behind `time`
 *     load extensions COUNT DATA_DIR    COUNT extensions, as a session loads them
 *     load file FILE DATA_DIR           one extension of somebody's
 *     calls                             system calls of an extension, and the same by hand
 *
 * Prints one line of JSON. Extensions are the files `1.ts`, `2.ts`, … and `calls.ts` of the working directory.
 */
import { closeSync, constants, fstat, open as openDescriptor, readFileSync, readlinkSync } from "node:fs";
import { lstat, open } from "node:fs/promises";
import { hostname } from "node:os";
import { resolve } from "node:path";
import { parsePermissionOptions } from "../../sandbox/permissions/flags.ts";
import { DEFAULT_SETTINGS } from "../../src/config/settings.ts";
import { sessionAuthority } from "../../src/extensions/authority.ts";
import { identifyExtensions } from "../../src/extensions/discovery.ts";
import { Guests } from "../../src/extensions/guests.ts";
import { ExtensionManager } from "../../src/extensions/manager.ts";
import { beginStartUp, endStartUp } from "../../src/platform/start-up.ts";
import { BARE_LOOK, CALLS as KINDS } from "./sandbox-calls.ts";

/** How long after a start its memory is looked at, in ms. */
const SETTLE_MS = 500;
/** Calls of one turn, and turns; the first ones warm up. */
const CALLS = 500;
const TURNS = 40;
const WARM_UP = 8;

const [what, side, count, dataDir] = process.argv.slice(2);
const result = what === "load" ? await load() : await calls();
console.log(JSON.stringify(result));
process.exit(0);

async function load(): Promise<{ ms: number; mb: number }> {
  const before = resident();
  // As the program does (src/main.ts).
  if (side !== "bare") beginStartUp();
  const start = performance.now();
  if (side === "bare") {
    await Promise.all(Array.from({ length: Number(count) }, () => answerOf(bareWorker(), "load")));
  } else if (side === "file") {
    const manager = await session([count!], dataDir);
    const [failure] = manager.failures();
    if (failure) throw new Error(`${count}: ${failure.reason}`);
  } else {
    await session(
      Array.from({ length: Number(count) }, (_, at) => `${at + 1}.ts`),
      dataDir,
    );
  }
  const ms = performance.now() - start;
  if (side === "file" || dataDir === "time") return { ms, mb: 0 };
  await Bun.sleep(SETTLE_MS);
  return { ms, mb: (resident() - before) / 2 ** 20 };
}

/** Microseconds of one call, of each turn. */
async function calls(): Promise<Record<string, number[]>> {
  endStartUp();
  const manager = await session(["calls.ts"], undefined);
  const tool = manager.tools([])[0]!;
  const worker = bareWorker();
  await serve(worker);
  await answerOf(worker, "load");
  const path = resolve("calls.ts");
  const times: Record<string, number[]> = {};
  for (let turn = 0; turn < WARM_UP + TURNS; turn++) {
    for (const kind of KINDS) {
      const ours = await timed(async () => void (await tool.execute("c", { kind, count: CALLS, path })));
      const raw = await timed(async () => void (await answerOf(worker, { kind, count: CALLS, path })));
      if (turn < WARM_UP) continue;
      times[kind] = [...(times[kind] ?? []), ours];
      times[`${kind}, raw`] = [...(times[`${kind}, raw`] ?? []), raw];
    }
    const bare = await timed(
      async () => void (await answerOf(worker, { kind: BARE_LOOK, count: CALLS, path })),
    );
    if (turn >= WARM_UP) times[BARE_LOOK] = [...(times[BARE_LOOK] ?? []), bare];
  }
  await manager.stop();
  worker.terminate();
  return times;
}

async function timed(run: () => Promise<void>): Promise<number> {
  const start = performance.now();
  await run();
  return ((performance.now() - start) * 1000) / CALLS;
}

async function session(files: readonly string[], dataDir: string | undefined): Promise<ExtensionManager> {
  const refuse = (text: string): void => {
    // What somebody's has to say about its registrations is no failure.
    if (side !== "file") throw new Error(text);
  };
  const cwd = process.cwd();
  // As a run does it (src/cli/run-extensions.ts).
  const guests = new Guests();
  guests.prepare();
  const settings = DEFAULT_SETTINGS.extensionHost;
  const sources = (await Promise.all(files.map(identifyExtensions))).flat();
  return ExtensionManager.load({
    sources,
    settings,
    env: process.env,
    guests,
    ...(dataDir === undefined ? {} : { dataDir }),
    authority: sessionAuthority({
      dataDir: dataDir ?? resolve("data"),
      cwd,
      env: process.env,
      settings,
      flags:
        what === "calls"
          ? {
              permissions: parsePermissionOptions({ read: ["*"], sys: ["hostname"] }, cwd, (kind) => kind),
              all: [],
            }
          : undefined,
      notice: refuse,
    }),
    host: { notice: refuse, notify: (_extension, text) => refuse(text), action: () => refuse("an action") },
  });
}

function bareWorker(): Worker {
  return new Worker("./scripts/benchmarks/bare-worker.ts");
}

/** What the worker says next but for its calls, once it was told `message`. */
function answerOf(worker: Worker, message: unknown): Promise<unknown> {
  return new Promise((done) => {
    const listener = ({ data }: MessageEvent) => {
      if (data.call) return;
      worker.removeEventListener("message", listener);
      done(data);
    };
    worker.addEventListener("message", listener);
    worker.postMessage(message);
  });
}

/** Does what the worker asks for, with as little around it as this runtime allows. */
async function serve(worker: Worker): Promise<void> {
  const file = await open(resolve("calls.ts"));
  const bytes = Buffer.alloc(1);
  worker.addEventListener("message", async ({ data }) => {
    if (!data.call) return;
    let answer: unknown;
    if (data.call === "host name") answer = hostname();
    else if (data.call === "look at a path") answer = await heldSize(data.path);
    else if (data.call === "bare lstat") answer = (await lstat(data.path)).size;
    else answer = (await file.read(bytes, 0, 1, 0)).bytesRead;
    if (!data.shared) return worker.postMessage({ answer });
    const shared = new Int32Array(data.shared as SharedArrayBuffer);
    Atomics.store(shared, 0, 1);
    Atomics.notify(shared, 0);
  });
}

/** The size of a file that is held while it is looked at; `lstat` where descriptors can't hold without opening. */
async function heldSize(path: string): Promise<number> {
  if (process.platform !== "linux") return (await lstat(path)).size;
  const fd = await promised<number>((done) => openDescriptor(path, O_PATH | constants.O_NOFOLLOW, done));
  try {
    if (readlinkSync(`/proc/self/fd/${fd}`) !== path) throw new Error("it moved");
    return (await promised<{ size: number }>((done) => fstat(fd, done))).size;
  } finally {
    closeSync(fd);
  }
}

const O_PATH = 0o10000000;

function promised<T>(start: (done: (error: unknown, value: T) => void) => void): Promise<T> {
  return new Promise((resolve, reject) =>
    start((error, value) => (error ? reject(error as Error) : resolve(value))),
  );
}

/** Bytes, as the kernel counts them. */
function resident(): number {
  if (process.platform !== "linux") return process.memoryUsage.rss();
  return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1]) * 1024;
}
