/**
 * The entries of a session file, version 3: what this family of agents writes, one JSON object a line (`xdev docs sessions`).
 * What is read is checked against the schemas here; members and entries that they do not know stay as they are.
 */
import type { AgentMessage } from "@earendil-works/pi-agent-core";
import type { ImageContent, SystemMessage, TextContent, Usage } from "@earendil-works/pi-ai";

export const SESSION_VERSION = 3;

/** The first line of a file, or the second behind a title line. Not part of the tree. */
export interface SessionHeader {
  type: "session";
  version: number;
  /** A UUID, as a rule. */
  id: string;
  /** ISO 8601, like those of entries; messages have milliseconds. */
  timestamp: string;
  /** Where the session was started; "" if the file does not say. */
  cwd: string;
  /** The file that this session was forked from. */
  parentSession?: string;
  /** The beginning of the first user message, where that lies beyond the file's first bytes. */
  preview?: string;
}

/** A line of fixed width (256 bytes) before the header, which oh-my-pi overwrites in place. It is read and kept, never made. */
export interface TitleLine {
  type: "title";
  v: number;
  title: string;
  source?: string;
  updatedAt: string;
}

export interface EntryBase {
  /** 8 hexadecimal digits in what we write. */
  id: string;
  /** The entry before this one on its branch; null at the beginning. */
  parentId: string | null;
  timestamp: string;
}

export interface MessageEntry extends EntryBase {
  type: "message";
  message: AgentMessage;
}

export interface ModelChangeEntry extends EntryBase {
  type: "model_change";
  provider: string;
  modelId: string;
}

export interface ThinkingLevelChangeEntry extends EntryBase {
  type: "thinking_level_change";
  thinkingLevel: string;
}

export interface CompactionEntry extends EntryBase {
  type: "compaction";
  summary: string;
  /** The first entry before this one that the model still sees; this entry's own id if there is none ("" for `append`). */
  firstKeptEntryId: string;
  tokensBefore: number;
  details?: unknown;
  usage?: Usage;
  /** Whether an extension made it. */
  fromHook?: boolean;
  systemMessage?: SystemMessage;
}

export interface BranchSummaryEntry extends EntryBase {
  type: "branch_summary";
  /** The last entry of the branch that was left. */
  fromId: string;
  summary: string;
  details?: unknown;
  usage?: Usage;
  fromHook?: boolean;
}

/** What an extension keeps with a session; the model never sees it. */
export interface CustomEntry extends EntryBase {
  type: "custom";
  customType: string;
  data?: unknown;
}

/** A message of an extension to the model. */
export interface CustomMessageEntry extends EntryBase {
  type: "custom_message";
  customType: string;
  content: string | (TextContent | ImageContent)[];
  display: boolean;
  details?: unknown;
}

/** A mark that the user puts on an entry; without `label` the mark is taken away. */
export interface LabelEntry extends EntryBase {
  type: "label";
  targetId: string;
  label?: string;
}

export interface SessionInfoEntry extends EntryBase {
  type: "session_info";
  name?: string;
}

/** From here on the model sees nothing of what came before on the branch. */
export interface ResetBoundaryEntry extends EntryBase {
  type: "reset_boundary";
}

/** What a request cost that is no message of the conversation. */
export interface UsageEntry extends EntryBase {
  type: "usage";
  kind: string;
  provider: string;
  model: string;
  usage: Usage;
  note?: string;
}

/** Changes what the model sees of an earlier entry of the branch, or leaves it out (null). The last one counts. */
export interface ContextEditEntry extends EntryBase {
  type: "context_edit";
  targetId: string;
  replacement: { content: unknown } | null;
}

export type KnownEntry =
  | MessageEntry
  | ModelChangeEntry
  | ThinkingLevelChangeEntry
  | CompactionEntry
  | BranchSummaryEntry
  | CustomEntry
  | CustomMessageEntry
  | LabelEntry
  | SessionInfoEntry
  | ResetBoundaryEntry
  | UsageEntry
  | ContextEditEntry;

export type EntryType = KnownEntry["type"];

/** An entry of a type that we do not know, or whose members are not what its type wants: kept, and without effect. */
export interface UnknownEntry extends EntryBase {
  /** Stands for every name that is none of `EntryType`, so that a comparison with one of those narrows `SessionEntry`. */
  type: "unknown";
}

export type SessionEntry = KnownEntry | UnknownEntry;

type Unplaced<E> = E extends EntryBase ? Omit<E, keyof EntryBase> : never;
/** An entry that `append` gives an id, a parent and a time. */
export type NewEntry = Unplaced<KnownEntry>;

/** An entry with those that follow it. */
export interface TreeNode {
  entry: SessionEntry;
  children: TreeNode[];
  label?: string;
  labelTimestamp?: string;
}

/** What a request to the model begins with. */
export interface SessionContext {
  messages: AgentMessage[];
  /** "off" if none was ever chosen. */
  thinkingLevel: string;
  model: { provider: string; modelId: string } | null;
}

export const PROBLEM_KINDS = [
  /** The last line has no end: a write was cut off. */
  "torn",
  /** A line that is no JSON object with a type and an id, or is too long. */
  "garbage",
  /** An entry whose members are not what its type wants. */
  "invalid",
  "missing-parent",
  "cycle",
  "duplicate-id",
  /** A large output is no longer in the blob store. */
  "missing-blob",
  /** The disk did not take an entry; it is tried again with the next one. */
  "unwritten",
  /** Another program has written to the file. */
  "foreign-write",
] as const;
export type ProblemKind = (typeof PROBLEM_KINDS)[number];

/** What of a session is not as it should be. Everything else of it is usable. */
export interface SessionProblem {
  kind: ProblemKind;
  /** For a person: one line, no content of the session. */
  message: string;
  /** The line in the file, from 1, if it is about one. */
  line?: number;
}
