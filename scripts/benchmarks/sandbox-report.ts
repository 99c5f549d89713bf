/** The figures of the sandbox benchmark next to the targets. */
import { COUNTS, type SandboxResult } from "./sandbox.ts";
import { CALLS } from "./sandbox-calls.ts";
import { conditions, judgement, table, type Verdict } from "./table.ts";

/** What is promised: multiples of the bare side, and MB. */
const TARGETS = { loadOne: 1.6, loadTen: 1.4, call: 2, idleMb: 10 };

export function judgeSandbox({ loads, calls, idleMb }: SandboxResult): Verdict[] {
  const verdict = (of: string, value: number, target: number) => ({
    of,
    value,
    target,
    met: value <= target,
  });
  return [
    verdict("cached load of one, by a bare worker", loads[1].cached / loads[1].bare, TARGETS.loadOne),
    verdict("cached load of ten, by ten bare workers", loads[10].cached / loads[10].bare, TARGETS.loadTen),
    ...CALLS.map((kind) =>
      verdict(`${kind}, by the raw one`, calls[kind].ours / calls[kind].raw, TARGETS.call),
    ),
    verdict("MB of one more idle extension", idleMb, TARGETS.idleMb),
  ];
}

export function sandboxJson(result: SandboxResult): string {
  return JSON.stringify({ ...result, verdicts: judgeSandbox(result) }, null, 2);
}

export function sandboxText(result: SandboxResult): string {
  const loads = COUNTS.map((count) => {
    const { bare, cached, cold } = result.loads[count];
    const by = (ms: number) => `${ms.toFixed(0)} (${(ms / bare).toFixed(2)})`;
    return [`${count} at once`, bare.toFixed(0), by(cached), by(cold)];
  });
  const calls = CALLS.map((kind) => {
    const { ours, raw } = result.calls[kind];
    return [kind, raw.toFixed(1), ours.toFixed(1), (ours / raw).toFixed(2)];
  });
  return [
    ...conditions("compiled", result),
    "",
    table([["load, ms", "bare workers", "cached", "cold"], ...loads], [1, 2, 3]),
    "",
    table([["one call, µs", "raw", "extension", "by raw"], ...calls], [1, 2, 3]),
    `A bare lstat by the raw worker, which a link can mislead: ${result.bareLook.toFixed(1)} µs.`,
    "",
    ...judgement(judgeSandbox(result)),
  ].join("\n");
}
