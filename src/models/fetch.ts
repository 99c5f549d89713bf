/**
 * The `fetch` that provider SDKs are given. One place for what each SDK does differently or not at all: retries, the idle
 * limit, redirects, error texts, and headers that say more about the user than the request needs.
 */
import { log } from "../base/log.ts";
import { sleep } from "../base/time.ts";
import { silence, watchEvents } from "./body.ts";
import {
  type Answer,
  networkFailure,
  networkKind,
  type Party,
  type RequestFailure,
  retryAfterFailure,
  statusFailure,
} from "./failure.ts";
import { isLoopbackUrl } from "./net.ts";

export interface FetchPolicy {
  /** Retries after 408, 429 and 5xx; 401, 400, 404 and the like are never retried. Default 3. */
  maxRetries: number;
  /** The first wait in ms when the server names none; it doubles each time. Default 500. */
  retryBaseMs: number;
  /** The longest `Retry-After` in ms that is waited for; a longer one is an error at once. Default 60,000; 0 is no limit. */
  maxRetryAfterMs: number;
  /** The longest silence of a server in ms, before its headers and between any two parts of its answer. Default 300,000. */
  idleMs: number;
  /** Told before each wait. */
  onRetry?: (retry: { status: number; attempt: number; waitMs: number }) => void;
}

export const DEFAULT_POLICY: FetchPolicy = {
  maxRetries: 3,
  retryBaseMs: 500,
  maxRetryAfterMs: 60_000,
  idleMs: 300_000,
};

/** The key that SDKs are given when there is none; a header that carries it is not sent. */
export const NO_KEY = "xdev-no-key";

const MAX_BACKOFF_MS = 8000;
/** Statuses that a `Response` can't have together with a body; the SDK gets another, the user reads the real one. */
const BODILESS = [101, 103, 204, 205, 304];
const MAX_ERROR_BODY = 64 * 1024;
const SPENT = /insufficient_quota|quota exceeded|billing|out of budget/i;

export interface GuardedFetchOptions {
  party: Party;
  policy: FetchPolicy;
  userAgent: string;
  /** Whether the data of its events is strict JSON. */
  json: boolean;
  /** Told the failure that the user should read, whatever the SDK makes of it. The last one counts. */
  onFailure(failure: RequestFailure | undefined): void;
}

/** A `fetch` for one request of a model (with its retries). */
export function guardedFetch(options: GuardedFetchOptions): typeof globalThis.fetch {
  const { party, policy } = options;
  const guarded = async (input: RequestInfo | URL, init: RequestInit = {}): Promise<Response> => {
    const url = input instanceof Request ? input.url : String(input);
    const signal = init.signal ?? (input instanceof Request ? input.signal : undefined);
    const headers = cleanHeaders(
      new Headers(init.headers ?? (input as Request).headers),
      url,
      options.userAgent,
    );
    // `proxy: false` is Bun's: a proxy from the environment must not see what goes to this machine (Deno has NO_PROXY for that). `timeout: false`
    // is Bun's too: its own limit of five minutes would come before ours.
    const direct = isLoopbackUrl(url) ? { proxy: false } : {};
    let resets = 0;
    for (let attempt = 0; ; ) {
      const limit = new AbortController();
      const timer = setTimeout(() => limit.abort(), policy.idleMs);
      let response: Response;
      try {
        response = await globalThis.fetch(input instanceof Request ? input.clone() : input, {
          ...init,
          headers,
          redirect: "manual",
          signal: signal ? AbortSignal.any([signal, limit.signal]) : limit.signal,
          ...({ timeout: false, ...direct } as object),
        });
      } catch (error) {
        if (signal?.aborted) throw error;
        // A kept-alive connection that the server has just closed looks like this, once.
        if (!limit.signal.aborted && networkKind(error) === "reset" && resets++ === 0) continue;
        const failure = limit.signal.aborted
          ? silence({ party, idleMs: policy.idleMs })
          : networkFailure(party, error);
        options.onFailure(failure);
        throw failure;
      } finally {
        clearTimeout(timer);
      }
      if (response.ok) return accept(response, url, init, options);
      const answer = await readAnswer(response, policy.idleMs, attempt);
      options.onFailure(statusFailure(party, answer));
      const waitMs = retryWait(response, answer, attempt, policy);
      if (waitMs === undefined) return rebuild(response, answer.body);
      if (policy.maxRetryAfterMs > 0 && waitMs > policy.maxRetryAfterMs) {
        options.onFailure(retryAfterFailure(party, answer, waitMs));
        return rebuild(response, answer.body);
      }
      attempt++;
      log.debug(
        `provider "${party.provider}" answered ${answer.status}: retry ${attempt} in ${Math.round(waitMs)} ms`,
      );
      policy.onRetry?.({ status: answer.status, attempt, waitMs });
      await sleep(waitMs, signal ?? undefined);
      options.onFailure(undefined);
    }
  };
  return guarded as typeof globalThis.fetch;
}

