/** What a failed answer means for the run: whether to try again, or to make the conversation shorter first. */
import type { AssistantMessage } from "@earendil-works/pi-ai";

/** Of our own texts (failure.ts, body.ts): a server that was not there, or went away. */
const WENT_AWAY = /closed the connection|timed out: it sent nothing/;
/** It never was there in this session: most likely its address is wrong, or nobody has started it. */
const NOT_THERE = /connection refused at|can't be reached at|was not found \(DNS\)/;

/**
 * Whether another try may help, so the answer is worth waiting for. Not after a status that `fetch` has judged: it has already
 * tried again as often as it may, or must not (fetch.ts). Loads the patterns only for a failure.
 *
 * @param hasAnswered whether this provider has answered before: only then is one that can't be reached worth waiting for
 */
export async function isRetryable(message: AssistantMessage, hasAnswered: boolean): Promise<boolean> {
  if (message.stopReason !== "error" || !message.errorMessage) return false;
  const text = message.errorMessage;
  if (/^provider "[^"]*" answered \d{3}/.test(text) || text.startsWith("replay ")) return false;
  if (NOT_THERE.test(text)) return hasAnswered;
  if (WENT_AWAY.test(text)) return true;
  const { isRetryableAssistantError } = await import("@earendil-works/pi-ai/utils/retry");
  return isRetryableAssistantError(message);
}

/** Whether the request was too long for the model, whichever way its provider says so. */
export async function isOverflow(message: AssistantMessage, contextWindow: number): Promise<boolean> {
  if (message.stopReason === "aborted") return false;
  // What went well needs no look at the patterns.
  const filled = message.usage.input + message.usage.cacheRead + message.usage.cacheWrite;
  if (message.stopReason !== "error" && !(contextWindow > 0 && filled >= contextWindow * 0.9)) return false;
  const { isContextOverflow } = await import("@earendil-works/pi-ai/utils/overflow");
  // The patterns look at how a text begins; ours begins with who says it.
  const errorMessage = message.errorMessage?.replace(/^provider "[^"]*" answered (\d{3})/, "$1");
  return isContextOverflow(
    errorMessage === undefined ? message : { ...message, errorMessage },
    contextWindow > 0 ? contextWindow : undefined,
  );
}
