/**
 * Benchmarks of the compiled program, as ratios to what it is compared with.
 *
 * Usage: scripts/bench start [--runs N] [--json] [--xdev FILE]
 *
 * Exit status: 0 all targets met, 1 one missed or a run failed, 2 wrong use.
 */
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { judge, reportJson, reportText } from "./benchmarks/report.ts";
import { benchmarkStart } from "./benchmarks/start.ts";

const USAGE = `usage: scripts/bench start [--runs N] [--json] [--xdev FILE]
  --runs N     rounds, at least 15; default 25
  --json       print all figures as JSON
  --xdev FILE  measure this executable; default dist/xdev, built if it is missing`;
const MINIMUM_RUNS = 15;

process.exitCode = await main();

async function main(): Promise<number> {
  const options = parse();
  if (!options) {
    console.error(USAGE);
    return 2;
  }
  try {
    const progress = (text: string) => console.error(`${text}…`);
    const result = await benchmarkStart({ runs: options.runs, xdev: options.xdev, progress });
    console.log(options.json ? reportJson(result) : reportText(result));
    return judge(result).every(({ met }) => met) ? 0 : 1;
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    return 1;
  }
}

function parse(): { runs: number; json: boolean; xdev: string | undefined } | undefined {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: {
        runs: { type: "string", default: "25" },
        json: { type: "boolean", default: false },
        xdev: { type: "string" },
      },
    });
    const runs = Number(values.runs);
    if (positionals.length !== 1 || positionals[0] !== "start") return undefined;
    if (!Number.isInteger(runs) || runs < MINIMUM_RUNS) return undefined;
    return { runs, json: values.json, xdev: values.xdev && resolve(values.xdev) };
  } catch {
    return undefined;
  }
}
