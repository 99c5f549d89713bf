/**
 * `scripts/bench sandbox`: what the sandbox adds to a bare worker with SES when extensions load, what one of them keeps in
 * memory, and what a system call costs next to the barest that waits for the same. Sides take turns (A B A B …), since a
 * machine's speed changes over seconds; figures are medians.
 */
import { spawnSync } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { compile, WORKERS } from "../compile.ts";
import { percentile } from "./measure.ts";
import { BARE_LOOK, CALLS, type CallKind } from "./sandbox-calls.ts";

export const COUNTS = [1, 10, 20] as const;
export type Count = (typeof COUNTS)[number];

/** Times of a load in ms. */
export interface LoadTimes {
  bare: number;
  cached: number;
  cold: number;
}

export interface SandboxResult {
  runs: number;
  bun: string;
  /** What else there was to do for the machine: its load average when this began. */
  load: number;
  loads: Record<Count, LoadTimes>;
  /** What one more idle extension keeps resident, in MB (2^20 bytes). */
  idleMb: number;
  /** One call, in µs. */
  calls: Record<CallKind, { ours: number; raw: number }>;
  /** A look at a path by the worker that takes no care, in µs. */
  bareLook: number;
}

/** As the extension of the demo: a tool, a command, two events. */
const EXTENSION = `import { Type } from "@sinclair/typebox";
export default (pi) => {
  pi.on("session_start", () => {});
  pi.on("tool_call", () => {});
  pi.registerTool({ name: "tool_NUMBER", description: "", parameters: Type.Object({}), execute: async () => "" });
  pi.registerCommand("command", { handler: async () => {} });
};
`;

const CALLER = `import { openSync, readSync, statSync } from "node:fs";
import { open, stat } from "node:fs/promises";
import { hostname } from "node:os";
const bytes = new Uint8Array(1);
let descriptor, handle;
export default (pi) => pi.registerTool({
  name: "call",
  description: "",
  parameters: { type: "object", properties: {} },
  async execute(id, { kind, count, path }) {
    descriptor ??= openSync(path);
    handle ??= await open(path);
    for (let i = 0; i < count; i++) {
      if (kind.startsWith("host name")) hostname();
      else if (kind === "read of an open file, at once") readSync(descriptor, bytes, 0, 1, 0);
      else if (kind === "read of an open file, later") await handle.read(bytes, 0, 1, 0);
      else if (kind.endsWith("later")) await stat(path);
      else statSync(path);
    }
  },
});
`;

/** Throws when a program fails. Leaves no file behind. */
export async function benchmarkSandbox(options: {
  runs: number;
  progress(text: string): void;
}): Promise<SandboxResult> {
  const { runs, progress } = options;
  const load = loadavg()[0]!;
  const scratch = await mkdtemp(join(tmpdir(), "xdev-bench-"));
  try {
    progress("compiling");
    const program = join(scratch, "program");
    const entries = ["./scripts/benchmarks/sandbox-program.ts", "./scripts/benchmarks/bare-worker.ts"];
    await compile([...entries, ...WORKERS], program);
    for (let i = 1; i <= COUNTS.at(-1)!; i++) {
      await writeFile(join(scratch, `${i}.ts`), EXTENSION.replace("NUMBER", String(i)));
    }
    await writeFile(join(scratch, "calls.ts"), CALLER);
    const run = <T>(...args: string[]): T => runProgram(program, args, scratch) as T;
    const { loads, idleMb } = await measureLoads(run, runs, scratch, progress);
    progress("system calls");
    const times = run<Record<string, number[]>>("calls");
    const of = (kind: string) => percentile(times[kind]!, 0.5);
    const calls = Object.fromEntries(
      CALLS.map((kind) => [kind, { ours: of(kind), raw: of(`${kind}, raw`) }]),
    ) as SandboxResult["calls"];
    return { runs, bun: Bun.version, load, loads, idleMb, calls, bareLook: of(BARE_LOOK) };
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

type Run = <T>(...args: string[]) => T;

async function measureLoads(
  run: Run,
  runs: number,
  scratch: string,
  progress: (text: string) => void,
): Promise<Pick<SandboxResult, "loads" | "idleMb">> {
  const loads = {} as Record<Count, LoadTimes>;
  const memory = {} as Record<Count, number>;
  for (const count of COUNTS) {
    progress(`${runs} rounds of ${count === 1 ? "one extension" : `${count} extensions`}`);
    const samples: Record<keyof LoadTimes, number[]> = { bare: [], cached: [], cold: [] };
    const kept: number[] = [];
    for (let round = 0; round <= runs; round++) {
      const cold = join(scratch, "cold");
      await rm(cold, { recursive: true, force: true });
      await mkdir(cold);
      const args = ["load", "extensions", String(count)];
      const figures = {
        bare: run<{ ms: number }>("load", "bare", String(count)),
        cached: run<{ ms: number; mb: number }>(...args, join(scratch, "warm")),
        cold: run<{ ms: number }>(...args, cold),
      };
      // The first round fills caches, that of the bundles among them.
      if (round === 0) continue;
      for (const side of ["bare", "cached", "cold"] as const) samples[side].push(figures[side].ms);
      kept.push(figures.cached.mb);
    }
    const median = (side: keyof LoadTimes) => percentile(samples[side], 0.5);
    loads[count] = { bare: median("bare"), cached: median("cached"), cold: median("cold") };
    memory[count] = percentile(kept, 0.5);
  }
  return { loads, idleMb: (memory[20] - memory[1]) / 19 };
}

export function runProgram(program: string, args: readonly string[], cwd: string): unknown {
  const { status, stdout, stderr } = spawnSync(program, args, { cwd, encoding: "utf8", timeout: 120_000 });
  if (status !== 0) throw new Error(`${args.join(" ")}: status ${status}\n${stdout}${stderr}`);
  return JSON.parse(stdout);
}
