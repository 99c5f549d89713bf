/** A trace read as a script: what to send in which order, and what the extension said to it then. */
import type { TraceEntry } from "./trace.ts";

type Json = Record<string, unknown>;

/** How an event ended: the answer without `type` and `id`, or why there is none; completes "extension x …". */
export type EventOutcome = { answer: Json } | { reason: string };

export interface RecordedEvent {
  /** From 1, in the order in which they were sent. */
  number: number;
  /** Its id in the recording. */
  id: unknown;
  frame: Json;
  outcome: EventOutcome;
  /** The host took it back (`cancel`). */
  cancelled: boolean;
}

/** A frame to send, when so many of `Recording.answers` have come. */
export interface Step {
  frame: Json;
  /** The event that it is, or is about (`cancel`). */
  event: RecordedEvent | undefined;
  answersBefore: number;
}

export interface RecordedCall {
  method: unknown;
  params: unknown;
  /** Of the `return` frame; undefined if there was none. */
  reply: { result?: unknown; error?: unknown } | undefined;
}

export interface Recording {
  /** The `capabilities` frame without its type, or why there was none. */
  capabilities: EventOutcome;
  steps: readonly Step[];
  events: readonly RecordedEvent[];
  /** The answered events, in the order of their answers. */
  answers: readonly RecordedEvent[];
  calls: readonly RecordedCall[];
  /** The extension's other frames but its log: actions, calls, updates (see `unsolicited`). */
  others: readonly Json[];
}

export function readRecording(entries: readonly TraceEntry[]): Recording {
  const steps: Step[] = [];
  const events: RecordedEvent[] = [];
  const answers: RecordedEvent[] = [];
  const calls: RecordedCall[] = [];
  const others: Json[] = [];
  /** By what the extension knows of them: ids begin anew when it is restarted, so the last one counts. */
  const eventById = new Map<string, RecordedEvent>();
  const callById = new Map<string, RecordedCall>();
  let capabilities: EventOutcome | undefined;
  let end: string | undefined;

  const sent = (frame: Json): void => {
    const id = String(frame.id);
    if (frame.type === "hello") return;
    if (frame.type === "return") {
      const call = callById.get(id);
      if (call) call.reply = { result: frame.result, error: frame.error };
      return;
    }
    let event = eventById.get(id);
    if (frame.type === "event") {
      event = { number: events.length + 1, id: frame.id, frame, outcome: NO_ANSWER, cancelled: false };
      events.push(event);
      eventById.set(id, event);
    } else if (frame.type === "cancel" && event) {
      event.cancelled = true;
    }
    steps.push({ frame, event, answersBefore: answers.length });
  };

  const received = (frame: Json): void => {
    if (frame.type === "capabilities") {
      capabilities ??= { answer: withoutEnvelope(frame) };
      return;
    }
    const event = eventById.get(String(frame.id));
    if (frame.type === "response" && event?.outcome === NO_ANSWER) {
      event.outcome = { answer: withoutEnvelope(frame) };
      answers.push(event);
      return;
    }
    if (frame.type === "log") return;
    others.push(unsolicited(frame, event?.number));
    if (frame.type === "call") {
      const call = { method: frame.method, params: frame.params, reply: undefined };
      calls.push(call);
      callById.set(String(frame.id), call);
    }
  };

  for (const entry of entries) {
    if ("problem" in entry) end ??= entry.problem;
    else if ("close" in entry) end ??= entry.close.reason;
    else if ("frame" in entry && isObject(entry.frame)) {
      if (entry.direction === "host→ext") sent(entry.frame);
      else received(entry.frame);
    }
  }
  for (const event of events) if (event.outcome === NO_ANSWER && end) event.outcome = { reason: end };
  return {
    capabilities: capabilities ?? { reason: end ?? NO_ANSWER.reason },
    steps,
    events,
    answers,
    calls,
    others,
  };
}

const NO_ANSWER = { reason: "gave no answer before the recording's end" };

/** What a frame says: ids differ between two runs. */
export function withoutEnvelope({ type: _type, id: _id, ...rest }: Json): Json {
  return rest;
}

/** A frame that answers nothing, in a form that two runs share: the event that it is about has its number for an id. */
export function unsolicited({ id, ...rest }: Json, event: number | undefined): Json {
  if (rest.type !== "update" && rest.type !== "response") return rest;
  return { ...rest, ...(event === undefined ? { id } : { event }) };
}

export function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
