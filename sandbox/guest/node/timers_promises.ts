/** `node:timers/promises`. */

import * as timers from "node:timers";
import { named } from "./named.ts";

interface Options {
  signal?: AbortSignal;
  ref?: boolean;
}

const { later, setInterval: repeat } = timers as unknown as typeof import("./timers.ts");

export function setTimeout<T>(ms?: number, value?: T, options?: Options): Promise<T | undefined> {
  return later((done) => timers.setTimeout(done, ms), value, options);
}

export function setImmediate<T>(value?: T, options?: Options): Promise<T | undefined> {
  return later((done) => timers.setImmediate(done) as never, value, options);
}

/** Gives `value` every `ms`, for good: what comes while nobody asks is not lost. */
export async function* setInterval<T>(ms?: number, value?: T, options: Options = {}): AsyncGenerator<T> {
  let due = 0;
  let wake: (() => void) | undefined;
  const timer = repeat(() => {
    due++;
    wake?.();
  }, ms);
  const { signal } = options;
  const onAbort = (): void => wake?.();
  signal?.addEventListener("abort", onAbort, { once: true });
  try {
    for (;;) {
      if (signal?.aborted) {
        await later((done) => timers.setTimeout(done, 0), undefined, options);
      }
      if (due > 0) {
        due--;
        yield value as T;
        continue;
      }
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  } finally {
    signal?.removeEventListener("abort", onAbort);
    timer.close();
  }
}

export const scheduler = {
  wait: (ms: number, options?: Options): Promise<void> => setTimeout(ms, undefined, options),
  yield: (): Promise<void> => setImmediate(),
};

export default named({ setTimeout, setImmediate, setInterval, scheduler });
