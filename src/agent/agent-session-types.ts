/**
 * The contract between the agent runtime and whoever drives it: print, json, rpc, acp and the terminal UI. All of it is
 * plain data and promises; no mode reaches behind it. Semantics are those of this family's RPC commands.
 *
 * How one is made (agent-session.ts):
 *
 *     const session = await createAgentSession({
 *       dataDir, cwd, store,                        // a SessionStore, new or opened; the session closes it
 *       model, isModelChosen, thinkingLevel,        // what is talked to first, and whether the user said so
 *       models: modelCatalog(() => ({ … })),       // src/models/catalog.ts, for other models
 *       tools, systemPrompt,                        // ToolSet, and the built-in text
 *       manager, hooks, queue,                      // ExtensionManager, HooksBus, MessageQueue; each may be missing
 *       places, todos, env, scratch,                // ResourcePlaces, TodoList, and what the user's commands need
 *       settings, maxTurns,                         // partial; see DEFAULT_SESSION_SETTINGS
 *     });
 *     session.subscribe((event) => mode.event(event));
 *     await session.start("startup");               // session_start, resources_discover
 *     await session.prompt("…", { source: "interactive" });   // accepted; resolves before the answer
 *     await session.waitForIdle();                  // answered: no retry, compaction or queued message is left
 *     await session.dispose();                      // session_shutdown; ends what runs
 */
import type { AgentEvent, AgentMessage, QueueMode, ThinkingLevel } from "@earendil-works/pi-agent-core";
import type { Api, ImageContent, Model, TextContent, Usage } from "@earendil-works/pi-ai";
import type { Completion } from "../extensions/offers.ts";
import type { SessionEntry, SessionHeader, TreeNode } from "../session/types.ts";

export type { AgentMessage, QueueMode, ThinkingLevel } from "@earendil-works/pi-agent-core";
export type { SessionEntry, TreeNode } from "../session/types.ts";

export type InputSource = "interactive" | "rpc" | "extension";
export type StreamingBehavior = "steer" | "followUp";

/** What became of a prompt: a run has started, it waits in a queue, or a command or an extension took it. */
export type Disposition = "started" | "queued" | "handled";

export interface PromptOptions {
  images?: readonly ImageContent[] | undefined;
  /** Where the text goes while a run is going on; without it, that is an error with code `busy`. */
  streamingBehavior?: StreamingBehavior | undefined;
  /** Default `interactive`. */
  source?: InputSource | undefined;
  /** False: no command, skill or template is looked for, as for texts of extensions. Default true. */
  expand?: boolean | undefined;
}

export interface CompactionResult {
  summary: string;
  firstKeptEntryId: string;
  /** Of the context before and (an estimate) after, in tokens. */
  tokensBefore: number;
  estimatedTokensAfter?: number;
  usage?: Usage;
  details?: unknown;
}

export type CompactionReason = "manual" | "threshold" | "overflow";
export type SessionStartReason = "startup" | "reload" | "new" | "resume" | "fork";

/** What of the session's own files and messages can be told in numbers. Both are null right after a compaction. */
export interface ContextUsage {
  tokens: number | null;
  contextWindow: number;
  percent: number | null;
}

/**
 * Everything that a session tells, as plain data and in order. `message_update` carries the message so far by reference
 * (`message`, and `assistantMessageEvent.partial`): who writes it out leaves both away, or pays for the square of its length.
 *
 * Where the family has two names for one thing (rpc: `compaction_start`, extensions: `auto_compaction_start`), both are sent.
 */
