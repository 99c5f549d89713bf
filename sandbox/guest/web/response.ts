import { Body, type Extracted, extractBody, type Source, shareSource } from "./body.ts";
import { Headers, type HeadersInit } from "./headers.ts";

export interface ResponseInit {
  status?: number;
  statusText?: string;
  headers?: HeadersInit;
}

type Kind = "basic" | "default" | "error" | "opaqueredirect";

interface Made {
  source: Source | undefined;
  kind: Kind;
  url: string;
  redirected: boolean;
}

const NULL_BODY: readonly number[] = [101, 204, 205, 304];
const REDIRECTS: readonly number[] = [301, 302, 303, 307, 308];

/** A response that no constructor call of a guest makes. */
export let makeResponse: (made: Made, init: ResponseInit & { status: number }) => Response;
/** What the next constructor call takes instead of its first argument. */
let making: Made | undefined;

/** `Response` of the Fetch standard. */
export class Response extends Body {
  readonly #status: number;
  readonly #statusText: string;
  readonly #headers: Headers;
  readonly #made: Made;

  static {
    makeResponse = (made, init) => {
      making = made;
      try {
        return new Response(undefined, init);
      } finally {
        making = undefined;
      }
    };
  }

  constructor(body?: unknown, init: ResponseInit = {}) {
    const made = making;
    making = undefined;
    const { status = 200, statusText = "", headers } = init ?? {};
    let extracted: Extracted | undefined;
    if (!made) {
      if (!Number.isInteger(status) || status < 200 || status > 599) {
        throw new RangeError("Response: status must be from 200 to 599");
      }
      if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(statusText)) throw new TypeError("Response: invalid statusText");
      extracted = extractBody(body);
      if (extracted && NULL_BODY.includes(status)) {
        throw new TypeError(`Response: status ${status} has no body`);
      }
    }
    super(made ? made.source : extracted?.source);
    this.#made = made ?? { source: undefined, kind: "default", url: "", redirected: false };
    this.#status = Number(status);
    this.#statusText = String(statusText);
    this.#headers = new Headers(headers);
    if (extracted?.type && !this.#headers.has("content-type")) {
      this.#headers.set("content-type", extracted.type);
    }
  }

  get status(): number {
    return this.#status;
  }

  get statusText(): string {
    return this.#statusText;
  }

  get ok(): boolean {
    return this.#status >= 200 && this.#status < 300;
  }

  override get headers(): Headers {
    return this.#headers;
  }

  get type(): Kind {
    return this.#made.kind;
  }

  get url(): string {
    return this.#made.url;
  }

  get redirected(): boolean {
    return this.#made.redirected;
  }

  clone(): Response {
    const { status, statusText, headers } = this;
    return makeResponse({ ...this.#made, source: shareSource(this) }, { status, statusText, headers });
  }

  static error(): Response {
    return makeResponse({ source: undefined, kind: "error", url: "", redirected: false }, { status: 0 });
  }

  static json(value: unknown, init: ResponseInit = {}): Response {
    const text = JSON.stringify(value);
    if (text === undefined) throw new TypeError("Response.json: the value is no JSON");
    const headers = new Headers(init?.headers);
    if (!headers.has("content-type")) headers.set("content-type", "application/json");
    return new Response(text, { ...init, headers });
  }

  static redirect(url: unknown, status = 302): Response {
    const location = new URL(String(url)).href;
    if (!REDIRECTS.includes(status)) throw new RangeError(`Response.redirect: ${status} is no redirect`);
    return new Response(null, { status, headers: { location } });
  }
}