/** How long to wait before the next try in ms, or undefined if there is to be none. */
function retryWait(
  response: Response,
  answer: Answer,
  attempt: number,
  policy: FetchPolicy,
): number | undefined {
  const { status } = answer;
  const advice = response.headers.get("x-should-retry");
  const retryable = (status === 408 || status === 429 || status >= 500) && advice !== "false";
  if (!retryable || attempt >= policy.maxRetries || SPENT.test(answer.body)) return undefined;
  return retryAfterMs(response.headers) ?? backoffMs(attempt, policy.retryBaseMs);
}

/** `Retry-After` in ms, from seconds or an HTTP date (RFC 9110, section 10.2.3), or undefined. Never negative. */
export function retryAfterMs(headers: Headers, now: number = Date.now()): number | undefined {
  const exact = Number(headers.get("retry-after-ms") || Number.NaN);
  if (Number.isFinite(exact)) return Math.max(0, exact);
  const value = headers.get("retry-after")?.trim();
  if (!value) return undefined;
  const seconds = Number(value);
  const ms = Number.isNaN(seconds) ? Date.parse(value) - now : seconds * 1000;
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined;
}

function backoffMs(attempt: number, baseMs: number): number {
  return Math.min(baseMs * 2 ** attempt, MAX_BACKOFF_MS) * (1 - Math.random() * 0.25);
}

/** Removes what SDKs add about the user's machine and accounts, and a key that is none. */
function cleanHeaders(headers: Headers, url: string, userAgent: string): Headers {
  const openai = /^https:\/\/([a-z]+\.)?api\.openai\.com\//.test(url);
  for (const [name, value] of [...headers]) {
    const stainless = name.startsWith("x-stainless-");
    // The OpenAI SDK takes these from its own environment variables and sends them to whatever server it talks to.
    const account = (name === "openai-organization" || name === "openai-project") && !openai;
    if (stainless || account || value.includes(NO_KEY)) headers.delete(name);
  }
  if (!headers.has("user-agent")) headers.set("user-agent", userAgent);
  return headers;
}

function accept(response: Response, url: string, init: RequestInit, options: GuardedFetchOptions): Response {
  const streamed =
    url.includes("alt=sse") || (typeof init.body === "string" && init.body.includes('"stream":true'));
  if (!streamed) return response;
  const body = watchEvents(response.body ?? new Blob([]).stream(), {
    party: options.party,
    status: `${response.status}${response.statusText && ` ${response.statusText}`}`,
    contentType: response.headers.get("content-type") ?? "",
    idleMs: options.policy.idleMs,
    json: options.json,
    onFailure: options.onFailure,
  });
  return rebuild(response, body);
}

function rebuild(response: Response, body: ReadableStream<Uint8Array> | string): Response {
  const headers = new Headers(response.headers);
  // The body is decoded already, and no longer of that length.
  headers.delete("content-encoding");
  headers.delete("content-length");
  // The retries are done here: no SDK shall add its own.
  headers.set("x-should-retry", "false");
  const status = BODILESS.includes(response.status) ? (response.ok ? 200 : 500) : response.status;
  return new Response(body, { status, statusText: response.statusText, headers });
}

async function readAnswer(response: Response, idleMs: number, retries: number): Promise<Answer> {
  const { status, statusText } = response;
  return {
    status,
    statusText,
    retries,
    location: response.headers.get("location"),
    body: await readText(response, idleMs),
  };
}

/** At most 64 KiB of an error's body; what can't be read counts as empty. */
async function readText(response: Response, idleMs: number): Promise<string> {
  const reader = response.body?.getReader();
  if (!reader) return "";
  const timer = setTimeout(() => void reader.cancel().catch(() => {}), Math.min(idleMs, 10_000));
  const decoder = new TextDecoder();
  let text = "";
  try {
    while (text.length < MAX_ERROR_BODY) {
      const { done, value } = await reader.read();
      if (done) break;
      text += decoder.decode(value, { stream: true });
    }
  } catch {
    // The status says enough.
  } finally {
    clearTimeout(timer);
    reader.cancel().catch(() => {});
  }
  return text.slice(0, MAX_ERROR_BODY);
}
