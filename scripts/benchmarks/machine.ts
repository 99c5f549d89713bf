/** What the benchmark needs of the machine: a quiet environment, a Python that is one, and a model server per protocol. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { open } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { createInterface } from "node:readline";
import type { ServerApi, ServerTurn } from "../../test/fixtures/model-server.ts";
import { root } from "./programs.ts";

export interface Python {
  /** The interpreter itself. */
  path: string;
  /** The `PATH` on which `python3` is that interpreter. */
  searchPath: string;
  /** The script that stood in front of it (pyenv, asdf), which is not what this benchmark measures. */
  shim: string | undefined;
}

/** Throws without Python 3: one of the two extensions is written in it. */
export async function findPython(): Promise<Python> {
  const searchPath = process.env.PATH ?? "";
  const found = Bun.which("python3");
  if (!found) throw new Error("the benchmark needs python3: one of its extensions is written in it");
  if (!(await isScript(found))) return { path: found, searchPath, shim: undefined };
  // Behind a version manager's script: the system's own, which is what a machine without one has, else what it leads to.
  const system = "/usr/bin/python3";
  const { stdout, exitCode } = Bun.spawnSync([found, "-c", "import sys; print(sys.executable)"]);
  const path = (await Bun.file(system).exists()) ? system : stdout.toString().trim();
  if (exitCode !== 0 || !path) throw new Error(`${found} does not run`);
  return { path, searchPath: dirname(path) + delimiter + searchPath, shim: found };
}

async function isScript(file: string): Promise<boolean> {
  const handle = await open(file);
  try {
    const { buffer } = await handle.read(Buffer.alloc(2), 0, 2, 0);
    return buffer.toString() === "#!";
  } finally {
    await handle.close();
  }
}

/** The same for every program: no keys, proxies or settings of who runs the benchmark. */
export function quietEnvironment(home: string, searchPath: string): Record<string, string> {
  return { PATH: searchPath, HOME: home, TMPDIR: home, LANG: "C.UTF-8", SHELL: "/bin/sh" };
}

export interface Server {
  api: ServerApi;
  url: string;
  stop(): void;
}

/** A model server in a process of its own, so that its work is not on this process's event loop. */
export async function startServer(
  api: ServerApi,
  script: readonly ServerTurn[],
  scratch: string,
): Promise<Server> {
  const file = join(scratch, `script-${api}.json`);
  await Bun.write(file, JSON.stringify(script));
  const program = join(root, "test", "fixtures", "model-server.ts");
  const child = spawn(process.execPath, [program, "--api", api, "--script", file], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const { url } = JSON.parse(await firstLine(child)) as { url: string };
  return { api, url, stop: () => child.kill() };
}

async function firstLine(child: ChildProcess): Promise<string> {
  const lines = createInterface({ input: child.stdout! });
  const ended = once(child, "exit").then(([status]) => {
    throw new Error(`the model server ended with status ${status}`);
  });
  ended.catch(() => {});
  const [line] = await Promise.race([once(lines, "line"), ended]);
  return line as string;
}
