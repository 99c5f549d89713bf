/** The figures of the start benchmark as ratios, which hold across machines, next to the targets. */
import type { ServerApi } from "../../test/fixtures/model-server.ts";
import { percentile } from "./measure.ts";
import type { ProgramName, Samples, StartResult } from "./start.ts";
import { table } from "./table.ts";

/** What is promised of a run, as shares of pi's: without extensions, or with the same ten. */
const TARGETS: Partial<Record<ProgramName, { by: "pi" | "pi+10"; time: number; memory?: number }>> = {
  xdev: { by: "pi", time: 0.3, memory: 0.6 },
  "xdev+ext": { by: "pi", time: 0.6 },
  "xdev+10 cold": { by: "pi+10", time: 1 },
  "xdev+10": { by: "pi+10", time: 0.6, memory: 1.2 },
};

export interface Summary {
  medianMs: number;
  p90Ms: number;
  medianMB: number;
}

export interface Ratio {
  api: ServerApi;
  program: ProgramName;
  of: "time" | "memory";
  /** Ours by pi's. Time: the median over the pairs that ran next to each other. Memory: of the medians. */
  ratio: number;
  target: number;
  met: boolean;
}

export function summarize({ times, memory }: Samples): Summary {
  return {
    medianMs: percentile(times, 0.5),
    p90Ms: percentile(times, 0.9),
    medianMB: percentile(memory, 0.5),
  };
}

export function judge(result: StartResult): Ratio[] {
  return Object.entries(result.apis).flatMap(([api, programs]) =>
    Object.entries(TARGETS).flatMap(([program, target]) => {
      const ours = programs[program as ProgramName];
      const of = { api: api as ServerApi, program: program as ProgramName };
      const theirs = programs[target.by];
      const ratios = [verdict({ ...of, of: "time" }, timeRatio(ours, theirs), target.time)];
      if (target.memory !== undefined) {
        ratios.push(verdict({ ...of, of: "memory" }, memoryRatio(ours, theirs), target.memory));
      }
      return ratios;
    }),
  );
}

function verdict(what: Pick<Ratio, "api" | "program" | "of">, ratio: number, target: number): Ratio {
  return { ...what, ratio, target, met: ratio <= target };
}

/** Of pairs, so that a slow minute of the machine slows both sides of the ratio. */
function timeRatio(ours: Samples, theirs: Samples): number {
  return percentile(
    ours.times.map((value, index) => value / theirs.times[index]!),
    0.5,
  );
}

function memoryRatio(ours: Samples, theirs: Samples): number {
  return percentile(ours.memory, 0.5) / percentile(theirs.memory, 0.5);
}

export function reportJson(result: StartResult): string {
  const each = (group: Record<string, Samples>) =>
    Object.fromEntries(
      Object.entries(group).map(([name, samples]) => [name, { ...summarize(samples), ...samples }]),
    );
  const { apis, floor, ...context } = result;
  return JSON.stringify(
    {
      ...context,
      apis: Object.fromEntries(Object.entries(apis).map(([api, group]) => [api, each(group)])),
      floor: each(floor),
      floorRatio: timeRatio(floor["xdev --version"], floor.empty),
      ratios: judge(result),
    },
    null,
    2,
  );
}

export function reportText(result: StartResult): string {
  const { versions, python, runs, memoryRuns, apis, floor } = result;
  const ratios = judge(result);
  const rows = Object.entries(apis).flatMap(([api, group]) =>
    Object.entries(group).map(([name, samples]) => {
      const theirs = group[TARGETS[name as ProgramName]?.by ?? "pi"];
      const cell = (of: Ratio["of"], ratio: () => number) => {
        if (name === "pi" || name === "pi+10") return "1";
        const judged = ratios.find((one) => one.api === api && one.program === name && one.of === of);
        return judged ? judgedText(judged) : ratio().toFixed(2);
      };
      const time = cell("time", () => timeRatio(samples, theirs));
      const memory = cell("memory", () => memoryRatio(samples, theirs));
      return row(api, name, samples, time, memory);
    }),
  );
  const ours = floor["xdev --version"];
  rows.push(
    row(
      "",
      "xdev --version",
      ours,
      timeRatio(ours, floor.empty).toFixed(2),
      memoryRatio(ours, floor.empty).toFixed(2),
    ),
    row("", "empty program", floor.empty, "1", "1"),
  );
  return [
    `xdev ${versions.xdev}, pi ${versions.pi}, both compiled by Bun ${versions.bun}; Python ${versions.python}`,
    `${runs} rounds in turn for time, ${memoryRuns} more for memory (the largest process), after a warm-up`,
    "a task: three turns, two tool calls, a streaming server on loopback; +ext: one process and one worker extension;",
    "+10: ten of pi's example extensions, ours in the sandbox (by pi+10); cold: with no bundle in the cache",
    ...(python.shim
      ? [`python3 is ${python.path} for both programs: ${python.shim} is a script in front of it`]
      : []),
    ...(result.newer
      ? [`dist/xdev is older than ${result.newer}: build it again to measure the sources`]
      : []),
    "",
    table([["api", "program", "ms", "p90", "MB", "time by pi's", "memory by pi's"], ...rows], [2, 3, 4]),
    "",
    "The last two rows are by the empty program's. A ratio of times is the median over the rounds.",
    ratios.every(({ met }) => met) ? "All targets are met." : "A target is MISSED.",
  ].join("\n");
}

function judgedText({ ratio, target, met }: Ratio): string {
  return `${ratio.toFixed(2)} (<= ${target.toFixed(2)} ${met ? "ok" : "MISSED"})`;
}

function row(api: string, name: string, samples: Samples, time: string, memory: string): string[] {
  const { medianMs, p90Ms, medianMB } = summarize(samples);
  return [api, name, medianMs.toFixed(1), p90Ms.toFixed(1), medianMB.toFixed(1), time, memory];
}
