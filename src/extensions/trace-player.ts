/**
 * Plays a recording to an extension. The extension is started, and shakes hands, as in any session; behind its
 * capabilities the player takes its channel over and sends what was recorded, in the recorded order: before a frame come all
 * the answers that came before it then. Limits and protocol errors end the extension as in a session (wire-notes.md).
 */
import { formatMs, sleep } from "../base/time.ts";
import type { Channel } from "./channel.ts";
import type { ExtensionLimits } from "./extension.ts";
import { HOST_FEATURES, type HostFrame, type InboundFrame, parseInbound } from "./frame.ts";
import { jsonEqual } from "./json-diff.ts";
import {
  type EventOutcome,
  isObject,
  type RecordedCall,
  type RecordedEvent,
  type Recording,
  unsolicited,
  withoutEnvelope,
} from "./recording.ts";

/** What the extension said this time. */
export interface Playback {
  /** The `capabilities` frame without its type; undefined if none was accepted. */
  capabilities: Record<string, unknown> | undefined;
  outcomes: ReadonlyMap<RecordedEvent, EventOutcome>;
  others: readonly Record<string, unknown>[];
}

interface Asked {
  event: RecordedEvent;
  ended: Promise<void>;
  settle(outcome: EventOutcome): void;
}

/** How long frames that answer nothing are waited for at the end, in ms: those recorded, and those that were not. */
const LATE_MS = 500;
const EXTRA_MS = 50;
const WORK_EVENTS: ReadonlySet<unknown> = new Set(["tool_invoke", "command"]);

export class TracePlayer {
  readonly #recording: Recording;
  #channel: Channel | undefined;
  #capabilities: Record<string, unknown> | undefined;
  #features: ReadonlySet<string> = new Set();
  /** By the id that the frame has now. */
  readonly #asked = new Map<string, Asked>();
  readonly #outcomes = new Map<RecordedEvent, EventOutcome>();
  readonly #others: Record<string, unknown>[] = [];
  readonly #calls: RecordedCall[];
  /** Why it is gone. */
  #dead: string | undefined;

  constructor(recording: Recording) {
    this.#recording = recording;
    this.#calls = [...recording.calls];
  }

