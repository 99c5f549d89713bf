/** Reloads of a session: one after the other, and known from the moment on at which one is asked for. */
import type { Core } from "./core.ts";

/** The command that loads extensions and resources anew. */
export const RELOAD = "/reload";

/**
 * Loads anew what has changed of the extensions, and finds resources anew: when no run goes on, and one reload after the other.
 * The session stays as it is. `onlyIfChanged`: nothing happens, and nobody is told, if the extensions are what they were. Rejects
 * with what is wrong with the settings; then nothing has changed.
 */
export function reload(core: Core, { onlyIfChanged = false } = {}): Promise<void> {
  core.mustBeOpen();
  const turn = async (): Promise<void> => {
    const { reloadNow } = await import("./lifecycle.ts");
    await reloadNow(core, onlyIfChanged);
  };
  const done = (core.reloads ?? Promise.resolve())
    .catch(() => {})
    .then(turn)
    .finally(() => {
      if (core.reloads === done) core.reloads = undefined;
    });
  core.reloads = done;
  return done;
}
