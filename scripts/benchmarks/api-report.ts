/** The figures of the benchmark of the extension API next to the targets. */
import { type ApiResult, LENGTHS } from "./api.ts";
import { percentile } from "./measure.ts";
import { conditions, judgement, table, type Verdict } from "./table.ts";

/** What is promised: multiples of the side without. */
const TARGETS = { stream: 1.3, growth: 1.3, load: 2.5 };

/** What extensions add for each token. */
function added({ streams }: ApiResult, length: (typeof LENGTHS)[number]): number {
  return (streams[length].with - streams[length].without) / length;
}

export function judgeApi(result: ApiResult): Verdict[] {
  const { streams, bare, examples } = result;
  const verdict = (of: string, value: number, target: number) => ({
    of,
    value,
    target,
    met: value <= target,
  });
  const [short, long] = LENGTHS;
  // Of little, any difference is much: what is added is compared with the run itself.
  const growth = 1 + (added(result, long) - added(result, short)) / (streams[short].without / short);
  return [
    verdict(
      "5,000 tokens with ten that listen, by none",
      streams[short].with / streams[short].without,
      TARGETS.stream,
    ),
    verdict("a token of 20,000 by one of 5,000, what ten add", growth, TARGETS.growth),
    verdict(
      "cold load of an example, p95, by a bare worker",
      percentile(Object.values(examples), 0.95) / bare,
      TARGETS.load,
    ),
  ];
}

export function apiJson(result: ApiResult): string {
  return JSON.stringify({ ...result, verdicts: judgeApi(result) }, null, 2);
}

export function apiText(result: ApiResult): string {
  const { streams, bare, examples } = result;
  const rows = LENGTHS.map((length) => {
    const { without, with: listening } = streams[length];
    return [String(length), without.toFixed(0), listening.toFixed(0), (listening / without).toFixed(2)];
  });
  const slowest = Object.entries(examples)
    .toSorted(([, a], [, b]) => b - a)
    .slice(0, 6)
    .map(([name, ms]) => [name, ms.toFixed(0), (ms / bare).toFixed(2)]);
  return [
    ...conditions("compiled", result),
    "",
    table([["tokens", "none, ms", "ten listen", "by none"], ...rows], [0, 1, 2, 3]),
    "",
    `A bare worker: ${bare.toFixed(0)} ms. The slowest of ${Object.keys(examples).length} examples, cold:`,
    table([["example", "ms", "by bare"], ...slowest], [1, 2]),
    "",
    ...judgement(judgeApi(result)),
  ].join("\n");
}
