declare module "xdev:agent" {
  import type { Model, ThinkingLevel } from "xdev:ai";
  import type { AutocompleteProvider, Component, EditorComponent, EditorTheme, KeybindingsManager, KeyId, OverlayHandle, OverlayOptions, TUI } from "xdev:tui";

  export type { KeybindingsManager, KeyId };
  export type ThemeColor = string;
  export type ThemeBg = string;

  export interface Theme {
    readonly name?: string;
    fg(color: ThemeColor, text: string): string;
    bg(color: ThemeBg, text: string): string;
    bold(text: string): string;
    italic(text: string): string;
    underline(text: string): string;
    inverse(text: string): string;
    strikethrough(text: string): string;
    [more: string]: any;
  }

  export interface ExtensionUIDialogOptions {
    signal?: AbortSignal;
    /** In ms; then the dialog gives its default. */
    timeout?: number;
    onTimeout?: () => void;
    initialIndex?: number;
    outline?: boolean;
    helpText?: string;
  }

  export interface WorkingIndicatorOptions {
    frames?: string[];
    intervalMs?: number;
  }

  /** Talks to the user. Where nobody is there to ask, dialogs give undefined or false. */
  export interface ExtensionUIContext {
    select(title: string, options: string[], more?: ExtensionUIDialogOptions): Promise<string | undefined>;
    confirm(title: string, message: string, more?: ExtensionUIDialogOptions): Promise<boolean>;
    input(title: string, placeholder?: string, more?: ExtensionUIDialogOptions): Promise<string | undefined>;
    editor(title: string, prefill?: string, more?: ExtensionUIDialogOptions): Promise<string | undefined>;
    notify(message: string, level?: "info" | "warning" | "error"): void;
    setStatus(key: string, text: string | undefined): void;
    setWidget(key: string, lines: string[] | undefined, options?: { placement?: "aboveEditor" | "belowEditor" }): void;
    setWidget(
      key: string,
      component: ((tui: TUI, theme: Theme) => Component) | undefined,
      options?: { placement?: "aboveEditor" | "belowEditor" },
    ): void;
    setTitle(title: string): void;
    setEditorText(text: string): void;
    pasteToEditor(text: string): void;
    getEditorText(): string;
    /** Shows a component until it calls `done`. Undefined where there is no terminal. */
    custom<T>(
      factory: (
        tui: TUI,
        theme: Theme,
        keybindings: KeybindingsManager,
        done: (result: T) => void,
      ) => Component | Promise<Component>,
      options?: {
        overlay?: boolean;
        overlayOptions?: OverlayOptions | (() => OverlayOptions);
        onHandle?: (handle: OverlayHandle) => void;
      },
    ): Promise<T>;
    setFooter(factory: ((tui: TUI, theme: Theme, data: any) => Component) | undefined): void;
    setHeader(factory: ((tui: TUI, theme: Theme) => Component) | undefined): void;
    setEditorComponent(
      factory: ((tui: TUI, theme: EditorTheme, keybindings: KeybindingsManager) => EditorComponent) | undefined,
    ): void;
    getEditorComponent(): unknown;
    addAutocompleteProvider(factory: (current: AutocompleteProvider) => AutocompleteProvider): void;
    onTerminalInput(handler: (data: string) => { consume?: boolean; data?: string } | undefined): () => void;
    setWorkingMessage(message?: string): void;
    setWorkingVisible(visible: boolean): void;
    setWorkingIndicator(options?: WorkingIndicatorOptions): void;
    setHiddenThinkingLabel(label?: string): void;
    readonly theme: Theme;
    getAllThemes(): { name: string; path: string | undefined }[];
    getTheme(name: string): Theme | undefined;
    setTheme(theme: string | Theme): { success: boolean; error?: string };
    getToolsExpanded(): boolean;
    setToolsExpanded(expanded: boolean): void;
  }

  /** What every handler and every tool gets. */
  export interface ExtensionContext {
    ui: ExtensionUIContext;
    /** Whether questions reach somebody. */
    hasUI: boolean;
    mode: "tui" | "rpc" | "json" | "print";
    /** The working folder, absolute. */
    cwd: string;
    sessionManager: ReadonlySessionManager;
    modelRegistry: ModelRegistry;
    model: Model | undefined;
    thinkingLevel?: ThinkingLevel;
    /** Aborts when the user interrupts. */
    signal: AbortSignal | undefined;
    getContextUsage(): ContextUsage | undefined;
    compact(
      options?:
        | string
        | {
            customInstructions?: string;
            onComplete?: (result: CompactionResult) => void;
            onError?: (error: Error) => void;
          },
    ): void;
    isIdle(): boolean;
    hasPendingMessages(): boolean;
    hasQueuedMessages(): boolean;
    abort(): void;
    shutdown(): void;
    getSystemPrompt(): string;
    getSystemPromptOptions(): BuildSystemPromptOptions;
    isProjectTrusted(): boolean;
    scopedModels: readonly any[];

    /** As the global ones; they end with the extension. */
    setTimeout(handler: () => void, ms?: number): any;
    setInterval(handler: () => void, ms?: number): any;
    clearTimer(timer: any): void;

    // Names of hooks, which are older.
    exec(command: string, args?: string[], options?: ExecOptions): Promise<ExecResult>;
    readonly sessionFile: string | undefined;
  }

  /** What handlers of commands get besides. */
  export interface ExtensionCommandContext extends ExtensionContext {
    waitForIdle(): Promise<void>;
    newSession(options?: {
      parentSession?: string;
      setup?: (session: any) => Promise<void>;
      withSession?: (ctx: any) => Promise<void>;
    }): Promise<{ cancelled: boolean }>;
    switchSession(path: string, options?: { withSession?: (ctx: any) => Promise<void> }): Promise<{ cancelled: boolean }>;
    branch(entryId: string): Promise<{ cancelled: boolean }>;
    fork(entryId: string, options?: { position?: "before" | "at"; withSession?: (ctx: any) => Promise<void> }): Promise<{ cancelled: boolean }>;
    navigateTree(
      targetId: string,
      options?: { summarize?: boolean; customInstructions?: string },
    ): Promise<{ cancelled: boolean }>;
    /** Nothing of the handler runs behind it. */
    reload(): Promise<void>;
  }
}
