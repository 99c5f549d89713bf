/**
 * One extension as the host sees it: handshake, correlation of answers, the clock, and death. It knows a channel and
 * frames, never which transport is behind it (design.md, rule 1), and no policy: what a failure means for a tool call is
 * decided in chain.ts. Times and orders: wire-notes.md, "Handshake", "Time", "Death".
 */
import { errorText, XdevError } from "../base/errors.ts";
import { ellipsis, stripControls } from "../base/text.ts";
import { formatMs } from "../base/time.ts";
import type { Channel, ChannelEnd } from "./channel.ts";
import {
  type ActionFrame,
  type CallFrame,
  type Capabilities,
  type EventName,
  type Feature,
  HOST_FEATURES,
  type HostFrame,
  type InboundFrame,
  PROTOCOL_VERSION,
  parseInbound,
  type ResponseFrame,
} from "./frame.ts";

/** What happened to a request that got no usable answer. `code`: `extension-dead`, `extension-timeout`, `aborted`. */
export type ExtensionFailure = XdevError;

export type ExtensionState = "starting" | "ready" | "failed" | "dead" | "stopped";

export interface ExtensionLimits {
  /** From the start to `capabilities`, ms (§1: 10 s). */
  handshakeTimeoutMs: number;
  /** One round trip of an event, ms (§4: 5 s). */
  eventTimeoutMs: number;
  /** One tool or command run, ms. */
  toolTimeoutMs: number;
  maxFrameBytes: number;
}

export interface ExtensionIdentity {
  name: string;
  path: string;
  kind: "process" | "worker";
}

/** What the host does with what an extension sends besides answers. */
export interface ExtensionHandlers {
  onAction(extension: Extension, frame: ActionFrame): void;
  /** Answers a `call` frame; a rejection becomes its `error`. */
  onCall(extension: Extension, frame: CallFrame): Promise<unknown>;
  onLog(extension: Extension, level: string, text: string): void;
  /** It was alive and is not any more; called once. */
  onRetire(extension: Extension): void;
}

export interface RequestOptions {
  timeoutMs: number;
  signal?: AbortSignal;
  onUpdate?: (payload: unknown) => void;
}

interface Pending {
  id: string;
  event: EventName;
  payload: unknown;
  options: RequestOptions;
  /** Undefined once the asker is gone (abort): the answer is dropped, the clock goes on. */
  settle: ((outcome: { response: ResponseFrame } | { failure: ExtensionFailure }) => void) | undefined;
  timer: ReturnType<typeof setTimeout> | undefined;
}

const STDERR_LINES = 20;

export class Extension {
  readonly name: string;
  readonly path: string;
  readonly kind: "process" | "worker";
  readonly limits: ExtensionLimits;
  state: ExtensionState = "starting";
  capabilities: Capabilities | undefined;
  /** Why it is `failed` or `dead`; completes "extension <name> …". */
  reason: string | undefined;
  end: ChannelEnd | undefined;
  /** The last lines of its log, at most 20. */
  readonly lastLog: string[] = [];
  /** A policy died between two calls: the next call is denied once, and told why (wire-notes.md, "Death"). */
  owesDenial = false;

  readonly #channel: Channel;
  readonly #handlers: ExtensionHandlers;
  readonly #inFlight = new Map<string, Pending>();
  readonly #queue: Pending[] = [];
  #nextId = 1;
  #onCapabilities: ((problem?: string) => void) | undefined;
  #features: ReadonlySet<string> = new Set();

  constructor(
    identity: ExtensionIdentity,
    channel: Channel,
    limits: ExtensionLimits,
    handlers: ExtensionHandlers,
  ) {
    this.name = identity.name;
    this.path = identity.path;
    this.kind = identity.kind;
    this.limits = limits;
    this.#channel = channel;
    this.#handlers = handlers;
  }

  /** Whether it opted into tolerating its failures (§5). Unknown before the handshake, and then: no. */
  get failOpen(): boolean {
    return this.capabilities?.failOpen === true;
  }

