/** `watch`, `watchFile`, `unwatchFile` and `promises.watch`. */
import { EventEmitter } from "node:events";
import { call, callSync } from "xdev:system";
import { abortError, requireFunction } from "./errors.ts";
import { fromName, type Options, toOptions, toPath } from "./fs_arguments.ts";
import { stat } from "./fs_places.ts";
import { runAsync } from "./fs_run.ts";
import { makeStats, type StatData, type Stats } from "./fs_stats.ts";

type Event = [type: string, name: string | null];

export class FSWatcher extends EventEmitter {
  readonly #id: number;
  readonly #encoding: unknown;
  #isClosed = false;

  constructor(path: string, options: Options) {
    super();
    this.#encoding = options.encoding;
    this.#id = callSync("fs.watch", { path, recursive: Boolean(options.recursive) }).value as number;
    void this.#listen();
    const { signal } = options;
    if (signal?.aborted) queueMicrotask(() => this.close());
    else signal?.addEventListener("abort", () => this.close());
  }

  async #listen(): Promise<void> {
    try {
      for (;;) {
        const { value } = await call("fs.watchNext", { id: this.#id });
        if (value === null || this.#isClosed) return;
        for (const [type, name] of value as Event[]) {
          queueMicrotask(() => {
            if (!this.#isClosed)
              this.emit("change", type, name === null ? null : fromName(name, this.#encoding));
          });
        }
      }
    } catch (error) {
      if (!this.#isClosed) queueMicrotask(() => this.emit("error", error));
    }
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const done = (): void => queueMicrotask(() => this.emit("close"));
    call("fs.unwatch", { id: this.#id }).then(done, done);
  }

  ref(): this {
    return this;
  }
  unref(): this {
    return this;
  }
  [Symbol.dispose](): void {
    this.close();
  }
}

/** `(path, listener)` or `(path, options, listener)`. */
export function watch(given: unknown, second?: unknown, third?: unknown): FSWatcher {
  const path = toPath(given, "filename");
  const listener = typeof second === "function" ? second : third;
  const watcher = new FSWatcher(path, toOptions(second));
  if (listener !== undefined) watcher.on("change", listener as () => void);
  return watcher;
}

/** `promises.watch`. */
export async function* watchEvents(
  given: unknown,
  options?: unknown,
): AsyncGenerator<{ eventType: string; filename: string | Buffer | null }, void> {
  const { signal, recursive, encoding } = toOptions(options);
  const path = toPath(given);
  if (signal?.aborted) throw abortError(signal.reason);
  const { value: id } = await call("fs.watch", { path, recursive: Boolean(recursive) });
  const end = (): void => void call("fs.unwatch", { id }).catch(() => {});
  signal?.addEventListener("abort", end);
  try {
    for (;;) {
      const { value } = await call("fs.watchNext", { id }).catch((error: unknown) => {
        if (signal?.aborted) return { value: null };
        throw error;
      });
      if (signal?.aborted) throw abortError(signal.reason);
      if (value === null) return;
      for (const [eventType, name] of value as Event[]) {
        yield { eventType, filename: name === null ? null : fromName(name, encoding) };
      }
    }
  } finally {
    signal?.removeEventListener("abort", end);
    end();
  }
}

/** What a file that is not there looks like. */
const NOTHING: StatData = { mode: 0 };

const POLL_MS = 5007;

class StatWatcher extends EventEmitter {
  readonly #path: string;
  readonly #options: Options;
  #last: Stats | undefined;
  #timer: unknown;
  #isStopped = false;

  constructor(path: string, options: Options) {
    super();
    this.#path = path;
    this.#options = options;
    void this.#look();
  }

  async #look(): Promise<void> {
    const { bigint, interval = POLL_MS } = this.#options;
    let now: Stats;
    try {
      now = (await runAsync(stat(this.#path, { bigint }))) as Stats;
    } catch {
      now = makeStats(NOTHING, bigint) as Stats;
    }
    if (this.#isStopped) return;
    const before = this.#last;
    this.#last = now;
    const isThere = Number((now as unknown as { ino: number }).ino) !== 0;
    if (before ? differ(now, before) : !isThere)
      queueMicrotask(() => this.emit("change", now, before ?? now));
    this.#timer = setTimeout(() => void this.#look(), Number(interval));
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer as number);
    this.emit("stop");
  }
  ref(): this {
    return this;
  }
  unref(): this {
    return this;
  }
}

function differ(a: Stats, b: Stats): boolean {
  const one = a as unknown as Record<string, unknown>;
  const other = b as unknown as Record<string, unknown>;
  return ["dev", "ino", "mode", "nlink", "size", "mtimeMs", "ctimeMs", "atimeMs"].some(
    (name) => one[name] !== other[name],
  );
}

const watched = new Map<string, StatWatcher>();

/** `(path, listener)` or `(path, options, listener)`. */
export function watchFile(given: unknown, second: unknown, third?: unknown): StatWatcher {
  const path = toPath(given);
  const listener = typeof second === "function" ? second : third;
  requireFunction("listener", listener);
  let watcher = watched.get(path);
  if (!watcher) {
    watcher = new StatWatcher(path, typeof second === "object" ? ((second ?? {}) as Options) : {});
    watched.set(path, watcher);
  }
  watcher.on("change", listener as () => void);
  return watcher;
}

export function unwatchFile(given: unknown, listener?: unknown): void {
  const path = toPath(given);
  const watcher = watched.get(path);
  if (!watcher) return;
  if (listener === undefined) watcher.removeAllListeners("change");
  else watcher.removeListener("change", listener as () => void);
  if (watcher.listenerCount("change") > 0) return;
  watched.delete(path);
  watcher.stop();
}
