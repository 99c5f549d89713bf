import type { Registry } from "./registry.ts";
import type { Transmitter } from "./transmit.ts";

/**
 * Gives what makes `ctx` of one handler call (extension-api.md, "`ctx`" and "`ctx.ui` by mode"). Without a terminal the
 * dialogs give their defaults and drawing has no effect. What is the same in every call is made once.
 */
export function contextMaker(
  registry: Registry,
  transmitter: Transmitter,
): (signal: AbortSignal) => Record<string, unknown> {
  const nothing = (): void => {};
  const never = (): boolean => false;
  const ui = {
    notify: (message: unknown, level?: unknown): void =>
      transmitter.call("ui.notify", {
        message: String(message),
        level: level === undefined ? "info" : String(level),
      }),
    select: async () => undefined,
    confirm: async () => false,
    input: async () => undefined,
    editor: async () => undefined,
    custom: async () => undefined,
    setStatus: nothing,
    setWidget: nothing,
    setTitle: nothing,
    setHeader: nothing,
    setFooter: nothing,
    setEditorText: nothing,
    setEditorComponent: nothing,
    setWorkingMessage: nothing,
    getEditorText: () => "",
  };
  return (signal) => ({
    ui,
    hasUI: false,
    mode: "print",
    cwd: registry.context.cwd,
    model: registry.context.model ?? undefined,
    signal,
    isIdle: never,
    hasPendingMessages: never,
    hasQueuedMessages: never,
  });
}
