/**
 * The lock of a session's file: `<file>.lock`, for as long as a process has the session. It names its owner, so that one that was
 * killed holds nothing: it is gone, or its process id is another process's by now. Synchronous, as appending is: the file and
 * its lock come into being with the first answer.
 */

import { linkSync, readFileSync, statSync, unlinkSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { systemCode, XdevError } from "../base/errors.ts";
import { randomHex } from "../base/random.ts";

export interface SessionLock {
  release(): void;
}

const held = new Map<string, string>();

/** Throws `XdevError` `session-in-use` if another process, or this one, has the session of that file. */
export function lockSession(file: string): SessionLock {
  const path = `${file}.lock`;
  const token = `${process.pid} ${startOf(process.pid)} ${randomHex(8)} ${hostname()}`;
  // A second attempt after a lock was found that nobody holds; whoever is faster then has it.
  if (!take(path, token) && !(breakStale(path, token) && take(path, token))) throw inUse(path);
  if (held.size === 0) process.on("exit", releaseAll);
  held.set(path, token);
  return { release: () => release(path, token) };
}

function inUse(path: string): XdevError {
  const pid = ownerOf(path)?.pid;
  const who = pid === process.pid ? "this process" : pid ? `process ${pid}` : "another process";
  return new XdevError("session-in-use", `the session is in use by ${who}`, {
    hint: `end it there, or go on in a copy with --fork; if nobody has it, remove ${path}`,
  });
}

function release(path: string, token: string): void {
  if (held.get(path) !== token) return;
  held.delete(path);
  if (held.size === 0) process.off("exit", releaseAll);
  if (content(path) === token) remove(path);
}

function releaseAll(): void {
  for (const [path, token] of held) release(path, token);
}

function take(path: string, token: string): boolean {
  // Complete before it has its name: nobody sees a lock without its owner.
  const own = `${path}.${token.split(" ")[2]}`;
  try {
    writeFileSync(own, token, { mode: 0o600, flag: "wx" });
    linkSync(own, path);
    return true;
  } catch (error) {
    if (systemCode(error) !== "EEXIST") throw error;
    return false;
  } finally {
    remove(own);
  }
}

/**
 * Whether a lock that nobody holds was taken away. One process at a time does that, and looks at it again: of two that look at once, the
 * slower would otherwise remove the lock of whoever came after.
 */
function breakStale(path: string, token: string): boolean {
  const seen = content(path);
  if (seen === undefined) return true;
  if (!isStale(seen)) return false;
  const guard = `${path}.breaking`;
  // That takes a moment: a guard of such an age was left by a process that was killed in it.
  if (ageMs(guard) > GUARD_MS) remove(guard);
  if (!take(guard, token)) return false;
  try {
    const now = content(path);
    if (now !== undefined && isStale(now)) remove(path);
    return now === undefined || isStale(now);
  } finally {
    remove(guard);
  }
}

const GUARD_MS = 10_000;

function ageMs(path: string): number {
  const made = statSync(path, { throwIfNoEntry: false });
  return made ? Date.now() - made.mtimeMs : 0;
}

interface Owner {
  pid: number;
  start: string;
  host: string;
}

function ownerOf(path: string): Owner | undefined {
  return parse(content(path) ?? "");
}

function parse(token: string): Owner | undefined {
  const [, pid, start, host] = /^(\d+) (\S+) \S+ (.*)$/.exec(token) ?? [];
  return pid === undefined ? undefined : { pid: Number(pid), start: start!, host: host! };
}

/** Of a process on another machine, which has the same disk, nobody here can tell. */
function isStale(token: string): boolean {
  const owner = parse(token);
  if (!owner) return false;
  if (owner.host !== hostname()) return false;
  try {
    process.kill(owner.pid, 0);
  } catch (error) {
    if (systemCode(error) === "ESRCH") return true;
  }
  const start = startOf(owner.pid);
  return start !== "-" && owner.start !== "-" && start !== owner.start;
}

/** When a process began, in the kernel's words, where it says: two processes of one id differ in it. */
function startOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? "-";
  } catch {
    return "-";
  }
}

function content(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}

function remove(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // It is gone already.
  }
}
