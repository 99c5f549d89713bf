/**
 * The model providers of an extension (extension-api.md, `registerProvider`): what is data of them goes to the host, which asks for
 * the rest. A stream is read only when the host asks for more of it, so that what it has not taken waits here; the messages so far
 * never cross, the host puts them together from the parts. Loaded with the first provider.
 */
import type { Transmitter } from "./transmit.ts";

const { setTimeout: startTimer, clearTimeout: stopTimer, AbortController: Controller } = globalThis;

// biome-ignore lint/suspicious/noExplicitAny: the extension's functions take what the host sends, and the host checks what they give
type Foreign = (...args: any[]) => unknown;
type Json = Record<string, unknown>;

interface ProviderConfig extends Json {
  streamSimple?: Foreign;
  oauth?: {
    name?: unknown;
    login?: Foreign;
    refreshToken?: Foreign;
    getApiKey?: Foreign;
    modifyModels?: Foreign;
  };
}

/** One answer of a model on its way. */
interface Open {
  iterator: AsyncIterator<unknown> | Iterator<unknown>;
  /** Gives the final message of a stream that ends without one. */
  result: (() => unknown) | undefined;
  abort: AbortController;
  /** What was asked of the iterator and is not with the host yet. */
  pending: Settled | undefined;
  isOver: boolean;
  /** Resolves when the host wants no more. */
  closed: Promise<void>;
  close: () => void;
}

interface Settled {
  promise: Promise<void>;
  outcome: { done: boolean; value: unknown } | { error: unknown } | undefined;
}

/** One frame holds at most so many parts, and is full with so many characters. */
const MAX_PARTS = 100;
const MAX_CHARS = 64 * 1024;
/** So many turns of the microtask queue a part may take to be counted as there already. */
const SOON = 12;

export interface Providers {
  register(name: unknown, config: unknown): void;
  unregister(name: unknown): void;
  /** The host's events `provider_stream` and `provider_auth`; gives the answer's result. */
  handle(event: string, payload: Json, signal: AbortSignal): Promise<unknown>;
}

export function createProviders(transmitter: Transmitter, names: Map<string, unknown>): Providers {
  const configs = new Map<string, ProviderConfig>();
  const streams = new Map<string, Open>();

  const known = (name: unknown): ProviderConfig => {
    const config = configs.get(String(name));
    if (!config) throw new Error(`has no provider ${String(name)}`);
    return config;
  };

  const stream = async (payload: Json): Promise<unknown> => {
    const id = String(payload.stream);
    if (payload.step === "close") {
      close(streams, id);
      return {};
    }
    let open = streams.get(id);
    if (payload.step === "open") {
      open = await begin(transmitter, known(payload.provider), payload);
      streams.set(id, open);
    }
    if (!open) throw new Error("has no such stream");
    try {
      const parts = await take(open, Number(payload.waitMs));
      if (open.isOver) streams.delete(id);
      return { parts, isOver: open.isOver };
    } catch (error) {
      close(streams, id);
      throw error;
    }
  };

  const authorize = async (payload: Json, signal: AbortSignal): Promise<unknown> => {
    const { oauth } = known(payload.provider);
    const call = (name: "login" | "refreshToken" | "getApiKey" | "modifyModels"): Foreign => {
      const method = oauth?.[name];
      if (typeof method !== "function") throw new Error(`its provider has no oauth.${name}`);
      return method.bind(oauth) as Foreign;
    };
    const { credentials } = payload;
    const run = (): unknown => {
      switch (payload.step) {
        case "login":
          return call("login")(loginCallbacks(transmitter, signal));
        case "refresh":
          return call("refreshToken")(credentials, signal);
        case "key":
          return call("getApiKey")(credentials);
        default:
          return call("modifyModels")(payload.models, credentials);
      }
    };
    // What does not heed the signal is not waited for.
    return Promise.race([run(), aborted(signal)]);
  };

  return {
    register(given, options) {
      const [name, config] =
        typeof given === "object" && given !== null ? fromObject(given as Json) : [given, options];
      if (typeof name !== "string" || name === "") {
        throw new TypeError("pi.registerProvider: the name must be a text that is not empty");
      }
      if (typeof config !== "object" || config === null) {
        throw new TypeError(`pi.registerProvider("${name}"): the provider is described by an object`);
      }
      const { streamSimple, oauth, ...data } = config as ProviderConfig;
      transmitter.send({
        type: "action",
        action: "register_provider",
        payload: {
          ...data,
          name,
          displayName: data.name,
          hasStream: typeof streamSimple === "function",
          oauth: oauth && {
            name: String(oauth.name ?? name),
            changesModels: typeof oauth.modifyModels === "function",
          },
        },
      });
      configs.set(name, config as ProviderConfig);
      names.set(name, null);
    },
    unregister(given) {
      const name = String(given);
      names.delete(name);
      if (configs.delete(name)) {
        transmitter.send({ type: "action", action: "unregister_provider", payload: { name } });
      }
    },
    handle: (event, payload, signal) =>
      event === "provider_stream" ? stream(payload) : authorize(payload, signal),
  };
}

