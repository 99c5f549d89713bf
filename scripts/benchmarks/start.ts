/**
 * `scripts/bench start`: a task of three turns with two tool calls, as a user starts it, next to pi.
 *
 * Programs take turns (A B A B …), since a machine's speed changes over seconds; figures are medians. Both get the same
 * environment, folder, prompt, server and two files of providers. What is switched off in pi is what would only cost it:
 * the session file, network, extensions, skills, prompt templates, themes, context files, MCP, thinking.
 */
import { rmSync } from "node:fs";
import { copyFile, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ServerApi, ServerTurn } from "../../test/fixtures/model-server.ts";
import { findPython, type Python, quietEnvironment, type Server, startServer } from "./machine.ts";
import { memory, type Subject, time } from "./measure.ts";
import { compileEmpty, compilePi, newerSource, ourBinary, piPackage, piVersion, root } from "./programs.ts";

export type ProgramName = "xdev" | "xdev+ext" | "xdev+10 cold" | "xdev+10" | "pi" | "pi+10";
/** Starts without a task, and what any start costs. */
export type FloorName = "xdev --version" | "empty";

/** Milliseconds and MB (2^20 bytes), in the order of the rounds: equal indices ran next to each other. */
export interface Samples {
  times: number[];
  memory: number[];
}

export interface StartResult {
  runs: number;
  memoryRuns: number;
  /** A source file that is newer than the executable. */
  newer: string | undefined;
  versions: { xdev: string; pi: string; bun: string; python: string };
  python: Python;
  apis: Record<ServerApi, Record<ProgramName, Samples>>;
  floor: Record<FloorName, Samples>;
}

/** Of pi's own examples, what people really use. Ours run in the sandbox, pi's with all rights. */
const TEN = [
  ...["permission-gate", "protected-paths", "todo", "hello", "tools"],
  ...["pirate", "notify", "confirm-destructive", "input-transform", "event-bus"],
];
/** What of them needs a right, so that they do here what they do there. */
const RIGHTS: Readonly<Record<string, readonly string[]>> = {
  todo: ["--tools=todo"],
  tools: ["--session=write"],
  pirate: ["--session=write"],
  "input-transform": ["--session=write"],
};

const APIS: readonly ServerApi[] = ["openai", "anthropic"];
const WARM_UP = 2;
const KEY = "XDEV_BENCH_KEY";
const ANSWER = "Both commands ran: one, two. That is all there was to do.";

/** The commands leave a trace in the folder, so a run that skipped one is found out. */
const SCRIPT: readonly ServerTurn[] = [
  { text: "I'll look first.", toolCalls: [{ name: "bash", arguments: { command: "echo one | tee one" } }] },
  { toolCalls: [{ name: "bash", arguments: { command: "echo two | tee two" } }] },
  { text: ANSWER },
];

export interface StartOptions {
  runs: number;
  /** The executable to measure; default `dist/xdev`, built if need be. */
  xdev?: string | undefined;
  /** Called with what goes on. */
  progress(text: string): void;
}

/** Throws when a program fails or answers something else. Leaves no process and no file behind. */
export async function benchmarkStart(options: StartOptions): Promise<StartResult> {
  const scratch = await mkdtemp(join(tmpdir(), "xdev-bench-"));
  const servers: Server[] = [];
  const clean = () => {
    for (const server of servers) server.stop();
    rmSync(scratch, { recursive: true, force: true });
  };
  const interrupted = () => {
    clean();
    process.exit(130);
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, interrupted);
  try {
    return await measureAll(options, scratch, servers);
  } finally {
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.off(signal, interrupted);
    clean();
  }
}

async function measureAll(options: StartOptions, scratch: string, servers: Server[]): Promise<StartResult> {
  const { runs, progress } = options;
  const python = await findPython();
  for (const api of APIS) servers.push(await startServer(api, SCRIPT, scratch));
  progress("compiling pi and an empty program");
  const place = await makePlace(scratch, options.xdev ?? ourBinary(), python, servers);
  const apis = {} as StartResult["apis"];
  const memoryRuns = Math.max(5, Math.ceil(runs / 3));
  for (const api of APIS) {
    progress(`${api}: ${runs} rounds`);
    apis[api] = await takeTurns(tasks(place, api), runs, memoryRuns, python.path);
  }
  progress("starts without a task");
  const floor = await takeTurns(bareStarts(place), runs, memoryRuns, python.path);
  const newer = options.xdev === undefined ? newerSource(place.xdev) : undefined;
  return { runs, memoryRuns, newer, versions: await versions(place, python), python, apis, floor };
}

/** Where everything of a benchmark lies. */
interface Place {
  env: Record<string, string>;
  work: string;
  data: string;
  /** A data dir with the ten. */
  ten: string;
  xdev: string;
  pi: string;
  empty: string;
}

