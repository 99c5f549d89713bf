/**
 * The parts of streams on their way to one module. One part is with it at a time; what comes meanwhile is put together: text
 * behind text of the same block, and of a tool's partial results the latest.
 */
export type StreamEvent = "message_update" | "tool_execution_update";

interface Part {
  event: StreamEvent;
  payload: Record<string, unknown>;
}

export class Updates {
  readonly #send: (event: StreamEvent, payload: unknown) => Promise<void>;
  #waiting: Part[] = [];
  #isBusy = false;

  constructor(send: (event: StreamEvent, payload: unknown) => Promise<void>) {
    this.#send = send;
  }

  add(event: StreamEvent, payload: Record<string, unknown>): void {
    const last = this.#waiting.at(-1);
    if (last && join(last, event, payload)) return;
    this.#waiting.push({ event, payload });
    this.#next();
  }

  /** Sends what waits, because something else is to follow it. */
  flush(): void {
    for (const { event, payload } of this.#waiting.splice(0)) void this.#send(event, payload);
  }

  #next(): void {
    if (this.#isBusy) return;
    const part = this.#waiting.shift();
    if (!part) return;
    this.#isBusy = true;
    void this.#send(part.event, part.payload).finally(() => {
      this.#isBusy = false;
      this.#next();
    });
  }
}

/** Puts a part behind the last one that waits, if they are of one piece. */
function join(last: Part, event: StreamEvent, payload: Record<string, unknown>): boolean {
  if (last.event !== event) return false;
  if (event === "tool_execution_update") {
    if (last.payload.toolCallId !== payload.toolCallId) return false;
    last.payload = payload;
    return true;
  }
  const before = last.payload.assistantMessageEvent as Delta;
  const after = payload.assistantMessageEvent as Delta;
  if (before.type !== after.type || before.contentIndex !== after.contentIndex) return false;
  if (typeof before.delta !== "string" || typeof after.delta !== "string") return false;
  last.payload = { ...payload, assistantMessageEvent: { ...after, delta: before.delta + after.delta } };
  return true;
}

interface Delta {
  type: string;
  contentIndex?: number;
  delta?: unknown;
}
