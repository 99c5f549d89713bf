/** `ClientRequest`, over the network's system calls. Bundled into `http`. */
import { Buffer } from "node:buffer";
import { EventEmitter } from "node:events";
import { Wire } from "../web/wire.ts";
import { abortError, codedError } from "./errors.ts";
import type { Agent } from "./http_agent.ts";
import { IncomingMessage } from "./http_incoming.ts";
import { readArguments, refuseOptions, targetOf } from "./http_options.ts";
import { OutgoingMessage } from "./http_outgoing.ts";

/** For requests that were made without `http.request`. */
const USUAL = { protocol: "http:", defaultPort: 80 };

/** What listeners of `socket` get: there is nothing behind it but the request. */
class RequestSocket extends EventEmitter {
  readonly connecting = false;
  readonly writable = true;
  readonly readable = true;
  readonly encrypted: boolean;
  readonly authorized: boolean;
  destroyed = false;
  readonly #request: ClientRequest;

  constructor(request: ClientRequest, encrypted: boolean) {
    super();
    this.encrypted = encrypted;
    this.authorized = encrypted;
    this.#request = request;
  }

  setTimeout(ms: number, listener?: () => void): this {
    this.#request.setTimeout(ms, listener);
    return this;
  }

  destroy(error?: Error): this {
    this.destroyed = true;
    this.#request.destroy(error);
    return this;
  }

  end(): this {
    return this.destroy();
  }

  address(): Record<string, never> {
    return {};
  }

  setNoDelay = (): this => this;
  setKeepAlive = (): this => this;
  ref = (): this => this;
  unref = (): this => this;
  cork = (): void => {};
  uncork = (): void => {};
}

export class ClientRequest extends OutgoingMessage {
  readonly method: string;
  readonly path: string;
  readonly host: string;
  readonly protocol: string;
  readonly agent: unknown;
  readonly reusedSocket = false;
  readonly socket: RequestSocket;
  aborted = false;
  res: IncomingMessage | null = null;
  readonly #url: string;
  #wire: Wire | undefined;
  /** The first piece of the body: if it is the only one, it goes with the request. */
  #first: Uint8Array | undefined;
  #isOver = false;
  #timeout: { ms: number; timer?: ReturnType<typeof setTimeout> } | undefined;

  constructor(input: unknown, second?: unknown, third?: unknown) {
    super({ autoDestroy: false, highWaterMark: 65_536 });
    const { options, callback } = readArguments(input, second, third);
    refuseOptions(options);
    const usual = (options._defaultAgent ?? USUAL) as Agent;
    const given = options.agent as Partial<Agent> | false | undefined | null;
    const agent = given && typeof given.protocol === "string" ? (given as Agent) : usual;
    const { protocol, host, path, url } = targetOf(options, agent);
    this.agent = given === false ? undefined : (given ?? usual);
    this.protocol = protocol;
    this.host = host;
    this.path = path;
    this.#url = url;
    this.method = String(options.method ?? "GET").toUpperCase();
    this.socket = new RequestSocket(this, protocol === "https:");
    this.takeHeaders(options.headers);
    if (options.auth && !this.hasHeader("Authorization")) {
      this.setHeader("Authorization", `Basic ${Buffer.from(options.auth).toString("base64")}`);
    }
    if (this.hasHeader("Upgrade")) {
      throw codedError(
        Error,
        "ERR_FEATURE_UNAVAILABLE_ON_PLATFORM",
        "extensions can't switch protocols (Upgrade)",
      );
    }
    if (callback) this.once("response", callback);
    if (options.timeout) this.setTimeout(options.timeout);
    const { signal } = options;
    if (signal) {
      const onAbort = (): void => void this.destroy(abortError(signal.reason));
      if (signal.aborted) queueMicrotask(onAbort);
      else {
        signal.addEventListener("abort", onAbort, { once: true });
        this.once("close", () => signal.removeEventListener("abort", onAbort));
      }
    }
    queueMicrotask(() => {
      if (this.destroyed) return;
      this.emit("socket", this.socket);
      if (this.hasHeader("Expect")) this.emit("continue");
    });
  }

