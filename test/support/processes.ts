import { readdirSync, readFileSync } from "node:fs";

/** Whether a process is there and not merely waiting for a parent that does not collect its children. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    return stat.slice(stat.lastIndexOf(")") + 2, stat.lastIndexOf(")") + 3) !== "Z";
  } catch {
    return process.platform !== "linux";
  }
}

/** Waits until it is gone; a test that waits in vain is ended by the runner's limit. */
export async function gone(pid: number): Promise<void> {
  while (isRunning(pid)) await new Promise((resolve) => setTimeout(resolve, 5));
}

/** The children of this process, by their command lines; on Linux only. */
export function children(): { pid: number; command: string }[] {
  if (process.platform !== "linux") return [];
  return readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const stat = readFileSync(`/proc/${name}/stat`, "latin1");
      const [state, parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      if (Number(parent) !== process.pid || state === "Z") return [];
      return [
        { pid: Number(name), command: readFileSync(`/proc/${name}/cmdline`, "latin1").replaceAll("\0", " ") },
      ];
    } catch {
      return [];
    }
  });
}

/** The extension hosts of this process: both runtimes' have nothing in their environment. */
export function extensionHosts(): number[] {
  return children().flatMap(({ pid, command }) =>
    command.includes("--serve-extensions") || command.includes("data:text/javascript") ? [pid] : [],
  );
}
