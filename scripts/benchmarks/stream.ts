/** What a long answer takes of the processor in json mode, next to a run that shows none of it before its end. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { percentile } from "./measure.ts";
import { ourBinary } from "./programs.ts";

export const TOKENS = [5000, 20_000, 80_000] as const;
export type Tokens = (typeof TOKENS)[number];

/** Seconds of the processor, all of a run. */
export type StreamFigures = Record<Tokens, { discarded: number; json: number }>;

/** Throws when a run fails. */
export async function measureStream(scratch: string, runs: number): Promise<StreamFigures> {
  const server = await serveAnswers(scratch);
  try {
    const figures = {} as StreamFigures;
    for (const tokens of TOKENS) {
      const samples = { discarded: [] as number[], json: [] as number[] };
      for (let run = 0; run < runs; run++) {
        samples.discarded.push(await processorTime(scratch, tokens, "text"));
        samples.json.push(await processorTime(scratch, tokens, "json"));
      }
      figures[tokens] = {
        discarded: percentile(samples.discarded, 0.5),
        json: percentile(samples.json, 0.5),
      };
    }
    return figures;
  } finally {
    await server.stop(true);
  }
}

/**
 * A server of answers of so many tokens, as fast as they are taken, and the file of its models `t5000/m`, … in `dataDir`. The caller
 * stops it.
 */
export async function serveAnswers(dataDir: string): Promise<Bun.Server<undefined>> {
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: (request) =>
      new Response(answer(Number(new URL(request.url).pathname.split("/")[1])), {
        headers: { "content-type": "text/event-stream" },
      }),
  });
  await mkdir(dataDir, { recursive: true });
  const provider = (tokens: number) => ({
    baseUrl: `http://127.0.0.1:${server.port}/${tokens}`,
    api: "openai-completions",
    apiKey: "a-key-for-the-benchmark",
    models: [{ id: "m" }],
  });
  const providers = Object.fromEntries(TOKENS.map((tokens) => [`t${tokens}`, provider(tokens)]));
  await writeFile(join(dataDir, "models.yml"), JSON.stringify({ providers }));
  return server;
}

async function processorTime(scratch: string, tokens: Tokens, mode: "text" | "json"): Promise<number> {
  const options = ["--mode", mode, "--model", `t${tokens}/m`, "--data-dir", scratch, "--no-session"];
  const child = Bun.spawn([ourBinary(), "-p", "go", ...options], {
    cwd: scratch,
    env: { HOME: scratch, PATH: process.env.PATH },
    stdio: ["ignore", "ignore", "inherit"],
  });
  if ((await child.exited) !== 0) throw new Error(`a run of ${tokens} tokens in ${mode} mode failed`);
  return Number(child.resourceUsage()!.cpuTime.total) / 1e6;
}

function answer(tokens: number): string {
  const part = (delta: unknown, end: string | null = null) =>
    `data: ${JSON.stringify({ id: "x", object: "chat.completion.chunk", created: 1, model: "m", choices: [{ index: 0, delta, finish_reason: end }] })}\n\n`;
  const words = Array.from({ length: tokens }, (_, n) => part({ content: `word${n} ` }));
  return `${part({ role: "assistant", content: "" })}${words.join("")}${part({}, "stop")}data: [DONE]\n\n`;
}
