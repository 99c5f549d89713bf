/**
 * `EventTarget`, `Event`, `AbortController` and `AbortSignal`, as guest code. The runtime's own must never be reachable here:
 * its event methods, called without a `this`, act on the worker's global object.
 */
type Listener = ((event: GuestEvent) => unknown) | { handleEvent(event: GuestEvent): unknown };
type Registered = { listener: Listener; once: boolean };

export class GuestEvent {
  readonly type: string;
  readonly cancelable: boolean;
  readonly timeStamp = 0;
  target: unknown = null;
  currentTarget: unknown = null;
  defaultPrevented = false;
  #stopped = false;

  constructor(type: unknown, options: { cancelable?: unknown } = {}) {
    this.type = String(type);
    this.cancelable = options?.cancelable === true;
  }

  preventDefault(): void {
    if (this.cancelable) this.defaultPrevented = true;
  }

  stopImmediatePropagation(): void {
    this.#stopped = true;
  }

  stopPropagation(): void {}

  static isStopped(event: GuestEvent): boolean {
    return event.#stopped;
  }
}

export class GuestEventTarget {
  /** Made with the first listener: every call of a handler has a signal, and hardly any is listened to. */
  #listeners: Map<string, Registered[]> | undefined;

  addEventListener(type: unknown, listener: Listener | null, options?: unknown): void {
    if (!listener) return;
    const { once, signal } = (typeof options === "object" && options !== null ? options : {}) as {
      once?: unknown;
      signal?: GuestAbortSignal;
    };
    if (signal?.aborted) return;
    const name = String(type);
    this.#listeners ??= new Map();
    const list = this.#listeners.get(name) ?? [];
    if (list.some((one) => one.listener === listener)) return;
    this.#listeners.set(name, [...list, { listener, once: once === true }]);
    signal?.addEventListener("abort", () => this.removeEventListener(name, listener), { once: true });
  }

  removeEventListener(type: unknown, listener: Listener | null): void {
    const name = String(type);
    const list = this.#listeners?.get(name);
    if (list)
      this.#listeners?.set(
        name,
        list.filter((one) => one.listener !== listener),
      );
  }

  /** Calls the listeners in order; what one throws is reported as nobody's error and ends nothing. */
  dispatchEvent(event: GuestEvent): boolean {
    event.target = this;
    event.currentTarget = this;
    for (const { listener, once } of this.#listeners?.get(event.type) ?? []) {
      if (once) this.removeEventListener(event.type, listener);
      try {
        if (typeof listener === "function") listener.call(this, event);
        else listener.handleEvent(event);
      } catch (error) {
        void Promise.reject(error);
      }
      if (GuestEvent.isStopped(event)) break;
    }
    return !event.defaultPrevented;
  }
}

const NEW_SIGNAL = Symbol("new signal");
let abortSignal: (signal: GuestAbortSignal, reason: unknown) => void;

export class GuestAbortSignal extends GuestEventTarget {
  #aborted = false;
  #reason: unknown;
  onabort: ((event: GuestEvent) => unknown) | null = null;

  static {
    abortSignal = (signal, reason) => {
      if (signal.#aborted) return;
      signal.#aborted = true;
      signal.#reason = reason === undefined ? namedError("AbortError", "This operation was aborted") : reason;
      const event = new GuestEvent("abort");
      try {
        signal.onabort?.(event);
      } catch (error) {
        void Promise.reject(error);
      }
      signal.dispatchEvent(event);
    };
  }

  constructor(key: unknown) {
    super();
    if (key !== NEW_SIGNAL) throw new TypeError("Illegal constructor");
  }

  get aborted(): boolean {
    return this.#aborted;
  }

  get reason(): unknown {
    return this.#reason;
  }

  throwIfAborted(): void {
    if (this.#aborted) throw this.#reason;
  }

  static abort(reason?: unknown): GuestAbortSignal {
    const signal = new GuestAbortSignal(NEW_SIGNAL);
    abortSignal(signal, reason);
    return signal;
  }

  static timeout(ms: number): GuestAbortSignal {
    const signal = new GuestAbortSignal(NEW_SIGNAL);
    setTimeout(() => abortSignal(signal, namedError("TimeoutError", "The operation timed out")), ms);
    return signal;
  }

  static any(signals: Iterable<GuestAbortSignal>): GuestAbortSignal {
    const signal = new GuestAbortSignal(NEW_SIGNAL);
    for (const one of signals) {
      if (one.aborted) abortSignal(signal, one.reason);
      else one.addEventListener("abort", () => abortSignal(signal, one.reason), { once: true });
    }
    return signal;
  }
}

export class GuestAbortController {
  readonly signal = new GuestAbortSignal(NEW_SIGNAL);

  abort(reason?: unknown): void {
    abortSignal(this.signal, reason);
  }
}

function namedError(name: string, message: string): Error {
  const error = new Error(message);
  Object.defineProperty(error, "name", { value: name, configurable: true, writable: true });
  return error;
}

/** The globals of this module by the names that they have everywhere. */
export const eventGlobals = {
  EventTarget: GuestEventTarget,
  Event: GuestEvent,
  AbortSignal: GuestAbortSignal,
  AbortController: GuestAbortController,
};
