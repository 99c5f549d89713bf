import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createBuiltinTools } from "../../../src/agent/tools/index.ts";
import type { ToolResult } from "../../../src/agent/tools/tool.ts";

export interface Place {
  /** The working folder of the tools. */
  cwd: string;
  /** Runs a tool there. */
  call(name: string, params: object, options?: CallOptions): Promise<ToolResult>;
  put(path: string, content: string | Uint8Array): Promise<string>;
  get(path: string): Promise<string>;
}

export interface CallOptions {
  signal?: AbortSignal;
  onUpdate?: (text: string) => void;
}

/** Runs `body` in a new folder with real tools, and removes it all afterwards. */
export async function inFolder(body: (place: Place) => Promise<void>): Promise<void> {
  const top = await realpath(await mkdtemp(join(tmpdir(), "xdev-tools-")));
  const cwd = join(top, "work");
  const scratch = join(top, "scratch");
  await mkdir(cwd);
  await mkdir(scratch);
  const env = { PATH: process.env.PATH ?? "/usr/bin:/bin", HOME: top };
  const tools = createBuiltinTools({ cwd, env, scratch: async () => scratch });
  try {
    await body({
      cwd,
      async call(name, params, { signal, onUpdate } = {}) {
        const tool = tools.find((candidate) => candidate.name === name)!;
        return await tool.execute("call", params, signal, (partial) => onUpdate?.(textOf(partial)));
      },
      async put(path, content) {
        const file = join(cwd, path);
        await mkdir(dirname(file), { recursive: true });
        await writeFile(file, content);
        return file;
      },
      get: (path) => readFile(join(cwd, path), "utf8"),
    });
  } finally {
    await rm(top, { recursive: true, force: true });
  }
}

export function textOf(result: ToolResult): string {
  return result.content.map((part) => (part.type === "text" ? part.text : `<${part.mimeType}>`)).join("\n");
}

/** The file that a result says holds the full output. */
export function spillPath(result: ToolResult): string {
  return (result.details as { fullOutputPath: string }).fullOutputPath;
}

/** Whether a process runs. A zombie does not: in many containers nobody waits for orphans. */
export async function isRunning(pid: number): Promise<boolean> {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => undefined);
  return stat === undefined ? process.platform !== "linux" : !/\) [ZX] /.test(stat);
}

/** Waits until a process has ended; a SIGKILL takes effect a moment after it was sent. */
export async function ended(pid: number): Promise<boolean> {
  const limit = performance.now() + 2000;
  while (await isRunning(pid)) {
    if (performance.now() > limit) return false;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return true;
}