  get connection(): RequestSocket {
    return this.socket;
  }

  get finished(): boolean {
    return this.writableEnded;
  }

  /** Emits `timeout` when nothing has come or gone for `ms` milliseconds; ends nothing. */
  setTimeout(ms: number, listener?: () => void): this {
    if (listener) this.once("timeout", listener);
    clearTimeout(this.#timeout?.timer);
    this.#timeout = ms > 0 ? { ms } : undefined;
    this.touch();
    return this;
  }

  /** Something came or went. */
  touch(): void {
    const timeout = this.#timeout;
    if (!timeout || this.#isOver) return;
    clearTimeout(timeout.timer);
    timeout.timer = setTimeout(() => {
      this.emit("timeout");
      this.socket.emit("timeout");
    }, timeout.ms);
  }

  setNoDelay(): void {}

  setSocketKeepAlive(): void {}

  /** A request that has no body as a rule is sent when it ends: until then nobody knows that it has none. */
  flushHeaders(): void {
    if (this.#wire || this.destroyed || /^(?:GET|HEAD|DELETE|OPTIONS)$/.test(this.method)) return;
    this.#startStream();
  }

  /** Deprecated in Node, and used. */
  abort(): void {
    if (this.aborted) return;
    this.aborted = true;
    queueMicrotask(() => this.emit("abort"));
    this.destroy();
  }

  override _write(chunk: Uint8Array, _encoding: string, done: (error?: Error | null) => void): void {
    if (!this.#wire && !this.#first) {
      this.#first = chunk;
      // It waits for an `end` that may stand on the next line.
      setTimeout(() => {
        if (!this.#wire && !this.destroyed) this.#startStream();
      }, 0);
      return done();
    }
    const wire = this.#wire ?? this.#startStream();
    this.#send(wire.write(chunk), done);
  }

  override _final(done: (error?: Error | null) => void): void {
    if (this.#wire) return this.#send(this.#wire.end(), done);
    this.#start(this.#first);
    done();
  }

  /** What goes wrong here is told by the response. */
  #send(sending: Promise<void>, done: () => void): void {
    const finish = (): void => {
      this.touch();
      done();
    };
    sending.then(finish, finish);
  }

  #startStream(): Wire {
    const length = this.getHeader("content-length");
    const size = length === undefined ? undefined : Number(length);
    const wire = this.#start({ length: Number.isSafeInteger(size) && size! >= 0 ? size : undefined });
    const first = this.#first;
    if (first) wire.write(first).catch(() => {});
    return wire;
  }

  #start(body: Uint8Array | { length: number | undefined } | undefined): Wire {
    const { method } = this;
    this.headersSent = true;
    const headers = this.headerPairs();
    const wire = new Wire({ url: this.#url, method, headers, redirect: "manual", decompress: false, body });
    this.#wire = wire;
    this.touch();
    wire.head.then(
      (head) => {
        if (this.destroyed) return;
        this.touch();
        const response = new IncomingMessage(this.socket, head, wire);
        this.res = response;
        response.req = this;
        const over = (): void => {
          this.#isOver = true;
          clearTimeout(this.#timeout?.timer);
          this.destroy();
        };
        response.once("end", over);
        response.once("close", over);
        if (!this.emit("response", response)) response.resume();
      },
      (error: unknown) => this.destroy(error as Error),
    );
    return wire;
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    clearTimeout(this.#timeout?.timer);
    this.#wire?.close();
    const wasOver = this.#isOver;
    this.#isOver = true;
    if (wasOver) return done(null);
    if (this.res) {
      if (!this.res.destroyed) this.res.destroy(error ?? codedError(Error, "ECONNRESET", "aborted"));
      return done(null);
    }
    done(error ?? codedError(Error, "ECONNRESET", "socket hang up"));
  }
}
