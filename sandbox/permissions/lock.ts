/** A lock that processes share: a file that holds its owner's process id, made by who has the lock. */

import { link, open, readFile, stat, unlink } from "node:fs/promises";
import { systemCode, XdevError } from "../../src/base/errors.ts";
import { randomHex } from "../../src/base/random.ts";
import { sleep } from "../../src/base/time.ts";

/** How long somebody else's work under the lock is waited for, in ms. It takes a few. */
const WAIT_MS = 10_000;
/** A lock of this age, in ms, was left by a process that is gone, or that hangs. */
const STALE_MS = 30_000;

/** Does `work` while nobody else has the lock at `path`. Throws `XdevError` `busy` when it is not to be had. */
export async function withLock<T>(path: string, work: () => Promise<T>): Promise<T> {
  const token = `${process.pid} ${randomHex(8)}`;
  const end = performance.now() + WAIT_MS;
  while (!(await take(path, token))) {
    if (performance.now() > end) {
      throw new XdevError("busy", `${path} is held by another process`, {
        hint: "if there is none, remove that file",
      });
    }
    await sleep(5 + Math.random() * 20);
  }
  try {
    return await work();
  } finally {
    // Only if it is still ours: somebody may have taken it for stale.
    if ((await content(path)) === token) await unlink(path).catch(() => {});
  }
}

async function take(path: string, token: string): Promise<boolean> {
  // Complete before it has its name: nobody sees a lock without its owner.
  const own = `${path}.${token.split(" ")[1]}`;
  const file = await open(own, "wx", 0o600);
  try {
    await file.writeFile(token);
    await file.close();
    await link(own, path);
    return true;
  } catch (error) {
    if (systemCode(error) !== "EEXIST") throw error;
    await breakStale(path, own);
    return false;
  } finally {
    await unlink(own).catch(() => {});
  }
}

async function content(path: string): Promise<string | undefined> {
  return readFile(path, "utf8").catch(() => undefined);
}

/**
 * Removes a lock whose owner is gone: one process at a time, which looks at it again. Of two that look at once, the slower would
 * otherwise remove the lock of whoever came after. `own` is a file that only this attempt has.
 */
async function breakStale(path: string, own: string): Promise<void> {
  if (!(await isLeft(path))) return;
  const guard = `${path}.breaking`;
  try {
    await link(own, guard);
  } catch {
    const made = await stat(guard).catch(() => undefined);
    if (made && Date.now() - made.mtimeMs > STALE_MS) await unlink(guard).catch(() => {});
    return;
  }
  try {
    if (await isLeft(path)) await unlink(path).catch(() => {});
  } finally {
    await unlink(guard).catch(() => {});
  }
}

async function isLeft(path: string): Promise<boolean> {
  const owner = await content(path);
  return owner !== undefined && (await isStale(path, owner));
}

async function isStale(path: string, owner: string): Promise<boolean> {
  const pid = Number(owner.split(" ", 1)[0]);
  if (Number.isInteger(pid) && pid > 0) {
    try {
      process.kill(pid, 0);
    } catch (error) {
      if (systemCode(error) === "ESRCH") return true;
    }
  }
  const made = await stat(path).catch(() => undefined);
  return made !== undefined && Date.now() - made.mtimeMs > STALE_MS;
}
