/**
 * One extension as the host sees it: handshake, frames, death and what follows it. It knows a channel and frames, never which
 * transport is behind it (design.md, rule 1); what a failure means for a tool call is decided in interceptor.ts. Times
 * and orders: wire-notes.md, "Handshake", "Time", "Death".
 */
import { errorText, XdevError } from "../base/errors.ts";
import { ellipsis, stripControls } from "../base/text.ts";
import { formatMs } from "../base/time.ts";
import type { Channel, ChannelEnd } from "./channel.ts";
import {
  type ActionFrame,
  type AnyEvent,
  type ApiEvent,
  type CallFrame,
  type Capabilities,
  type EventName,
  type Feature,
  HOST_FEATURES,
  type InboundFrame,
  PROTOCOL_VERSION,
  parseInbound,
  type ResponseFrame,
} from "./frame.ts";
import { Rate } from "./rate.ts";
import { type RequestOptions, Requests } from "./requests.ts";
import { needsNoStart } from "./sleep.ts";
import { Statistics } from "./statistics.ts";
import { toldError } from "./told-error.ts";

/** `starting` for the first time, `restarting` after a death, `failed` to load, `dead` after it was ready, `stopped` by us. */
export type ExtensionState = "starting" | "ready" | "restarting" | "failed" | "dead" | "stopped";

/** What follows its death (wire-notes.md, "Death"). */
export type DeathPolicy = "prune" | "restart" | "deny";

export interface ExtensionLimits {
  /** From the start to `capabilities`, ms (§1: 10 s). */
  handshakeTimeoutMs: number;
  /** One round trip of an event, ms (§4: 5 s). */
  eventTimeoutMs: number;
  /** One tool or command run, ms. */
  toolTimeoutMs: number;
  maxFrameBytes: number;
  /** Frames that it sends of its own accord, bytes of its log: each in a second (rate.ts). */
  maxFramesPerSecond: number;
  maxLogBytesPerSecond: number;
  /** Calls of its that may be under way at a time, and, for a module, system calls. */
  maxPendingCalls: number;
  onDeath: DeathPolicy;
  /** The user wants no tool to run without it, also if it never loads. */
  required: boolean;
}

export interface ExtensionIdentity {
  name: string;
  path: string;
  kind: "process" | "worker";
  /** Where it runs (design.md); its kind by default. */
  level?: IsolationLevel;
}

export type IsolationLevel = "process" | "worker" | "host";

/** What the host does with what an extension sends besides answers, and with its fate. */
export interface ExtensionHandlers {
  onAction(extension: Extension, frame: ActionFrame): void;
  /**
   * Answers a `call` frame; a rejection becomes its `error`. While `asking` is held (until the function it gave is
   * called) the user is being asked and the extension's clocks stand still.
   */
  onCall(extension: Extension, frame: CallFrame, asking: () => () => void): Promise<unknown>;
  onLog(extension: Extension, level: string, text: string): void;
  /** It was ready and is not any more, or it did not come back and is given up. */
  onDeath(extension: Extension): void;
  /** What it registered has changed: it is ready (again), or it is not any more. */
  onChange(extension: Extension): void;
  /** It registers something else from now on. */
  onRegister?(extension: Extension): void;
}

const LOG_LINES = 20;
const REGISTRATIONS_PER_SECOND = 20;
/** The longest id of a call. */
const MAX_ID = 200;
/** Restarts within this time, in ms, are at most so many. */
const RESTART_WINDOW_MS = 60_000;
const RESTART_LIMIT = 3;
const RESTART_DELAY_MS = 100;

export class Extension {
  readonly name: string;
  readonly path: string;
  readonly kind: "process" | "worker";
  readonly level: IsolationLevel;
  readonly limits: ExtensionLimits;
  readonly statistics = new Statistics();
  state: ExtensionState = "starting";
  capabilities: Capabilities | undefined;
  /** Why it is `failed`, `dead` or `restarting`; completes "extension <name> …". */
  reason: string | undefined;
  end: ChannelEnd | undefined;
  /** When it became ready, as `Date.now()`. */
  readySince: number | undefined;
  /** The last lines of its log, at most 20. */
  readonly lastLog: string[] = [];
  /** A policy died between two calls: the next call is denied once, and told why (wire-notes.md, "Death"). */
  owesDenial = false;

