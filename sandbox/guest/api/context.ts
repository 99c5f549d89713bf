import type { SessionUi } from "../protocol.ts";
import { runner } from "./actions.ts";
import { commandContext } from "./commands.ts";
import { createDialogs } from "./dialogs.ts";
import type { Registry } from "./registry.ts";
import { currentTheme, type ImportOwn } from "./services.ts";
import { type Session, sessionContext } from "./session.ts";
import type { Transmitter } from "./transmit.ts";

/**
 * Gives what makes `ctx` of one handler call (extension-api.md, "`ctx`" and "`ctx.ui` by mode"). Where nobody is to be asked the
 * dialogs give their defaults and drawing has no effect. What is the same in every call is made once.
 */
export function contextMaker(
  registry: Registry,
  transmitter: Transmitter,
  session: Session,
  importOwn: ImportOwn,
  { mode, hasUI }: SessionUi,
): (signal: AbortSignal, isCommand: boolean) => Record<string, unknown> {
  const nothing = (): void => {};
  const never = (): boolean => false;
  /** The user may see it; nobody waits for it. */
  const show = (method: string, params: () => Record<string, unknown>): void => {
    if (hasUI) transmitter.call(method, params());
  };
  const textOrNone = (value: unknown): string | undefined =>
    value === undefined || value === null ? undefined : String(value);
  const ui = {
    notify: (message: unknown, level?: unknown): void =>
      transmitter.call("ui.notify", {
        message: String(message),
        level: level === undefined ? "info" : String(level),
      }),
    ...createDialogs(transmitter, hasUI),
    custom: async () => undefined,
    setStatus: (key: unknown, text?: unknown): void =>
      show("ui.setStatus", () => ({ key: String(key), text: textOrNone(text) })),
    setWidget: (key: unknown, content?: unknown, options?: { placement?: unknown }): void => {
      // A component is drawn by a terminal alone.
      if (content !== undefined && content !== null && !Array.isArray(content)) return;
      show("ui.setWidget", () => ({
        key: String(key),
        lines: content?.map(String),
        placement: textOrNone(options?.placement),
      }));
    },
    setTitle: (title: unknown): void => show("ui.setTitle", () => ({ title: String(title) })),
    setHeader: nothing,
    setFooter: nothing,
    setEditorText: (text: unknown): void => show("ui.setEditorText", () => ({ text: String(text) })),
    pasteToEditor: (text: unknown): void => show("ui.setEditorText", () => ({ text: String(text) })),
    setEditorComponent: nothing,
    getEditorComponent: nothing,
    addAutocompleteProvider: nothing,
    setWorkingMessage: nothing,
    setWorkingVisible: nothing,
    setWorkingIndicator: nothing,
    setHiddenThinkingLabel: nothing,
    onTerminalInput: () => nothing,
    getEditorText: () => "",
    getToolsExpanded: never,
    setToolsExpanded: nothing,
    /** There in every mode, so that whoever makes a text with it need not ask: what no terminal shows has its colours taken out. */
    get theme() {
      return currentTheme(importOwn, session);
    },
    getAllThemes: () => [],
    getTheme: nothing,
    setTheme: () => ({ success: false, error: "there are no themes in this mode" }),
  };
  const members = sessionContext(session);
  const promptOptions = (): unknown =>
    (importOwn("internal/prompt") as typeof import("./prompt-options.ts")).promptOptions(
      session,
      registry.context.cwd,
    ).options;
  const exec = runner(importOwn);
  // They end with the extension, as all do.
  const timers = {
    setTimeout: (...args: Parameters<typeof setTimeout>) => setTimeout(...args),
    setInterval: (...args: Parameters<typeof setInterval>) => setInterval(...args),
    clearTimer: (timer: Parameters<typeof clearTimeout>[0]): void => clearTimeout(timer),
  };
  const make = (signal: AbortSignal) => ({
    ui,
    hasUI,
    mode,
    cwd: registry.context.cwd,
    get model() {
      return session.model;
    },
    get thinkingLevel() {
      return session.state.thinkingLevel;
    },
    scopedModels: [],
    get modelRegistry() {
      return session.modelRegistry();
    },
    signal,
    ...members,
    getSystemPromptOptions: promptOptions,
    // Hooks and oh-my-pi have these here.
    exec,
    ...timers,
    get sessionFile() {
      return session.state.file ?? null;
    },
  });
  return (signal, isCommand) => {
    const context = make(signal);
    return isCommand
      ? Object.assign(
          context,
          commandContext(session, () => context),
        )
      : context;
  };
}
