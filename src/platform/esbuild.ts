/**
 * esbuild's service process, which Deno's side links with: it is started with the first piece of work and ends with the last, so
 * that none is left beside a session, and none outlives the thread that started it.
 */

type Esbuild = typeof import("esbuild");

/** How many pieces of work use the service. */
let users = 0;

/** Gives what `work` gives, and lends it esbuild for that long. */
export async function withEsbuild<T>(work: (esbuild: Esbuild) => Promise<T>): Promise<T> {
  users++;
  try {
    return await work(await import("esbuild"));
  } finally {
    users--;
    if (users === 0) await (await import("esbuild")).stop();
  }
}