/** A provider as an object of pi-ai's, which has its models and its stream as methods. */
function fromObject(provider: Json): [unknown, Json] {
  const { id, name, baseUrl, headers, streamSimple, getModels } = provider;
  const models = typeof getModels === "function" ? (getModels as Foreign).call(provider) : provider.models;
  return [
    id,
    {
      name,
      baseUrl,
      headers,
      models,
      ...(typeof streamSimple === "function"
        ? { streamSimple: (streamSimple as Foreign).bind(provider) }
        : {}),
    },
  ];
}

async function begin(transmitter: Transmitter, config: ProviderConfig, payload: Json): Promise<Open> {
  const { stream, model, messages, systemPrompt, tools, hasOnPayload, hasOnResponse } = payload;
  const { streamSimple } = config;
  if (typeof streamSimple !== "function") throw new Error("its provider has no streamSimple");
  const abort = new Controller();
  const options: Json = { ...(payload.options as Json), signal: abort.signal };
  if (hasOnPayload === true) {
    options.onPayload = async (body: unknown) => {
      const answer = (await transmitter.ask("provider.payload", { stream, payload: body })) as Json | null;
      return answer?.isChanged === true ? answer.payload : undefined;
    };
  }
  if (hasOnResponse === true) {
    options.onResponse = async (response: { status?: unknown; headers?: unknown }) => {
      const { status, headers } = response;
      await transmitter.ask("provider.response", { stream, status, headers: plainHeaders(headers) });
    };
  }
  // Earlier versions of the family have these two beside the messages.
  const context = Object.defineProperties({ messages } as Json, {
    systemPrompt: { value: systemPrompt },
    tools: { value: tools },
  });
  const given = (await streamSimple(model, context, options)) as Json | null | undefined;
  const make = (given?.[Symbol.asyncIterator as never] ?? given?.[Symbol.iterator as never]) as
    | Foreign
    | undefined;
  if (!given || typeof make !== "function") throw new Error("streamSimple gave nothing that can be iterated");
  const { result } = given;
  let close: () => void = () => {};
  const closed = new Promise<void>((resolve) => {
    close = resolve;
  });
  return {
    iterator: make.call(given) as AsyncIterator<unknown>,
    result: typeof result === "function" ? () => (result as Foreign).call(given) : undefined,
    abort,
    pending: undefined,
    isOver: false,
    closed,
    close,
  };
}

function plainHeaders(headers: unknown): Json {
  const { entries } = (headers ?? {}) as { entries?: unknown };
  if (typeof entries !== "function") return { ...(headers as Json | undefined) };
  return Object.fromEntries((entries as Foreign).call(headers) as Iterable<[string, unknown]>);
}

function close(streams: Map<string, Open>, id: string): void {
  const open = streams.get(id);
  if (!open) return;
  streams.delete(id);
  open.isOver = true;
  open.close();
  open.abort.abort();
  try {
    // A generator that waits ends when it is done waiting.
    void Promise.resolve(open.iterator.return?.()).catch(() => {});
  } catch {
    // The host wants no more of it, whatever it says.
  }
}

