/**
 * `node:async_hooks`. What a piece of asynchronous work was started with is carried by the engine, `await` included:
 * boot gives the one slot that there is (`context` of xdev:system), and in it lies a map from each AsyncLocalStorage to its
 * value. Nothing tells of promises being made, so hooks are never called.
 */

import { context as carried } from "xdev:system";
import { invalidArgument, requireFunction } from "./errors.ts";
import { named } from "./named.ts";

type Frame = ReadonlyMap<object, unknown>;
// biome-ignore lint/suspicious/noExplicitAny: whatever the caller's function takes
type Work<R = unknown> = (this: any, ...args: any[]) => R;

// Without the engine's help: what `run` calls at once, and what was bound.
let slot: unknown;
const context = carried ?? {
  get: () => slot,
  run<R>(value: unknown, callback: () => R): R {
    const before = slot;
    slot = value;
    try {
      return callback();
    } finally {
      slot = before;
    }
  },
  enter(value: unknown) {
    slot = value;
  },
};

const current = (): Frame | undefined => context.get() as Frame | undefined;

function within<R>(frame: Frame | undefined, run: Work<R>, self?: unknown, args: unknown[] = []): R {
  return context.run(frame, () => Reflect.apply(run, self, args)) as R;
}

/** A function that runs `run` with what is current now. */
function bound<R>(run: Work<R>, self?: { value: unknown }): Work<R> {
  requireFunction("fn", run);
  const frame = current();
  return function (this: unknown, ...args: unknown[]): R {
    return within(frame, run, self ? self.value : this, args);
  };
}

export class AsyncLocalStorage<T = unknown> {
  readonly name: string;
  readonly #fallback: T | undefined;
  #enabled = true;

  constructor(options: { name?: string; defaultValue?: T } = {}) {
    this.name = options.name ?? "";
    this.#fallback = options.defaultValue;
  }

  static bind<R>(run: Work<R>): Work<R> {
    return bound(run);
  }

  static snapshot(): (run: Work, ...args: unknown[]) => unknown {
    const frame = current();
    return (run, ...args) => within(frame, run, undefined, args);
  }

  getStore(): T | undefined {
    const frame = this.#enabled ? current() : undefined;
    return frame?.has(this) ? (frame.get(this) as T | undefined) : this.#fallback;
  }

  run<R>(store: T, callback: Work<R>, ...args: unknown[]): R {
    requireFunction("callback", callback);
    this.#enabled = true;
    return within(new Map(current()).set(this, store), callback, undefined, args);
  }

  exit<R>(callback: Work<R>, ...args: unknown[]): R {
    const frame = new Map(current());
    frame.delete(this);
    return within(frame, callback, undefined, args);
  }

  /** For what is left of this piece of work, and what that starts. */
  enterWith(store: T): void {
    this.#enabled = true;
    context.enter(new Map(current()).set(this, store));
  }

  /** Until the next `run` or `enterWith`. */
  disable(): void {
    this.#enabled = false;
  }
}

let lastId = 1;

export class AsyncResource {
  readonly #frame = current();
  readonly #id = ++lastId;

  constructor(type: string) {
    if (typeof type !== "string") throw invalidArgument("type", "of type string", type);
  }

  static bind<R>(run: Work<R>, _type?: string, self?: unknown): Work<R> {
    return bound(run, self === undefined ? undefined : { value: self });
  }

  bind<R>(run: Work<R>, self?: unknown): Work<R> {
    requireFunction("fn", run);
    const resource = this;
    return function (this: unknown, ...args: unknown[]): R {
      return resource.runInAsyncScope(run, self ?? this, ...args);
    };
  }

  runInAsyncScope<R>(run: Work<R>, self?: unknown, ...args: unknown[]): R {
    return within(this.#frame, run, self, args);
  }

  emitDestroy(): this {
    return this;
  }

  asyncId(): number {
    return this.#id;
  }

  triggerAsyncId(): number {
    return 0;
  }
}

interface Hook {
  enable(): Hook;
  disable(): Hook;
}

export function createHook(): Hook {
  const hook: Hook = { enable: () => hook, disable: () => hook };
  return hook;
}

export const executionAsyncId = (): number => 0;
export const triggerAsyncId = (): number => 0;
export const executionAsyncResource = (): object => ({});
export const asyncWrapProviders: Readonly<Record<string, number>> = Object.freeze({ NONE: 0 });

export default named({
  AsyncLocalStorage,
  AsyncResource,
  asyncWrapProviders,
  createHook,
  executionAsyncId,
  executionAsyncResource,
  triggerAsyncId,
});
