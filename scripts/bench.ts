/**
 * Benchmarks, as ratios to what is compared with: the start of the compiled program, the protocol of extensions, the sandbox, sessions,
 * and the extension API.
 *
 * Usage: scripts/bench start [--runs N] [--json] [--xdev FILE]
 *        scripts/bench protocol [--runs N] [--json] [--spread]
 *        scripts/bench sandbox [--runs N] [--json]
 *        scripts/bench session [--runs N] [--json]
 *        scripts/bench api [--runs N] [--json]
 *
 * Exit status: 0 all targets met, 1 one missed or a run failed, 2 wrong use.
 */
import { resolve } from "node:path";
import { parseArgs } from "node:util";

const USAGE = `usage: scripts/bench start [--runs N] [--json] [--xdev FILE]
       scripts/bench protocol [--runs N] [--json] [--spread]
       scripts/bench sandbox [--runs N] [--json]
       scripts/bench session [--runs N] [--json]
       scripts/bench api [--runs N] [--json]
  --runs N     rounds, at least 15; default 25, of the protocol 60
  --json       print all figures as JSON
  --xdev FILE  measure this executable; default dist/xdev, built if it is missing
  --spread     leave it to the kernel which cores are used; default one, where there is taskset`;
const MINIMUM_RUNS = 15;

const BENCHMARKS = ["start", "protocol", "sandbox", "session", "api"] as const;
type Benchmark = (typeof BENCHMARKS)[number];

interface Options {
  benchmark: Benchmark;
  runs: number;
  json: boolean;
  xdev: string | undefined;
  spread: boolean;
}

process.exitCode = await main();

async function main(): Promise<number> {
  const options = parse();
  if (!options) {
    console.error(USAGE);
    return 2;
  }
  try {
    return await { start, protocol, sandbox, session, api }[options.benchmark](options);
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    return 1;
  }
}

async function start({ runs, xdev, json }: Options): Promise<number> {
  const [{ benchmarkStart }, { judge, reportJson, reportText }] = await Promise.all([
    import("./benchmarks/start.ts"),
    import("./benchmarks/report.ts"),
  ]);
  const result = await benchmarkStart({ runs, xdev, progress });
  console.log(json ? reportJson(result) : reportText(result));
  return judge(result).every(({ met }) => met) ? 0 : 1;
}

async function protocol({ runs, json, spread }: Options): Promise<number> {
  const { benchmarkProtocol, runPinned } = await import("./benchmarks/protocol.ts");
  const status = spread ? undefined : runPinned();
  if (status !== undefined) return status;
  const { judgeProtocol, protocolJson, protocolText } = await import("./benchmarks/protocol-report.ts");
  const result = await benchmarkProtocol({ runs, progress });
  console.log(json ? protocolJson(result) : protocolText(result));
  return judgeProtocol(result).every(({ met }) => met) ? 0 : 1;
}

async function sandbox({ runs, json }: Options): Promise<number> {
  const [{ benchmarkSandbox }, { judgeSandbox, sandboxJson, sandboxText }] = await Promise.all([
    import("./benchmarks/sandbox.ts"),
    import("./benchmarks/sandbox-report.ts"),
  ]);
  const result = await benchmarkSandbox({ runs, progress });
  console.log(json ? sandboxJson(result) : sandboxText(result));
  return judgeSandbox(result).every(({ met }) => met) ? 0 : 1;
}

async function session({ runs, json }: Options): Promise<number> {
  const [{ benchmarkSession }, { judgeSession, sessionJson, sessionText }] = await Promise.all([
    import("./benchmarks/session.ts"),
    import("./benchmarks/session-report.ts"),
  ]);
  const result = await benchmarkSession({ runs, progress });
  console.log(json ? sessionJson(result) : sessionText(result));
  return judgeSession(result).every(({ met }) => met) ? 0 : 1;
}

async function api({ runs, json }: Options): Promise<number> {
  const [{ benchmarkApi }, { apiJson, apiText, judgeApi }] = await Promise.all([
    import("./benchmarks/api.ts"),
    import("./benchmarks/api-report.ts"),
  ]);
  const result = await benchmarkApi({ runs, progress });
  console.log(json ? apiJson(result) : apiText(result));
  return judgeApi(result).every(({ met }) => met) ? 0 : 1;
}

function progress(text: string): void {
  console.error(`${text}…`);
}

function parse(): Options | undefined {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: {
        runs: { type: "string" },
        json: { type: "boolean", default: false },
        xdev: { type: "string" },
        spread: { type: "boolean", default: false },
      },
    });
    const { json, spread, xdev } = values;
    const benchmark = BENCHMARKS.find((name) => name === positionals[0]);
    if (positionals.length !== 1 || !benchmark) return undefined;
    if ((spread && benchmark !== "protocol") || (xdev !== undefined && benchmark !== "start"))
      return undefined;
    const runs = Number(values.runs ?? (benchmark === "protocol" ? 60 : 25));
    if (!Number.isInteger(runs) || runs < MINIMUM_RUNS) return undefined;
    return { benchmark, runs, json, spread, xdev: xdev && resolve(xdev) };
  } catch {
    return undefined;
  }
}
