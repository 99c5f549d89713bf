declare module "xdev:agent" {
  import type { Context, ImageContent, Message, Model, OAuthCredentials, OAuthLoginCallbacks, SimpleStreamOptions, TextContent, ThinkingLevel } from "xdev:ai";
  import type { Static } from "xdev:schema";
  import type { AutocompleteItem, Component, KeyId } from "xdev:tui";

  export interface AgentToolResult<TDetails = any> {
    content: (TextContent | ImageContent)[];
    /** Kept in the session and given to `renderResult`; the model does not see it. */
    details?: TDetails;
    isError?: boolean;
    terminate?: boolean;
  }
  export type AgentToolUpdateCallback<TDetails = any> = (partial: AgentToolResult<TDetails>) => void;

  export interface ToolRenderResultOptions {
    expanded: boolean;
    isPartial: boolean;
    spinnerFrame?: number;
  }

  export type ToolExecutionMode = "sequential" | "parallel";

  export interface ToolDefinition<TParams = any, TDetails = any> {
    name: string;
    label: string;
    description: string;
    /** Made with `Type` or written as JSON Schema; arguments are checked against it before `execute` runs. */
    parameters: TParams;
    hidden?: boolean;
    defaultInactive?: boolean;
    promptSnippet?: string;
    promptGuidelines?: string[];
    executionMode?: ToolExecutionMode;
    execute(
      toolCallId: string,
      params: Static<TParams>,
      signal: AbortSignal | undefined,
      onUpdate: AgentToolUpdateCallback<TDetails> | undefined,
      ctx: ExtensionContext,
    ): Promise<AgentToolResult<TDetails> | string> | AgentToolResult<TDetails> | string;
    onSession?(
      event: { reason: "start" | "switch" | "branch" | "tree" | "shutdown"; [more: string]: any },
      ctx: ExtensionContext,
    ): void | Promise<void>;
    renderCall?(args: Static<TParams>, theme: Theme, context: any): Component | undefined | void;
    renderResult?(
      result: AgentToolResult<TDetails>,
      options: ToolRenderResultOptions,
      theme: Theme,
      context: any,
    ): Component | undefined | void;
    [more: string]: any;
  }

  export interface CommandDefinition {
    description?: string;
    getArgumentCompletions?(
      prefix: string,
    ): AutocompleteItem[] | null | undefined | Promise<AutocompleteItem[] | null | undefined>;
    /** A text that it returns is printed. */
    handler(args: string, ctx: ExtensionCommandContext): Promise<string | void> | string | void;
  }

  /** A model of a provider: as in models.yml. */
  export interface ProviderModelConfig {
    id: string;
    name?: string;
    api?: string;
    baseUrl?: string;
    reasoning?: boolean;
    input?: ("text" | "image")[];
    cost?: { input: number; output: number; cacheRead: number; cacheWrite: number };
    /** In tokens. */
    contextWindow?: number;
    maxTokens?: number;
    headers?: Record<string, string>;
    [more: string]: any;
  }

  export interface ProviderConfig {
    name?: string;
    baseUrl?: string;
    /** A key, or a variable as `$NAME`. */
    apiKey?: string;
    api?: string;
    headers?: Record<string, string>;
    authHeader?: boolean;
    models?: ProviderModelConfig[];
    /** Answers in the place of a server: gives `AssistantMessageEvent`s, which need not have `partial`. */
    streamSimple?(model: Model<any>, context: Context, options: SimpleStreamOptions): AsyncIterable<any>;
    oauth?: {
      name: string;
      login(callbacks: OAuthLoginCallbacks): Promise<OAuthCredentials>;
      refreshToken(credentials: OAuthCredentials, signal: AbortSignal): Promise<OAuthCredentials>;
      getApiKey(credentials: OAuthCredentials): string;
      modifyModels?(models: Model[], credentials: OAuthCredentials): Model[];
      [more: string]: any;
    };
  }

  export interface ModelRouteRequest<TState = any> {
    model: Model;
    thinkingLevel: ThinkingLevel;
    reason: "user" | "continuation" | (string & {});
    /** What it gave the last time. */
    state?: TState;
    messages: readonly Message[];
    signal?: AbortSignal;
    [more: string]: any;
  }

  export interface ModelRoute<TState = any> {
    model: Model;
    thinkingLevel: ThinkingLevel;
    state?: TState;
  }

  export interface VirtualModel<TState = any> {
    provider: string;
    route(
      request: ModelRouteRequest<TState>,
      ctx: ExtensionContext,
    ): ModelRoute<TState> | Promise<ModelRoute<TState>>;
    [more: string]: any;
  }

  export interface EventBus {
    /** Gives the function that ends it. */
    on(channel: string, listener: (data: any) => void): () => void;
    /** To the listeners of all extensions, as a copy. */
    emit(channel: string, data?: unknown): void;
  }

  export interface ExecOptions {
    cwd?: string;
    /** In ms. */
    timeout?: number;
    signal?: AbortSignal;
  }
  export interface ExecResult {
    stdout: string;
    stderr: string;
    code: number;
    killed: boolean;
  }

  export interface ToolInfo {
    name: string;
    description: string;
    [more: string]: any;
  }
  export interface SlashCommandInfo {
    name: string;
    description?: string;
    source: "extension" | "prompt" | "skill";
    [more: string]: any;
  }

  /** `ctx.getSystemPromptOptions()`, and a member of before_agent_start. */
  export interface BuildSystemPromptOptions {
    cwd: string;
    customPrompt?: string;
    selectedTools?: string[];
    toolSnippets?: Record<string, string>;
    promptGuidelines?: string[];
    appendSystemPrompt?: string;
    contextFiles?: { path: string; content: string }[];
    skills?: { name: string; description: string; [more: string]: any }[];
    [more: string]: any;
  }

  type Returned<R> = R | void | undefined;
  export type ExtensionHandler<E, R = void> = (event: E, ctx: ExtensionContext) => Returned<R> | Promise<Returned<R>>;
  export type MessageRenderer<T = any> = (
    message: CustomMessage<T>,
    options: { expanded: boolean; [more: string]: any },
    theme: Theme,
  ) => Component | undefined | void;

  /** What an extension registers and does. The actions throw while it is loaded. */
  export interface ExtensionAPI {
    /** Gives the function that ends it. */
    on<K extends keyof ExtensionEvents>(
      event: K,
      handler: ExtensionHandler<ExtensionEvents[K][0], ExtensionEvents[K][1]>,
    ): () => void;
    registerTool<const TParams, TDetails = any>(tool: ToolDefinition<TParams, TDetails>): void;
    registerCommand(name: string, command: CommandDefinition): void;
    registerShortcut(
      key: KeyId,
      shortcut: { description?: string; handler(ctx: ExtensionContext): void | Promise<void> },
    ): void;
    registerFlag(
      name: string,
      flag:
        | { description?: string; type: "boolean"; default?: boolean }
        | { description?: string; type: "string"; default?: string },
    ): void;
    getFlag(name: string): boolean | string | undefined;
    registerMessageRenderer<T = any>(customType: string, renderer: MessageRenderer<T>): void;
    registerEntryRenderer<T = any>(
      customType: string,
      renderer: (entry: CustomEntry<T>, options: { expanded: boolean; [more: string]: any }, theme: Theme) => Component | undefined | void,
    ): void;
    registerToolRenderer(resolver: (toolName: string, next: () => any) => any): void;
    registerMarkdownTransformer(
      transform: (markdown: string, context: any) => string,
      options?: { messageTypes?: readonly string[] },
    ): void;
    // Others of this family have these; here they do nothing.
    registerMcpServer(...given: any[]): void;
    unregisterMcpServer(...given: any[]): void;
    getMcpServers(): any[];
    registerAssistantThinkingRenderer(...given: any[]): void;
    registerComposerShape(...given: any[]): void;
    registerFileDeleteFallback(...given: any[]): void;
    registerFileWriteFallback(...given: any[]): void;
    setServiceTier(...given: any[]): any;
    getServiceTiers(...given: any[]): any;

    /** Its `route` says which model each request goes to. */
    registerVirtualModel<TState = any>(model: VirtualModel<TState>): void;
    unregisterVirtualModel(provider: string, id: string): void;
    registerProvider(name: string, config: ProviderConfig): void;
    unregisterProvider(name: string): void;
    /** The name that the user is shown. */
    setLabel(label: string): void;
    /** A mark on an entry of the session. */
    setLabel(entryId: string, label: string | undefined): void;
    sendMessage<T = any>(
      message: Pick<CustomMessage<T>, "customType" | "content" | "display" | "details">,
      options?: { deliverAs?: "steer" | "followUp" | "nextTurn"; triggerTurn?: boolean },
    ): void;
    sendUserMessage(
      content: string | (TextContent | ImageContent)[],
      options?: { deliverAs?: "steer" | "followUp"; expandPromptTemplates?: boolean },
    ): void;
    appendEntry<T = any>(customType: string, data?: T): void;
    exec(command: string, args?: string[], options?: ExecOptions): Promise<ExecResult>;
    getActiveTools(): string[];
    getAllTools(): ToolInfo[];
    setActiveTools(names: string[]): void;
    getCommands(): SlashCommandInfo[];
    getSessionName(): string | undefined;
    setSessionName(name: string): void | Promise<void>;
    /** False if there is no such model. */
    setModel(model: Model<any> | string): Promise<boolean>;
    /** The session's settings. */
    getSettings(): Record<string, any>;
    getThinkingLevel(): ThinkingLevel;
    setThinkingLevel(level: ThinkingLevel): void;
    events: EventBus;
    logger: Record<"debug" | "info" | "warn" | "error", (message: unknown) => void>;
    /** What "@sinclair/typebox" exports. */
    typebox: any;
    /** What "xdev" exports. */
    pi: any;
    /** What "zod" exports. */
    zod: any;

    // Names of hooks and of custom tools, which are older.
    cwd: string;
    ui: ExtensionUIContext;
    hasUI: boolean;
    send(content: string | (TextContent | ImageContent)[]): void;
    /** What a tool has shown a preview of, and does when the model says so. */
    pushPendingAction(action: {
      label: string;
      apply(reason: string): unknown;
      reject?(reason: string): unknown;
      [more: string]: any;
    }): void;
  }

  export type ExtensionFactory = (pi: ExtensionAPI) => void | Promise<void>;
}