  has(feature: Feature): boolean {
    return this.#features.has(feature);
  }

  listensTo(event: EventName): boolean {
    return this.capabilities?.events.includes(event) === true;
  }

  /** Starts it and shakes hands (§1). Never rejects: afterwards `state` is `ready` or `failed`, with `reason`. */
  start(xdevVersion: string): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(
        () => this.#die(`sent no capabilities within ${formatMs(this.limits.handshakeTimeoutMs)}`),
        this.limits.handshakeTimeoutMs,
      );
      this.#onCapabilities = () => {
        this.#onCapabilities = undefined;
        clearTimeout(timer);
        resolve();
      };
      try {
        this.#channel.open({
          onMessage: (value) => this.#receive(value),
          onProblem: (problem) => this.#die(problem),
          onLog: (line) => this.#log("info", line),
          onClose: (end) => {
            this.end ??= end;
            this.#die(end.reason);
          },
        });
      } catch (error) {
        return this.#die(`could not be started: ${errorText(error)}`);
      }
      this.#send({
        type: "hello",
        protocol: PROTOCOL_VERSION,
        xdevVersion,
        features: HOST_FEATURES,
      });
    });
  }

  /**
   * One round trip. Resolves with the answer, whatever it says; rejects with an `ExtensionFailure` when there is none:
   * the extension was dead or died (`extension-dead`), was too slow and is dead now (`extension-timeout`), or the user
   * aborted (`aborted`). Requests wait in order, unless the extension has the feature `concurrent`; the clock of
   * each starts when it is written.
   */
  request(event: EventName, payload: unknown, options: RequestOptions): Promise<ResponseFrame> {
    return new Promise((resolve, reject) => {
      if (this.state !== "ready")
        return reject(this.#failure("extension-dead", this.reason ?? "is not running"));
      if (options.signal?.aborted) return reject(aborted(this.name));
      const onAbort = () => {
        this.#abandon(pending);
        reject(aborted(this.name));
      };
      const pending: Pending = {
        id: String(this.#nextId++),
        event,
        payload,
        options,
        timer: undefined,
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

  /** Ends it as the session ends: no failure, no notice. */
  async stop(graceMs: number): Promise<void> {
    if (this.state === "ready" || this.state === "starting") this.state = "stopped";
    this.#onCapabilities?.();
    this.#settleAll("extension-dead", "was stopped");
    await this.#channel.close(graceMs);
  }

  #pump(): void {
    while (this.#queue.length > 0 && (this.#inFlight.size === 0 || this.has("concurrent"))) {
      const pending = this.#queue.shift()!;
      const { timeoutMs } = pending.options;
      pending.timer = setTimeout(() => {
        const what = `did not answer ${pending.event} within ${formatMs(timeoutMs)}`;
        this.#die(what, "extension-timeout");
      }, timeoutMs);
      this.#inFlight.set(pending.id, pending);
      this.#send({ type: "event", id: pending.id, event: pending.event, payload: pending.payload });
    }
  }

  /** The asker is gone. What is written stays in flight, so that order and clock hold; what waits is forgotten. */
  #abandon(pending: Pending): void {
    pending.settle = undefined;
    const waiting = this.#queue.indexOf(pending);
    if (waiting !== -1) this.#queue.splice(waiting, 1);
    else if (this.has("cancel")) this.#send({ type: "cancel", id: pending.id });
  }

  #receive(value: unknown): void {
    if (this.state !== "ready" && this.state !== "starting") return;
    const parsed = parseInbound(value);
    if ("problem" in parsed) return this.#die(parsed.problem);
    const frame = parsed.frame;
    if (this.state === "starting" && !BEFORE_CAPABILITIES.has(frame.type)) {
      return this.#die(`sent a ${frame.type} frame before its capabilities`);
    }
    switch (frame.type) {
      case "capabilities":
        return this.#accept(frame);
      case "response":
        return this.#answer(frame);
      case "action":
        return this.#handlers.onAction(this, frame);
      case "log":
        return this.#log(frame.level ?? "info", frame.text ?? "");
      case "update":
        if (!this.has("update")) return this.#die("sent an update frame without the feature");
        this.#inFlight.get(String(frame.id))?.options.onUpdate?.(frame.payload);
        return;
      case "call":
        if (!this.has("call")) return this.#die("sent a call frame without the feature");
        return void this.#call(frame);
    }
  }

  #accept(frame: Extract<InboundFrame, { type: "capabilities" }>): void {
    if (this.state !== "starting") return this.#die("sent capabilities a second time");
    if (frame.protocol != null && frame.protocol !== PROTOCOL_VERSION) {
      return this.#die(
        `speaks protocol ${JSON.stringify(frame.protocol)?.slice(0, 40)}; this host speaks ${PROTOCOL_VERSION}`,
      );
    }
    this.capabilities = frame.payload;
    const known: readonly string[] = HOST_FEATURES;
    this.#features = new Set(frame.payload.features.filter((feature) => known.includes(feature)));
    this.state = "ready";
    this.#onCapabilities?.();
  }

  #answer(frame: ResponseFrame): void {
    const pending = frame.id == null ? undefined : this.#inFlight.get(String(frame.id));
    // An answer that no one waits for is dropped (wire-notes.md, "Replies").
    if (!pending) return;
    this.#inFlight.delete(pending.id);
    clearTimeout(pending.timer);
    pending.settle?.({ response: frame });
    this.#pump();
  }

  async #call(frame: CallFrame): Promise<void> {
    let reply: { result?: unknown } | { error: string };
    try {
      reply = { result: await this.#handlers.onCall(this, frame) };
    } catch (error) {
      reply = { error: error instanceof Error ? error.message : "failed" };
    }
    if (frame.id != null) this.#send({ type: "return", id: frame.id, ...reply });
  }

  /** Its end, for whatever reason: kill, settle what waits, and tell the host once. */
  #die(reason: string, code: "extension-dead" | "extension-timeout" = "extension-dead"): void {
    if (this.state !== "starting" && this.state !== "ready") return;
    const wasReady = this.state === "ready";
    this.reason = ellipsis(stripControls(reason).replace(/\s+/g, " "), 300);
    this.state = wasReady ? "dead" : "failed";
    void this.#channel.kill();
    const denied = this.#settleAll(code, this.reason);
    if (wasReady) {
      this.owesDenial = !denied && this.listensTo("tool_call") && !this.failOpen;
      this.#handlers.onRetire(this);
    }
    this.#onCapabilities?.();
  }

  /** Fails everything that waits; says whether a `tool_call` was among it whose asker is still there. */
  #settleAll(code: "extension-dead" | "extension-timeout", reason: string): boolean {
    const waiting = [...this.#inFlight.values(), ...this.#queue];
    this.#inFlight.clear();
    this.#queue.length = 0;
    let denied = false;
    for (const pending of waiting) {
      clearTimeout(pending.timer);
      if (!pending.settle) continue;
      denied ||= pending.event === "tool_call";
      pending.settle({ failure: this.#failure(code, reason) });
    }
    return denied;
  }

  #failure(code: string, reason: string): ExtensionFailure {
    return new XdevError(code, `extension ${this.name} ${reason}`);
  }

  #send(frame: HostFrame): void {
    if (this.state === "starting" || this.state === "ready") this.#channel.send(frame);
  }

  #log(level: string, text: string): void {
    const line = ellipsis(stripControls(text).trimEnd(), 4000);
    this.lastLog.push(line);
    if (this.lastLog.length > STDERR_LINES) this.lastLog.shift();
    this.#handlers.onLog(this, level, line);
  }
}

const BEFORE_CAPABILITIES: ReadonlySet<string> = new Set(["capabilities", "action", "log"]);

function aborted(name: string): ExtensionFailure {
  return new XdevError("aborted", `aborted while extension ${name} was asked`);
}
