/** Extensions in folders of their own, bundled with the running runtime's linker, and a compartment to run them in. */
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Bundle, bundleExtension } from "../../../sandbox/bundle/index.ts";
import { XdevError } from "../../../src/base/errors.ts";

const isDeno = "Deno" in globalThis;

const { bundle: link } = isDeno
  ? await import("../../../src/platform/deno-bundle.ts")
  : await import("../../../src/platform/bun-bundle.ts");

export type Files = Record<string, string>;

/** Writes `files` into a new folder, calls `use` with its canonical path, and removes it. */
export async function inFolder<T>(files: Files, use: (folder: string) => Promise<T>): Promise<T> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "xdev-bundle-")));
  try {
    for (const [name, text] of Object.entries(files)) {
      const path = join(folder, name);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, text);
    }
    return await use(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

export function bundleFile(path: string): Promise<Bundle> {
  return bundleExtension(path, link);
}

/** Bundles `ext/index.ts` of `files`. */
export function bundleFiles(files: Files, entry = "ext/index.ts"): Promise<Bundle> {
  return inFolder(files, (folder) => bundleFile(join(folder, entry)));
}

/** The XdevError that bundling ends with. */
export async function failureOf(work: Promise<unknown>): Promise<XdevError> {
  try {
    await work;
  } catch (error) {
    if (error instanceof XdevError) return error;
    throw error;
  }
  throw new Error("it was bundled");
}

/** Starts a program of this folder or a binary; gives its standard output. `input` goes to standard input. */
export function run(
  file: string,
  args: string[],
  options: { input?: string; cwd?: string } = {},
): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, { cwd: options.cwd, stdio: ["pipe", "pipe", "pipe"] });
    let out = "";
    let err = "";
    child.stdout.on("data", (data) => {
      out += data;
    });
    child.stderr.on("data", (data) => {
      err += data;
    });
    child.on("error", reject);
    child.on("close", (code) =>
      code === 0 ? resolve(out) : reject(new Error(`exit ${code}: ${out}${err}`)),
    );
    child.stdin.end(options.input ?? "");
  });
}

export interface Outcome {
  /** What the last thing done gave, as JSON; absent if it threw. */
  value?: unknown;
  error?: string;
  /** Calls of the guest's loader, `import:zod:a,b`. */
  calls: string[];
}

/** Each source in a compartment of its own, after `lockdown`, in another process. A function it gives is started as a bundle. */
export async function inCompartments(sources: string[]): Promise<Outcome[]> {
  const program = fileURLToPath(new URL("./compartment-program.mjs", import.meta.url));
  const args = isDeno ? ["run", "-A", program] : [program];
  return JSON.parse(await run(process.execPath, args, { input: JSON.stringify(sources) })) as Outcome[];
}

/** A bundle's exports after it ran: `out` is what the extension puts there to be looked at. */
export async function runBundle(files: Files): Promise<Outcome & { bundle: Bundle }> {
  const bundle = await bundleFiles(files);
  const [outcome] = await inCompartments([bundle.source]);
  return { ...outcome!, bundle };
}

/**
 * How long this thread worked at most, in ms, between two turns of the event loop while `work` was done. Time of the
 * processor where the system tells it: on a busy machine the clock measures the others.
 */
export async function longestTurn(work: () => Promise<void>): Promise<number> {
  let longest = 0;
  let last = threadTime();
  const timer = setInterval(() => {
    const now = threadTime();
    longest = Math.max(longest, now - last);
    last = now;
  }, 1);
  try {
    await work();
  } finally {
    clearInterval(timer);
  }
  return longest;
}

function threadTime(): number {
  try {
    const [time] = readFileSync("/proc/thread-self/schedstat", "latin1").split(" ");
    return Number(time) / 1e6;
  } catch {
    return performance.now();
  }
}