  readonly #connect: (anew: boolean) => Promise<Channel>;
  readonly #handlers: ExtensionHandlers;
  readonly #version: string;
  readonly #isHeir: boolean;
  readonly #requests: Requests;
  #channel: Channel | undefined;
  /** The channel of this life or, when that is over, of the last one: what is left of its log still counts. */
  #lastChannel: Channel | undefined;
  #features: ReadonlySet<string> = new Set();
  /** Whether it has ever claimed `tool_call`: a policy stays one. */
  #isPolicy = false;
  #frames = new Rate(1);
  #registrations = new Rate(1);
  #logBytes = new Rate(1);
  /** Calls of this life that have no answer yet. */
  #calls = new Set<CallFrame>();
  #restarts: number[] = [];
  #restarting: Promise<void> | undefined;
  #restartTimer: ReturnType<typeof setTimeout> | undefined;
  #handshake: Handshake | undefined;
  #life = 0;
  #lifeEnd = new AbortController();
  /** How many questions to the user are open. */
  #holds = 0;
  /** Whether it has said in this life what it registers. */
  #hasRegistered = false;
  /** Ready by what it registered before: nothing of it runs (sleep.ts). */
  #isAsleep = false;
  /** It is being started because it is needed; resolves when it is ready or has failed. */
  #waking: Promise<void> | undefined;
  #hasActed = false;
  #couldSleep = false;

