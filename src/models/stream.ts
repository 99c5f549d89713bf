/**
 * From a route (a provider, its protocol and its key) to the `StreamFn` that the agent calls. Nothing of the protocol is
 * loaded before the first call, or before `preload`.
 */

import type { StreamFn } from "@earendil-works/pi-agent-core";
import type {
  Api,
  AssistantMessage,
  AssistantMessageEvent,
  AssistantMessageEventStream,
  Model,
  ProviderEnv,
  ProviderHeaders,
  SimpleStreamOptions,
  TranscriptContext,
} from "@earendil-works/pi-ai";
import manifest from "../../package.json" with { type: "json" };
import { errorText } from "../base/errors.ts";
import { clean, type Party, type RequestFailure } from "./failure.ts";
import { DEFAULT_POLICY, type FetchPolicy, guardedFetch } from "./fetch.ts";
import { withoutSdkHeaders } from "./sdk-headers.ts";

export const USER_AGENT = `xdev/${manifest.version}`;

/** What a request is sent with. Held by the route and handed to pi-ai for one request, never part of the model. */
export interface RequestAuth {
  apiKey?: string;
  headers?: ProviderHeaders;
  env?: ProviderEnv;
  baseUrl?: string;
}

type Start = (
  model: Model<Api>,
  context: TranscriptContext,
  options: SimpleStreamOptions,
  policy: FetchPolicy,
) => AsyncIterable<AssistantMessageEvent>;

export interface Route {
  party: Party;
  /** Its events are taken one by one, as whoever reads the answer takes them; others come as fast as they can. */
  isPaced?: boolean;
  /** Loads the protocol. Called for every request, so it must be cheap the second time. */
  load(): Promise<Start>;
  auth(signal?: AbortSignal): RequestAuth | Promise<RequestAuth>;
}

const STRICT_JSON = new Set(["openai-completions", "openai-responses", "azure-openai-responses"]);

/** Loading the event stream class is all that a replay needs of pi-ai. */
export const loadEventStream = () => import("@earendil-works/pi-ai/utils/event-stream");

/**
 * The stream function of a route. It never rejects: whatever fails ends the stream with `stopReason` "error" and a message
 * for the user, or "aborted" when the caller's signal did it. An `apiKey` in the options is ignored: the route has its own.
 */
export function routeStream(route: Route, tuning: Partial<FetchPolicy> = {}): StreamFn {
  return async (model, context, options = {}) => {
    const { AssistantMessageEventStream: Stream } = await loadEventStream();
    const stream = new Stream();
    const room = route.isPaced ? pace(stream, options.signal) : undefined;
    run(route, { ...DEFAULT_POLICY, ...tuning }, stream, room, model, context, options).catch(
      (error: unknown) => {
        const aborted = options.signal?.aborted === true;
        const message = emptyMessage(model, aborted ? "aborted" : "error");
        message.errorMessage = explain(route.party, undefined, errorText(error));
        stream.push({ type: "error", reason: aborted ? "aborted" : "error", error: message });
        stream.end();
      },
    );
    return stream;
  };
}

async function run(
  route: Route,
  defaults: FetchPolicy,
  stream: AssistantMessageEventStream,
  room: (() => Promise<void>) | undefined,
  model: Model<Api>,
  context: TranscriptContext,
  options: SimpleStreamOptions,
): Promise<void> {
  const [start, auth] = await Promise.all([route.load(), route.auth(options.signal)]);
  let failure: RequestFailure | undefined;
  const policy = {
    ...defaults,
    maxRetries: options.maxRetries ?? defaults.maxRetries,
    maxRetryAfterMs: options.maxRetryDelayMs ?? defaults.maxRetryAfterMs,
  };
  const request: SimpleStreamOptions = {
    ...options,
    apiKey: auth.apiKey,
    headers: {
      // A module's stream is none of the SDKs here, and need not know which variables there are.
      ...(route.isPaced ? {} : withoutSdkHeaders(model, auth.apiKey)),
      ...auth.headers,
      ...options.headers,
    },
    env: { ...auth.env, ...options.env },
    identity: { userAgent: { custom: USER_AGENT }, attribution: null },
    // Ours come before the SDK's: retries in `fetch`, and the idle limit in place of one over the whole request.
    maxRetries: 0,
    timeoutMs: 2_147_483_647,
    fetch: guardedFetch({
      party: route.party,
      policy,
      userAgent: USER_AGENT,
      json: STRICT_JSON.has(model.api),
      onFailure: (latest) => {
        failure = latest;
      },
    }),
  };
  const asked = auth.baseUrl ? { ...model, baseUrl: auth.baseUrl } : model;
  const inner = start(asked, context, request, policy);
  for await (const event of inner) {
    if (event.type === "error" && event.reason === "error") {
      event.error.errorMessage = explain(route.party, failure, event.error.errorMessage ?? "");
    }
    stream.push(event);
    await room?.();
  }
  stream.end();
}

/**
 * Gives what waits until the reader of a stream has taken all events. Somebody who only wants the result reads none, and is not
 * waited for; nor is one who has stopped reading, or a request that was aborted.
 */
function pace(stream: AssistantMessageEventStream, signal: AbortSignal | undefined): () => Promise<void> {
  const read = stream[Symbol.asyncIterator].bind(stream);
  let isRead = false;
  let wake = (): void => {};
  let waiting = 0;
  const push = stream.push.bind(stream);
  stream.push = (event) => {
    waiting++;
    push(event);
  };
  stream[Symbol.asyncIterator] = async function* () {
    isRead = true;
    try {
      for await (const event of { [Symbol.asyncIterator]: read }) {
        yield event;
        waiting--;
        if (waiting === 0) wake();
      }
    } finally {
      isRead = false;
      wake();
    }
  };
  return async () => {
    if (!isRead || waiting === 0 || signal?.aborted) return;
    const taken = Promise.withResolvers<void>();
    wake = () => taken.resolve();
    const stop = wake;
    signal?.addEventListener("abort", stop);
    await taken.promise;
    signal?.removeEventListener("abort", stop);
  };
}

function explain(party: Party, failure: RequestFailure | undefined, text: string): string {
  if (failure) return failure.message;
  if (/ended (?:without|before)|premature|terminated|socket|connection|closed|aborted/i.test(text)) {
    return `provider "${party.provider}" closed the connection before its answer was complete: ${clean(text)}`;
  }
  return `provider "${party.provider}": ${clean(text)}`;
}

/** An assistant message with nothing in it: where every answer begins. */
export function emptyMessage(
  model: Model<Api>,
  stopReason: AssistantMessage["stopReason"],
): AssistantMessage {
  const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };
  return {
    role: "assistant",
    content: [],
    api: model.api,
    provider: model.provider,
    model: model.id,
    usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0, cost },
    stopReason,
    timestamp: Date.now(),
  };
}
