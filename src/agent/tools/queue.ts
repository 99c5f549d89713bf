import { canonicalPath } from "../../base/files.ts";

const tails = new Map<string, Promise<unknown>>();

/**
 * Runs `work` after all earlier work on the same file has ended, so that two changes made in one turn can't lose each
 * other. The file is known by its canonical path: a link and its target wait for one another.
 */
export async function oneAtATime<T>(path: string, work: () => Promise<T>): Promise<T> {
  return await inTurn(await canonicalPath(path), work);
}

/** Runs `work` after all earlier work that was given with this key, here or through `oneAtATime`, has ended. */
export async function inTurn<T>(key: string, work: () => Promise<T>): Promise<T> {
  const before = tails.get(key) ?? Promise.resolve();
  const result = before.then(work);
  const tail = result.catch(() => {});
  tails.set(key, tail);
  try {
    return await result;
  } finally {
    if (tails.get(key) === tail) tails.delete(key);
  }
}
