/**
 * One implementation for the three forms of each function: a generator that yields the system calls it needs. The synchronous form
 * waits for each, the others await it. What a generator checks before its first call is thrown at once in every form.
 */
import { call, callSync } from "xdev:system";
import { abortError, invalidArgument, requireFunction } from "./errors.ts";

export interface Reply {
  // biome-ignore lint/suspicious/noExplicitAny: what each operation gives is known where it is called
  value: any;
  bytes?: Uint8Array;
}

/** A system call; or a value of the extension's own that may be a promise, where the form can wait for one. */
export type Step =
  | readonly [operation: string, args: unknown, bytes?: Uint8Array]
  | { readonly settle: unknown };

export type Steps<T> = Generator<Step, T, Reply>;

/** One call, as `yield*` takes it. */
export function* ask(operation: string, args: unknown, bytes?: Uint8Array): Steps<Reply> {
  return yield [operation, args, bytes];
}

export function runSync<T>(steps: Steps<T>): T {
  let step = steps.next();
  while (!step.done) {
    const wanted = step.value;
    let reply: Reply;
    try {
      reply = "settle" in wanted ? { value: wanted.settle } : callSync(wanted[0], wanted[1], wanted[2]);
    } catch (error) {
      step = steps.throw(error);
      continue;
    }
    step = steps.next(reply);
  }
  return step.value;
}

/** Starts at once: what the arguments are refused for is thrown, not rejected. */
export function runAsync<T>(steps: Steps<T>, signal?: AbortSignal): Promise<T> {
  return proceed(steps, steps.next(), signal);
}

async function proceed<T>(
  steps: Steps<T>,
  first: IteratorResult<Step, T>,
  signal: AbortSignal | undefined,
): Promise<T> {
  let step = first;
  while (!step.done) {
    const wanted = step.value;
    let reply: Reply;
    try {
      if (signal?.aborted) throw abortError(signal.reason);
      reply =
        "settle" in wanted ? { value: await wanted.settle } : await call(wanted[0], wanted[1], wanted[2]);
    } catch (error) {
      step = steps.throw(error);
      continue;
    }
    step = steps.next(reply);
  }
  if (signal?.aborted) throw abortError(signal.reason);
  return step.value;
}

// biome-ignore lint/suspicious/noExplicitAny: the functions of a module take what they take
type Args = any[];

export type Callback = (error: unknown, ...values: unknown[]) => void;

/** The last argument, which must be the callback, and those before it. */
export function splitCallback(args: Args): [args: Args, callback: Callback] {
  const callback = args[args.length - 1];
  if (typeof callback !== "function") throw invalidArgument("cb", "of type function", callback);
  return [args.slice(0, -1), callback];
}

/** Outside of any promise: what a callback throws is the extension's own uncaught error. */
export function deliver(callback: Callback, ...values: Parameters<Callback>): void {
  requireFunction("cb", callback);
  queueMicrotask(() => callback(...values));
}

export interface Forms<A extends Args, T> {
  sync(...args: A): T;
  promise(...args: A): Promise<T>;
  callback(...args: Args): void;
}

const signalOf = (args: Args): AbortSignal | undefined => {
  for (const arg of args) {
    const signal = (arg as { signal?: unknown } | null | undefined)?.signal;
    if (typeof arg === "object" && signal !== undefined && !ArrayBuffer.isView(arg))
      return signal as AbortSignal;
  }
  return undefined;
};

/** The three forms of a function. `spread`: the values that a callback gets of the result, if they are not just that. */
export function forms<A extends Args, T>(
  start: (...args: A) => Steps<T>,
  spread: (result: T) => unknown[] = (result) => (result === undefined ? [] : [result]),
): Forms<A, T> {
  return {
    sync: (...args) => runSync(start(...args)),
    promise: async (...args) => runAsync(start(...args), signalOf(args)),
    callback: (...all) => {
      const [args, callback] = splitCallback(all);
      runAsync(start(...(args as A)), signalOf(args)).then(
        (result) => deliver(callback, null, ...spread(result)),
        (error) => deliver(callback, error),
      );
    },
  };
}