export type SessionEvent =
  | Exclude<AgentEvent, { type: "agent_end" }>
  | { type: "agent_end"; messages: AgentMessage[]; willRetry: boolean }
  /** Nothing goes on by itself any more: no retry, no compaction, no queued message. */
  | { type: "agent_settled"; aborted: boolean }
  | { type: "queue_update"; steering: readonly string[]; followUp: readonly string[] }
  | { type: "compaction_start"; reason: CompactionReason }
  | {
      type: "compaction_end";
      reason: CompactionReason;
      result: CompactionResult | undefined;
      aborted: boolean;
      willRetry: boolean;
      errorMessage?: string;
    }
  | { type: "auto_compaction_start"; reason: "threshold" | "overflow" }
  | {
      type: "auto_compaction_end";
      result: CompactionResult | undefined;
      aborted: boolean;
      willRetry: boolean;
      errorMessage?: string;
    }
  | {
      type: "auto_retry_start";
      attempt: number;
      maxAttempts: number;
      delayMs: number;
      errorMessage: string;
    }
  | { type: "auto_retry_end"; success: boolean; attempt: number; finalError?: string }
  | {
      type: "model_select";
      model: Model<Api>;
      previousModel: Model<Api> | undefined;
      source: "set" | "cycle" | "restore";
    }
  | { type: "thinking_level_select"; level: ThinkingLevel; previousLevel: ThinkingLevel }
  | { type: "thinking_level_changed"; level: ThinkingLevel }
  | { type: "session_info_changed"; name: string | undefined }
  | { type: "entry_appended"; entry: SessionEntry }
  | {
      type: "session_start";
      reason: SessionStartReason;
      sessionId: string;
      cwd: string;
      sessionFile?: string;
      previousSessionFile?: string;
    }
  | { type: "session_switch"; reason: "new" | "resume" | "fork"; previousSessionFile?: string }
  | { type: "session_branch"; previousSessionFile?: string }
  | {
      type: "session_tree";
      newLeafId: string | null;
      oldLeafId: string | null;
      summaryEntry?: SessionEntry;
      fromExtension?: boolean;
    }
  | { type: "session_compact"; compactionEntry: SessionEntry; fromExtension: boolean }
  | { type: "session_shutdown" }
  | { type: "ttsr_triggered"; rules: readonly unknown[] }
  | { type: "todo_reminder"; todos: readonly unknown[]; attempt: number; maxAttempts: number }
  /** A part of what a command of the user writes (`bash`); `id` is the one given with it. */
  | { type: "bash_execution_update"; id?: string; delta: string }
  | { type: "extension_error"; extensionPath: string; event: string; error: string }
  /** Text that is an answer although no model gave it: an extension's command. */
  | { type: "command_output"; text: string }
  | { type: "notice"; text: string };

/** Where it gives a promise, a run goes on only when that has resolved: the listener's reader does not keep up. */
export type SessionListener = (event: SessionEvent) => void | Promise<void>;

/** `get_state`. */
export interface SessionState {
  model: Model<Api> | undefined;
  thinkingLevel: ThinkingLevel;
  isStreaming: boolean;
  isCompacting: boolean;
  steeringMode: QueueMode;
  followUpMode: QueueMode;
  /** Undefined for a session that is not kept. */
  sessionFile: string | undefined;
  sessionId: string;
  sessionName: string | undefined;
  autoCompactionEnabled: boolean;
  autoRetryEnabled: boolean;
  messageCount: number;
  pendingMessageCount: number;
}

/** `get_session_stats`. */
export interface SessionStats {
  sessionFile: string | undefined;
  sessionId: string;
  userMessages: number;
  assistantMessages: number;
  toolCalls: number;
  toolResults: number;
  totalMessages: number;
  tokens: { input: number; output: number; cacheRead: number; cacheWrite: number; total: number };
  /** US dollars. */
  cost: number;
  contextUsage?: ContextUsage;
}

export interface BashOptions {
  /** Kept in the session, but the model is not told (`!!command`). */
  excludeFromContext?: boolean | undefined;
  /** Comes back in `bash_execution_update`. */
  id?: string | undefined;
}

export interface BashResult {
  /** The end of what it wrote, standard output and error together. */
  output: string;
  /** Undefined if it was ended. */
  exitCode: number | undefined;
  cancelled: boolean;
  truncated: boolean;
  fullOutputPath?: string;
}

/** `get_commands`: what `prompt` understands behind a slash. */
export interface SessionCommand {
  name: string;
  description?: string;
  /** What may follow it, as its author says. */
  argumentHint?: string;
  /** Whether its extension offers what may follow it (`completions`). */
  completes?: boolean;
  source: "extension" | "prompt" | "skill";
  sourceInfo: {
    path: string;
    source: string;
    scope: "user" | "project" | "temporary";
    origin: "top-level" | "package";
  };
}

/** What `sendMessage` of an extension brings: kept as `custom_message`, and the model is told `content`. */
export interface CustomMessageInput {
  customType: string;
  content: string | (TextContent | ImageContent)[];
  display: boolean;
  details?: unknown;
}

