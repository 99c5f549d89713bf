/** What is in a folder, one folder at a time for each extension. */
import type { Dirent } from "node:fs";
import { readdir } from "node:fs/promises";
import type { CallContext } from "./broker.ts";
import { turn } from "./turns.ts";

/** A folder with more entries than this gets a turn of the event loop of its own. */
const MANY_ENTRIES = 1000;

const last = new WeakMap<CallContext, Promise<unknown>>();

/**
 * The entries of a folder. However large it is, the runtime makes an object of each at once, which holds up the agent for tens of ms;
 * of many such listings at the same time, for as long as all of them take.
 */
export function entriesIn(path: string, context: CallContext): Promise<Dirent[]> {
  const before = last.get(context) ?? Promise.resolve();
  const entries = before.then(async () => {
    const found = await readdir(path, { withFileTypes: true });
    if (found.length > MANY_ENTRIES) await turn();
    return found;
  });
  last.set(
    context,
    entries.catch(() => {}),
  );
  return entries;
}
