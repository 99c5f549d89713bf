/**
 * A model provider of one's own. Its model repeats the last message in capitals; a real one would ask a server with `fetch`
 * (permission `net`) in `streamSimple`. The user logs in by `xdev login shouter`, and any password does.
 */
import type { ExtensionAPI } from "xdev";

interface Message {
  role: string;
  content: string | { type: string; text?: string }[];
}

function textOf({ content }: Message): string {
  return typeof content === "string" ? content : content.map((part) => part.text ?? "").join("");
}

/** What this stream yields is what the agent takes from any provider: `start`, the parts, and `done` or `error`. */
async function* shout(
  model: { id: string },
  context: { messages: Message[] },
  options: { apiKey?: string; signal: AbortSignal },
) {
  if (!options.apiKey) throw new Error("nobody is logged in");
  const question = context.messages.filter(({ role }) => role === "user").map(textOf).at(-1) ?? "";
  const answer = `${question.toUpperCase()}!`;
  yield { type: "start" };
  yield { type: "text_start", contentIndex: 0 };
  for (const word of answer.split(/(?<= )/)) {
    options.signal.throwIfAborted();
    yield { type: "text_delta", contentIndex: 0, delta: word };
  }
  yield { type: "text_end", contentIndex: 0, content: answer };
  yield {
    type: "done",
    reason: "stop",
    message: {
      role: "assistant",
      model: model.id,
      content: [{ type: "text", text: answer }],
      usage: { input: question.length, output: answer.length, totalTokens: question.length + answer.length },
    },
  };
}

export default function (pi: ExtensionAPI) {
  pi.registerProvider("shouter", {
    api: "shouting",
    models: [{ id: "loud", name: "Loud", contextWindow: 8000, maxTokens: 1000 }],
    streamSimple: shout,
    oauth: {
      name: "Shouter",
      async login(callbacks: { onPrompt(prompt: { message: string }): Promise<string> }) {
        const password = await callbacks.onPrompt({ message: "Password (any will do):" });
        return { access: `token-of-${password}`, refresh: password, expires: Date.now() + 3_600_000 };
      },
      async refreshToken(credentials: { refresh: string }) {
        return { ...credentials, access: `token-of-${credentials.refresh}`, expires: Date.now() + 3_600_000 };
      },
      getApiKey: (credentials: { access: string }) => credentials.access,
    },
  });
}
