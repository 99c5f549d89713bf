/** Trying again after a failure of the provider that may pass: with a wait that doubles, as often as the settings say. */
import type { AssistantMessage } from "@earendil-works/pi-ai";
import { sleep } from "../../base/time.ts";
import type { Core } from "./core.ts";

/** The longest wait, in ms. */
const MAX_DELAY_MS = 60_000;

export class Retries {
  readonly #core: Core;
  /** Tries since an answer came, beyond the first. */
  #count = 0;
  #waiting: AbortController | undefined;

  constructor(core: Core) {
    this.#core = core;
  }

  get isWaiting(): boolean {
    return this.#waiting !== undefined;
  }

  abort(): void {
    this.#waiting?.abort();
  }

  /** An answer came: was it what was tried for? */
  onAnswer({ stopReason }: AssistantMessage): void {
    if (this.#count === 0 || stopReason === "error" || stopReason === "aborted") return;
    this.#end(true);
  }

  /** The run is over, whatever it was that was tried for. */
  finish(): void {
    if (this.#count > 0) this.#end(false, "the run was aborted");
  }

  /** Whether this failure is worth another try. */
  async mayTry(message: AssistantMessage): Promise<boolean> {
    const { enabled, maxRetries } = this.#core.settings.retry;
    const { isRetryable } = await import("../../models/retryable.ts");
    const { messages } = this.#core;
    const hasAnswered = messages.some(
      (one) => one.role === "assistant" && one.provider === message.provider && one.stopReason !== "error",
    );
    if (enabled && this.#count < maxRetries && (await isRetryable(message, hasAnswered))) return true;
    if (this.#count > 0) this.#end(false, message.errorMessage ?? "the model gave an error");
    return false;
  }

  /** Waits for the next try; false if that was aborted. */
  async wait({ errorMessage = "" }: AssistantMessage): Promise<boolean> {
    const { maxRetries, baseDelayMs } = this.#core.settings.retry;
    const attempt = ++this.#count;
    const delayMs = Math.min(baseDelayMs * 2 ** (attempt - 1), MAX_DELAY_MS);
    const waiting = new AbortController();
    this.#waiting = waiting;
    this.#core.publish({ type: "auto_retry_start", attempt, maxAttempts: maxRetries, delayMs, errorMessage });
    try {
      await sleep(delayMs, waiting.signal);
      return true;
    } catch {
      this.#end(false, "the retry was cancelled");
      return false;
    } finally {
      this.#waiting = undefined;
    }
  }

  #end(success: boolean, finalError?: string): void {
    const attempt = this.#count;
    this.#count = 0;
    this.#core.publish({
      type: "auto_retry_end",
      success,
      attempt,
      ...(finalError === undefined ? {} : { finalError }),
    });
  }
}
