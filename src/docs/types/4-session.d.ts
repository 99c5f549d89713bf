declare module "xdev:agent" {
  import type {
    AssistantMessage,
    Context,
    ImageContent,
    Message,
    Model,
    SimpleStreamOptions,
    TextContent,
    ThinkingLevel,
    ToolResultMessage,
    UserMessage,
  } from "xdev:ai";

  /** A message of an extension. */
  export interface CustomMessage<TDetails = any> {
    role: "custom";
    customType: string;
    content: string | (TextContent | ImageContent)[];
    /** Whether the user is shown it. */
    display: boolean;
    details?: TDetails;
    timestamp: number;
  }

  export interface BashExecutionMessage {
    role: "bashExecution";
    command: string;
    output: string;
    exitCode: number | undefined;
    cancelled: boolean;
    truncated: boolean;
    excludeFromContext?: boolean;
    timestamp: number;
  }

  export interface SummaryMessage {
    role: "compactionSummary" | "branchSummary";
    summary: string;
    timestamp: number;
    [more: string]: any;
  }

  export type AgentMessage =
    | UserMessage
    | AssistantMessage
    | ToolResultMessage
    | CustomMessage
    | BashExecutionMessage
    | SummaryMessage;

  export interface SessionEntryBase {
    id: string;
    /** The entry before it on its branch. */
    parentId: string | null;
    /** ISO 8601. */
    timestamp: string;
  }

  export interface SessionMessageEntry extends SessionEntryBase {
    type: "message";
    message: AgentMessage;
  }

  /** What an extension keeps with a session; the model never sees it. */
  export interface CustomEntry<T = any> extends SessionEntryBase {
    type: "custom";
    customType: string;
    data?: T;
  }

  export interface CustomMessageEntry<T = any> extends SessionEntryBase {
    type: "custom_message";
    customType: string;
    content: string | (TextContent | ImageContent)[];
    display: boolean;
    details?: T;
  }

  export interface CompactionEntry extends SessionEntryBase {
    type: "compaction";
    summary: string;
    firstKeptEntryId: string;
    tokensBefore: number;
    details?: any;
  }

  export interface BranchSummaryEntry extends SessionEntryBase {
    type: "branch_summary";
    fromId: string;
    summary: string;
    details?: any;
  }

  export interface ModelChangeEntry extends SessionEntryBase {
    type: "model_change";
    provider: string;
    modelId: string;
  }

  export interface ThinkingLevelChangeEntry extends SessionEntryBase {
    type: "thinking_level_change";
    thinkingLevel: string;
  }

  export interface LabelEntry extends SessionEntryBase {
    type: "label";
    targetId: string;
    label?: string;
  }

  export interface SessionInfoEntry extends SessionEntryBase {
    type: "session_info";
    name?: string;
  }

  export type SessionEntry =
    | SessionMessageEntry
    | CustomEntry
    | CustomMessageEntry
    | CompactionEntry
    | BranchSummaryEntry
    | ModelChangeEntry
    | ThinkingLevelChangeEntry
    | LabelEntry
    | SessionInfoEntry;

  export interface SessionTreeNode {
    entry: SessionEntry;
    children: SessionTreeNode[];
    label?: string;
  }

  export interface SessionHeader {
    type: "session";
    version?: number;
    id: string;
    timestamp: string;
    cwd: string;
    parentSession?: string;
  }

  /** The session, to read. */
  export interface ReadonlySessionManager {
    getEntries(): SessionEntry[];
    /** From the first entry to the last one of the branch that goes on, or to `fromId`. */
    getBranch(fromId?: string): SessionEntry[];
    getTree(): SessionTreeNode[];
    getEntry(id: string): SessionEntry | undefined;
    getLeafId(): string | null;
    getLeafEntry(): SessionEntry | undefined;
    getLabel(id: string): string | undefined;
    getHeader(): SessionHeader | null;
    getSessionId(): string;
    /** Undefined for a session that is not kept. */
    getSessionFile(): string | undefined;
    getSessionDir(): string;
    getSessionName(): string | undefined;
    getCwd(): string;
  }

  export interface ModelRegistry {
    getAll(): Model[];
    getAvailable(): Model[] | Promise<Model[]>;
    find(provider: string, id: string): Model | undefined;
    /** Asks a model once. Needs the permission `model`; the key stays with xdev. */
    complete(model: Model<any>, context: Context, options?: SimpleStreamOptions): Promise<AssistantMessage>;
    [more: string]: any;
  }

  export interface ContextUsage {
    /** Null right after a compaction. */
    tokens: number | null;
    contextWindow: number;
    percent: number | null;
  }

  export interface CompactionResult<T = any> {
    summary: string;
    firstKeptEntryId?: string;
    tokensBefore?: number;
    details?: T;
  }

  export interface CompactionPreparation {
    firstKeptEntryId: string;
    messagesToSummarize: AgentMessage[];
    turnPrefixMessages: AgentMessage[];
    isSplitTurn: boolean;
    tokensBefore: number;
    previousSummary?: string;
    [more: string]: any;
  }

  export interface TreePreparation {
    targetId: string;
    oldLeafId: string | null;
    commonAncestorId: string | null;
    entriesToSummarize: SessionEntry[];
    userWantsSummary: boolean;
    [more: string]: any;
  }

  export type { AssistantMessage, ImageContent, Message, Model, TextContent, ThinkingLevel, ToolResultMessage, UserMessage };
}
