/** `node:timers`, and the globals of these names: timers as Node's objects, over the numbers that boot gives. */

import { timers as native } from "xdev:system";
import { invalidArgument, requireFunction } from "./errors.ts";
import { named } from "./named.ts";

type Run = (...args: unknown[]) => void;

/** Those that run, so that one can be ended by its number. */
const running = new Map<number, Timeout | Immediate>();
let lastId = 0;

const promisified: unique symbol = Symbol.for("nodejs.util.promisify.custom") as never;

export class Timeout {
  readonly #run: Run;
  readonly #args: unknown[];
  readonly #ms: number;
  readonly #repeats: boolean;
  readonly #id = ++lastId;
  #handle: number | undefined;
  #isRef = true;

  constructor(run: Run, ms: unknown, args: unknown[], repeats: boolean) {
    requireFunction("callback", run);
    this.#run = run;
    this.#args = args;
    const wanted = Number(ms);
    this.#ms = wanted >= 1 && wanted <= 2 ** 31 - 1 ? Math.trunc(wanted) : 1;
    this.#repeats = repeats;
    this.#start();
  }

  #start(): void {
    running.set(this.#id, this);
    this.#handle = this.#repeats
      ? native.setInterval(() => this.#fire(), this.#ms)
      : native.setTimeout(() => {
          this.#handle = undefined;
          running.delete(this.#id);
          this.#fire();
        }, this.#ms);
  }

  #fire(): void {
    Reflect.apply(this.#run, this, this.#args);
  }

  /** A worker lives as long as its extension, whatever timers it has. */
  ref(): this {
    this.#isRef = true;
    return this;
  }

  unref(): this {
    this.#isRef = false;
    return this;
  }

  hasRef(): boolean {
    return this.#isRef;
  }

  refresh(): this {
    if (this.#handle !== undefined) native.clearTimeout(this.#handle);
    this.#start();
    return this;
  }

  close(): this {
    if (this.#handle !== undefined) native.clearTimeout(this.#handle);
    this.#handle = undefined;
    running.delete(this.#id);
    return this;
  }

  [Symbol.toPrimitive](): number {
    return this.#id;
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

export class Immediate {
  readonly #id = ++lastId;
  #handle: number | undefined;
  #isRef = true;

  constructor(run: Run, args: unknown[]) {
    requireFunction("callback", run);
    running.set(this.#id, this);
    this.#handle = native.setImmediate(() => {
      running.delete(this.#id);
      Reflect.apply(run, this, args);
    });
  }

  ref(): this {
    this.#isRef = true;
    return this;
  }

  unref(): this {
    this.#isRef = false;
    return this;
  }

  hasRef(): boolean {
    return this.#isRef;
  }

  close(): void {
    if (this.#handle !== undefined) native.clearImmediate(this.#handle);
    running.delete(this.#id);
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

export function setTimeout(run: Run, ms?: unknown, ...args: unknown[]): Timeout {
  return new Timeout(run, ms, args, false);
}

export function setInterval(run: Run, ms?: unknown, ...args: unknown[]): Timeout {
  return new Timeout(run, ms, args, true);
}

export function setImmediate(run: Run, ...args: unknown[]): Immediate {
  return new Immediate(run, args);
}

/** A timer, its number or that as text; anything else is nobody's. */
export function clearTimeout(timer: unknown): void {
  if (timer instanceof Timeout || timer instanceof Immediate) timer.close();
  else if (typeof timer === "number" || typeof timer === "string") running.get(Number(timer))?.close();
}

export const clearInterval: typeof clearTimeout = clearTimeout;
export const clearImmediate: typeof clearTimeout = clearTimeout;

interface Options {
  signal?: AbortSignal;
  ref?: boolean;
}

/** Resolves with `value` when `start` calls back; rejects with an AbortError before. */
export function later<T>(
  start: (done: () => void) => { close(): unknown },
  value: T,
  options: Options | undefined,
): Promise<T> {
  const signal = options?.signal;
  if (signal !== undefined && typeof signal.aborted !== "boolean") {
    return Promise.reject(invalidArgument("options.signal", "an instance of AbortSignal", signal));
  }
  const aborted = (): Error => {
    const error = new Error("The operation was aborted", { cause: signal?.reason });
    Object.defineProperty(error, "name", { value: "AbortError", writable: true, configurable: true });
    return Object.assign(error, { code: "ABORT_ERR" });
  };
  if (signal?.aborted) return Promise.reject(aborted());
  return new Promise<T>((resolve, reject) => {
    const onAbort = (): void => {
      timer.close();
      reject(aborted());
    };
    const timer = start(() => {
      signal?.removeEventListener("abort", onAbort);
      resolve(value);
    });
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}

Object.defineProperty(setTimeout, promisified, {
  value: (ms?: number, value?: unknown, options?: Options) =>
    later((done) => setTimeout(done, ms), value, options),
});
Object.defineProperty(setImmediate, promisified, {
  value: (value?: unknown, options?: Options) => later((done) => setImmediate(done), value, options),
});

declare const require: (name: string) => unknown;

named({ Timeout, Immediate });

export default named({
  setTimeout,
  setInterval,
  setImmediate,
  clearTimeout,
  clearInterval,
  clearImmediate,
  get promises(): unknown {
    return (require("node:timers/promises") as { default: unknown }).default;
  },
});
