/**
 * A model provider of one's own. Its model repeats the last message in capitals; a real one would ask a server with `fetch`
 * (permission `net`) in `streamSimple`. The user logs in by `xdev login shouter`, and any password does.
 */
import {
  type AssistantMessage,
  type AssistantMessageEventStream,
  type Context,
  createAssistantMessageEventStream,
  type Model,
  type SimpleStreamOptions,
} from "@earendil-works/pi-ai";
import type { ExtensionAPI } from "xdev";

const COST = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };

function shout(model: Model<any>, context: Context, options?: SimpleStreamOptions): AssistantMessageEventStream {
  const stream = createAssistantMessageEventStream();
  const message: AssistantMessage = {
    role: "assistant",
    content: [],
    api: model.api,
    provider: model.provider,
    model: model.id,
    usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0, cost: COST },
    stopReason: "stop",
    timestamp: Date.now(),
  };
  const answer = async (): Promise<void> => {
    if (!options?.apiKey) throw new Error("nobody is logged in");
    const block = { type: "text" as const, text: "" };
    stream.push({ type: "start", partial: message });
    message.content.push(block);
    stream.push({ type: "text_start", contentIndex: 0, partial: message });
    for (const word of `${lastQuestion(context).toUpperCase()}!`.split(/(?<= )/)) {
      options.signal?.throwIfAborted();
      block.text += word;
      stream.push({ type: "text_delta", contentIndex: 0, delta: word, partial: message });
    }
    stream.push({ type: "text_end", contentIndex: 0, content: block.text, partial: message });
    stream.push({ type: "done", reason: "stop", message });
  };
  answer().catch((error: Error) => {
    message.stopReason = "error";
    message.errorMessage = error.message;
    stream.push({ type: "error", reason: "error", error: message });
  });
  return stream;
}

function lastQuestion({ messages }: Context): string {
  const content = messages.filter(({ role }) => role === "user").at(-1)?.content ?? "";
  if (typeof content === "string") return content;
  return content.map((part) => ("text" in part ? part.text : "")).join("");
}

export default function (pi: ExtensionAPI) {
  pi.registerProvider("shouter", {
    api: "shouting",
    models: [
      {
        id: "loud",
        name: "Loud",
        reasoning: false,
        input: ["text"],
        cost: COST,
        contextWindow: 8000,
        maxTokens: 1000,
      },
    ],
    streamSimple: shout,
    oauth: {
      name: "Shouter",
      async login(callbacks) {
        const password = await callbacks.onPrompt({ message: "Password (any will do):" });
        return { access: `token-of-${password}`, refresh: password, expires: Date.now() + 3_600_000 };
      },
      async refreshToken({ refresh }) {
        return { access: `token-of-${refresh}`, refresh, expires: Date.now() + 3_600_000 };
      },
      getApiKey: ({ access }) => access,
    },
  });
}
