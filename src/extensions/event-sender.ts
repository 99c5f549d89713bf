/**
 * What a session tells its extensions and asks them besides tool calls, which are the chain's (extension-api.md, "Events"). It
 * waits for nobody longer than an event's time, and what a handler does wrong changes nothing for the run. A process is told
 * the events of protocol v1 and no others (wire-notes.md, "Events a v1 extension can receive").
 */
import { errorText } from "../base/errors.ts";
import { log } from "../base/log.ts";
import type { Extension } from "./extension.ts";
import { type ApiEvent, EVENT_NAMES, type EventName } from "./frame.ts";
import { type StreamEvent, Updates } from "./updates.ts";
import { allowedResult } from "./write-results.ts";

/** What comes in nearly every run, behind the first request to the model. */
export const IN_A_RUN = [
  "tool_call",
  "tool_result",
  "tool_execution_start",
  "tool_execution_update",
  "tool_execution_end",
  "turn_end",
  "agent_end",
  "agent_settled",
  "after_provider_response",
] as const;

export interface AskOptions {
  signal?: AbortSignal | undefined;
  /** It may take as long as a tool: it is the work itself that is asked for, such as a summary. */
  isLong?: boolean;
}

export class EventSender {
  readonly #extensions: () => readonly Extension[];
  readonly #updates = new Map<Extension, Updates>();
  readonly #notifications = new Set<Promise<unknown>>();
  /** What was told at the session's start, once it was. */
  #session: { payload: unknown; v1: unknown } | undefined;

  readonly #mayChange: (extension: Extension, event: ApiEvent) => boolean;

  /** @param mayChange whether what a module returns from such an event may change the conversation (write-results.ts) */
  constructor(
    extensions: () => readonly Extension[],
    mayChange: (extension: Extension, event: ApiEvent) => boolean = () => true,
  ) {
    this.#extensions = extensions;
    this.#mayChange = mayChange;
  }

  /** Whether anyone who is ready listens; then an event is worth making. Modules' events are told to no process. */
  listens(event: EventName | ApiEvent): boolean {
    return this.#listeners(event).length > 0;
  }

  /**
   * Tells everyone who listens, all at once. Returns at once: nobody's answer is waited for. `v1` is what processes are told in
   * place of `payload`.
   */
  emit(event: EventName | ApiEvent, payload: unknown, v1: unknown = payload): void {
    if (event === "session_start") this.#session = { payload, v1 };
    for (const extension of this.#listeners(event)) {
      this.#send(extension, event, extension.kind === "process" ? v1 : payload);
    }
  }

