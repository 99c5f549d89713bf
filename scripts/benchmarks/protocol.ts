/**
 * `scripts/bench protocol`: what the host adds to a call of a tool that an extension is asked about, over both transports.
 * The manager's round trip and the raw one take turns (A B A B …), since a machine's speed changes over seconds.
 *
 * On Linux everything runs on one core. On two, most of a round trip is the time in which an idle core wakes up: 10 µs or 90,
 * as the kernel's guess goes, which is not the host's to change and hides what is.
 */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { type Heap, settledHeap } from "../../test/support/heap.ts";
import { percentile } from "./measure.ts";
import {
  managed,
  type PingPong,
  processExtension,
  rawPipe,
  rawWorker,
  WORKER_EXTENSION,
} from "./ping-pongs.ts";

export const SIDES = ["raw pipe", "process", "raw postMessage", "worker", "raw text"] as const;
export type Side = (typeof SIDES)[number];

/**
 * Of a round trip, in µs: the percentile of each turn's calls, and of those the median. What else runs on the machine spoils
 * some turns of a few milliseconds each; over all calls it would be most of the slowest hundredth.
 */
export interface Latency {
  p50: number;
  p99: number;
}

export interface HeapChange {
  before: Heap;
  after: Heap;
}

export interface ProtocolResult {
  /** Turns of each side, and the calls of one. */
  runs: number;
  turnCalls: number;
  /** The core that everything ran on; undefined if the kernel chose. */
  cpu: number | undefined;
  /** What else there was to do for the machine: its load average when this began. */
  load: number;
  bun: string;
  latency: Record<Side, Latency>;
  /** The host's heap around so many calls of one transport, the median of three times. */
  heapCalls: number;
  heap: Record<"process" | "worker", HeapChange>;
}

const TURN_CALLS = 500;
const WARM_UP_RUNS = 8;
/** A guest is left uncompiled while it starts (src/platform/start-up.ts), in ms. */
const GUEST_START_MS = 1000;
const HEAP_CALLS = 10_000;
const CPU_VARIABLE = "XDEV_BENCH_CPU";

/** Runs this very command on one core and gives its exit status; undefined where that is done or cannot be. */
export function runPinned(): number | undefined {
  if (process.platform !== "linux" || process.env[CPU_VARIABLE] || !Bun.which("taskset")) return undefined;
  // The last core that we may use: the first ones have the machine's interrupts.
  const allowed = /^Cpus_allowed_list:.*?(\d+)$/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1];
  if (allowed === undefined) return undefined;
  const command = ["-c", allowed, process.execPath, ...process.argv.slice(1)];
  const env = { ...process.env, [CPU_VARIABLE]: allowed };
  return spawnSync("taskset", command, { stdio: "inherit", env }).status ?? 1;
}

/** Throws when a call fails. Leaves no process, no worker and no file behind. */
export async function benchmarkProtocol(options: {
  runs: number;
  progress(text: string): void;
}): Promise<ProtocolResult> {
  const { runs, progress } = options;
  const load = loadavg()[0]!;
  const sides = {} as Record<Side, PingPong>;
  try {
    progress("warming up");
    await startAll(sides);
    await Bun.sleep(GUEST_START_MS);
    await takeTurns(sides, WARM_UP_RUNS);
    progress(`${runs} rounds of ${TURN_CALLS} calls each`);
    const latency = await takeTurns(sides, runs);
    progress(`the heap around ${HEAP_CALLS} calls each`);
    const cpu = process.env[CPU_VARIABLE];
    return {
      runs,
      turnCalls: TURN_CALLS,
      cpu: cpu === undefined ? undefined : Number(cpu),
      load,
      bun: Bun.version,
      latency,
      heapCalls: HEAP_CALLS,
      heap: { process: await heapAround(sides.process), worker: await heapAround(sides.worker) },
    };
  } finally {
    await Promise.all(Object.values(sides).map((side) => side.stop()));
  }
}

/** Fills `sides`, so that what has been started can be stopped whatever happens. */
async function startAll(sides: Record<Side, PingPong>): Promise<void> {
  const scratch = await mkdtemp(join(tmpdir(), "xdev-bench-"));
  try {
    const program = await processExtension(scratch);
    sides["raw pipe"] = await rawPipe(program);
    sides.process = await managed(program);
  } finally {
    // They run: their file is needed no more, even if this is interrupted.
    await rm(scratch, { recursive: true, force: true });
  }
  sides["raw postMessage"] = rawWorker((frame) => frame);
  sides.worker = await managed(WORKER_EXTENSION);
  sides["raw text"] = rawWorker((frame) => JSON.stringify(frame));
}

async function takeTurns(sides: Record<Side, PingPong>, runs: number): Promise<Record<Side, Latency>> {
  const turns = Object.fromEntries(SIDES.map((side) => [side, [] as Latency[]])) as Record<Side, Latency[]>;
  for (let run = 0; run < runs; run++) {
    for (const side of SIDES) turns[side].push(await oneTurn(sides[side]));
  }
  const median = (side: Side, of: keyof Latency) =>
    percentile(
      turns[side].map((turn) => turn[of]),
      0.5,
    );
  return Object.fromEntries(
    SIDES.map((side) => [side, { p50: median(side, "p50"), p99: median(side, "p99") }]),
  ) as Record<Side, Latency>;
}

async function oneTurn({ ask }: PingPong): Promise<Latency> {
  const times: number[] = [];
  for (let call = 0; call < TURN_CALLS; call++) {
    const start = performance.now();
    await ask();
    times.push((performance.now() - start) * 1000);
  }
  return { p50: percentile(times, 0.5), p99: percentile(times, 0.99) };
}

/** The median of three: now and then the engine drops code that has not run for seconds, a fifth of the heap. */
async function heapAround({ ask }: PingPong): Promise<HeapChange> {
  const changes: HeapChange[] = [];
  for (let round = 0; round < 3; round++) {
    const before = await settledHeap();
    for (let call = 0; call < HEAP_CALLS; call++) await ask();
    changes.push({ before, after: await settledHeap() });
  }
  return changes.toSorted((a, b) => growth(a) - growth(b))[1]!;
}

/** By which share of it a heap has grown. */
export function growth({ before, after }: HeapChange): number {
  return after.bytes / before.bytes - 1;
}
