/**
 * A module's `streamSimple` as the stream of a model. The host asks for the next parts when whoever reads the answer has taken those
 * before: what a fast module has made beyond that waits in the module. It never waits for longer than a limit, and whatever goes
 * wrong is a failed request with a text for the user.
 */
import type {
  Api,
  AssistantMessageEvent,
  Model,
  SimpleStreamOptions,
  TranscriptContext,
} from "@earendil-works/pi-ai";
import { errorText } from "../base/errors.ts";
import { formatMs, sleep } from "../base/time.ts";
import type { Extension } from "./extension.ts";
import { keepRequest } from "./provider-calls.ts";
import { Answer, parseBatch } from "./provider-parts.ts";

export interface GuestRequest {
  extension: Extension;
  /** The provider's name. */
  provider: string;
  model: Model<Api>;
  context: TranscriptContext;
  options: SimpleStreamOptions;
  /** The longest silence between two parts, in ms. */
  idleMs: number;
}

/** What of the options a module is given: nothing of the host's own, and no function. */
const OPTIONS = [
  ...["apiKey", "headers", "temperature", "maxTokens", "reasoning", "thinkingBudgets", "toolChoice"],
  ...["sessionId", "cacheRetention", "samplingParams", "metadata"],
] as const;

/**
 * The longest answer, in bytes of its parts on their way: text counts as a part, and again in the final message. No more than may be
 * sent in a second, so that a fast module is not ended for what it was asked for.
 */
const MAX_ANSWER_BYTES = 8 * 1024 * 1024;
/** How often a module that has nothing to send says so, in ms. It shows that it lives. */
const MAX_WAIT_MS = 2000;

let nextStream = 1;

/** The events of one answer; the last is `done` or `error`. Never throws. */
export async function* guestEvents(request: GuestRequest): AsyncGenerator<AssistantMessageEvent> {
  const { extension, model, options } = request;
  const { signal } = options;
  const stream = `p${nextStream++}`;
  const answer = new Answer(model);
  let release = (): void => {};
  let hasEnded = false;
  try {
    release = keepRequest(extension, stream, { options, model });
    for await (const part of parts(request, stream)) {
      for (const event of answer.add(part)) yield event;
      hasEnded = answer.isOver;
      if (hasEnded) return;
    }
    throw new Error("ended its answer without saying how it ends");
  } catch (error) {
    const isAborted = signal?.aborted === true;
    const why = isAborted
      ? "the request was aborted"
      : `extension ${extension.name} ${reasonOf(error, extension)}`;
    yield answer.failed(isAborted ? "aborted" : "error", why);
  } finally {
    release();
    // It may still be at work, and is told that nobody wants more of it.
    const { eventTimeoutMs: timeoutMs } = extension.limits;
    if (!hasEnded) {
      extension.request("provider_stream", { step: "close", stream }, { timeoutMs }).catch(() => {});
    }
  }
}

/** An error of ours begins with who it is about. */
function reasonOf(error: unknown, { name }: Extension): string {
  const text = errorText(error);
  const prefix = `extension ${name} `;
  return text.startsWith(prefix) ? text.slice(prefix.length) : text;
}

async function* parts(request: GuestRequest, stream: string): AsyncGenerator<unknown> {
  const { extension, idleMs, options } = request;
  const { signal } = options;
  const { eventTimeoutMs } = extension.limits;
  const waitMs = Math.max(1, Math.min(MAX_WAIT_MS, eventTimeoutMs / 2, idleMs));
  let step = await opening(request, stream, waitMs);
  const most = Math.min(MAX_ANSWER_BYTES, extension.limits.maxFrameBytes);
  let bytes = 0;
  let lastPart = performance.now();
  for (;;) {
    const askedAt = performance.now();
    const asked = extension.request("provider_stream", step, { timeoutMs: eventTimeoutMs });
    const reply = await untilAborted(asked, signal);
    if (reply.error != null) throw new Error(`failed: ${reply.error || "it does not say why"}`);
    const batch = parseBatch(reply.result);
    for (const part of batch.parts) {
      bytes += Buffer.byteLength(JSON.stringify(part) ?? "");
      if (bytes > most) throw new Error(`gave an answer of more than ${most} bytes`);
      yield part;
      signal?.throwIfAborted();
    }
    if (batch.isOver) return;
    if (batch.parts.length > 0) lastPart = performance.now();
    else if (performance.now() - lastPart > idleMs) {
      throw new Error(`has sent nothing of its answer for ${formatMs(idleMs)}`);
    } else {
      // One that has nothing says so when it has waited; one that says so at once must not keep the host busy.
      const early = waitMs - (performance.now() - askedAt);
      if (early > 1) await sleep(early, signal);
    }
    step = { step: "next", stream, waitMs };
  }
}

/** Waits no longer than the signal says; what comes later is nobody's. */
async function untilAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  work.catch(() => {});
  if (!signal) return work;
  signal.throwIfAborted();
  let stop: (() => void) | undefined;
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    if (stop) signal.removeEventListener("abort", stop);
  }
}

async function opening(
  { provider, model, context, options }: GuestRequest,
  stream: string,
  waitMs: number,
): Promise<Record<string, unknown>> {
  const { getCurrentSystemPrompt, getCurrentTools } = await import("@earendil-works/pi-ai/utils/transcript");
  const { messages } = context;
  return {
    step: "open",
    stream,
    waitMs,
    provider,
    model,
    messages,
    systemPrompt: getCurrentSystemPrompt(messages),
    tools: getCurrentTools(messages),
    options: Object.fromEntries(OPTIONS.map((name) => [name, options[name as keyof SimpleStreamOptions]])),
    hasOnPayload: options.onPayload !== undefined,
    hasOnResponse: options.onResponse !== undefined,
  };
}
