/** `node:events`. Works with the guest's EventTarget, too. */

import { codedError, invalidArgument, outOfRange, requireFunction } from "./errors.ts";
import { isEmitter, isTarget, listen, on, once, type Signal } from "./events_wait.ts";
import { named } from "./named.ts";

export type Name = string | symbol;
// biome-ignore lint/suspicious/noExplicitAny: listeners take what is emitted
export type Listener = ((...args: any[]) => unknown) & { listener?: Listener };
type Slot = Listener | Listener[];

/** What an emitter's own properties are; names as in Node, since packages look at them. */
export interface EventEmitter extends Methods {
  _events?: Record<Name, Slot>;
  _eventsCount: number;
  _maxListeners?: number;
}

export const errorMonitor: unique symbol = Symbol("events.errorMonitor");
export const captureRejectionSymbol: unique symbol = Symbol.for("nodejs.rejection") as never;
const capture: unique symbol = Symbol("kCapture");
const targetListeners = new WeakMap<object, number>();
export let defaultMaxListeners = 10;
export let captureRejections = false;
export const usingDomains = false;

function slots(emitter: EventEmitter): Record<Name, Slot> {
  // An emitter whose constructor did not call ours, or an heir of one: its events are its own.
  if (!Object.hasOwn(emitter, "_events") || !emitter._events) {
    emitter._events = Object.create(null) as Record<Name, Slot>;
    emitter._eventsCount = 0;
  }
  return emitter._events;
}

function listOf(slot: Slot | undefined): Listener[] {
  return slot === undefined ? [] : typeof slot === "function" ? [slot] : slot;
}

function wrapOnce(emitter: EventEmitter, name: Name, listener: Listener): Listener {
  let fired = false;
  const wrapper: Listener = function (this: unknown, ...args) {
    if (fired) return undefined;
    fired = true;
    emitter.removeListener(name, wrapper);
    return Reflect.apply(listener, emitter, args);
  };
  wrapper.listener = listener;
  return wrapper;
}

function add(emitter: EventEmitter, name: Name, listener: Listener, first: boolean): EventEmitter {
  requireFunction("listener", listener);
  const events = slots(emitter);
  if (events.newListener !== undefined) emitter.emit("newListener", name, listener.listener ?? listener);
  const slot = slots(emitter)[name];
  if (slot === undefined) {
    slots(emitter)[name] = listener;
    emitter._eventsCount++;
    return emitter;
  }
  const list = typeof slot === "function" ? [slot] : slot;
  if (first) list.unshift(listener);
  else list.push(listener);
  slots(emitter)[name] = list;
  const most = emitter.getMaxListeners();
  const marked = list as Listener[] & { warned?: boolean };
  if (most > 0 && list.length > most && !marked.warned) {
    marked.warned = true;
    globalThis.console?.warn(
      `MaxListenersExceededWarning: Possible EventEmitter memory leak detected. ${list.length} ${String(name)} listeners ` +
        `added. MaxListeners is ${most}. Use emitter.setMaxListeners() to increase limit`,
    );
  }
  return emitter;
}

function remove(emitter: EventEmitter, name: Name, at: number): void {
  const events = slots(emitter);
  const slot = events[name];
  const list = listOf(slot);
  const removed = list[at] as Listener;
  if (list.length === 1) {
    delete events[name];
    emitter._eventsCount--;
  } else {
    // A copy: whoever is being emitted to goes on with the list as it was.
    const rest = list.filter((_, i) => i !== at);
    events[name] = rest.length === 1 ? (rest[0] as Listener) : rest;
  }
  if (events.removeListener !== undefined) {
    emitter.emit("removeListener", name, removed.listener ?? removed);
  }
}

function follow(emitter: EventEmitter, result: unknown, name: Name, args: unknown[]): void {
  const { then } = (result ?? {}) as { then?: unknown };
  if (typeof then !== "function") return;
  Reflect.apply(then, result, [
    undefined,
    (reason: unknown) => {
      queueMicrotask(() => {
        const handler = (emitter as unknown as Record<symbol, unknown>)[captureRejectionSymbol];
        if (typeof handler === "function") Reflect.apply(handler, emitter, [reason, name, ...args]);
        else emitter.emit("error", reason);
      });
    },
  ]);
}

