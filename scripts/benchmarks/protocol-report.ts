/** The figures of the protocol benchmark next to the targets. */
import { growth, type HeapChange, type ProtocolResult, type Side } from "./protocol.ts";
import { table } from "./table.ts";

/** What is promised of the manager's round trip, as multiples of the raw one, and of the heap, as a share of it. */
const TARGETS = { p50: 2, p99: 4, heap: 0.05 };
const PAIRS = [
  { transport: "process", raw: "raw pipe" },
  { transport: "worker", raw: "raw postMessage" },
] as const satisfies { transport: Side; raw: Side }[];

export interface Verdict {
  transport: "process" | "worker";
  of: "p50" | "p99" | "heap";
  /** A ratio of times, or by how much the heap has changed. */
  value: number;
  target: number;
  met: boolean;
}

export function judgeProtocol({ latency, heap }: ProtocolResult): Verdict[] {
  return PAIRS.flatMap(({ transport, raw }) => [
    ...(["p50", "p99"] as const).map((of) => {
      const value = latency[transport][of] / latency[raw][of];
      return { transport, of, value, target: TARGETS[of], met: value <= TARGETS[of] };
    }),
    heapVerdict(transport, heap[transport]),
  ]);
}

function heapVerdict(transport: Verdict["transport"], change: HeapChange): Verdict {
  const value = growth(change);
  return { transport, of: "heap", value, target: TARGETS.heap, met: Math.abs(value) <= TARGETS.heap };
}

export function protocolJson(result: ProtocolResult): string {
  return JSON.stringify({ ...result, verdicts: judgeProtocol(result) }, null, 2);
}

export function protocolText(result: ProtocolResult): string {
  const verdicts = judgeProtocol(result);
  const judged = (transport: string, of: Verdict["of"]) => {
    const { value, target, met } = verdicts.find((one) => one.transport === transport && one.of === of)!;
    const outcome = met ? "ok" : "MISSED";
    if (of !== "heap") return `${value.toFixed(2)} (<= ${target.toFixed(2)} ${outcome})`;
    return `${value < 0 ? "" : "+"}${(value * 100).toFixed(2)} % (±${target * 100} % ${outcome})`;
  };
  const times = (side: Side) => {
    const { p50, p99 } = result.latency[side];
    return [p50.toFixed(1), p99.toFixed(1)];
  };
  const rows = PAIRS.flatMap(({ transport, raw }) => [
    [raw, ...times(raw), "1", "1"],
    [`manager, ${transport}`, ...times(transport), judged(transport, "p50"), judged(transport, "p99")],
  ]);
  const textOf = (of: "p50" | "p99") =>
    (result.latency["raw text"][of] / result.latency["raw postMessage"][of]).toFixed(2);
  rows.push(["raw postMessage of text", ...times("raw text"), textOf("p50"), textOf("p99")]);
  return [
    `tool_call round trips, from source, Bun ${result.bun}; the median of ${result.runs} turns of ${result.turnCalls} calls each`,
    result.cpu === undefined
      ? "on all cores: what an idle core takes to wake up is in every figure"
      : `everything on core ${result.cpu}`,
    ...(result.load > 1
      ? [`load average ${result.load.toFixed(1)}: other programs are in these figures`]
      : []),
    "",
    table([["round trip", "p50 µs", "p99 µs", "p50 by raw", "p99 by raw"], ...rows], [1, 2]),
    "",
    ...PAIRS.map(({ transport }) => {
      const { before, after } = result.heap[transport];
      const sizes = `${before.bytes} to ${after.bytes} bytes, ${before.objects} to ${after.objects} objects`;
      return `heap around ${result.heapCalls} calls, ${transport}: ${sizes}: ${judged(transport, "heap")}`;
    }),
    verdicts.every(({ met }) => met) ? "All targets are met." : "A target is MISSED.",
  ].join("\n");
}
