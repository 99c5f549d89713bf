import type { Socket } from "node:net";
import { systemCode } from "../../src/base/errors.ts";
import { CallError, type Rights } from "./broker.ts";
import type { Bytes } from "./net-bytes.ts";
import { connect, type NetSettings } from "./net-connect.ts";
import { decoded } from "./net-decode.ts";
import { type Headers, redirectedHeaders, requestHeaders } from "./net-headers.ts";
import { HttpConnection, NOTHING, type ResponseHead, redirectOf } from "./net-http.ts";
import { parseTarget, type Target } from "./net-target.ts";

export interface ExchangeRequest {
  url: string;
  method: string;
  headers: Headers;
  redirect: "follow" | "error" | "manual";
  /** Whether the extension gets the body as it was before it was compressed. */
  decompress: boolean;
  /** `length`: of a body that is sent later, in bytes; undefined if nobody knows yet. */
  body: Uint8Array | { length: number | undefined } | undefined;
}

/** What a response says before its body. */
export interface Answer {
  status: number;
  statusText: string;
  headers: Headers;
  /** Where it came from in the end. */
  url: string;
  redirected: boolean;
  /** Whether there is something to read. */
  hasBody: boolean;
}

const MAX_REDIRECTS = 20;
const WITH_LENGTH: ReadonlySet<string> = new Set(["POST", "PUT", "PATCH"]);

/**
 * One request of an extension, with the redirects that it leads to, and the response's body. Every redirect is a new
 * request to the rights. `onOver` is called once, when nothing is open any more.
 */
export class Exchange {
  readonly #request: ExchangeRequest;
  readonly #rights: Rights;
  readonly #settings: NetSettings;
  readonly #onOver: () => void;
  readonly #abort = new AbortController();
  readonly #connected = Promise.withResolvers<HttpConnection>();
  readonly #answer: Promise<Answer>;
  #socket: Socket | undefined;
  #body: Bytes = NOTHING;
  #reading: Promise<unknown> = Promise.resolve();
  #idle: ReturnType<typeof setTimeout> | undefined;
  #isOver = false;

