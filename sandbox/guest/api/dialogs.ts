/** `ctx.ui`'s questions: calls of the host, which asks whoever there is. Without anybody each has its default at once. */
import type { Transmitter } from "./transmit.ts";

/** Taken once: an extension may replace the globals. */
const { setTimeout: startTimer, clearTimeout: stopTimer } = globalThis;

interface DialogOptions {
  /** Aborted when the extension does not want the answer any more. */
  signal?: AbortSignal;
  /** In ms; then the default is the answer, and `onTimeout` is called. */
  timeout?: number;
  onTimeout?: () => void;
}

export function createDialogs(transmitter: Transmitter, hasUI: boolean) {
  let next = 1;

  const ask = async <T>(
    method: string,
    params: Record<string, unknown>,
    none: T,
    read: (result: unknown) => T,
    options: unknown,
  ): Promise<T> => {
    const { signal, timeout, onTimeout } = (options ?? {}) as DialogOptions;
    if (!hasUI || signal?.aborted) return none;
    const key = `d${next++}`;
    const limit = typeof timeout === "number" && timeout >= 0 && timeout <= MAX_MS ? timeout : undefined;
    const question = transmitter.ask(method, { ...params, key, timeout: limit }).then(read);
    if (!signal && limit === undefined) return question;
    let timer: unknown;
    let abort: (() => void) | undefined;
    const given = new Promise<T>((resolve) => {
      const dismiss = (): void => {
        transmitter.call("ui.dismiss", { key });
        resolve(none);
      };
      abort = dismiss;
      signal?.addEventListener("abort", dismiss);
      if (limit === undefined) return;
      timer = startTimer(() => {
        dismiss();
        if (typeof onTimeout === "function") onTimeout();
      }, limit);
    });
    // What comes after a dismissal, an error of the host's end among it, is nobody's.
    question.catch(() => {});
    try {
      return await Promise.race([question, given]);
    } finally {
      if (timer !== undefined) stopTimer(timer as number);
      if (abort) signal?.removeEventListener("abort", abort);
    }
  };

  const text = (result: unknown): string | undefined => (typeof result === "string" ? result : undefined);
  const optional = (value: unknown): string | undefined =>
    value === undefined || value === null ? undefined : String(value);
  return {
    select: async (title: unknown, choices: unknown, options?: unknown) => {
      const given = Array.isArray(choices) ? choices.map(labelOf) : [];
      return ask("ui.select", { title: String(title), options: given }, undefined, text, options);
    },
    confirm: async (title: unknown, message?: unknown, options?: unknown) => {
      const params = { title: String(title), message: optional(message) };
      return ask("ui.confirm", params, false, (result) => result === true, options);
    },
    input: async (title: unknown, placeholder?: unknown, options?: unknown) => {
      const params = { title: String(title), placeholder: optional(placeholder) };
      return ask("ui.input", params, undefined, text, options);
    },
    editor: async (title: unknown, prefill?: unknown, options?: unknown) => {
      const params = { title: String(title), text: optional(prefill) };
      return ask("ui.editor", params, undefined, text, options);
    },
  };
}

/** The longest wait that a timer takes. */
const MAX_MS = 2_147_483_647;

/** Choices are texts, or objects with one. */
function labelOf(choice: unknown): string {
  const { label } = (typeof choice === "object" && choice !== null ? choice : {}) as { label?: unknown };
  return String(label ?? choice);
}
