/**
 * The bus that the extensions of a session share (`pi.events`): what one emits is passed on to the others that listen to the channel.
 * Nobody waits for a listener, and nobody's memory grows with what one does not take: it is dropped, and told once.
 */
import { errorText } from "../base/errors.ts";
import { log } from "../base/log.ts";
import { sleep } from "../base/time.ts";
import type { Extension } from "./extension.ts";

/** What was emitted, as JSON text; undefined for nothing. */
export interface BusEvent {
  channel: string;
  data: string | undefined;
}

/** What waits for one listener. */
const MAX_WAITING = 1000;
const MAX_WAITING_CHARS = 4_000_000;
/** So many events are passed on at once, and so often in a row; then there is a pause, so that two that answer each other run no race. */
const BATCH = 100;
const BATCHES_IN_A_ROW = 20;
const PAUSE_MS = 20;

interface Line {
  events: BusEvent[];
  chars: number;
  isBusy: boolean;
}

export class EventBus {
  readonly #notice: (text: string, about: string) => void;
  readonly #lines = new WeakMap<Extension, Line>();
  /** What an extension listens to since it has said so; before, what it has registered. */
  readonly #listened = new WeakMap<object, ReadonlySet<string>>();
  #extensions: (() => readonly Extension[]) | undefined;
  /** What was emitted while extensions load. */
  #early: { from: Extension; events: readonly BusEvent[] }[] = [];
  #earlyCount = 0;
  #earlyChars = 0;

  /** @param notice tells the user something, once for the second text */
  constructor(notice: (text: string, about: string) => void) {
    this.#notice = notice;
  }

  /** All have loaded: what was emitted meanwhile is passed on. */
  open(extensions: () => readonly Extension[]): void {
    this.#extensions = extensions;
    for (const { from, events } of this.#early.splice(0)) this.emit(from, events);
  }

  listen(extension: Extension, channels: readonly string[]): void {
    if (extension.capabilities) this.#listened.set(extension.capabilities, new Set(channels));
  }

  emit(from: Extension, events: readonly BusEvent[]): void {
    if (!this.#extensions) {
      this.#earlyCount += events.length;
      const chars = events.reduce((sum, { data }) => sum + (data?.length ?? 0), this.#earlyChars);
      if (this.#earlyCount > MAX_WAITING || chars > MAX_WAITING_CHARS) return this.#drop(from);
      this.#earlyChars = chars;
      this.#early.push({ from, events });
      return;
    }
    for (const extension of this.#extensions()) {
      if (extension === from || extension.state !== "ready") continue;
      const heard = events.filter(({ channel }) => this.#hears(extension, channel));
      if (heard.length > 0) this.#pass(extension, from, heard);
    }
  }

  #hears({ capabilities }: Extension, channel: string): boolean {
    if (!capabilities) return false;
    return this.#listened.get(capabilities)?.has(channel) ?? capabilities.channels.includes(channel);
  }

  #pass(extension: Extension, from: Extension, events: readonly BusEvent[]): void {
    const line = this.#lines.get(extension) ?? { events: [], chars: 0, isBusy: false };
    this.#lines.set(extension, line);
    for (const event of events) {
      const chars = event.data?.length ?? 0;
      if (line.events.length >= MAX_WAITING || line.chars + chars > MAX_WAITING_CHARS) {
        return this.#drop(from, extension);
      }
      line.events.push(event);
      line.chars += chars;
    }
    if (!line.isBusy) void this.#work(extension, line);
  }

  async #work(extension: Extension, line: Line): Promise<void> {
    line.isBusy = true;
    try {
      for (let batches = 1; line.events.length > 0; batches++) {
        if (batches % BATCHES_IN_A_ROW === 0) await sleep(PAUSE_MS);
        const events = line.events.slice(0, BATCH);
        const reply = await extension.request(
          "bus",
          { events: extension.kind === "process" ? events.flatMap(parsed) : events },
          { timeoutMs: extension.limits.eventTimeoutMs },
        );
        // A module whose listeners are slow has taken some of them: one at least.
        const { told } = (reply.result ?? {}) as { told?: unknown };
        const taken = Number.isSafeInteger(told) ? Math.max(1, told as number) : events.length;
        for (const { data } of line.events.splice(0, Math.min(taken, events.length))) {
          line.chars -= data?.length ?? 0;
        }
      }
    } catch (error) {
      // It is gone, and what waits for it is nobody's.
      log.debug(errorText(error));
      line.events = [];
      line.chars = 0;
    } finally {
      line.isBusy = false;
    }
  }

  #drop(from: Extension, listener?: Extension): void {
    const to = listener ? ` faster than extension ${listener.name} takes it` : " before all have loaded";
    this.#notice(
      `extension ${from.name} emits more events${to}: what is too much is dropped`,
      `${from.name} emits too much`,
    );
  }
}

/** A process gets the value itself. A text that a module made by itself may be none. */
function parsed({ channel, data }: BusEvent): { channel: string; data?: unknown }[] {
  try {
    return [data === undefined ? { channel } : { channel, data: JSON.parse(data) as unknown }];
  } catch {
    return [];
  }
}