  /** Throws `CallError` for a request that could never be sent. */
  constructor(request: ExchangeRequest, rights: Rights, settings: NetSettings, onOver: () => void) {
    this.#request = request;
    this.#rights = rights;
    this.#settings = settings;
    this.#onOver = onOver;
    const target = parseTarget(request.url);
    const headers = requestHeaders(request.headers, target);
    // Not at once: the one who made this may find that there are too many.
    this.#answer = Promise.resolve()
      .then(() => this.#run(target, headers))
      .catch((error: unknown) => {
        const known = this.#known(error);
        this.#socket?.destroy();
        this.#connected.reject(known);
        // It stays in the books until somebody has asked what became of it.
        this.#touch();
        throw known;
      });
    // Whoever asks is told; nobody has to.
    this.#answer.catch(() => {});
    this.#connected.promise.catch(() => {});
  }

  /** The response, once its head is there. If this rejects, close the exchange. */
  response(): Promise<Answer> {
    return this.#answer;
  }

  /** A piece of the request's body. Resolves when the next one may come. */
  async write(bytes: Uint8Array): Promise<void> {
    const connection = await this.#streamed();
    await connection.write(bytes).catch((error: unknown) => Promise.reject(this.#known(error)));
    this.#touch();
  }

  async end(): Promise<void> {
    const connection = await this.#streamed();
    await connection.end().catch((error: unknown) => Promise.reject(this.#known(error)));
    this.#touch();
  }

  /** The next piece of the response's body; undefined at its end. One after the other, whoever asks. */
  read(): Promise<Uint8Array | undefined> {
    const read = async (): Promise<Uint8Array | undefined> => {
      await this.#answer;
      this.#touch();
      try {
        const bytes = await this.#body.read();
        // A socket that is destroyed may say that it came to its end.
        this.#abort.signal.throwIfAborted();
        if (!bytes) this.close();
        return bytes;
      } catch (error) {
        const known = this.#known(error);
        this.close();
        throw known;
      }
    };
    const result = this.#reading.then(read, read);
    this.#reading = result.catch(() => {});
    return result;
  }

  /** Ends whatever is under way. */
  close(reason = new CallError("ABORT_ERR", "This operation was aborted")): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#idle);
    this.#abort.abort(reason);
    this.#socket?.destroy();
    this.#onOver();
  }

  async #run(first: Target, given: Headers): Promise<Answer> {
    let target = first;
    let headers = given;
    let { method, body } = this.#request;
    for (let redirects = 0; ; redirects++) {
      const response = await this.#send(target, method, headers, body);
      const location = redirectOf(response);
      if (location === undefined || this.#request.redirect === "manual") {
        return this.#accept(response, target, redirects > 0);
      }
      this.#socket?.destroy();
      if (this.#request.redirect === "error") throw redirectRefused("the request forbids it");
      if (redirects === MAX_REDIRECTS) throw redirectRefused(`there were ${MAX_REDIRECTS} already`);
      const next = nextTarget(location, target, this.#rights);
      const { status } = response;
      const becomesGet =
        status === 303 ? method !== "GET" && method !== "HEAD" : status < 303 && method === "POST";
      if (becomesGet) {
        method = "GET";
        body = undefined;
      } else if (body && !(body instanceof Uint8Array)) {
        throw redirectRefused("the request's body was streamed, and cannot be sent again");
      }
      headers = redirectedHeaders(headers, {
        otherOrigin: next.origin !== target.origin,
        bodyDropped: becomesGet,
      });
      target = next;
    }
  }

  async #send(
    target: Target,
    method: string,
    headers: Headers,
    body: ExchangeRequest["body"],
  ): Promise<ResponseHead> {
    // The user may be asked now, and may take all the time.
    clearTimeout(this.#idle);
    const { signal } = this.#abort;
    signal.throwIfAborted();
    const socket = await connect(target, this.#rights, this.#settings, signal);
    this.#socket = socket;
    if (signal.aborted) {
      socket.destroy();
      throw signal.reason;
    }
    this.#touch();
    const length =
      body instanceof Uint8Array
        ? body.byteLength
        : body
          ? (body.length ?? "chunked")
          : WITH_LENGTH.has(method)
            ? 0
            : undefined;
    const connection = new HttpConnection(socket, target, { method, headers, body: length }, () =>
      this.#touch(),
    );
    // A server may answer before it has heard everything; what it does not want to hear is no failure then.
    if (body instanceof Uint8Array) connection.write(body).catch(() => {});
    else if (body) this.#connected.resolve(connection);
    return connection.response();
  }

  #accept(response: ResponseHead, target: Target, redirected: boolean): Answer {
    const { status, statusText, headers } = response;
    const hasBody = response.body !== NOTHING;
    if (hasBody) this.#body = this.#request.decompress ? decoded(response.body, headers) : response.body;
    return { status, statusText, headers, url: target.url, redirected, hasBody };
  }

  #streamed(): Promise<HttpConnection> {
    const { body } = this.#request;
    if (!body || body instanceof Uint8Array) {
      return Promise.reject(new CallError("EINVAL", "EINVAL: this request has no body that is streamed"));
    }
    this.#abort.signal.throwIfAborted();
    return this.#connected.promise;
  }

  /** Something happened: the time of silence begins anew. */
  #touch(): void {
    if (this.#isOver) return;
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => this.close(silent()), this.#settings.idleMs);
    this.#idle.unref?.();
  }

  /** What the extension may know of an error. */
  #known(error: unknown): unknown {
    const { aborted, reason } = this.#abort.signal;
    if (aborted) return reason;
    if (error instanceof CallError) return error;
    const code = systemCode(error);
    // An error of ours has no such code; the broker reports it to where such things go.
    return code ? new CallError(code, `the connection failed: ${code}`) : error;
  }
}

/**
 * Where a redirect leads. From a protected connection to an open one it is followed only if the user has named that place
 * before: he is not asked, since nobody who is asked in the middle of things can tell why.
 */
function nextTarget(location: string, from: Target, rights: Rights): Target {
  // A header's text is one byte a character, and what most servers put there is UTF-8.
  const next = parseTarget(Buffer.from(location, "latin1").toString("utf8"), from.url);
  if (from.secure && !next.secure && !rights.has({ kind: "net", host: next.host, port: next.port })) {
    throw new CallError(
      "EACCES",
      `EACCES: redirected from ${from.origin} to ${next.origin}, which is not encrypted`,
    );
  }
  return next;
}

const redirectRefused = (why: string): CallError =>
  new CallError("ERR_REDIRECT", `the redirect was not followed: ${why}`);

const silent = (): CallError =>
  new CallError("ETIMEDOUT", "ETIMEDOUT: nothing was sent or read for too long");
