/**
 * What a module may ask of models, as calls: which there are, and requests. A request needs the permission `model`; its answer is
 * fetched by the module in batches, so that a slow one gets fewer and longer parts and what waits for it is never more than the
 * answer itself. With the module its requests end.
 */
import type { AssistantMessageEvent } from "@earendil-works/pi-ai";
import * as v from "valibot";
import type { Rights } from "../../sandbox/broker/broker.ts";
import { slimPart } from "../agent/stream-part.ts";
import { randomHex } from "../base/random.ts";
import type { KnownModels, ModelRequest } from "../models/ask.ts";
import type { Extension } from "./extension.ts";
import { isAnswering } from "./provider-calls.ts";
import { toldError } from "./told-error.ts";

/** What the run does for it. */
export interface ModelRequests {
  /** Those of a provider, or all that are configured. */
  known(provider?: string): Promise<KnownModels>;
  /** Throws with a text for the extension: no key in it. */
  ask(request: ModelRequest, signal: AbortSignal): AsyncIterable<AssistantMessageEvent>;
}

/** How many requests one module may have at once. */
const MAX_REQUESTS = 16;
/** The shortest time between two batches of one request, in ms: frames of a module are counted. */
const BATCH_MS = 5;

const name = v.pipe(v.string(), v.minLength(1), v.maxLength(1000));
const longText = v.pipe(v.string(), v.maxLength(16_000_000));
const number = v.pipe(v.number(), v.finite());
const textPart = v.object({
  type: v.literal("text"),
  text: longText,
  textSignature: v.optional(longText),
});
const image = v.object({ type: v.literal("image"), data: longText, mimeType: name });
const thinking = v.object({
  type: v.literal("thinking"),
  thinking: longText,
  thinkingSignature: v.optional(longText),
  redacted: v.optional(v.boolean()),
});
const jsonObject = v.record(v.string(), v.unknown());
const toolCall = v.object({
  type: v.literal("toolCall"),
  id: name,
  name,
  arguments: v.optional(jsonObject, {}),
  thoughtSignature: v.optional(longText),
  namespace: v.optional(name),
});
const shown = v.union([longText, v.pipe(v.array(v.variant("type", [textPart, image])), v.maxLength(1000))]);
const timestamp = v.optional(number, () => Date.now());
const tool = v.object({
  name,
  description: v.optional(longText, ""),
  parameters: v.optional(jsonObject, { type: "object", properties: {} }),
});
const message = v.variant("role", [
  v.object({ role: v.literal("user"), content: shown, timestamp }),
  v.object({
    role: v.literal("system"),
    content: v.union([longText, v.pipe(v.array(textPart), v.maxLength(1000))]),
    sections: v.optional(v.record(v.string(), v.nullable(longText))),
    toolsAdded: v.optional(v.pipe(v.array(tool), v.maxLength(1000))),
    toolsRemoved: v.optional(v.pipe(v.array(v.object({ name })), v.maxLength(1000))),
    timestamp,
  }),
  v.object({
    role: v.literal("assistant"),
    content: v.pipe(v.array(v.variant("type", [textPart, thinking, toolCall])), v.maxLength(10_000)),
    api: v.optional(name, "unknown"),
    provider: v.optional(name, "unknown"),
    model: v.optional(name, "unknown"),
    responseId: v.optional(name),
    stopReason: v.optional(v.picklist(["stop", "length", "toolUse", "error", "aborted"]), "stop"),
    timestamp,
  }),
  v.object({
    role: v.literal("toolResult"),
    toolCallId: name,
    toolName: v.optional(name, "unknown"),
    content: v.pipe(v.array(v.variant("type", [textPart, image])), v.maxLength(1000)),
    isError: v.optional(v.boolean(), false),
    timestamp,
  }),
]);

const requestParams = v.object({
  provider: name,
  modelId: name,
  context: v.object({
    systemPrompt: v.optional(v.union([longText, v.pipe(v.array(longText), v.maxLength(1000))])),
    messages: v.pipe(v.array(message), v.maxLength(10_000)),
    tools: v.optional(v.pipe(v.array(tool), v.maxLength(1000))),
  }),
  // What is not listed is dropped: an address, headers and a key are the host's.
  options: v.object({
    maxTokens: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(10_000_000))),
    temperature: v.optional(v.pipe(number, v.minValue(0), v.maxValue(10))),
    reasoning: v.optional(v.picklist(["minimal", "low", "medium", "high", "xhigh", "max"])),
    toolChoice: v.optional(v.picklist(["auto", "none"])),
    cacheRetention: v.optional(v.picklist(["none", "short", "long"])),
  }),
});

/** What an earlier answer cost is nobody's concern in a request. */
const NO_USAGE = {
  ...{ input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0 },
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
};

/** As the model layer takes it. */
function requestOf({ context, ...request }: v.InferOutput<typeof requestParams>): ModelRequest {
  const { systemPrompt, messages, tools } = context;
  return {
    ...request,
    context: {
      messages: messages.map((one) => (one.role === "assistant" ? { ...one, usage: NO_USAGE } : one)),
      ...(tools ? { tools } : {}),
      ...(systemPrompt === undefined ? {} : { systemPrompt: [systemPrompt].flat().join("\n\n") }),
    } as ModelRequest["context"],
  };
}

