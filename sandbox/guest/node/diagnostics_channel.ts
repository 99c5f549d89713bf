/** `node:diagnostics_channel`. */

import { requireFunction } from "./errors.ts";
import { named } from "./named.ts";

type Name = string | symbol;
type Listener = (message: unknown, name: Name) => void;
type Work = (...args: unknown[]) => unknown;
interface Store {
  run(store: unknown, callback: Work, ...args: unknown[]): unknown;
}

export class Channel {
  readonly name: Name;
  #listeners: Listener[] = [];
  readonly #stores = new Map<Store, (data: unknown) => unknown>();

  constructor(name: Name) {
    this.name = name;
  }

  get hasSubscribers(): boolean {
    return this.#listeners.length > 0 || this.#stores.size > 0;
  }

  subscribe(listener: Listener): void {
    requireFunction("subscription", listener);
    this.#listeners = [...this.#listeners, listener];
  }

  unsubscribe(listener: Listener): boolean {
    const at = this.#listeners.indexOf(listener);
    if (at < 0) return false;
    this.#listeners = this.#listeners.toSpliced(at, 1);
    return true;
  }

  bindStore(store: Store, transform: (data: unknown) => unknown = (data) => data): void {
    this.#stores.set(store, transform);
  }

  unbindStore(store: Store): boolean {
    return this.#stores.delete(store);
  }

  publish(message: unknown): void {
    for (const listener of this.#listeners) {
      try {
        listener(message, this.name);
      } catch (error) {
        // Nobody's fault but the listener's: the publisher goes on.
        setTimeout(() => {
          throw error;
        }, 0);
      }
    }
  }

  runStores(data: unknown, run: Work, self?: unknown, ...args: unknown[]): unknown {
    let work = (): unknown => {
      this.publish(data);
      return Reflect.apply(run, self, args);
    };
    for (const [store, transform] of this.#stores) {
      const inner = work;
      work = () => store.run(transform(data), inner);
    }
    return work();
  }
}

const channels = new Map<Name, Channel>();

export function channel(name: Name): Channel {
  let found = channels.get(name);
  if (!found) {
    found = new Channel(name);
    channels.set(name, found);
  }
  return found;
}

export const hasSubscribers = (name: Name): boolean => channels.get(name)?.hasSubscribers ?? false;
export const subscribe = (name: Name, listener: Listener): void => channel(name).subscribe(listener);
export const unsubscribe = (name: Name, listener: Listener): boolean => channel(name).unsubscribe(listener);

const EVENTS = ["start", "end", "asyncStart", "asyncEnd", "error"] as const;
type Tracing = Record<(typeof EVENTS)[number], Channel>;

/** Five channels around one piece of work. */
export function tracingChannel(given: string | Tracing): Tracing & Record<string, unknown> {
  const [start, end, asyncStart, asyncEnd, error] = EVENTS.map((event) =>
    typeof given === "string" ? channel(`tracing:${given}:${event}`) : given[event],
  ) as [Channel, Channel, Channel, Channel, Channel];
  const all: Tracing = { start, end, asyncStart, asyncEnd, error };
  type Context = Record<string, unknown>;
  const fail = (context: Context, reason: unknown): void => {
    context.error = reason;
    error.publish(context);
  };
  return {
    ...all,
    get hasSubscribers(): boolean {
      return EVENTS.some((event) => all[event].hasSubscribers);
    },
    subscribe(listeners: Partial<Record<keyof Tracing, Listener>>): void {
      for (const event of EVENTS) if (listeners[event]) all[event].subscribe(listeners[event]);
    },
    unsubscribe(listeners: Partial<Record<keyof Tracing, Listener>>): boolean {
      return EVENTS.every((event) => !listeners[event] || all[event].unsubscribe(listeners[event]));
    },
    traceSync(run: Work, context: Context = {}, self?: unknown, ...args: unknown[]): unknown {
      return start.runStores(context, () => {
        try {
          const result = Reflect.apply(run, self, args);
          context.result = result;
          return result;
        } catch (reason) {
          fail(context, reason);
          throw reason;
        } finally {
          end.publish(context);
        }
      });
    },
    tracePromise(run: Work, context: Context = {}, self?: unknown, ...args: unknown[]): unknown {
      return start.runStores(context, () => {
        try {
          return Promise.resolve(Reflect.apply(run, self, args)).then(
            (result) => {
              context.result = result;
              asyncStart.publish(context);
              asyncEnd.publish(context);
              return result;
            },
            (reason: unknown) => {
              fail(context, reason);
              asyncStart.publish(context);
              asyncEnd.publish(context);
              throw reason;
            },
          );
        } finally {
          end.publish(context);
        }
      });
    },
  };
}

export default named({ Channel, channel, hasSubscribers, subscribe, unsubscribe, tracingChannel });