class Methods {
  setMaxListeners(this: EventEmitter, n: number): EventEmitter {
    checkMax("setMaxListeners", n);
    this._maxListeners = n;
    return this;
  }

  getMaxListeners(this: EventEmitter): number {
    return this._maxListeners ?? defaultMaxListeners;
  }

  emit(this: EventEmitter, name: Name, ...args: unknown[]): boolean {
    const events = this._events;
    if (name === "error") {
      if (events?.[errorMonitor as never] !== undefined) this.emit(errorMonitor, ...args);
      if (events?.error === undefined) throw unhandled(args[0]);
    }
    const slot = events?.[name];
    if (slot === undefined) return false;
    const captures = (this as unknown as Record<symbol, unknown>)[capture] === true;
    for (const listener of typeof slot === "function" ? [slot] : slot.slice()) {
      const result = Reflect.apply(listener, this, args);
      if (captures && result !== undefined && result !== null) follow(this, result, name, args);
    }
    return true;
  }

  on(this: EventEmitter, name: Name, listener: Listener): EventEmitter {
    return add(this, name, listener, false);
  }

  prependListener(this: EventEmitter, name: Name, listener: Listener): EventEmitter {
    return add(this, name, listener, true);
  }

  once(this: EventEmitter, name: Name, listener: Listener): EventEmitter {
    requireFunction("listener", listener);
    return this.on(name, wrapOnce(this, name, listener));
  }

  prependOnceListener(this: EventEmitter, name: Name, listener: Listener): EventEmitter {
    requireFunction("listener", listener);
    return this.prependListener(name, wrapOnce(this, name, listener));
  }

  removeListener(this: EventEmitter, name: Name, listener: Listener): EventEmitter {
    requireFunction("listener", listener);
    const list = listOf(this._events?.[name]);
    for (let i = list.length - 1; i >= 0; i--) {
      if (list[i] === listener || list[i]?.listener === listener) {
        remove(this, name, i);
        break;
      }
    }
    return this;
  }

  removeAllListeners(this: EventEmitter, ...names: Name[]): EventEmitter {
    const events = slots(this);
    const [name] = names;
    if (names.length === 0) {
      if (events.removeListener !== undefined) {
        for (const key of Reflect.ownKeys(events)) if (key !== "removeListener") this.removeAllListeners(key);
        this.removeAllListeners("removeListener");
      }
      this._events = Object.create(null) as Record<Name, Slot>;
      this._eventsCount = 0;
      return this;
    }
    const list = listOf(events[name as Name]);
    if (list.length === 0) return this;
    if (events.removeListener !== undefined) {
      for (const listener of list.slice().reverse()) this.removeListener(name as Name, listener);
    } else {
      delete events[name as Name];
      this._eventsCount--;
    }
    return this;
  }

  listeners(this: EventEmitter, name: Name): Listener[] {
    return listOf(this._events?.[name]).map((listener) => listener.listener ?? listener);
  }

  rawListeners(this: EventEmitter, name: Name): Listener[] {
    return listOf(this._events?.[name]).slice();
  }

  listenerCount(this: EventEmitter, name: Name, listener?: Listener): number {
    const list = listOf(this._events?.[name]);
    if (!listener) return list.length;
    return list.filter((one) => one === listener || one.listener === listener).length;
  }

  eventNames(this: EventEmitter): Name[] {
    return this._events ? Reflect.ownKeys(this._events) : [];
  }

  declare addListener: Methods["on"];
  declare off: Methods["removeListener"];
}

function unhandled(error: unknown): unknown {
  if (error instanceof Error) return error;
  const shown = typeof error === "string" ? `'${error}'` : String(error);
  const wrapped = codedError(Error, "ERR_UNHANDLED_ERROR", `Unhandled error. (${shown})`);
  return Object.assign(wrapped, { context: error });
}

function checkMax(name: string, n: unknown): void {
  if (typeof n !== "number" || n < 0 || Number.isNaN(n)) {
    if (typeof n !== "number") throw invalidArgument(name, "of type number", n);
    throw outOfRange(name, ">= 0", n);
  }
}