  /**
   * @param isHeir it takes the place of a policy that was changed: until it has loaded it stands for that
   * @param connect makes a new channel, not yet open; called once for every start, `anew` if the user asked for it */
  constructor(
    identity: ExtensionIdentity,
    connect: (anew: boolean) => Promise<Channel>,
    limits: ExtensionLimits,
    handlers: ExtensionHandlers,
    version: string,
    isHeir = false,
  ) {
    this.#isHeir = isHeir;
    this.name = identity.name;
    this.path = identity.path;
    this.kind = identity.kind;
    this.level = identity.level ?? identity.kind;
    this.limits = limits;
    this.#connect = connect;
    this.#handlers = handlers;
    this.#version = version;
    this.#requests = new Requests({
      extension: identity.name,
      send: (frame) => this.#channel?.send(frame),
      features: () => ({ concurrent: this.has("concurrent"), cancel: this.has("cancel") }),
      onLate: (event, ms) => this.#die(`did not answer ${event} within ${formatMs(ms)}`),
      onAnswered: (_event, ms) => this.statistics.count(ms),
    });
  }

  /** Whether it opted into tolerating its failures (§5). Unknown before the handshake, and then: no. */
  get failOpen(): boolean {
    return this.capabilities?.failOpen === true;
  }

  /** Whether it has claimed `tool_call` in any of its lives, or is required and has not said yet what it claims. */
  get isPolicy(): boolean {
    return this.#isPolicy || this.isMissed || (this.limits.required && this.capabilities === undefined);
  }

  /** Whether it is to protect as the one before it did, and has never loaded: no call runs without it. */
  get isMissed(): boolean {
    return this.#isHeir && this.capabilities === undefined;
  }

  /** Whether it is ready and runs. */
  get isAwake(): boolean {
    return this.state === "ready" && this.#hasRegistered;
  }

  /** Whether it has never run in this session: what it registered before counts, and it starts when it is needed. */
  get isAsleep(): boolean {
    return this.#isAsleep;
  }

  /** Whether all that it did while it loaded was to register what needs no start (sleep.ts). */
  get couldSleep(): boolean {
    return this.#couldSleep;
  }

  /** Aborted when the life that it has now ends: what is done for it ends then. */
  get life(): AbortSignal {
    return this.#lifeEnd.signal;
  }

  has(feature: Feature): boolean {
    return this.#features.has(feature);
  }

  listensTo(event: EventName | ApiEvent): boolean {
    return this.capabilities?.events.includes(event) === true;
  }

  /**
   * Starts it. `opened` resolves when everything that can be done at once is done, `ready` when the handshake is over
   * (§1). Neither rejects: afterwards `state` is `ready` or `failed`, with `reason`.
   */
  start(): { opened: Promise<void>; ready: Promise<void> } {
    const ready = Promise.withResolvers<void>();
    return { opened: this.#open(ready.resolve), ready: ready.promise };
  }

  /** In the place of `start`: it is ready at once by what it registered before, and starts when it is needed. */
  sleep(known: Capabilities): void {
    this.#isAsleep = true;
    // If it claims something else when it starts, or does not start, it is a policy that has failed.
    this.#isPolicy = known.events.includes("tool_call");
    this.capabilities = known;
    this.#features = featuresOf(known);
    this.state = "ready";
  }

  /** Resolves when it runs, or has failed to start. Rejects with code `aborted`; it goes on starting then. */
  async wake(signal?: AbortSignal): Promise<void> {
    if (this.#isAsleep) {
      this.#isAsleep = false;
      const ready = Promise.withResolvers<void>();
      this.#waking = ready.promise;
      void this.#open(ready.resolve);
    }
    if (this.#waking) await unlessAborted(this.#waking, signal, this.name);
  }

  /** Starts it anew, whatever its state, because the user says so. Resolves when it is ready or has failed. */
  restart(): Promise<void> {
    this.#restarting ??= this.#restart().finally(() => {
      this.#restarting = undefined;
    });
    return this.#restarting;
  }

  async #restart(): Promise<void> {
    clearTimeout(this.#restartTimer);
    this.#finishHandshake();
    this.#restarts = [];
    this.owesDenial = false;
    this.#requests.fail(this.#failure("was restarted"));
    this.#lifeEnd.abort();
    const old = this.#channel;
    this.#channel = undefined;
    this.#isAsleep = false;
    this.#waking = undefined;
    this.state = "restarting";
    this.reason = "is being restarted";
    await old?.kill();
    const ready = Promise.withResolvers<void>();
    await this.#open(ready.resolve, true);
    await ready.promise;
  }

  /**
   * One round trip. Resolves with the answer, whatever it says; rejects when there is none: with code `extension-dead`
   * (it was not running, died, or was too slow and is dead now) or `aborted`.
   */
  request(event: AnyEvent, payload: unknown, options: RequestOptions): Promise<ResponseFrame> {
    if (this.state !== "ready") return Promise.reject(this.#failure(this.reason ?? "is not running"));
    if (this.#isAsleep || this.#waking) {
      return this.wake(options.signal).then(() => this.request(event, payload, options));
    }
    return this.#requests.add(event, payload, options);
  }

  /** Ends it because another takes its place. A command that it runs has ended with that, and well: it may have asked for it. */
  async retire(graceMs: number): Promise<void> {
    this.#requests.release("command");
    await this.stop(graceMs);
  }

  /** Ends it as the session ends: no failure, no notice. */
  async stop(graceMs: number): Promise<void> {
    clearTimeout(this.#restartTimer);
    this.state = "stopped";
    this.reason ??= "was stopped";
    this.#finishHandshake();
    this.#requests.fail(this.#failure("was stopped"));
    this.#lifeEnd.abort();
    await this.#channel?.close(graceMs);
  }

  /**
   * The user is asked something for it: its clocks stand still until the function that this gives is called. Of no effect
   * on a later life of it.
   */
  hold(): () => void {
    const life = this.#life;
    this.#holds++;
    if (this.#holds === 1) {
      this.#requests.pause();
      if (this.#handshake) stopClock(this.#handshake);
    }
    let over = false;
    return () => {
      if (over || this.#life !== life) return;
      over = true;
      this.#holds--;
      if (this.#holds > 0) return;
      this.#requests.resume();
      if (this.#handshake) this.#startHandshakeClock(this.#handshake);
    };
  }

  #startHandshakeClock(handshake: Handshake): void {
    const ms = this.limits.handshakeTimeoutMs;
    handshake.since = performance.now();
    handshake.timer = setTimeout(
      () => this.#die(`sent no capabilities within ${formatMs(ms)} (is its output flushed?)`),
      Math.max(handshake.left, 1),
    );
  }

  async #open(done: () => void, anew = false): Promise<void> {
    if (!this.#isAlive()) return done();
    this.#finishHandshake();
    this.#holds = 0;
    this.#hasRegistered = false;
    this.#hasActed = false;
    this.#life++;
    this.#lifeEnd = new AbortController();
    this.#frames = new Rate(this.limits.maxFramesPerSecond);
    this.#registrations = new Rate(REGISTRATIONS_PER_SECOND);
    this.#logBytes = new Rate(this.limits.maxLogBytesPerSecond);
    this.#calls = new Set();
    const handshake: Handshake = { timer: undefined, left: this.limits.handshakeTimeoutMs, since: 0, done };
    this.#startHandshakeClock(handshake);
    this.#handshake = handshake;
    try {
      const channel = await this.#connect(anew);
      // It was stopped, has failed, or is being started anew.
      if (this.#handshake !== handshake) return void channel.kill();
      this.#channel = channel;
      this.#lastChannel = channel;
      // A channel of an earlier life may still have something to say.
      const mine = (act: () => void): void => {
        if (this.#channel === channel) act();
      };
      channel.open({
        onMessage: (value) => mine(() => this.#receive(value)),
        onProblem: (problem) => mine(() => this.#die(problem)),
        hold: () => (this.#channel === channel ? this.hold() : () => {}),
        onLog: (line) => {
          if (this.#lastChannel !== channel) return;
          // A line of a worker is a message, however short it is.
          if (this.kind === "worker" && this.#isAlive() && !this.#countFrame()) return;
          this.#log("info", line);
        },
        onClose: (end) =>
          mine(() => {
            this.end = end;
            this.#die(end.reason, end.restart);
          }),
      });
      channel.send({
        type: "hello",
        protocol: PROTOCOL_VERSION,
        xdevVersion: this.#version,
        features: HOST_FEATURES,
      });
    } catch (error) {
      if (this.#handshake === handshake) this.#die(`could not be started: ${errorText(error)}`);
    }
  }

  #receive(value: unknown): void {
    if (!this.#isAlive()) return;
    const parsed = parseInbound(value);
    if ("problem" in parsed) return this.#die(parsed.problem);
    const frame = parsed.frame;
    const isEarly =
      BEFORE_CAPABILITIES.has(frame.type) || (frame.type === "call" && this.#mayCallEarly(frame));
    if (!this.#hasRegistered && !isEarly) {
      return this.#die(`sent a ${frame.type} frame before its capabilities`);
    }
    switch (frame.type) {
      case "capabilities":
        return this.#accept(frame);
      case "register":
        if (!this.#countFrame()) return;
        return this.#register(frame);
      case "response":
        if (!this.#requests.answer(frame)) this.#countFrame();
        return;
      case "action":
        if (!this.#countFrame()) return;
        this.#hasActed = true;
        return this.#handlers.onAction(this, frame);
      case "log":
        if (!this.#countFrame()) return;
        return this.#log(frame.level ?? "info", frame.text ?? "");
      case "update":
        if (!this.#countFrame()) return;
        if (!this.has("update")) return this.#die("sent an update frame without the feature");
        return this.#requests.update(String(frame.id), frame.payload);
      case "call":
        if (!this.#countFrame()) return;
        this.#hasActed = true;
        if (!this.has("call") && this.#hasRegistered)
          return this.#die("sent a call frame without the feature");
        return void this.#call(frame);
    }
  }

  /** What a module may look up while it loads: it changes nothing. */
  #mayCallEarly({ method }: CallFrame): boolean {
    return this.kind === "worker" && method === "models.known";
  }

  /** A frame that nobody asked for; false if that was too many. */
  #countFrame(): boolean {
    const { maxFramesPerSecond } = this.limits;
    if (this.#frames.take(1)) return true;
    this.#die(`sent more than ${maxFramesPerSecond} frames in a second (extensionHost.maxFramesPerSecond)`);
    return false;
  }

  #accept(frame: Extract<InboundFrame, { type: "capabilities" }>): void {
    if (this.#hasRegistered) return this.#die("sent capabilities a second time");
    if (frame.protocol != null && frame.protocol !== PROTOCOL_VERSION) {
      const theirs = JSON.stringify(frame.protocol)?.slice(0, 40);
      return this.#die(`speaks protocol ${theirs}; this host speaks ${PROTOCOL_VERSION}`);
    }
    const claims = frame.payload.events.includes("tool_call");
    if (this.#isPolicy && !claims) return this.#die("does not listen to tool_call any more");
    this.#isPolicy = claims;
    this.capabilities = frame.payload;
    this.#features = featuresOf(frame.payload);
    this.#hasRegistered = true;
    this.#couldSleep = !this.#hasActed && this.#channel?.calls?.() === 0 && needsNoStart(frame.payload);
    // What waits for it is told after `onChange` has had its say.
    this.#waking = undefined;
    this.state = "ready";
    this.reason = undefined;
    this.end = undefined;
    this.readySince = Date.now();
    this.#finishHandshake();
    this.#handlers.onChange(this);
  }

  /** It registers something else from now on. A policy stays one: what does not check calls any more must not let them pass unseen. */
  #register({ payload }: Extract<InboundFrame, { type: "register" }>): void {
    if (!this.has("register")) return this.#die("sent a register frame without the feature");
    if (!this.#registrations.take(1)) {
      return this.#die(`registered anew more than ${REGISTRATIONS_PER_SECOND} times in a second`);
    }
    const claims = payload.events.includes("tool_call");
    if (this.#isPolicy && !claims) return this.#die("does not listen to tool_call any more");
    this.#isPolicy ||= claims;
    const { features, failOpen } = this.capabilities!;
    // How it speaks and what its failures mean is said once.
    this.capabilities = { ...payload, features, failOpen: failOpen && payload.failOpen };
    this.#handlers.onRegister?.(this);
  }

  async #call(frame: CallFrame): Promise<void> {
    const { id } = frame;
    // It is kept as long as the call stands.
    if (typeof id === "string" && id.length > MAX_ID) return this.#die("sent a call with too long an id");
    const channel = this.#channel;
    const calls = this.#calls;
    const answer = (reply: { result?: unknown } | { error: string }): void => {
      if (id == null || this.#channel !== channel || !this.#isAlive()) return;
      channel?.send({ type: "return", id, ...reply });
    };
    try {
      const most = this.limits.maxPendingCalls;
      if (calls.size >= most) {
        throw new Error(`${most} calls are under way already (extensionHost.maxPendingCalls)`);
      }
      calls.add(frame);
      answer({ result: await this.#handlers.onCall(this, frame, () => this.hold()) });
    } catch (error) {
      // An answer that is too long to be sent ends up here, too.
      answer({ error: toldError(error) });
    } finally {
      calls.delete(frame);
    }
  }

  /** Its end, for whatever reason: kill, fail what waits, and what the policy says. */
  #die(reason: string, restart?: boolean): void {
    if (!this.#isAlive()) return;
    const isWaking = this.#waking !== undefined;
    const before = this.state;
    const isStarting = before === "starting" || isWaking;
    const isFirst = isStarting && restart === true;
    this.reason = ellipsis(stripControls(reason).replace(/\s+/g, " "), 300);
    void this.#channel?.kill();
    this.#lifeEnd.abort();
    this.#channel = undefined;
    this.readySince = undefined;
    this.#isAsleep = false;
    this.#hasRegistered = false;
    this.state = isStarting ? "failed" : "dead";
    const denied = this.#requests.fail(this.#failure(this.reason));
    if (isFirst && this.#handshake) {
      // It is no fault of its own that it did not start: whoever waits for it goes on waiting.
      const { timer, done } = this.#handshake;
      clearTimeout(timer);
      this.#handshake = undefined;
      this.state = before;
      return void this.#open(done);
    }
    this.#waking = undefined;
    const wanted = restart ?? (!isStarting && this.limits.onDeath === "restart");
    if (wanted && this.#mayRestart()) {
      this.state = "restarting";
    } else {
      this.owesDenial = before === "ready" && !denied && this.#isPolicy && !this.failOpen;
    }
    this.#finishHandshake();
    const isGivenUp = before === "restarting" && this.state === "dead" && this.limits.onDeath === "restart";
    if (before === "ready" || isGivenUp) this.#handlers.onDeath(this);
    this.#handlers.onChange(this);
  }

  /** Plans the next restart, unless there have been too many. */
  #mayRestart(): boolean {
    const now = Date.now();
    this.#restarts = this.#restarts.filter((time) => now - time < RESTART_WINDOW_MS);
    if (this.#restarts.length >= RESTART_LIMIT) return false;
    const delay = RESTART_DELAY_MS * 2 ** this.#restarts.length;
    this.#restarts.push(now);
    this.#restartTimer = setTimeout(() => {
      if (this.state === "restarting") void this.#open(() => {});
    }, delay);
    return true;
  }

  #finishHandshake(): void {
    if (!this.#handshake) return;
    clearTimeout(this.#handshake.timer);
    const { done } = this.#handshake;
    this.#handshake = undefined;
    done();
  }

  #isAlive(): boolean {
    return this.state === "ready" || this.state === "starting" || this.state === "restarting";
  }

  #failure(reason: string): XdevError {
    return new XdevError("extension-dead", `extension ${this.name} ${reason}`);
  }

  #log(level: string, text: string): void {
    // What a process writes beside the protocol is dropped when it is too much (log-stream.ts).
    if (this.kind === "worker" && this.#isAlive() && !this.#logBytes.take(text.length)) {
      const most = this.limits.maxLogBytesPerSecond;
      return this.#die(
        `wrote more than ${most} bytes to its log in a second (extensionHost.maxLogBytesPerSecond)`,
      );
    }
    const line = ellipsis(stripControls(text).trimEnd(), 4000);
    this.lastLog.push(line);
    if (this.lastLog.length > LOG_LINES) this.lastLog.shift();
    this.#handlers.onLog(this, level, line);
  }
}

function featuresOf({ features }: Capabilities): ReadonlySet<Feature> {
  return new Set(HOST_FEATURES.filter((feature) => features.includes(feature)));
}

/** `work`, or a rejection as soon as the signal aborts. */
async function unlessAborted(
  work: Promise<void>,
  signal: AbortSignal | undefined,
  name: string,
): Promise<void> {
  if (!signal) return work;
  const aborted = Promise.withResolvers<never>();
  aborted.promise.catch(() => {});
  const onAbort = () =>
    aborted.reject(new XdevError("aborted", `aborted while extension ${name} was being started`));
  if (signal.aborted) onAbort();
  signal.addEventListener("abort", onAbort, { once: true });
  await Promise.race([work, aborted.promise]).finally(() => signal.removeEventListener("abort", onAbort));
}

/** The start of one life, until its capabilities. */
interface Handshake {
  timer: ReturnType<typeof setTimeout> | undefined;
  /** What is left of its clock, in ms, as of `since` (`performance.now()`). */
  left: number;
  since: number;
  done: () => void;
}

function stopClock(handshake: Handshake): void {
  clearTimeout(handshake.timer);
  handshake.left -= performance.now() - handshake.since;
}

const BEFORE_CAPABILITIES: ReadonlySet<string> = new Set(["capabilities", "action", "log"]);
