/**
 * `scripts/bench api`: what extensions that listen to a stream add to a run, and how long each of pi's example extensions takes to load
 * with nothing in the cache, next to the barest confined worker. Sides take turns; figures are medians.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { examplesOf } from "../../test/compat/examples.ts";
import { compile, WORKERS } from "../compile.ts";
import { percentile } from "./measure.ts";
import { ourBinary } from "./programs.ts";
import { runProgram } from "./sandbox.ts";
import { serveAnswers } from "./stream.ts";

export const LENGTHS = [5000, 20_000] as const;
export type Length = (typeof LENGTHS)[number];
const LISTENERS = 10;
/** Of each example, cold; few, since there are many. */
const LOADS = 3;

const LISTENER = `export default (pi) => {
  let deltas = 0;
  pi.on("message_update", (event) => {
    if (event.assistantMessageEvent.type === "text_delta") deltas++;
  });
};
`;

export interface ApiResult {
  runs: number;
  bun: string;
  load: number;
  /** A run of a session that has begun, in ms. */
  streams: Record<Length, { without: number; with: number }>;
  /** In ms; the examples by their names, that of a bare worker with nothing in it. */
  bare: number;
  examples: Record<string, number>;
}

/** Throws when a program fails. Leaves no process and no file behind. */
export async function benchmarkApi(options: {
  runs: number;
  progress(text: string): void;
}): Promise<ApiResult> {
  const { runs, progress } = options;
  const load = loadavg()[0]!;
  const scratch = await mkdtemp(join(tmpdir(), "xdev-bench-"));
  try {
    progress(`${runs} rounds of answers, ${LISTENERS} extensions listening`);
    const streams = await measureStreams(scratch, runs);
    progress("examples, cold");
    return { runs, bun: Bun.version, load, streams, ...(await measureLoads(scratch, progress)) };
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

async function measureStreams(scratch: string, runs: number): Promise<ApiResult["streams"]> {
  const data = join(scratch, "data");
  const server = await serveAnswers(data);
  const sessions: Session[] = [];
  try {
    await mkdir(join(data, "extensions"));
    for (let i = 0; i < LISTENERS; i++)
      await writeFile(join(data, "extensions", `listener-${i}.ts`), LISTENER);
    const streams = {} as ApiResult["streams"];
    for (const tokens of LENGTHS) {
      const sides = {
        without: new Session(scratch, data, tokens, ["--no-extensions"]),
        with: new Session(scratch, data, tokens, []),
      };
      sessions.push(...Object.values(sides));
      const samples = { without: [] as number[], with: [] as number[] };
      // The first two load what is loaded once.
      for (let run = -2; run < runs; run++) {
        for (const side of ["without", "with"] as const) {
          const ms = await sides[side].run();
          if (run >= 0) samples[side].push(ms);
        }
      }
      await Promise.all(Object.values(sides).map((side) => side.end()));
      streams[tokens] = { without: percentile(samples.without, 0.5), with: percentile(samples.with, 0.5) };
    }
    return streams;
  } finally {
    for (const session of sessions) session.kill();
    await server.stop(true);
  }
}

/** xdev in rpc mode, whose client reads nothing but when a run begins and ends. */
class Session {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;

  constructor(cwd: string, data: string, tokens: Length, options: readonly string[]) {
    const words = [
      "--mode",
      "rpc",
      "--model",
      `t${tokens}/m`,
      "--data-dir",
      data,
      "--no-session",
      ...options,
    ];
    this.#child = spawn(ourBinary(), words, {
      cwd,
      env: { HOME: cwd, PATH: process.env.PATH },
      stdio: ["pipe", "pipe", "inherit"],
    });
    this.#lines = createInterface({ input: this.#child.stdout! })[Symbol.asyncIterator]();
  }

  /** Milliseconds from a prompt to the end of its run. */
  async run(): Promise<number> {
    // What was said before is part of a request: each run has a conversation of its own.
    await this.#command({ type: "new_session" }, "response");
    const start = performance.now();
    await this.#command({ type: "prompt", message: "go" }, "agent_end");
    return performance.now() - start;
  }

  async #command(command: object, until: string): Promise<void> {
    this.#child.stdin!.write(`${JSON.stringify(command)}\n`);
    for (;;) {
      const { done, value } = await this.#lines.next();
      if (done) throw new Error("xdev ended in the middle of a run");
      if (value.startsWith(`{"type":"${until}"`)) return;
    }
  }

  async end(): Promise<void> {
    this.#child.stdin!.end();
    await once(this.#child, "exit");
  }

  kill(): void {
    this.#child.kill("SIGKILL");
  }
}

async function measureLoads(
  scratch: string,
  progress: (text: string) => void,
): Promise<Pick<ApiResult, "bare" | "examples">> {
  const program = join(scratch, "program");
  const entries = ["./scripts/benchmarks/sandbox-program.ts", "./scripts/benchmarks/bare-worker.ts"];
  await compile([...entries, ...WORKERS], program);
  const run = (...args: string[]): number => (runProgram(program, args, scratch) as { ms: number }).ms;
  const bare: number[] = [];
  const examples: Record<string, number> = {};
  for (const { name, path } of examplesOf("1.6")) {
    const times: number[] = [];
    try {
      for (let i = 0; i < LOADS; i++) {
        bare.push(run("load", "bare", "1", "time"));
        await rm(join(scratch, "cold"), { recursive: true, force: true });
        await mkdir(join(scratch, "cold"));
        times.push(run("load", "file", path, join(scratch, "cold")));
      }
      examples[name] = percentile(times, 0.5);
    } catch (error) {
      progress(`${name} is left out: ${error instanceof Error ? error.message.split("\n")[1] : error}`);
    }
  }
  return { bare: percentile(bare, 0.5), examples };
}