/**
 * A function, since `EventEmitter.call(this)` is how the older half of the packages inherits from it. Its prototype's methods
 * are enumerable, as Node's are.
 */
export const EventEmitter = function EventEmitter(
  this: EventEmitter,
  options?: { captureRejections?: boolean },
): void {
  if (
    this._events === undefined ||
    this._events === (Object.getPrototypeOf(this) as EventEmitter | null)?._events
  ) {
    this._events = Object.create(null) as Record<Name, Slot>;
    this._eventsCount = 0;
  }
  this._maxListeners ??= undefined as never;
  const captures = options?.captureRejections ?? captureRejections;
  if (captures) Object.defineProperty(this, capture, { value: true });
} as unknown as (new (options?: { captureRejections?: boolean }) => EventEmitter) & Record<string, unknown>;

for (const name of Object.getOwnPropertyNames(Methods.prototype)) {
  if (name === "constructor") continue;
  const value = (Methods.prototype as unknown as Record<string, unknown>)[name];
  define(EventEmitter.prototype, name, value);
}
define(EventEmitter.prototype, "addListener", EventEmitter.prototype.on);
define(EventEmitter.prototype, "off", EventEmitter.prototype.removeListener);
for (const [name, value] of [
  ["_events", undefined],
  ["_eventsCount", 0],
  ["_maxListeners", undefined],
] as const) {
  define(EventEmitter.prototype, name, value);
}

function define(object: object, name: string, value: unknown): void {
  Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true });
}

export { on, once };

export function listenerCount(emitter: EventEmitter, name: Name): number {
  return emitter.listenerCount(name);
}

/** Of an EventTarget, whose listeners cannot be listed here: none. */
export function getEventListeners(emitter: unknown, name: Name): Listener[] {
  if (isEmitter(emitter)) return emitter.listeners(name);
  if (isTarget(emitter)) return [];
  throw invalidArgument("emitter", "an instance of EventEmitter or EventTarget", emitter);
}

export function getMaxListeners(emitter: unknown): number {
  if (isEmitter(emitter)) return emitter.getMaxListeners();
  if (isTarget(emitter)) return targetListeners.get(emitter) ?? defaultMaxListeners;
  throw invalidArgument("emitter", "an instance of EventEmitter or EventTarget", emitter);
}

export function setMaxListeners(n = defaultMaxListeners, ...emitters: unknown[]): void {
  checkMax("n", n);
  if (emitters.length === 0) defaultMaxListeners = n;
  for (const emitter of emitters) {
    if (isEmitter(emitter)) emitter.setMaxListeners(n);
    else if (isTarget(emitter)) targetListeners.set(emitter, n);
    else throw invalidArgument("eventTargets", "an instance of EventEmitter or EventTarget", emitter);
  }
}

/** Calls `listener` once on abort, at once if that was before; the result undoes it. */
export function addAbortListener(signal: Signal, listener: () => void): Disposable {
  requireFunction("listener", listener);
  let undo = (): void => {};
  if (signal.aborted) queueMicrotask(() => listener());
  else undo = listen(signal, "abort", listener, true);
  return { [Symbol.dispose ?? Symbol.for("Symbol.dispose")]: undo } as unknown as Disposable;
}

const statics: Record<string, unknown> = {
  EventEmitter,
  once,
  on,
  listenerCount,
  getEventListeners,
  getMaxListeners,
  setMaxListeners,
  addAbortListener,
  errorMonitor,
  captureRejectionSymbol,
  usingDomains,
};
for (const [name, value] of Object.entries(statics)) define(EventEmitter, name, value);
Object.defineProperties(EventEmitter, {
  defaultMaxListeners: {
    enumerable: true,
    get: () => defaultMaxListeners,
    set: (n: number) => {
      checkMax("defaultMaxListeners", n);
      defaultMaxListeners = n;
    },
  },
  captureRejections: {
    enumerable: true,
    get: () => captureRejections,
    set: (value: boolean) => {
      captureRejections = value;
    },
  },
});

named(EventEmitter);

export default EventEmitter;
