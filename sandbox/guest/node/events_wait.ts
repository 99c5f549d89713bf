/** `once` and `on` of `events`: to wait for what an emitter or an EventTarget tells. Bundled into `events`. */
import { abortError, invalidArgument } from "./errors.ts";
import type { EventEmitter, Listener, Name } from "./events.ts";

export interface Target {
  addEventListener(name: string, listener: unknown, options?: unknown): void;
  removeEventListener(name: string, listener: unknown): void;
}

export interface Signal extends Target {
  aborted: boolean;
  reason: unknown;
}

export const isTarget = (value: unknown): value is Target =>
  typeof (value as Partial<Target> | null)?.addEventListener === "function";
export const isEmitter = (value: unknown): value is EventEmitter =>
  typeof (value as Partial<EventEmitter> | null)?.on === "function";

interface Options {
  signal?: Signal;
  close?: Name[];
  highWaterMark?: number;
  lowWaterMark?: number;
}

export function listen(emitter: unknown, name: Name, listener: Listener, isOnce = false): () => void {
  if (isEmitter(emitter)) {
    if (isOnce) emitter.once(name, listener);
    else emitter.on(name, listener);
    return () => emitter.removeListener(name, listener);
  }
  if (!isTarget(emitter)) throw invalidArgument("emitter", "an instance of EventEmitter", emitter);
  emitter.addEventListener(name as string, listener, { once: isOnce });
  return () => emitter.removeEventListener(name as string, listener);
}

/** Resolves with the arguments of the next `name`; rejects on `error`, or when the signal is aborted. */
export async function once(emitter: unknown, name: Name, options: Options = {}): Promise<unknown[]> {
  const { signal } = options;
  if (signal?.aborted) throw abortError(signal.reason);
  return await new Promise<unknown[]>((resolve, reject) => {
    const undo: (() => void)[] = [];
    const end = (): void => {
      for (const one of undo) one();
    };
    undo.push(
      listen(
        emitter,
        name,
        (...args) => {
          end();
          resolve(args);
        },
        true,
      ),
    );
    if (name !== "error" && isEmitter(emitter)) {
      undo.push(
        listen(
          emitter,
          "error",
          (error) => {
            end();
            reject(error);
          },
          true,
        ),
      );
    }
    if (signal) {
      undo.push(
        listen(signal, "abort", () => {
          end();
          reject(abortError(signal.reason));
        }),
      );
    }
  });
}

/** An endless iterator over the arguments of every `name`. Ends on one of `close`, throws on `error` or abort. */
export function on(emitter: unknown, name: Name, options: Options = {}): AsyncIterableIterator<unknown[]> {
  const { signal } = options;
  if (signal?.aborted) throw abortError(signal.reason);
  const arrived: unknown[][] = [];
  const waiting: {
    resolve(result: IteratorResult<unknown[]>): void;
    reject(reason: unknown): void;
  }[] = [];
  const undo: (() => void)[] = [];
  let failure: { reason: unknown } | undefined;
  let done = false;
  const end = (): void => {
    done = true;
    for (const one of undo) one();
    for (const one of waiting.splice(0)) one.resolve({ value: undefined, done: true });
  };
  const fail = (reason: unknown): void => {
    const next = waiting.shift();
    if (next) next.reject(reason);
    else failure = { reason };
    end();
  };
  undo.push(
    listen(emitter, name, (...args) => {
      const next = waiting.shift();
      if (next) next.resolve({ value: args, done: false });
      else arrived.push(args);
    }),
  );
  if (name !== "error" && isEmitter(emitter)) undo.push(listen(emitter, "error", fail));
  for (const close of options.close ?? []) undo.push(listen(emitter, close, end));
  if (signal) undo.push(listen(signal, "abort", () => fail(abortError(signal.reason))));
  return {
    async next() {
      const value = arrived.shift();
      if (value) return { value, done: false };
      if (failure) {
        const { reason } = failure;
        failure = undefined;
        throw reason;
      }
      if (done) return { value: undefined, done: true };
      return await new Promise((resolve, reject) => {
        waiting.push({ resolve, reject });
      });
    },
    async return() {
      end();
      return { value: undefined, done: true };
    },
    async throw(reason: unknown) {
      fail(reason);
      return { value: undefined, done: true };
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
