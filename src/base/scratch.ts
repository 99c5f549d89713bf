import { rmSync } from "node:fs";
import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";

let folder: Promise<string> | undefined;

/**
 * This process's folder for temporary files, `<dataDir>/tmp/<pid>` (0700). It is removed when the process exits; what a
 * killed process left is removed by the next one that asks.
 */
export function scratchFolder(dataDir: string): Promise<string> {
  folder ??= make(join(dataDir, "tmp"));
  return folder;
}

async function make(parent: string): Promise<string> {
  const own = join(parent, String(process.pid));
  await mkdir(parent, { recursive: true, mode: 0o700 });
  await removeStale(parent);
  await rm(own, { recursive: true, force: true });
  await mkdir(own, { mode: 0o700 });
  process.on("exit", () => rmSync(own, { recursive: true, force: true }));
  return own;
}

async function removeStale(parent: string): Promise<void> {
  for (const name of await readdir(parent)) {
    if (/^\d+$/.test(name) && !isAlive(Number(name))) {
      await rm(join(parent, name), { recursive: true, force: true }).catch(() => {});
    }
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
