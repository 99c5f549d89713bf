import type { Context } from "@earendil-works/pi-ai";

/**
 * A context as it is to be sent. What the host gives to a `streamSimple` has the prompt and the tools in its messages, and beside them
 * only for code that looks for them there (../../api/providers.ts): these are not enumerable, and would be said twice.
 */
export function spoken(context: Context): Context {
  const beside = Object.getOwnPropertyDescriptor(context ?? {}, "systemPrompt");
  return beside?.enumerable === false ? { messages: context.messages } : context;
}