async function makePlace(
  scratch: string,
  xdev: string,
  python: Python,
  servers: readonly Server[],
): Promise<Place> {
  const folder = async (name: string) => {
    const path = join(scratch, name);
    await mkdir(path);
    return path;
  };
  const [home, work, data, agent] = [
    await folder("home"),
    await folder("work"),
    await folder("data"),
    await folder("agent"),
  ];
  const providers = JSON.stringify({
    providers: Object.fromEntries(
      servers.map(({ api, url }) => [
        api,
        {
          baseUrl: api === "openai" ? `${url}/v1` : url,
          api: api === "openai" ? "openai-completions" : "anthropic-messages",
          // As the manuals of both advise: the key itself is in the environment.
          apiKey: `\${${KEY}}`,
          models: [{ id: "test-model" }],
        },
      ]),
    ),
  });
  // JSON is YAML: both read the same file.
  await Bun.write(join(data, "models.yml"), providers);
  await Bun.write(join(agent, "models.json"), providers);
  const env = {
    ...quietEnvironment(home, python.searchPath),
    [KEY]: "a-key-for-the-benchmark",
    PI_CODING_AGENT_DIR: agent,
    PI_OFFLINE: "1",
    PI_TELEMETRY: "0",
  };
  const ten = await folder("ten");
  await Bun.write(join(ten, "models.yml"), providers);
  await mkdir(join(ten, "extensions"));
  for (const name of TEN) await copyFile(exampleOf(name), join(ten, "extensions", `${name}.ts`));
  for (const [name, rights] of Object.entries(RIGHTS)) {
    const grant = Bun.spawnSync([xdev, "ext", "grant", name, ...rights, "--data-dir", ten], {
      env,
      cwd: work,
    });
    if (grant.exitCode !== 0) throw new Error(`${name} cannot be granted its rights: ${grant.stderr}`);
  }
  return {
    env,
    work,
    data,
    ten,
    xdev,
    pi: await compilePi(await folder("pi")),
    empty: await compileEmpty(await folder("empty")),
  };
}

function exampleOf(name: string): string {
  return join(piPackage, "examples", "extensions", `${name}.ts`);
}

const PI_EXTRAS_OFF = [
  ...["--offline", "--no-session", "--no-extensions", "--no-skills", "--no-prompt-templates", "--no-themes"],
  ...["--no-context-files", "--no-mcp", "--thinking", "off"],
];

function tasks(place: Place, api: ServerApi): Record<ProgramName, Subject> {
  const { work, data, ten, env } = place;
  const prompt = ["-p", "Run the two commands.", "--model", `${api}/test-model`];
  const examples = join(root, "src", "docs", "examples");
  const extensions = ["-e", join(examples, "deny-rm.py"), "-e", join(examples, "quick-start.ts")];
  const task = (name: ProgramName, command: Subject["command"]): Subject => ({
    name,
    command,
    cwd: work,
    env,
    prepare: () => removeTraces(work),
    check: (stdout) => problemOf(stdout, work),
  });
  const bare = [place.xdev, ...prompt, "--data-dir", data] as const;
  const pi = [place.pi, ...prompt, ...PI_EXTRAS_OFF] as const;
  const withTen = [place.xdev, ...prompt, "--data-dir", ten] as const;
  const cold = task("xdev+10 cold", withTen);
  return {
    xdev: task("xdev", bare),
    pi: task("pi", pi),
    "xdev+ext": task("xdev+ext", [...bare, ...extensions]),
    "xdev+10 cold": {
      ...cold,
      prepare: async () => {
        await removeTraces(work);
        // Bundles and what they registered.
        await rm(join(ten, "cache"), { recursive: true, force: true });
      },
    },
    "pi+10": task("pi+10", [...pi, ...TEN.flatMap((name) => ["-e", exampleOf(name)])]),
    // Behind the cold run, which has filled the cache.
    "xdev+10": task("xdev+10", withTen),
  };
}

async function removeTraces(work: string): Promise<void> {
  for (const name of ["one", "two"]) await rm(join(work, name), { force: true });
}

async function problemOf(stdout: string, work: string): Promise<string | undefined> {
  if (stdout.trim() !== ANSWER) return "another answer than the model's last";
  for (const name of ["one", "two"]) {
    const file = Bun.file(join(work, name));
    if (!(await file.exists()) || (await file.text()) !== `${name}\n`)
      return `the command "${name}" did not run`;
  }
  return undefined;
}

function bareStarts({ xdev, empty, work, env }: Place): Record<FloorName, Subject> {
  return {
    "xdev --version": { name: "xdev --version", command: [xdev, "--version"], cwd: work, env },
    empty: { name: "empty", command: [empty], cwd: work, env },
  };
}

/** Measures the subjects in turn, after a warm-up that fills the caches of the kernel and of the programs. */
async function takeTurns<Name extends string>(
  subjects: Record<Name, Subject>,
  runs: number,
  memoryRuns: number,
  python: string,
): Promise<Record<Name, Samples>> {
  const names = Object.keys(subjects) as Name[];
  const samples = Object.fromEntries(
    names.map((name) => [name, { times: [], memory: [] }]),
  ) as unknown as Record<Name, Samples>;
  for (let round = -WARM_UP; round < runs; round++) {
    for (const name of names) {
      const elapsed = await time(subjects[name]);
      if (round >= 0) samples[name].times.push(elapsed);
    }
  }
  for (let round = 0; round < memoryRuns; round++) {
    for (const name of names) samples[name].memory.push(await memory(subjects[name], python));
  }
  return samples;
}

async function versions({ xdev, env }: Place, python: Python): Promise<StartResult["versions"]> {
  const output = (...command: string[]) => Bun.spawnSync(command, { env }).stdout.toString().trim();
  return {
    xdev: output(xdev, "--version"),
    pi: await piVersion(),
    bun: Bun.version,
    python: output(python.path, "--version").replace("Python ", ""),
  };
}