/** The next parts: waits for the first, at most so many ms, and gives with it what is there already. */
async function take(open: Open, waitMs: number): Promise<Json[]> {
  const parts: Json[] = [];
  let chars = 0;
  while (parts.length < MAX_PARTS && chars < MAX_CHARS && !open.isOver) {
    open.pending ??= ask(open.iterator);
    const { pending } = open;
    await (parts.length === 0 ? atMost(waitMs, pending.promise, open.closed) : soon(pending));
    const { outcome } = pending;
    if (!outcome || open.isOver) break;
    open.pending = undefined;
    let part: Json | undefined;
    try {
      if ("error" in outcome) throw outcome.error;
      part = outcome.done ? await last(open) : slim(outcome.value);
    } catch (error) {
      if (parts.length === 0) throw error;
      // What came before it is still told.
      open.pending = { promise: Promise.resolve(), outcome: { error } };
      break;
    }
    open.isOver = outcome.done || part?.type === "done" || part?.type === "error";
    if (!part) break;
    parts.push(part);
    chars += sizeOf(part);
  }
  return parts;
}

function ask(iterator: Open["iterator"]): Settled {
  const settled: Settled = { promise: Promise.resolve(), outcome: undefined };
  settled.promise = (async () => {
    try {
      const { done, value } = await iterator.next();
      settled.outcome = { done: done === true, value };
    } catch (error) {
      settled.outcome = { error };
    }
  })();
  return settled;
}

async function soon(pending: Settled): Promise<void> {
  for (let turn = 0; turn < SOON && !pending.outcome; turn++) await undefined;
}

async function atMost(ms: number, ...work: Promise<void>[]): Promise<void> {
  let timer: unknown;
  const late = new Promise<void>((resolve) => {
    timer = startTimer(resolve, ms);
  });
  await Promise.race([...work, late]);
  stopTimer(timer as number);
}

/** What a stream that ended without a final part says by its `result`. */
async function last({ result }: Open): Promise<Json | undefined> {
  const message = (await result?.()) as Json | undefined;
  if (!message) return undefined;
  const { stopReason } = message;
  return stopReason === "error" || stopReason === "aborted"
    ? { type: "error", reason: stopReason, error: message }
    : { type: "done", reason: stopReason, message };
}

/** A part without the message so far. What a tool call is called stands in that alone. */
function slim(given: unknown): Json {
  if (typeof given !== "object" || given === null)
    throw new Error("its stream gave a part that is no object");
  const { type, contentIndex, delta, content, toolCall, reason, message, error, partial } = given as Json;
  if (type === "toolcall_start") {
    const call =
      (partial as { content?: Json[] } | undefined)?.content?.[contentIndex as number] ??
      (toolCall as Json | undefined);
    return { type, contentIndex, id: call?.id, name: call?.name };
  }
  return { type, contentIndex, delta, content, toolCall, reason, message, error };
}

function sizeOf({ type, delta, content }: Json): number {
  const text = type === "text_end" || type === "thinking_end" ? content : delta;
  return 100 + (typeof text === "string" ? text.length : 0);
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const stop = (): void => reject(signal.reason);
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
  });
}

/** What `login` is given: questions and news, which the host shows to the user. */
function loginCallbacks(transmitter: Transmitter, signal: AbortSignal): Json {
  const ask = (question: Json) => transmitter.ask("provider.login", question);
  const tell = (news: Json) => transmitter.call("provider.login", news);
  const textOf = (value: unknown) => (value === undefined || value === null ? undefined : String(value));
  return {
    onAuth: ({ url, instructions }: Json) =>
      tell({ what: "url", url: String(url), instructions: textOf(instructions) }),
    onDeviceCode: ({ userCode, verificationUri, expiresInSeconds }: Json) =>
      tell({
        what: "deviceCode",
        userCode: String(userCode),
        url: String(verificationUri),
        expiresInSeconds,
      }),
    onProgress: (message: unknown) => tell({ what: "progress", message: String(message) }),
    onPrompt: ({ message, placeholder, allowEmpty }: Json) =>
      ask({
        what: "prompt",
        message: String(message),
        placeholder: textOf(placeholder),
        allowEmpty: allowEmpty === true,
      }),
    onManualCodeInput: () => ask({ what: "manualCode" }),
    onSelect: async ({ message, options }: { message: unknown; options: Json[] }) => {
      const listed = options.map(({ id, label }) => ({ id: String(id), label: String(label ?? id) }));
      return (await ask({ what: "select", message: String(message), options: listed })) ?? undefined;
    },
    signal,
  };
}
