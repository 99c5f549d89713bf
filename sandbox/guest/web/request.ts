import { Body, extractBody, shareSource, takeSource } from "./body.ts";
import { Headers, type HeadersInit } from "./headers.ts";

export interface RequestInit {
  method?: string;
  headers?: HeadersInit;
  body?: unknown;
  signal?: AbortSignal | null;
  redirect?: string;
  [other: string]: unknown;
}

const NORMAL = /^(?:delete|get|head|options|post|put)$/i;
const FORBIDDEN = /^(?:connect|trace|track)$/i;

/** `Request` of the Fetch standard. What is a browser's business (mode, cache, credentials, …) is there and does nothing. */
export class Request extends Body {
  readonly #url: string;
  readonly #method: string;
  readonly #headers: Headers;
  readonly #signal: AbortSignal;
  readonly #redirect: "follow" | "error" | "manual";
  readonly #other: Readonly<Record<string, unknown>>;

  constructor(input: unknown, init: RequestInit = {}) {
    const from = input instanceof Request ? input : undefined;
    const url = from ? from.url : parseUrl(input);
    const options = init ?? {};
    const method = methodOf(options.method ?? from?.method ?? "GET");
    const given = options.body ?? undefined;
    if (given !== undefined && (method === "GET" || method === "HEAD")) {
      throw new TypeError("Request with GET/HEAD method cannot have body.");
    }
    const extracted = extractBody(given);
    super(extracted ? extracted.source : from && takeSource(from));
    this.#url = url;
    this.#method = method;
    this.#headers = new Headers(options.headers ?? from?.headers);
    if (extracted?.type && !this.#headers.has("content-type")) {
      this.#headers.set("content-type", extracted.type);
    }
    const redirect = options.redirect ?? from?.redirect ?? "follow";
    if (redirect !== "follow" && redirect !== "error" && redirect !== "manual") {
      throw new TypeError(`Request: ${redirect} is no kind of redirect`);
    }
    this.#redirect = redirect;
    const signal = options.signal === undefined ? from?.signal : options.signal;
    this.#signal = signal ? checkSignal(signal) : new AbortController().signal;
    this.#other = { ...(from ? from.#other : {}), ...options };
  }

  get url(): string {
    return this.#url;
  }

  get method(): string {
    return this.#method;
  }

  override get headers(): Headers {
    return this.#headers;
  }

  get signal(): AbortSignal {
    return this.#signal;
  }

  get redirect(): "follow" | "error" | "manual" {
    return this.#redirect;
  }

  get mode(): unknown {
    return this.#other.mode ?? "cors";
  }

  get cache(): unknown {
    return this.#other.cache ?? "default";
  }

  get credentials(): unknown {
    return this.#other.credentials ?? "same-origin";
  }

  get referrer(): unknown {
    return this.#other.referrer ?? "about:client";
  }

  get referrerPolicy(): unknown {
    return this.#other.referrerPolicy ?? "";
  }

  get integrity(): unknown {
    return this.#other.integrity ?? "";
  }

  get keepalive(): boolean {
    return this.#other.keepalive === true;
  }

  get destination(): string {
    return "";
  }

  get duplex(): string {
    return "half";
  }

  clone(): Request {
    const source = shareSource(this);
    const body =
      source && ("bytes" in source ? source.bytes : "stream" in source ? source.stream : undefined);
    const { signal, method, headers, redirect } = this;
    return new Request(this.#url, { ...this.#other, method, headers, redirect, signal, body });
  }
}

function parseUrl(input: unknown): string {
  const text = String(input);
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    const cause = Object.assign(new TypeError("Invalid URL"), { code: "ERR_INVALID_URL", input: text });
    throw new TypeError(`Failed to parse URL from ${text}`, { cause });
  }
  if (url.username !== "" || url.password !== "") {
    throw new TypeError("Request cannot be constructed from a URL that includes credentials");
  }
  return url.href;
}

function methodOf(value: unknown): string {
  const method = String(value);
  if (!/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(method) || FORBIDDEN.test(method)) {
    throw new TypeError(`'${method}' is not a valid HTTP method.`);
  }
  return NORMAL.test(method) ? method.toUpperCase() : method;
}

function checkSignal(signal: AbortSignal): AbortSignal {
  if (typeof signal !== "object" || typeof signal.addEventListener !== "function") {
    throw new TypeError("Request: signal must be an AbortSignal");
  }
  return signal;
}