  /** The channel to give to the manager (`wrapChannel`). */
  attach(channel: Channel): Channel {
    this.#channel = channel;
    return {
      send: (frame) => channel.send(frame),
      close: (graceMs) => channel.close(graceMs),
      kill: () => channel.kill(),
      open: (handlers) =>
        channel.open({
          onMessage: (value) => {
            if (this.#capabilities) return this.#receive(value);
            const parsed = parseInbound(value);
            if ("frame" in parsed && isObject(value)) {
              if (parsed.frame.type === "capabilities") {
                this.#capabilities = withoutEnvelope(value);
                this.#features = new Set(parsed.frame.payload.features);
              } else if (parsed.frame.type !== "log") {
                this.#others.push(unsolicited(value, undefined));
              }
            }
            handlers.onMessage(value);
          },
          onProblem: (problem) => {
            if (this.#capabilities) this.#die(problem);
            else handlers.onProblem(problem);
          },
          onLog: (line) => handlers.onLog(line),
          onClose: (end) => {
            if (this.#capabilities) this.#die(end.reason);
            else handlers.onClose(end);
          },
        }),
    };
  }

  /** Plays everything, once the extension is ready. An abort ends the extension, and with it the playback. */
  async play(limits: ExtensionLimits, interrupt: AbortSignal): Promise<void> {
    const stop = () => this.#die("was interrupted");
    if (interrupt.aborted) stop();
    interrupt.addEventListener("abort", stop, { once: true });
    let awaited = 0;
    for (const { frame, event, answersBefore } of this.#recording.steps) {
      for (; awaited < answersBefore; awaited++) await this.#ended(this.#recording.answers[awaited]!);
      if (event && frame.type === "event") {
        if (!this.#features.has("concurrent")) for (const { ended } of [...this.#asked.values()]) await ended;
        this.#ask(event, limits);
      } else {
        this.#send(event ? { ...frame, id: String(event.number) } : frame);
      }
    }
    for (const event of this.#recording.answers) await this.#ended(event);
    await this.#waitForTheRest(limits);
    interrupt.removeEventListener("abort", stop);
  }

  /** What came of it. Called when the extension has ended: it may speak until then. */
  playback(): Playback {
    return { capabilities: this.#capabilities, outcomes: this.#outcomes, others: this.#others };
  }

  #ask(event: RecordedEvent, limits: ExtensionLimits): void {
    if (this.#dead !== undefined) {
      this.#outcomes.set(event, { reason: this.#dead });
      return;
    }
    const id = String(event.number);
    const ms = WORK_EVENTS.has(event.frame.event) ? limits.toolTimeoutMs : limits.eventTimeoutMs;
    const timer = setTimeout(
      () => this.#die(`did not answer ${String(event.frame.event)} within ${formatMs(ms)}`),
      ms,
    );
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#asked.set(id, {
      event,
      ended: promise,
      settle: (outcome) => {
        clearTimeout(timer);
        this.#asked.delete(id);
        this.#outcomes.set(event, outcome);
        resolve();
      },
    });
    this.#send({ ...event.frame, id });
  }

  #ended(event: RecordedEvent): Promise<void> | undefined {
    return this.#asked.get(String(event.number))?.ended;
  }

  /**
   * Events that had no answer in the recording may have one now, for as long as an event may take (and not as a tool may); what the host took back, and
   * frames that answer nothing, for a moment.
   */
  async #waitForTheRest(limits: ExtensionLimits): Promise<void> {
    const start = performance.now();
    const isDue = (ms: number) => performance.now() - start >= ms;
    const isOpen = () => [...this.#asked.values()].some(({ event }) => !event.cancelled);
    while (this.#dead === undefined && isOpen() && !isDue(limits.eventTimeoutMs)) await sleep(5);
    const late = performance.now();
    const hasAll = () => this.#asked.size === 0 && this.#others.length >= this.#recording.others.length;
    while (this.#dead === undefined && performance.now() - late < (hasAll() ? EXTRA_MS : LATE_MS))
      await sleep(5);
    for (const { settle } of [...this.#asked.values()]) settle({ reason: "gave no answer" });
  }

  #receive(value: unknown): void {
    if (this.#dead !== undefined) return;
    const parsed = parseInbound(value);
    if ("problem" in parsed || !isObject(value)) {
      return this.#die("problem" in parsed ? parsed.problem : "sent something that is no frame");
    }
    const { frame } = parsed;
    const asked = "id" in frame && frame.id != null ? this.#asked.get(String(frame.id)) : undefined;
    if (frame.type === "capabilities") return this.#die("sent capabilities a second time");
    const takesFeature = frame.type === "call" || frame.type === "update" || frame.type === "register";
    if (takesFeature && !this.#has(frame.type)) {
      return this.#die(
        `sent ${frame.type === "update" ? "an" : "a"} ${frame.type} frame without the feature`,
      );
    }
    if (frame.type === "response" && asked) return asked.settle({ answer: withoutEnvelope(value) });
    if (frame.type === "log") return;
    this.#others.push(unsolicited(value, asked?.event.number ?? this.#numberOf(frame)));
    if (frame.type === "call") this.#answer(frame);
  }

  /** The event that a late frame is about. */
  #numberOf(frame: InboundFrame): number | undefined {
    if (frame.type !== "response" && frame.type !== "update") return undefined;
    return this.#recording.events[Number(frame.id) - 1]?.number;
  }

  #has(feature: string): boolean {
    const known: readonly string[] = HOST_FEATURES;
    return known.includes(feature) && this.#features.has(feature);
  }

  /** Answers a call as the same one was answered then; in the place of one with other parameters, as that one was. */
  #answer(frame: Extract<InboundFrame, { type: "call" }>): void {
    let index = this.#calls.findIndex(
      ({ method, params }) => method === frame.method && jsonEqual(params, frame.params),
    );
    if (index === -1) index = this.#calls.findIndex(({ method }) => method === frame.method);
    const [call] = index === -1 ? [] : this.#calls.splice(index, 1);
    if (frame.id == null || (call && !call.reply)) return;
    this.#send({ type: "return", id: frame.id, ...(call?.reply ?? { error: "not in the recording" }) });
  }

  /** A recorded frame may be one that this host does not know: it is sent as it was. */
  #send(frame: Record<string, unknown>): void {
    if (this.#dead === undefined) this.#channel?.send(frame as unknown as HostFrame);
  }

  #die(reason: string): void {
    if (this.#dead !== undefined) return;
    this.#dead = reason;
    void this.#channel?.kill();
    for (const { settle } of [...this.#asked.values()]) settle({ reason });
  }
}
