/** Runs a program as a user's shell would and measures it: wall time from spawn to exit, and peak resident memory. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";

/** One way to start a program. Everything it sees of the machine is here, so that two programs see the same. */
export interface Subject {
  name: string;
  command: readonly [string, ...string[]];
  cwd: string;
  env: Readonly<Record<string, string>>;
  /** Puts back what a run left behind; before the clock starts. */
  prepare?: () => Promise<void>;
  /** Why the run was not the task's, or undefined. An invalid run ends the benchmark: its time means nothing. */
  check?: (stdout: string) => Promise<string | undefined>;
}

/** Wall time in ms. Throws when the program failed or did something else than its task. */
export async function time(subject: Subject): Promise<number> {
  const [program, ...args] = subject.command;
  return (await run(subject, program, args)).elapsed;
}

/**
 * Peak resident memory in MB (2^20 bytes) of the largest process of the run.
 *
 * Not from Bun's own `resourceUsage()`: a child made by vfork starts with its parent's peak in `ru_maxrss`, so that
 * `/bin/true` started from here shows the memory of this benchmark. A parent of 10 MB in between keeps that out; it is
 * Python, which the extension of the benchmark needs anyway. It costs milliseconds, so no run gives both figures.
 */
export async function memory(subject: Subject, python: string): Promise<number> {
  const { stderr } = await run(subject, python, ["-c", PEAK, ...subject.command]);
  const peak = Number(/^peak=(\d+)$/m.exec(stderr)?.[1]);
  if (!(peak > 0)) throw new Error(`${subject.name}: no peak memory in: ${stderr}`);
  return peak / 2 ** 20;
}

/** `ru_maxrss` is in KiB on Linux and in bytes on macOS. */
const PEAK = `
import os, sys
child = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ)
_, status, usage = os.wait4(child, 0)
unit = 1 if sys.platform == "darwin" else 1024
sys.stderr.write("\\npeak=%d\\n" % (usage.ru_maxrss * unit))
sys.exit(status >> 8 if status & 255 == 0 else 128 + (status & 127))
`;

async function run(subject: Subject, program: string, args: readonly string[]) {
  await subject.prepare?.();
  const start = performance.now();
  const child = spawn(program, args, {
    cwd: subject.cwd,
    env: subject.env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let elapsed = 0;
  child.once("exit", () => {
    elapsed = performance.now() - start;
  });
  const [stdout, stderr, [status]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "close"),
  ]);
  const problem = status === 0 ? await subject.check?.(stdout) : `exit status ${status}`;
  if (problem) throw new Error(`${subject.name}: ${problem}\n${stdout}${stderr}`);
  return { elapsed, stderr };
}

/** The value below which the share `p` of the values lies (nearest rank); `p` = 0.5 is the median. */
export function percentile(values: readonly number[], p: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * p) - 1)] ?? Number.NaN;
}
