/**
 * The parts of an answer that a module's model gives, as they cross: checked one by one, and made into what the agent takes from
 * any other provider. The message so far is put together here; of the module's own only the final one counts, and it is checked as well.
 */
import type { Api, AssistantMessage, AssistantMessageEvent, Model, ToolCall } from "@earendil-works/pi-ai";
import * as v from "valibot";

const short = v.pipe(v.string(), v.maxLength(1000));
const optionalShort = v.nullish(short);
/** The longest text is what a frame holds. */
const text = v.string();
const optionalText = v.nullish(text);
const amount = v.nullish(v.pipe(v.number(), v.finite(), v.minValue(0), v.maxValue(1e12)), 0);
const noList = v.check((value: unknown) => !Array.isArray(value), "an object");
const index = v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(999));

const toolCall = v.object({
  type: v.literal("toolCall"),
  id: v.pipe(short, v.minLength(1)),
  name: v.pipe(short, v.minLength(1)),
  arguments: v.pipe(v.unknown(), noList, v.record(v.string(), v.unknown())),
  thoughtSignature: optionalText,
  namespace: optionalShort,
  argumentsError: optionalText,
});

const block = v.variant("type", [
  v.object({ type: v.literal("text"), text, textSignature: optionalText }),
  v.object({
    type: v.literal("thinking"),
    thinking: text,
    thinkingSignature: optionalText,
    redacted: v.nullish(v.boolean()),
  }),
  toolCall,
]);

const usage = v.object({
  input: amount,
  output: amount,
  cacheRead: amount,
  cacheWrite: amount,
  reasoning: v.nullish(v.pipe(v.number(), v.finite(), v.minValue(0), v.maxValue(1e12))),
  totalTokens: amount,
  cost: v.nullish(
    v.object({ input: amount, output: amount, cacheRead: amount, cacheWrite: amount, total: amount }),
  ),
});

const finalMessage = v.object({
  content: v.pipe(
    v.unknown(),
    v.check((value) => !Array.isArray(value) || value.length <= 1000, "at most 1000 parts"),
    v.array(block),
  ),
  usage: v.nullish(usage),
  responseModel: optionalShort,
  responseId: optionalShort,
  rawStopReason: optionalShort,
  providerThinkingLevel: optionalShort,
  errorMessage: optionalText,
});

const delta = { contentIndex: index, delta: text };
const end = { contentIndex: index, content: optionalText };

const part = v.variant("type", [
  v.object({ type: v.literal("start") }),
  v.object({ type: v.picklist(["text_start", "thinking_start"]), contentIndex: index }),
  v.object({ type: v.picklist(["text_delta", "thinking_delta", "toolcall_delta"]), ...delta }),
  v.object({ type: v.picklist(["text_end", "thinking_end"]), ...end }),
  v.object({
    type: v.literal("toolcall_start"),
    contentIndex: index,
    id: optionalShort,
    name: optionalShort,
  }),
  v.object({ type: v.literal("toolcall_end"), contentIndex: index, toolCall }),
  v.object({
    type: v.literal("done"),
    reason: v.picklist(["stop", "length", "toolUse"]),
    message: finalMessage,
  }),
  v.object({
    type: v.literal("error"),
    reason: v.nullish(v.unknown()),
    // A failure is one, however badly it is told.
    error: v.nullish(v.unknown()),
  }),
]);
type Part = v.InferOutput<typeof part>;

const batchSchema = v.object({
  parts: v.pipe(
    v.unknown(),
    v.check((value) => !Array.isArray(value) || value.length <= 1000, "at most 1000 parts"),
    v.array(v.unknown()),
  ),
  isOver: v.boolean(),
});

const ONE_ISSUE = { abortEarly: true } as const;

/** What a `provider_stream` request gave; throws what is wrong with it, completing "provider x …". */
export function parseBatch(value: unknown): { parts: unknown[]; isOver: boolean } {
  const result = v.safeParse(batchSchema, value, ONE_ISSUE);
  if (result.success) return result.output;
  throw new Error("gave something that is no part of an answer");
}

/** An answer that is being put together. */
export class Answer {
  /** So far. One object for all parts, as with any other provider. */
  readonly message: AssistantMessage;
  #hasStarted = false;
  /** The blocks that are being written: some providers write several tool calls at a time. */
  readonly #open = new Set<number>();
  /** Whether `done` or `error` was among the parts. */
  isOver = false;

  constructor(model: Model<Api>) {
    this.message = {
      role: "assistant",
      content: [],
      api: model.api,
      provider: model.provider,
      model: model.id,
      usage: {
        ...{ input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0 },
        cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
      },
      stopReason: "pending",
      timestamp: Date.now(),
    };
  }