  /** Like `emit`; resolves when the modules among them have handled it, or their time is over. Never rejects. */
  async tell(event: EventName | ApiEvent, payload: unknown, v1: unknown = payload): Promise<void> {
    if (event === "session_start") this.#session = { payload, v1 };
    const told = this.#listeners(event).flatMap((extension) => {
      const sent = this.#send(extension, event, extension.kind === "process" ? v1 : payload);
      return extension.kind === "worker" ? [sent] : [];
    });
    await Promise.all(told);
  }

  /**
   * Asks every module that listens, one after the other in the order of the chain, within the time of an event. `payload` is made
   * anew for each, so that it can hold what the one before returned; `take` gets what is no undefined, checks it, and returns
   * true if nobody else is to be asked. What fails, `take` included, is told to `onEventError` and changes nothing. Never rejects.
   */
  async ask(
    event: ApiEvent,
    payload: () => unknown,
    take: (result: unknown, extension: Extension) => boolean | undefined,
    { signal, isLong = false }: AskOptions = {},
  ): Promise<void> {
    for (const extension of this.#listeners(event)) {
      if (extension.kind !== "worker" || !extension.listensTo(event) || extension.state !== "ready") continue;
      this.#updates.get(extension)?.flush();
      try {
        const reply = await extension.request(event, payload(), {
          timeoutMs: isLong ? extension.limits.toolTimeoutMs : extension.limits.eventTimeoutMs,
          ...(signal ? { signal } : {}),
        });
        if (reply.error != null) this.onEventError(extension, event, reply.error || "failed");
        if (reply.result == null) continue;
        const result = allowedResult(event, reply.result, () => this.#mayChange(extension, event));
        if (result !== undefined && take(result, extension) === true) return;
      } catch (error) {
        if (signal?.aborted) return;
        this.onEventError(extension, event, errorText(error));
      }
    }
  }

  /** Told what went wrong in a handler of an event that decides nothing: the run goes on. */
  onEventError: (extension: Extension, event: string, error: string) => void = ({ name }, event, error) =>
    log.debug(`extension ${name}: its ${event} handler failed: ${error}`);

  /**
   * Tells the modules that listen of a part of a stream. One that is slow gets several parts as one (updates.ts): what waits for
   * it stays small.
   */
  stream(event: StreamEvent, payload: Record<string, unknown>): void {
    for (const extension of this.#listeners(event)) {
      if (extension.kind !== "worker" || !extension.listensTo(event)) continue;
      let updates = this.#updates.get(extension);
      if (!updates) {
        updates = new Updates((name, part) => this.#request(extension, name, part));
        this.#updates.set(extension, updates);
      }
      updates.add(event, payload);
    }
  }

  #send(extension: Extension, event: EventName | ApiEvent, payload: unknown): Promise<void> {
    this.#updates.get(extension)?.flush();
    return this.#request(extension, event, payload);
  }

  /** Of an answer only the error counts; a failure has already retired it. */
  #request(extension: Extension, event: EventName | ApiEvent, payload: unknown): Promise<void> {
    const sent = extension
      .request(event, payload, { timeoutMs: extension.limits.eventTimeoutMs })
      .then((reply) => {
        if (reply.error != null && extension.kind === "worker") {
          this.onEventError(extension, event, reply.error || "failed");
        }
      })
      .catch((error: unknown) => log.debug(errorText(error)))
      .finally(() => this.#notifications.delete(sent));
    this.#notifications.add(sent);
    return sent;
  }

  /** One that was started anew is told what it missed. */
  catchUp(extension: Extension): void {
    if (!this.#session || !hears(extension, "session_start")) return;
    const { payload, v1 } = this.#session;
    void this.#send(extension, "session_start", extension.kind === "process" ? v1 : payload);
  }

  /** Resolves when what was told so far has been handled, or its time is over. */
  async settled(): Promise<void> {
    for (const updates of this.#updates.values()) updates.flush();
    await Promise.all(this.#notifications);
  }

  /** Those who are told of an event. One that sleeps starts for what it listens to; of the session it is told when it has started. */
  #listeners(event: EventName | ApiEvent): Extension[] {
    return this.#extensions().filter((extension) =>
      extension.isAwake
        ? hears(extension, event)
        : extension.state === "ready" && event !== "session_start" && hears(extension, event),
    );
  }

  /** A run begins: those who sleep (sleep.ts) and will be needed in it start while the model thinks. */
  prepareRun(): void {
    for (const extension of this.#extensions()) {
      if (extension.isAsleep && IN_A_RUN.some((event) => extension.listensTo(event))) void extension.wake();
    }
  }
}

/** Whether an extension is told of an event. */
function hears(extension: Extension, event: EventName | ApiEvent): boolean {
  if (extension.kind === "process") return isV1(event) && extension.listensTo(event);
  // A module's context (`ctx.cwd`, `ctx.model`) is made of the first, and it puts the parts of a message together by itself.
  return (
    extension.listensTo(event) ||
    event === "session_start" ||
    (event === "message_start" && extension.listensTo("message_update"))
  );
}

function isV1(event: string): boolean {
  return (EVENT_NAMES as readonly string[]).includes(event);
}
