/** A request to a model, made by the host: the guest says which and what, and gets the events of the answer. */

import { agent } from "xdev:system";
import type {
  Api,
  AssistantMessage,
  AssistantMessageEvent,
  Context,
  Model,
  SimpleStreamOptions,
} from "@earendil-works/pi-ai";
import { AssistantMessageEventStream } from "@earendil-works/pi-ai/utils/event-stream";
import { StreamedMessage } from "../../api/streamed-message.ts";
import { spoken } from "./transcript.ts";

/** Beyond it there is no request, in bytes of UTF-8: the host refuses longer frames. */
const MAX_REQUEST_BYTES = 6 * 1024 * 1024;

type Options = SimpleStreamOptions & { reasoningEffort?: unknown };
type Part = Record<string, unknown> & { type: string };

/** pi-ai's contract: it never throws and never rejects, what fails is the stream's last event. */
export function hostStream(
  model: Model<Api>,
  context: Context,
  options: Options = {},
): AssistantMessageEventStream {
  const stream = new AssistantMessageEventStream();
  const answer = new Answer(model, stream);
  answer.run(context, options ?? {}).catch((error: unknown) => answer.fail("error", messageOf(error)));
  return stream;
}

class Answer {
  readonly #model: Model<Api>;
  readonly #stream: AssistantMessageEventStream;
  readonly #message = new StreamedMessage();
  #partial: Record<string, unknown>;
  #isOver = false;

  constructor(model: Model<Api>, stream: AssistantMessageEventStream) {
    this.#model = model;
    this.#stream = stream;
    this.#partial = emptyMessage(model);
  }

  async run(context: Context, options: Options): Promise<void> {
    const { provider, id } = this.#model ?? {};
    if (typeof provider !== "string" || typeof id !== "string") {
      throw new Error("the model is none: it needs its provider and its id (see ctx.modelRegistry.find)");
    }
    const { signal } = options;
    if (signal?.aborted) return this.fail("aborted", "Request was aborted");
    const request = {
      provider,
      modelId: id,
      context: plainContext(spoken(context)),
      options: plainOptions(options),
    };
    checkSize(request);
    let name: string | undefined;
    const onAbort = (): void => {
      this.fail("aborted", "Request was aborted");
      if (name !== undefined) void agent.ask("model.abort", { stream: name }).catch(() => {});
    };
    signal?.addEventListener("abort", onAbort, { once: true });
    try {
      const { stream } = (await agent.ask("model.stream", request)) as { stream: string };
      name = stream;
      if (this.#isOver) return onAbort();
      while (!this.#isOver) {
        const { parts, done } = (await agent.ask("model.next", { stream })) as {
          parts: Part[];
          done: boolean;
        };
        for (const part of parts) this.#take(part);
        if (done && !this.#isOver) this.fail("error", "the answer has no end");
      }
    } finally {
      signal?.removeEventListener("abort", onAbort);
    }
  }

  #take(part: Part): void {
    if (this.#isOver) return;
    if (part.type === "failed") return this.fail("error", String(part.message));
    if (part.type === "done" || part.type === "error") {
      this.#isOver = true;
      this.#stream.push(part as unknown as AssistantMessageEvent);
      this.#stream.end();
      return;
    }
    if (part.type === "start") {
      this.#message.start(part.message);
      this.#partial = this.#message.add(undefined);
      this.#stream.push({ type: "start", partial: this.#partial } as unknown as AssistantMessageEvent);
      return;
    }
    this.#partial = this.#message.add(part);
    this.#stream.push({ ...part, partial: this.#partial } as unknown as AssistantMessageEvent);
  }

  fail(reason: "error" | "aborted", errorMessage: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const error = { ...this.#partial, stopReason: reason, errorMessage } as unknown as AssistantMessage;
    this.#stream.push({ type: "error", reason, error });
    this.#stream.end();
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function emptyMessage(model: Partial<Model<Api>> | undefined): Record<string, unknown> {
  const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };
  return {
    role: "assistant",
    content: [],
    api: model?.api ?? "unknown",
    provider: model?.provider ?? "unknown",
    model: model?.id ?? "unknown",
    usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0, cost },
    stopReason: "stop",
    timestamp: Date.now(),
  };
}

/** The members that the host looks at: schemas have functions of their builders on them, messages what an extension put there. */
function plainContext({ systemPrompt, messages, tools }: Context): Record<string, unknown> {
  return {
    ...(systemPrompt === undefined ? {} : { systemPrompt }),
    messages,
    ...(tools === undefined
      ? {}
      : { tools: tools.map(({ name, description, parameters }) => ({ name, description, parameters })) }),
  };
}

const LEVELS: ReadonlySet<unknown> = new Set(["minimal", "low", "medium", "high", "xhigh", "max"]);

/** What of the options is the guest's to say. A key, an address and headers are not. */
function plainOptions(options: Options): Record<string, unknown> {
  const { maxTokens, temperature, toolChoice, cacheRetention } = options;
  const reasoning = options.reasoning ?? options.reasoningEffort;
  return {
    ...(typeof maxTokens === "number" ? { maxTokens } : {}),
    ...(typeof temperature === "number" ? { temperature } : {}),
    ...(LEVELS.has(reasoning) ? { reasoning } : {}),
    ...(toolChoice === "auto" || toolChoice === "none" ? { toolChoice } : {}),
    ...(cacheRetention === undefined ? {} : { cacheRetention }),
  };
}

function checkSize(request: unknown): void {
  let bytes = 0;
  const text = JSON.stringify(request);
  // No character has more than three bytes for each unit.
  if (text.length * 3 <= MAX_REQUEST_BYTES) return;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    bytes += unit < 0x80 ? 1 : unit < 0x800 ? 2 : 3;
  }
  if (bytes <= MAX_REQUEST_BYTES) return;
  const megabytes = (count: number): string => (count / 1024 / 1024).toFixed(1);
  throw new RangeError(
    `the request is too large: ${megabytes(bytes)} MB of at most ${megabytes(MAX_REQUEST_BYTES)}. Leave out images or old messages`,
  );
}
