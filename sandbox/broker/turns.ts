let last: Promise<void> = Promise.resolve();

/**
 * A turn of the event loop for one piece of work that takes a few ms, of all extensions together. Many pieces in one turn would
 * hold up everything else for as long as all of them take.
 */
export function turn(): Promise<void> {
  last = last.then(() => new Promise((resolve) => setImmediate(resolve)));
  return last;
}
