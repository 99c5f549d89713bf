/** One request to a model, outside of the agent's conversation. */
import { normalizeContext } from "@earendil-works/pi-ai/utils/transcript";
import { redact } from "../base/log.ts";
import type { ResolvedModel } from "./index.ts";

export interface Completion {
  prompt: string;
  systemPrompt?: string | undefined;
  /** Of the answer, in tokens. */
  maxTokens?: number | undefined;
}

/** The text of the answer. Rejects with the reason when there is none, and when the signal aborts. */
export async function complete(
  { model, stream }: ResolvedModel,
  { prompt, systemPrompt, maxTokens }: Completion,
  signal: AbortSignal,
): Promise<string> {
  const context = normalizeContext({
    messages: [{ role: "user", content: [{ type: "text", text: prompt }], timestamp: Date.now() }],
    ...(systemPrompt === undefined ? {} : { systemPrompt }),
  });
  const events = await stream(model, context, { signal, ...(maxTokens === undefined ? {} : { maxTokens }) });
  const answer = await events.result();
  if (answer.stopReason === "error" || answer.stopReason === "aborted") {
    throw new Error(redact(answer.errorMessage ?? "the model did not answer"));
  }
  return answer.content.map((part) => (part.type === "text" ? part.text : "")).join("");
}
