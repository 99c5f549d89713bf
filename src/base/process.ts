import { readdir, readFile } from "node:fs/promises";
import type { StartProgram } from "../platform/program.ts";

/** Groups that are alive; the exit handler kills what is left, so that no path out of the program leaves one behind. */
const groups = new Set<number>();
let exitHandler = false;

/** How long a group has between SIGTERM and SIGKILL, in ms (wire-notes.md). */
export const KILL_GRACE_MS = 200;

/**
 * Gives the one function that starts programs: in a process group of its own, with piped standard streams. End each with
 * `killGroup`; a group still alive when this program exits is killed then.
 *
 * @param own what starts them, where the platform's usual way will not do
 */
export async function programStarter(own?: StartProgram): Promise<StartProgram> {
  const { loadPlatform } = await import("../platform/index.ts");
  const start = own ?? (await (await loadPlatform()).startProgram());
  return (file, args, options) => {
    const program = start(file, args, options);
    if (program.pid !== undefined) keepAccount(program.pid);
    return program;
  };
}

function keepAccount(group: number): void {
  if (!exitHandler) {
    exitHandler = true;
    process.on("exit", () => {
      for (const each of groups) signalGroup(each, "SIGKILL");
    });
  }
  groups.add(group);
}

/** Sends a signal to a whole group; false if nothing of it is alive. */
export function signalGroup(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(-pid, signal);
    return true;
  } catch (error) {
    // EPERM: something of the group is alive but not ours to signal (a setuid program).
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/**
 * Names of the processes of a group that are really alive. A dead one that nobody waits for (its parent is gone, and
 * process 1 of many containers does not care) can still be signalled, so the kernel's word alone is not enough.
 */
export async function livingMembers(group: number): Promise<string[]> {
  if (!signalGroup(group, 0)) return [];
  if (process.platform !== "linux") return ["background process"];
  const names: string[] = [];
  for (const pid of await readdir("/proc")) {
    if (!/^\d+$/.test(pid)) continue;
    const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
    // pid (name) state parent group …; the name may hold spaces and parentheses.
    const end = stat.lastIndexOf(")");
    const [state, , own] = stat.slice(end + 2).split(" ");
    if (Number(own) === group && state !== "Z" && state !== "X")
      names.push(stat.slice(stat.indexOf("(") + 1, end));
  }
  return names;
}

/**
 * Ends a process group: SIGTERM, then SIGKILL after `graceMs` for whatever of it is still alive, grandchildren
 * included. Resolves when the SIGKILL was sent or nothing was left; never rejects.
 */
export async function killGroup(pid: number | undefined, graceMs: number = KILL_GRACE_MS): Promise<void> {
  if (pid === undefined) return;
  if (signalGroup(pid, "SIGTERM")) {
    const end = performance.now() + graceMs;
    while (performance.now() < end && (await livingMembers(pid)).length > 0) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    signalGroup(pid, "SIGKILL");
  }
  groups.delete(pid);
}