export interface NavigateOptions {
  /** Asks the model for a summary of what is left behind. */
  summarize?: boolean;
  customInstructions?: string;
}

export interface SwitchOptions {
  /** The path is canonical: a link that came into its way since then, while extensions were asked, leads nowhere. */
  isCanonical?: boolean;
}

/** A conversation with a model, its tools and its file. Methods reject with `XdevError`s that a user can read. */
export interface AgentSession {
  /**
   * Tells extensions that the session is there, and asks them for resources. Once, before the first prompt. Where no
   * extension listens, nothing is waited for.
   */
  start(reason: "startup" | "resume" | "fork", previousSessionFile?: string): Promise<void>;

  /**
   * Loads anew the extensions that have changed, finds skills, templates and stream rules anew, and tells extensions so: when no run goes
   * on. With `onlyIfChanged` nothing happens if the extensions are what they were. Rejects with what is wrong with the
   * settings; then nothing has changed. The prompt `/reload` does the same.
   */
  reload(options?: { onlyIfChanged?: boolean }): Promise<void>;

  /**
   * Takes a text of the user. Resolves when it is accepted, which is before the model has answered: then follow the events, or
   * `waitForIdle`. A command of an extension (`/name`) runs at once, also while a run goes on, and is `handled` when it has ended.
   *
   * Rejects with code `busy` while a run goes on and no `streamingBehavior` is given, and with `no-model`.
   */
  prompt(text: string, options?: PromptOptions): Promise<{ disposition: Disposition }>;
  /** For the next request of the run that goes on; without one, for the next run. */
  steer(
    text: string,
    images?: readonly ImageContent[],
    source?: InputSource,
  ): Promise<{ disposition: Disposition }>;
  /** For when the run would end. */
  followUp(
    text: string,
    images?: readonly ImageContent[],
    source?: InputSource,
  ): Promise<{ disposition: Disposition }>;
  /** Joins the user's next prompt; starts nothing. */
  nextTurn(message: CustomMessageInput): void;
  /** A message of an extension: in the session at once, or in a queue while a run goes on. */
  sendCustomMessage(
    message: CustomMessageInput,
    options?: { deliverAs?: "steer" | "followUp" | "nextTurn"; triggerTurn?: boolean },
  ): Promise<void>;
  /** Empties the steering and follow-up queues and gives their texts. */
  clearQueue(): { steering: string[]; followUp: string[] };

  /**
   * Ends the run, a retry and a compaction, and waits until that is done. Every tool call of the message that was being worked
   * on has a result then. Queued messages stay, and start the next run unless they are cleared before. A prompt that is not accepted yet
   * rejects with `aborted` and starts nothing, unless `accepting` is false.
   */
  abort(options?: { accepting?: boolean }): Promise<void>;
  /** Resolves when nothing goes on: no run, retry, compaction or queued message. */
  waitForIdle(): Promise<void>;
  /** Gives the function that ends the subscription. What a listener throws is logged. */
  subscribe(listener: SessionListener): () => void;

  readonly state: SessionState;
  /** The conversation as the model gets it; the list and its members are not to be changed. */
  readonly messages: readonly AgentMessage[];
  readonly systemPrompt: string;
  /** The first line of the session's file, or what it would be. */
  readonly header: SessionHeader;
  /** All entries in the order of their appending; with `since`, those after that one. Throws `unknown-entry`. */
  entries(since?: string): { entries: readonly SessionEntry[]; leafId: string | null };
  /** All of them, read a few at a time: for who asks at any time, whatever the session's length. */
  readEntries(): Promise<SessionEntry[]>;
  /** The entry that the next one will follow; null at the beginning. */
  readonly leafId: string | null;
  tree(): { tree: TreeNode[]; leafId: string | null };
  stats(): SessionStats;
  contextUsage(): ContextUsage | undefined;
  /** Text of the last answer that has one. */
  lastAssistantText(): string | undefined;

  availableModels(): Promise<Model<Api>[]>;
  /** Throws `unknown-model`. A `model_change` entry is written; the thinking level is fitted to what the model knows. */
  setModel(provider: string, modelId: string): Promise<Model<Api>>;
  /** Undefined if there is only one. */
  cycleModel(): Promise<{ model: Model<Api>; thinkingLevel: ThinkingLevel; isScoped: boolean } | undefined>;
  /** A level that the model doesn't know becomes the nearest that it does. */
  setThinkingLevel(level: ThinkingLevel): void;
  /** Undefined if the model doesn't think. */
  cycleThinkingLevel(): ThinkingLevel | undefined;
  availableThinkingLevels(): ThinkingLevel[];

