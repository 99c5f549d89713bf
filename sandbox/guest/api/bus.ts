/**
 * `pi.events`: one bus that all extensions share. What is emitted crosses as JSON text, made at the call, so that nobody gets an object
 * of another's; a listener of the same extension gets a copy at once, those of others when the host has passed it on. What is
 * emitted while the extension loads is sent when it has loaded.
 */
import { frameText } from "./portable.ts";
import { describeErrorAndPlace, type Transmitter } from "./transmit.ts";

/** Taken once: an extension may replace the globals. */
const { parse, stringify } = JSON;
const { queueMicrotask: afterThis, setTimeout: startTimer } = globalThis;
const { now } = Date;

/** The host is told at most so often in a second, and what comes meanwhile goes together. */
const MAX_PER_SECOND = 100;

/** So many events, and so long texts together, may be emitted in one turn of the loop. */
const MAX_WAITING = 1000;
const MAX_WAITING_CHARS = 1_000_000;
/** So long listeners may work before the host hears that the extension lives, in ms. */
const MAX_DELIVERY_MS = 500;
/** The host takes no more channels of one extension, and no longer names. */
const MAX_CHANNELS = 1000;
const MAX_NAME = 200;

export type BusEvent = { channel: string; data?: string | undefined };
type Listener = (data: unknown) => unknown;

export class Bus {
  readonly #transmitter: Transmitter;
  readonly #isLoading: () => boolean;
  readonly #listeners = new Map<string, Listener[]>();
  #waiting: BusEvent[] = [];
  #waitingChars = 0;
  #isPlanned = false;
  #isChanged = false;
  /** Since when, in ms, it was told how often. */
  #since = 0;
  #told = 0;

  constructor(transmitter: Transmitter, isLoading: () => boolean) {
    this.#transmitter = transmitter;
    this.#isLoading = isLoading;
  }

  /** What extensions get. */
  get api() {
    return {
      on: (channel: unknown, listener: unknown) => this.#on(channel, listener),
      emit: (channel: unknown, data?: unknown) => this.#emit(channel, data),
    };
  }

  channels(): string[] {
    return [...this.#listeners.keys()];
  }

  /** Whether something was emitted that nobody has got yet. */
  get isWaiting(): boolean {
    return this.#waiting.length > 0;
  }

  /** What others emitted. Gives how many were told: slow listeners get the rest with the next answer. */
  deliver(events: readonly BusEvent[]): number {
    const start = now();
    let told = 0;
    for (const { channel, data } of events) {
      if (told > 0 && now() - start > MAX_DELIVERY_MS) break;
      this.#tell(channel, data);
      told++;
    }
    return told;
  }

  /** The extension has loaded: what it emitted meanwhile goes out. */
  start(): void {
    this.#isChanged = false;
    this.#flush();
  }

  #on(channel: unknown, listener: unknown): () => void {
    const name = nameOf(channel, "pi.events.on");
    if (typeof listener !== "function")
      throw new TypeError(`pi.events.on("${name}"): the listener is no function`);
    const known = this.#listeners.get(name);
    if (!known && this.#listeners.size >= MAX_CHANNELS) {
      throw new RangeError(`pi.events.on("${name}"): at most ${MAX_CHANNELS} channels`);
    }
    // One that is registered twice is called twice, and each registration ends by itself.
    const own: Listener = (data) => (listener as Listener)(data);
    this.#listeners.set(name, [...(known ?? []), own]);
    if (!known) this.#changed();
    return () => {
      const left = (this.#listeners.get(name) ?? []).filter((one) => one !== own);
      if (left.length > 0) this.#listeners.set(name, left);
      else if (this.#listeners.delete(name)) this.#changed();
    };
  }

  #emit(channel: unknown, data: unknown): void {
    const name = nameOf(channel, "pi.events.emit");
    let text: string | undefined;
    try {
      frameText({ data });
      text = stringify(data);
    } catch (error) {
      throw new TypeError(`pi.events.emit("${name}"): ${(error as Error).message}`);
    }
    const chars = name.length + (text?.length ?? 0);
    if (this.#waiting.length >= MAX_WAITING || this.#waitingChars + chars > MAX_WAITING_CHARS) {
      throw new RangeError(
        `pi.events.emit("${name}"): at most ${MAX_WAITING} events and ${MAX_WAITING_CHARS} characters at once`,
      );
    }
    this.#waitingChars += chars;
    this.#waiting.push({ channel: name, data: text });
    this.#plan();
    this.#tell(name, text);
  }

  #tell(channel: string, data: string | undefined): void {
    for (const listener of this.#listeners.get(channel) ?? []) {
      const failed = (error: unknown): void =>
        this.#transmitter.log(
          "error",
          `its listener to "${channel}" failed: ${describeErrorAndPlace(error)}`,
        );
      try {
        const given = listener(data === undefined ? undefined : parse(data));
        if (given instanceof Promise) given.catch(failed);
      } catch (error) {
        failed(error);
      }
    }
  }

  #changed(): void {
    this.#isChanged = true;
    this.#plan();
  }

  #plan(): void {
    if (this.#isPlanned || this.#isLoading()) return;
    this.#isPlanned = true;
    const time = now();
    if (time - this.#since >= 1000) {
      this.#since = time;
      this.#told = 0;
    }
    if (this.#told++ < MAX_PER_SECOND) afterThis(() => this.#flush());
    else startTimer(() => this.#flush(), 1000 / MAX_PER_SECOND);
  }

  #flush(): void {
    this.#isPlanned = false;
    if (this.#isChanged) {
      this.#isChanged = false;
      this.#transmitter.call("events.listen", { channels: this.channels() });
    }
    if (this.#waiting.length === 0) return;
    const events = this.#waiting;
    this.#waiting = [];
    this.#waitingChars = 0;
    try {
      this.#transmitter.call("events.emit", { events });
    } catch (error) {
      this.#transmitter.log("error", `pi.events.emit(): ${(error as Error).message}`);
    }
  }
}

function nameOf(channel: unknown, method: string): string {
  if (typeof channel !== "string" || channel === "" || channel.length > MAX_NAME) {
    throw new TypeError(`${method}: a channel is a text of 1 to ${MAX_NAME} characters`);
  }
  return channel;
}
