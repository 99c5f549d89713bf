declare module "xdev:agent" {
  import type { AssistantMessageEvent, ImageContent, Model, TextContent, ThinkingLevel, ToolResultMessage } from "xdev:ai";

  export interface BashToolInput { command: string; timeout?: number }
  export interface ReadToolInput { path: string; offset?: number; limit?: number }
  export interface WriteToolInput { path: string; content: string }
  export interface EditToolInput { path: string; [more: string]: any }
  export interface GrepToolInput { pattern: string; path?: string; [more: string]: any }
  export interface FindToolInput { pattern: string; path?: string; [more: string]: any }
  export interface LsToolInput { path?: string; [more: string]: any }

  interface ToolCallOf<TName extends string, TInput> {
    type: "tool_call";
    toolName: TName;
    toolCallId: string;
    /** What is changed in it is what runs (permission `tools`). */
    input: TInput;
  }
  export type BashToolCallEvent = ToolCallOf<"bash", BashToolInput>;
  export type ReadToolCallEvent = ToolCallOf<"read", ReadToolInput>;
  export type WriteToolCallEvent = ToolCallOf<"write", WriteToolInput>;
  export type EditToolCallEvent = ToolCallOf<"edit", EditToolInput>;
  export type GrepToolCallEvent = ToolCallOf<"grep", GrepToolInput>;
  export type FindToolCallEvent = ToolCallOf<"find", FindToolInput>;
  export type LsToolCallEvent = ToolCallOf<"ls", LsToolInput>;
  export type CustomToolCallEvent = ToolCallOf<string, Record<string, any>>;
  export type ToolCallEvent =
    | BashToolCallEvent
    | ReadToolCallEvent
    | WriteToolCallEvent
    | EditToolCallEvent
    | GrepToolCallEvent
    | FindToolCallEvent
    | LsToolCallEvent
    | CustomToolCallEvent;

  interface ToolResultOf<TName extends string> {
    type: "tool_result";
    toolName: TName;
    toolCallId: string;
    input: Record<string, any>;
    content: (TextContent | ImageContent)[];
    details: any;
    isError: boolean;
  }
  export type ToolResultEvent = ToolResultOf<string>;
  export type BashToolResultEvent = ToolResultOf<"bash">;
  export type ReadToolResultEvent = ToolResultOf<"read">;
  export type WriteToolResultEvent = ToolResultOf<"write">;
  export type EditToolResultEvent = ToolResultOf<"edit">;
  export type GrepToolResultEvent = ToolResultOf<"grep">;
  export type FindToolResultEvent = ToolResultOf<"find">;
  export type LsToolResultEvent = ToolResultOf<"ls">;

  export interface ToolCallEventResult {
    /** True denies the call; `reason` is what the model is told. */
    block?: boolean;
    reason?: string;
  }
  export interface ToolResultEventResult {
    content?: (TextContent | ImageContent)[];
    details?: unknown;
    isError?: boolean;
  }
  export interface Cancel { cancel?: boolean }
  export interface InputEvent {
    type: "input";
    text: string;
    images?: ImageContent[];
    source: InputSource;
    streamingBehavior?: "steer" | "followUp";
  }
  export type InputSource = "interactive" | "rpc" | "extension";
  export type InputEventResult =
    | { action: "continue" }
    | { action: "transform"; text: string; images?: ImageContent[] | undefined }
    | { action: "handled" }
    | { handled?: boolean; text?: string; images?: ImageContent[] };
  export interface BeforeAgentStartEvent {
    type: "before_agent_start";
    prompt: string;
    images?: ImageContent[];
    systemPrompt: string;
    systemPromptOptions: BuildSystemPromptOptions;
  }
  export interface BeforeAgentStartEventResult {
    message?: Pick<CustomMessage, "customType" | "content" | "display" | "details">;
    systemPrompt?: string;
  }
  export interface BashResult {
    output: string;
    exitCode?: number | undefined;
    cancelled?: boolean;
    truncated?: boolean;
  }
  export interface SessionStartEvent {
    type: "session_start";
    reason: "startup" | "reload" | "new" | "resume" | "fork";
    sessionId: string;
    cwd: string;
    previousSessionFile?: string;
  }
  type SwitchReason = "new" | "resume" | "fork";
  type CompactReason = "manual" | "threshold" | "overflow";
  export interface SessionBeforeCompactResult extends Cancel { compaction?: CompactionResult }
  export interface SessionBeforeTreeResult extends Cancel { summary?: { summary: string; details?: unknown } }
  export interface SessionBeforeBranchResult extends Cancel { skipConversationRestore?: boolean }
  export interface SessionBeforeBranchEvent { type: "session_before_branch"; entryId: string; position?: "before" | "at" }
  export interface SessionBranchEvent { type: "session_branch"; previousSessionFile?: string }
  export interface TurnEndEvent {
    type: "turn_end";
    turnIndex: number;
    message: AgentMessage;
    toolResults: ToolResultMessage[];
    stopReason?: string;
  }
  export interface ToolExecution { toolCallId: string; toolName: string; args: any }
  export interface AutoCompaction { type: "auto_compaction_start"; reason: "threshold" | "overflow" | "idle" }
  interface Named<T extends string> { type: T }

  /** Each event, and what a handler of it may return. */
  export interface ExtensionEvents {
    session_start: [SessionStartEvent, void];
    session_before_switch: [Named<"session_before_switch"> & { reason: SwitchReason; targetSessionFile?: string }, Cancel];
    session_switch: [Named<"session_switch"> & { reason: SwitchReason; previousSessionFile?: string }, void];
    session_before_branch: [SessionBeforeBranchEvent, SessionBeforeBranchResult];
    session_before_fork: [SessionBeforeBranchEvent, SessionBeforeBranchResult];
    session_branch: [SessionBranchEvent, void];
    session_fork: [SessionBranchEvent, void];
    session_before_compact: [
      Named<"session_before_compact"> & {
        preparation: CompactionPreparation;
        branchEntries: SessionEntry[];
        customInstructions?: string;
        reason: CompactReason;
        willRetry: boolean;
        signal: AbortSignal;
      },
      SessionBeforeCompactResult,
    ];
    "session.compacting": [
      Named<"session.compacting"> & { sessionId: string; messages: AgentMessage[] },
      { context?: string[]; prompt?: string; preserveData?: unknown },
    ];
    session_compact: [
      Named<"session_compact"> & {
        compactionEntry: CompactionEntry;
        fromExtension: boolean;
        reason: CompactReason;
        willRetry: boolean;
      },
      void,
    ];
    session_compact_failed: [
      Named<"session_compact_failed"> & { reason: CompactReason; aborted: boolean; willRetry: boolean; errorMessage?: string },
      void,
    ];
    session_before_tree: [
      Named<"session_before_tree"> & { preparation: TreePreparation; signal: AbortSignal },
      SessionBeforeTreeResult,
    ];
    session_tree: [
      Named<"session_tree"> & {
        newLeafId: string | null;
        oldLeafId: string | null;
        summaryEntry?: BranchSummaryEntry;
        fromExtension?: boolean;
      },
      void,
    ];
    session_info_changed: [Named<"session_info_changed"> & { name: string | undefined }, void];
    /** Waited for, 5 s at most. */
    session_shutdown: [Named<"session_shutdown"> & { reason: string }, void];
    input: [InputEvent, InputEventResult];
    before_agent_start: [BeforeAgentStartEvent, BeforeAgentStartEventResult];
    context: [Named<"context"> & { messages: AgentMessage[] }, { messages?: AgentMessage[] }];
    /** Whatever is returned, but undefined, is sent in its place. */
    before_provider_request: [Named<"before_provider_request"> & { payload: any }, unknown];
    /** An event of the answer, as the provider sent it. */
    provider_stream_event: [
      Named<"provider_stream_event"> & { provider: string; api: string; model: string; data: any },
      void,
    ];
    after_provider_response: [
      Named<"after_provider_response"> & { status: number; headers: Record<string, string> },
      void,
    ];
    agent_start: [Named<"agent_start">, void];
    agent_end: [Named<"agent_end"> & { messages: AgentMessage[] }, void];
    agent_settled: [Named<"agent_settled"> & { aborted: boolean }, void];
    turn_start: [Named<"turn_start"> & { turnIndex: number; timestamp: number }, void];
    turn_end: [TurnEndEvent, void];
    message_start: [Named<"message_start"> & { message: AgentMessage }, void];
    message_update: [
      Named<"message_update"> & { message: AgentMessage; assistantMessageEvent: AssistantMessageEvent },
      void,
    ];
    message_end: [Named<"message_end"> & { message: AgentMessage }, { message?: AgentMessage }];
    /** What a handler throws denies the call, too. */
    tool_call: [ToolCallEvent, ToolCallEventResult];
    tool_result: [ToolResultEvent, ToolResultEventResult];
    tool_execution_start: [Named<"tool_execution_start"> & ToolExecution, void];
    tool_execution_update: [Named<"tool_execution_update"> & ToolExecution & { partialResult: any }, void];
    tool_execution_end: [Named<"tool_execution_end"> & ToolExecution & { result: any; isError: boolean }, void];
    model_select: [
      Named<"model_select"> & { model: Model; previousModel: Model | undefined; source: "set" | "cycle" | "restore" },
      void,
    ];
    thinking_level_select: [
      Named<"thinking_level_select"> & { level: ThinkingLevel; previousLevel: ThinkingLevel },
      void,
    ];
    auto_compaction_start: [AutoCompaction, void];
    auto_compaction_end: [
      Named<"auto_compaction_end"> & {
        result: CompactionResult | undefined;
        aborted: boolean;
        willRetry: boolean;
        errorMessage?: string;
      },
      void,
    ];
    auto_retry_start: [
      Named<"auto_retry_start"> & { attempt: number; maxAttempts: number; delayMs: number; errorMessage: string },
      void,
    ];
    auto_retry_end: [Named<"auto_retry_end"> & { success: boolean; attempt: number; finalError?: string }, void];
    ttsr_triggered: [Named<"ttsr_triggered"> & { rules: any[] }, void];
    todo_reminder: [Named<"todo_reminder"> & { todos: any[]; attempt: number; maxAttempts: number }, void];
    user_bash: [
      Named<"user_bash"> & { command: string; excludeFromContext: boolean; cwd: string },
      { result?: BashResult; operations?: any },
    ];
    user_python: [
      Named<"user_python"> & { code: string; excludeFromContext: boolean; cwd: string },
      { result?: BashResult },
    ];
    resources_discover: [
      Named<"resources_discover"> & { cwd: string; reason: "startup" | "reload" },
      { skillPaths?: string[]; promptPaths?: string[]; themePaths?: string[] },
    ];
    // Others of this family send these; xdev does not, so their handlers are never called.
    project_trust: [any, any];
    mcp_servers_change: [any, any];
    context_with_system: [any, any];
    cache_warming_decision: [any, any];
    before_provider_headers: [any, any];
    agent_before_settle: [any, any];

    ui_prompt_start: [Named<"ui_prompt_start"> & { kind: string; title?: string }, void];
    ui_prompt_end: [Named<"ui_prompt_end"> & { kind: string; title?: string }, void];
  }

  export type SessionBeforeSwitchEvent = ExtensionEvents["session_before_switch"][0];
  export type SessionSwitchEvent = ExtensionEvents["session_switch"][0];
  export type SessionBeforeForkEvent = ExtensionEvents["session_before_fork"][0];
  export type SessionForkEvent = ExtensionEvents["session_fork"][0];
  export type SessionBeforeCompactEvent = ExtensionEvents["session_before_compact"][0];
  export type SessionCompactEvent = ExtensionEvents["session_compact"][0];
  export type SessionCompactFailedEvent = ExtensionEvents["session_compact_failed"][0];
  export type SessionBeforeTreeEvent = ExtensionEvents["session_before_tree"][0];
  export type SessionTreeEvent = ExtensionEvents["session_tree"][0];
  export type SessionInfoChangedEvent = ExtensionEvents["session_info_changed"][0];
  export type SessionShutdownEvent = ExtensionEvents["session_shutdown"][0];
  export type ContextEvent = ExtensionEvents["context"][0];
  export type BeforeProviderRequestEvent = ExtensionEvents["before_provider_request"][0];
  export type AfterProviderResponseEvent = ExtensionEvents["after_provider_response"][0];
  export type AgentStartEvent = ExtensionEvents["agent_start"][0];
  export type AgentEndEvent = ExtensionEvents["agent_end"][0];
  export type AgentSettledEvent = ExtensionEvents["agent_settled"][0];
  export type TurnStartEvent = ExtensionEvents["turn_start"][0];
  export type MessageStartEvent = ExtensionEvents["message_start"][0];
  export type MessageUpdateEvent = ExtensionEvents["message_update"][0];
  export type MessageEndEvent = ExtensionEvents["message_end"][0];
  export type ToolExecutionStartEvent = ExtensionEvents["tool_execution_start"][0];
  export type ToolExecutionUpdateEvent = ExtensionEvents["tool_execution_update"][0];
  export type ToolExecutionEndEvent = ExtensionEvents["tool_execution_end"][0];
  export type ModelSelectEvent = ExtensionEvents["model_select"][0];
  export type ThinkingLevelSelectEvent = ExtensionEvents["thinking_level_select"][0];
  export type AutoCompactionStartEvent = ExtensionEvents["auto_compaction_start"][0];
  export type AutoCompactionEndEvent = ExtensionEvents["auto_compaction_end"][0];
  export type AutoRetryStartEvent = ExtensionEvents["auto_retry_start"][0];
  export type AutoRetryEndEvent = ExtensionEvents["auto_retry_end"][0];
  export type TtsrTriggeredEvent = ExtensionEvents["ttsr_triggered"][0];
  export type TodoReminderEvent = ExtensionEvents["todo_reminder"][0];
  export type UserBashEvent = ExtensionEvents["user_bash"][0];
  export type UserPythonEvent = ExtensionEvents["user_python"][0];
  export type ResourcesDiscoverEvent = ExtensionEvents["resources_discover"][0];
  export type UiPromptStartEvent = ExtensionEvents["ui_prompt_start"][0];
  export type UiPromptEndEvent = ExtensionEvents["ui_prompt_end"][0];
  export type ProviderStreamEvent = ExtensionEvents["provider_stream_event"][0];
  export type ExtensionEvent = ExtensionEvents[keyof ExtensionEvents][0];
  export type ProjectTrustEventResult = any;
  export type SessionBeforeSwitchResult = Cancel;
  export type ContextEventResult = ExtensionEvents["context"][1];
  export type MessageEndEventResult = ExtensionEvents["message_end"][1];
  export type UserBashEventResult = ExtensionEvents["user_bash"][1];
  export type ResourcesDiscoverResult = ExtensionEvents["resources_discover"][1];
}