  setSteeringMode(mode: QueueMode): void;
  setFollowUpMode(mode: QueueMode): void;
  setAutoCompaction(enabled: boolean): void;
  setAutoRetry(enabled: boolean): void;
  /** Ends the wait for a retry; the run ends with the error that it had. */
  abortRetry(): void;

  /** Ends a run that goes on, and summarises. Rejects with `nothing-to-compact`, `cancelled` or `aborted`. */
  compact(customInstructions?: string): Promise<CompactionResult>;
  abortCompaction(): void;

  /** Runs a command of the user in the session's folder; the model is told with the next prompt. */
  bash(command: string, options?: BashOptions): Promise<BashResult>;
  /** Runs Python code of the user in a process that lives as long as the session. Rejects with `no-python`. */
  python(code: string, options?: BashOptions): Promise<BashResult>;
  /** Ends what `bash` and `python` run. */
  abortBash(): void;

  /** A fresh session; true if an extension cancelled it. Waits for what goes on to end. Rejects with `busy` while another is opened. */
  newSession(options?: { parentSession?: string }): Promise<{ cancelled: boolean }>;
  switchSession(path: string, options?: SwitchOptions): Promise<{ cancelled: boolean }>;
  /** A new session with what came before a message of the user; gives its text. Throws `unknown-entry`. */
  fork(entryId: string): Promise<{ text?: string; cancelled: boolean }>;
  /** A new session with the active branch. */
  clone(): Promise<{ cancelled: boolean }>;
  /** The user's messages on the active branch. */
  forkMessages(): { entryId: string; text: string }[];
  /** Goes on from another entry of this session. From a message of the user: from before it, and gives its text. */
  navigateTree(
    targetId: string,
    options?: NavigateOptions,
  ): Promise<{ cancelled: boolean; editorText?: string; summaryEntry?: SessionEntry }>;
  setSessionName(name: string): void;
  setLabel(entryId: string, label: string | undefined): void;
  /** A `custom` entry of an extension, never sent to the model. Gives its id. */
  appendEntry(customType: string, data: unknown): string;

  commands(): SessionCommand[];
  /** What may follow a command of an extension, by the name that `commands` gives; nothing if the extension takes too long. */
  completions(command: string, prefix: string): Promise<Completion[]>;
  /** What extensions have put on keys. */
  shortcuts(): { key: string; description: string; extension: string }[];
  /** Runs one. Rejects with `usage` for a key that nobody has, and with what the extension says went wrong. */
  runShortcut(key: string): Promise<void>;
  allTools(): { name: string; description: string }[];
  activeTools(): string[];
  /** Throws for a name that no tool has. */
  setActiveTools(names: readonly string[]): void;

  /** From now on the model may call only these of xdev's own tools, whatever is made active; undefined: all. */
  limitTools(names: ReadonlySet<string> | undefined): void;

  /** Whether `maxTurns` ended the last run although the model wanted to go on. */
  readonly turnsExhausted: boolean;
  /** Tells extensions that it is over (at most 5 s), ends what runs, and closes the file. */
  dispose(): Promise<void>;
}

export interface SessionSettings {
  steeringMode: QueueMode;
  followUpMode: QueueMode;
  compaction: {
    enabled: boolean;
    /** The automatic compaction comes when fewer tokens than these are left of the model's window. */
    reserveTokens: number;
    /** About how much of the end of the conversation is kept as it is, in tokens. */
    keepRecentTokens: number;
  };
  retry: {
    enabled: boolean;
    maxRetries: number;
    /** The first wait in ms; it doubles each time. */
    baseDelayMs: number;
  };
}

export const DEFAULT_SESSION_SETTINGS: SessionSettings = {
  steeringMode: "one-at-a-time",
  followUpMode: "one-at-a-time",
  compaction: { enabled: true, reserveTokens: 16_384, keepRecentTokens: 20_000 },
  retry: { enabled: true, maxRetries: 3, baseDelayMs: 2000 },
};
