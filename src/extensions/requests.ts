/**
 * The round trips of one extension: which answer belongs to which question, in which order they are written, and the clock
 * of each (wire-notes.md, "Time"). It knows no policy and no lifecycle.
 */
import { XdevError } from "../base/errors.ts";
import type { AnyEvent, HostFrame, ResponseFrame } from "./frame.ts";

export interface RequestOptions {
  /** From when it is written to its answer, in ms; the time in which the user is asked something does not count. */
  timeoutMs: number;
  signal?: AbortSignal;
  onUpdate?: (payload: unknown) => void;
}

interface Pending {
  id: string;
  event: AnyEvent;
  payload: unknown;
  options: RequestOptions;
  /** Undefined once the asker is gone (abort): the answer is dropped, the clock goes on. */
  settle: ((outcome: { response: ResponseFrame } | { failure: XdevError }) => void) | undefined;
  timer: ReturnType<typeof setTimeout> | undefined;
  /** What is left of the clock, in ms, as of `since` (`performance.now()`). */
  left: number;
  since: number;
}

export interface RequestsOptions {
  /** For messages. */
  extension: string;
  send(frame: HostFrame): void;
  /** Whether several may be in flight (feature `concurrent`), and whether aborts are told (feature `cancel`). */
  features: () => { concurrent: boolean; cancel: boolean };
  /** One was not answered in time. */
  onLate(event: AnyEvent, timeoutMs: number): void;
  /** One was answered after so many ms. */
  onAnswered(event: AnyEvent, ms: number): void;
}

export class Requests {
  readonly #options: RequestsOptions;
  readonly #inFlight = new Map<string, Pending>();
  readonly #queue: Pending[] = [];
  #nextId = 1;
  #pauses = 0;

  constructor(options: RequestsOptions) {
    this.#options = options;
  }

  /** Resolves with the answer; rejects with what `fail` was called with, or with code `aborted`. */
  add(event: AnyEvent, payload: unknown, options: RequestOptions): Promise<ResponseFrame> {
    return new Promise((resolve, reject) => {
      const aborted = () =>
        new XdevError("aborted", `aborted while extension ${this.#options.extension} was asked`);
      if (options.signal?.aborted) return reject(aborted());
      const onAbort = () => {
        this.#abandon(pending);
        reject(aborted());
      };
      const pending: Pending = {
        id: String(this.#nextId++),
        event,
        payload,
        options,
        timer: undefined,
        left: options.timeoutMs,
        since: 0,
        settle: (outcome) => {
          options.signal?.removeEventListener("abort", onAbort);
          if ("response" in outcome) resolve(outcome.response);
          else reject(outcome.failure);
        },
      };
      options.signal?.addEventListener("abort", onAbort, { once: true });
      this.#queue.push(pending);
      this.#pump();
    });
  }

  /** An answer has come. One that no one waits for is dropped (wire-notes.md, "Replies"): false. */
  answer(frame: ResponseFrame): boolean {
    const pending = frame.id == null ? undefined : this.#inFlight.get(String(frame.id));
    if (!pending) return false;
    this.#inFlight.delete(pending.id);
    clearTimeout(pending.timer);
    this.#options.onAnswered(pending.event, pending.options.timeoutMs - this.#left(pending));
    pending.settle?.({ response: frame });
    this.#pump();
    return true;
  }

  /** What waits for the answer to such an event has an empty one. */
  release(event: AnyEvent): void {
    for (const pending of [...this.#inFlight.values()]) {
      if (pending.event !== event) continue;
      this.#inFlight.delete(pending.id);
      clearTimeout(pending.timer);
      pending.settle?.({ response: { type: "response" } as ResponseFrame });
    }
  }

  update(id: string, payload: unknown): void {
    const pending = this.#inFlight.get(id);
    if (pending?.settle) pending.options.onUpdate?.(payload);
  }

  /** Fails everything that waits; says whether a `tool_call` was among it whose asker is still there. */
  fail(failure: XdevError): boolean {
    const waiting = [...this.#inFlight.values(), ...this.#queue];
    this.#inFlight.clear();
    this.#queue.length = 0;
    this.#pauses = 0;
    let wasAsked = false;
    for (const pending of waiting) {
      clearTimeout(pending.timer);
      if (!pending.settle) continue;
      wasAsked ||= pending.event === "tool_call";
      pending.settle({ failure });
    }
    return wasAsked;
  }

  /** The user is asked something for the extension: no clock runs until as many `resume` as `pause` were called. */
  pause(): void {
    this.#pauses++;
    if (this.#pauses > 1) return;
    for (const pending of this.#inFlight.values()) {
      pending.left = this.#left(pending);
      clearTimeout(pending.timer);
      pending.timer = undefined;
    }
  }

  resume(): void {
    if (this.#pauses === 0) return;
    this.#pauses--;
    if (this.#pauses > 0) return;
    for (const pending of this.#inFlight.values()) this.#startClock(pending);
  }

  #pump(): void {
    while (this.#queue.length > 0 && (this.#inFlight.size === 0 || this.#options.features().concurrent)) {
      const pending = this.#queue.shift()!;
      this.#inFlight.set(pending.id, pending);
      if (this.#pauses === 0) this.#startClock(pending);
      this.#options.send({ type: "event", id: pending.id, event: pending.event, payload: pending.payload });
    }
  }

  #startClock(pending: Pending): void {
    pending.since = performance.now();
    const late = () => this.#options.onLate(pending.event, pending.options.timeoutMs);
    pending.timer = setTimeout(late, Math.max(pending.left, 1));
  }

  #left(pending: Pending): number {
    return pending.timer === undefined ? pending.left : pending.left - (performance.now() - pending.since);
  }

  /** The asker is gone. What is written stays in flight, so that order and clock hold; what waits is forgotten. */
  #abandon(pending: Pending): void {
    pending.settle = undefined;
    const waiting = this.#queue.indexOf(pending);
    if (waiting !== -1) this.#queue.splice(waiting, 1);
    else if (this.#options.features().cancel) this.#options.send({ type: "cancel", id: pending.id });
  }
}