  /** The events of one more part; throws what is wrong with it, completing "provider x …". */
  add(value: unknown): AssistantMessageEvent[] {
    if (this.isOver) throw new Error("went on after the end of its answer");
    const parsed = v.safeParse(part, value, ONE_ISSUE);
    if (!parsed.success) {
      const path = v.getDotPath(parsed.issues[0]);
      throw new Error(`gave a malformed part of an answer${path ? ` (${path.slice(0, 80)})` : ""}`);
    }
    const { output } = parsed;
    const events: AssistantMessageEvent[] = [];
    // Not every provider says that it begins; what fails before it began has no beginning.
    if (!this.#hasStarted && output.type !== "error") {
      this.#hasStarted = true;
      events.push({ type: "start", partial: this.message });
    }
    const event = this.#take(output);
    return event ? [...events, event] : events;
  }

  /** The last event of an answer that did not come to its end. What there is of it stays. */
  failed(reason: "aborted" | "error", why: string): AssistantMessageEvent {
    this.isOver = true;
    Object.assign(this.message, { stopReason: reason, errorMessage: why });
    return { type: "error", reason, error: this.message };
  }

  #take(part: Part): AssistantMessageEvent | undefined {
    const { message } = this;
    const { content } = message;
    switch (part.type) {
      case "start":
        return undefined;
      case "text_start":
        this.#begin(part.contentIndex, { type: "text", text: "" });
        return { ...part, type: part.type, partial: message };
      case "thinking_start":
        this.#begin(part.contentIndex, { type: "thinking", thinking: "" });
        return { ...part, type: part.type, partial: message };
      case "toolcall_start": {
        const { contentIndex, id, name } = part;
        this.#begin(contentIndex, { type: "toolCall", id: id ?? "", name: name ?? "", arguments: {} });
        return { type: part.type, contentIndex, partial: message };
      }
      case "text_delta":
        this.#block(part.contentIndex, "text").text += part.delta;
        return { ...part, type: part.type, partial: message };
      case "thinking_delta":
        this.#block(part.contentIndex, "thinking").thinking += part.delta;
        return { ...part, type: part.type, partial: message };
      case "toolcall_delta":
        this.#block(part.contentIndex, "toolCall");
        return { ...part, type: part.type, partial: message };
      case "text_end": {
        const block = this.#block(part.contentIndex, "text");
        block.text = part.content ?? block.text;
        this.#open.delete(part.contentIndex);
        return { type: part.type, contentIndex: part.contentIndex, content: block.text, partial: message };
      }
      case "thinking_end": {
        const block = this.#block(part.contentIndex, "thinking");
        block.thinking = part.content ?? block.thinking;
        this.#open.delete(part.contentIndex);
        return {
          type: part.type,
          contentIndex: part.contentIndex,
          content: block.thinking,
          partial: message,
        };
      }
      case "toolcall_end": {
        const { contentIndex } = part;
        this.#block(contentIndex, "toolCall");
        this.#open.delete(contentIndex);
        const call = withoutNone(part.toolCall) as unknown as ToolCall;
        content[contentIndex] = call;
        return { type: part.type, contentIndex, toolCall: call, partial: message };
      }
      case "done":
        this.#finish(part.message);
        message.stopReason = part.reason;
        return { type: "done", reason: part.reason, message };
      case "error": {
        const failed = v.safeParse(v.looseObject({ errorMessage: text }), part.error, ONE_ISSUE);
        const whole = v.safeParse(finalMessage, part.error, ONE_ISSUE);
        if (whole.success) this.#finish(whole.output);
        return this.failed(
          "error",
          failed.success ? failed.output.errorMessage : "the request failed, and it does not say why",
        );
      }
    }
  }

  #finish(given: v.InferOutput<typeof finalMessage>): void {
    this.isOver = true;
    const { content, usage: used, errorMessage: _, ...rest } = given;
    Object.assign(this.message, withoutNone(rest), { content: content.map(withoutNone) });
    if (!used) return;
    const { reasoning, cost, ...tokens } = used;
    Object.assign(this.message.usage, tokens, reasoning == null ? {} : { reasoning }, cost ? { cost } : {});
  }

  #begin(contentIndex: number, block: AssistantMessage["content"][number]): void {
    if (contentIndex !== this.message.content.length) {
      throw new Error("gave the parts of its answer in an impossible order");
    }
    this.message.content.push(block);
    this.#open.add(contentIndex);
  }

  #block<T extends AssistantMessage["content"][number]["type"]>(
    contentIndex: number,
    type: T,
  ): Extract<AssistantMessage["content"][number], { type: T }> {
    const block = this.message.content[contentIndex];
    if (!this.#open.has(contentIndex) || block?.type !== type) {
      throw new Error("gave the parts of its answer in an impossible order");
    }
    return block as Extract<AssistantMessage["content"][number], { type: T }>;
  }
}

/** Without the members that were not sent. */
function withoutNone<T extends object>(value: T): Partial<T> {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member != null)) as Partial<T>;
}