/** Parts of an answer that are put together as they come, until somebody takes them. */
class Answer {
  readonly #abort = new AbortController();
  #parts: Record<string, unknown>[] = [];
  #isOver = false;
  #wake: (() => void) | undefined;
  #takenAt = 0;

  constructor(ask: (signal: AbortSignal) => AsyncIterable<AssistantMessageEvent>, life: AbortSignal) {
    const signal = AbortSignal.any([this.#abort.signal, life]);
    void this.#read(ask(signal)).catch((error: unknown) => {
      this.#add({ type: "failed", message: toldError(error) });
    });
  }

  async #read(events: AsyncIterable<AssistantMessageEvent>): Promise<void> {
    for await (const event of events) {
      const part = slimPart(event);
      this.#add(event.type === "start" ? { ...part, message: { ...event.partial, content: [] } } : part);
    }
    if (!this.#isOver) this.#add({ type: "failed", message: "the answer has no end" });
  }

  #add(part: Record<string, unknown>): void {
    const last = this.#parts.at(-1);
    const isOfOnePiece = last?.type === part.type && last?.contentIndex === part.contentIndex;
    if (last && isOfOnePiece && typeof part.delta === "string") last.delta = String(last.delta) + part.delta;
    else this.#parts.push({ ...part });
    this.#isOver ||= ENDS.has(String(part.type));
    this.#wake?.();
  }

  /** What there is by now; waits until there is something, and at least `pauseMs` since the last time. One at a time may wait. */
  async take(pauseMs: number): Promise<{ parts: unknown[]; done: boolean }> {
    if (this.#wake) throw new Error("this answer is being waited for already");
    const until = this.#takenAt + pauseMs;
    while (this.#parts.length === 0 || (!this.#isOver && performance.now() < until)) {
      const something = Promise.withResolvers<void>();
      this.#wake = something.resolve;
      const timer =
        this.#parts.length > 0
          ? setTimeout(something.resolve, Math.max(0, until - performance.now()))
          : undefined;
      await something.promise;
      clearTimeout(timer);
      this.#wake = undefined;
    }
    this.#takenAt = performance.now();
    return { parts: this.#parts.splice(0), done: this.#isOver };
  }

  abort(): void {
    this.#abort.abort();
  }
}

const ENDS: ReadonlySet<string> = new Set(["done", "error", "failed"]);

/** The answers of each module, by the names that it has for them; of one life. */
const answers = new WeakMap<AbortSignal, Map<string, Answer>>();

function answersOf({ life }: Extension): Map<string, Answer> {
  const own = answers.get(life) ?? new Map<string, Answer>();
  answers.set(life, own);
  return own;
}

type Run<S extends v.GenericSchema> = (
  extension: Extension,
  params: v.InferOutput<S>,
  models: ModelRequests | undefined,
  rights: Rights | undefined,
) => unknown;
const define = <S extends v.GenericSchema>(params: S, run: Run<S>) => ({ params, run });
const streamParams = v.object({ stream: name });

async function demandModel(rights: Rights | undefined): Promise<void> {
  if (!rights) throw new Error("models are for modules: a process extension has no permissions yet");
  await rights.demand({ kind: "model" });
}

export const MODEL_CALLS = {
  /** Needs no permission: names, sizes and prices, and which of them could be used. */
  "models.known": define(
    v.object({ provider: v.nullish(name) }),
    (_extension, { provider }, models) => models?.known(provider ?? undefined) ?? NOTHING_KNOWN,
  ),
  /** Whether the provider has credentials. They are not given: what asks with them is the host. */
  "model.mayUse": define(v.object({ provider: name }), async (_extension, { provider }, models, rights) => {
    await demandModel(rights);
    const { providers } = (await models?.known(provider)) ?? NOTHING_KNOWN;
    return { usable: providers.some((one) => one.name === provider && one.usable) };
  }),
  "model.stream": define(requestParams, async (extension, request, models, rights) => {
    const { life } = extension;
    await demandModel(rights);
    if (!models) throw new Error("there is no model");
    if (life.aborted) throw new Error("it has ended");
    if (isAnswering(extension, request.provider)) {
      throw new Error(
        `this is a request to ${request.provider}, which this extension is answering itself: it asks its server with fetch`,
      );
    }
    const own = answersOf(extension);
    if (own.size >= MAX_REQUESTS) {
      throw new Error(`at most ${MAX_REQUESTS} model requests at once: wait until one of them has ended`);
    }
    const stream = randomHex(8);
    own.set(stream, new Answer((signal) => models.ask(requestOf(request), signal), life));
    return { stream };
  }),
  "model.next": define(streamParams, async (extension, { stream }) => {
    const own = answersOf(extension);
    const answer = own.get(stream);
    if (!answer) throw new Error("there is no such request");
    const batch = await answer.take(BATCH_MS * own.size);
    if (batch.done) own.delete(stream);
    return batch;
  }),
  "model.abort": define(streamParams, (extension, { stream }) => {
    const own = answersOf(extension);
    own.get(stream)?.abort();
    own.delete(stream);
  }),
} as const;

const NOTHING_KNOWN: KnownModels = { models: [], providers: [] };
