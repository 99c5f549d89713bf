/** What of a branch is summarised and what stays, and the summaries, which the user's model makes (permission `model`). */
import { agent, own } from "xdev:system";
import { convertToLlm, serializeConversation } from "../conversation.ts";
import {
  type CompactionSettings,
  calculateContextTokens,
  estimateTokens,
  getLastAssistantUsage,
} from "../tokens.ts";
import { getLatestCompactionEntry, type SessionEntry, sessionEntryToContextMessages } from "./entries.ts";

type Message = ReturnType<typeof sessionEntryToContextMessages>[number];

interface FileOperations {
  read: Set<string>;
  written: Set<string>;
  edited: Set<string>;
}

const newFiles = (): FileOperations => ({ read: new Set(), written: new Set(), edited: new Set() });

const tokensOf = (message: Message): number =>
  estimateTokens(message as Parameters<typeof estimateTokens>[0]);
const roleOf = (entry: SessionEntry | undefined): string | undefined =>
  entry?.type === "message" ? entry.message.role : undefined;
const beginsTurn = (entry: SessionEntry | undefined): boolean =>
  ["user", "bashExecution"].includes(roleOf(entry) ?? "") ||
  entry?.type === "branch_summary" ||
  entry?.type === "custom_message";

/** The place of what began the turn of an entry: what the user said; -1 if that lies before `startIndex`. */
export function findTurnStartIndex(
  entries: readonly SessionEntry[],
  entryIndex: number,
  startIndex: number,
): number {
  for (let place = entryIndex; place >= startIndex; place--) if (beginsTurn(entries[place])) return place;
  return -1;
}

/** Where to cut so that about `keepRecentTokens` stay: never between a call of a tool and its result. */
export function findCutPoint(
  entries: readonly SessionEntry[],
  startIndex: number,
  endIndex: number,
  keepRecentTokens: number,
): { firstKeptEntryIndex: number; turnStartIndex: number; isSplitTurn: boolean } {
  const places: number[] = [];
  for (let place = startIndex; place < endIndex; place++) {
    const entry = entries[place];
    if (beginsTurn(entry) || ["assistant", "custom"].includes(roleOf(entry) ?? "")) places.push(place);
  }
  const [first] = places;
  if (first === undefined) return { firstKeptEntryIndex: startIndex, turnStartIndex: -1, isSplitTurn: false };
  let kept = first;
  let tokens = 0;
  for (let place = endIndex - 1; place >= startIndex; place--) {
    const entry = entries[place]!;
    if (entry.type !== "message") continue;
    tokens += tokensOf(entry.message);
    if (tokens < keepRecentTokens) continue;
    kept = places.find((candidate) => candidate >= place) ?? places.at(-1)!;
    break;
  }
  // Changes of the model and the like belong to what follows them.
  while (kept > startIndex && !["message", "compaction"].includes(entries[kept - 1]!.type)) kept--;
  const isSplitTurn = !entries.slice(kept, endIndex).some((entry, at) => at === 0 && beginsTurn(entry));
  const turnStartIndex = isSplitTurn ? findTurnStartIndex(entries, kept, startIndex) : -1;
  return { firstKeptEntryIndex: kept, turnStartIndex, isSplitTurn: isSplitTurn && turnStartIndex !== -1 };
}

/** All that a summary of a branch is made of; undefined if there is nothing to summarise. */
export function prepareCompaction(branch: readonly SessionEntry[], settings: CompactionSettings) {
  if (branch.length === 0 || branch.at(-1)?.type === "compaction") return undefined;
  const before = getLatestCompactionEntry(branch);
  const start = before ? branch.indexOf(before) + 1 : 0;
  const cut = findCutPoint(branch, start, branch.length, settings.keepRecentTokens);
  const kept = branch[cut.firstKeptEntryIndex];
  if (!kept?.id) return undefined;
  const end = cut.isSplitTurn ? cut.turnStartIndex : cut.firstKeptEntryIndex;
  const messagesOf = (from: number, to: number) =>
    branch.slice(from, to).flatMap(sessionEntryToContextMessages);
  const messagesToSummarize = messagesOf(start, end);
  const turnPrefixMessages = cut.isSplitTurn ? messagesOf(cut.turnStartIndex, cut.firstKeptEntryIndex) : [];
  const fileOps = newFiles();
  for (const message of [...messagesToSummarize, ...turnPrefixMessages]) addFiles(message, fileOps);
  const usage = getLastAssistantUsage(branch as Parameters<typeof getLastAssistantUsage>[0]);
  return {
    firstKeptEntryId: kept.id,
    messagesToSummarize,
    turnPrefixMessages,
    isSplitTurn: cut.isSplitTurn,
    tokensBefore: usage ? calculateContextTokens(usage) : 0,
    ...(before ? { previousSummary: before.summary } : {}),
    fileOps,
    settings,
  };
}

type Preparation = NonNullable<ReturnType<typeof prepareCompaction>>;

function addFiles(message: Message, files: FileOperations): void {
  if (message.role !== "assistant") return;
  for (const block of message.content) {
    if (block.type !== "toolCall") continue;
    const { path } = block.arguments as { path?: unknown };
    if (typeof path !== "string") continue;
    if (block.name === "read") files.read.add(path);
    else if (block.name === "write") files.written.add(path);
    else if (block.name === "edit") files.edited.add(path);
  }
}

function fileLists({ read, written, edited }: FileOperations) {
  const modified = new Set([...edited, ...written]);
  return {
    readFiles: [...read].filter((path) => !modified.has(path)).sort(),
    modifiedFiles: [...modified].sort(),
  };
}

const INSTRUCTIONS = `You summarise a conversation between a user and a coding agent so that the work can go on without it. Do not answer or continue it.
Write, under headings: the goal; what the user wants and forbids; what is done, what is under way, what is blocked; decisions and why; what comes next; names, paths and errors that will be needed, word for word.`;

interface Asked {
  text: string;
  usage: unknown;
}

async function ask(model: unknown, prompt: string, signal: AbortSignal | undefined): Promise<Asked> {
  signal?.throwIfAborted();
  const { completeSimple } = own("pi-ai") as {
    completeSimple?: (model: unknown, context: object, options: object) => Promise<Record<string, unknown>>;
  };
  if (!completeSimple || !model) {
    return { text: await agent.complete(prompt, { systemPrompt: INSTRUCTIONS }), usage: undefined };
  }
  const messages = [{ role: "user", content: [{ type: "text", text: prompt }], timestamp: Date.now() }];
  const options = signal ? { signal } : {};
  const answer = await completeSimple(model, { systemPrompt: INSTRUCTIONS, messages }, options);
  if (answer.stopReason === "error" || answer.stopReason === "aborted") {
    throw new Error(`the summary failed: ${answer.errorMessage ?? String(answer.stopReason)}`);
  }
  const blocks = answer.content as { type: string; text?: string }[];
  return { text: blocks.map((block) => block.text ?? "").join(""), usage: answer.usage };
}

/** A summary of messages, and what it cost. `previousSummary` is what came before them. The key stays with the host. */
export async function generateSummaryWithUsage(
  messages: Message[],
  model: unknown,
  _reserveTokens?: number,
  _apiKey?: string,
  _headers?: unknown,
  signal?: AbortSignal,
  customInstructions?: string,
  previousSummary?: string,
): Promise<Asked> {
  const conversation = serializeConversation(
    convertToLlm(messages) as Parameters<typeof serializeConversation>[0],
  );
  const prompt = [
    `<conversation>\n${conversation}\n</conversation>`,
    ...(previousSummary
      ? [`<previous-summary>\n${previousSummary}\n</previous-summary>\nBring it up to date.`]
      : []),
    ...(customInstructions ? [`Above all: ${customInstructions}`] : []),
  ].join("\n\n");
  return await ask(model, prompt, signal);
}

export async function generateSummary(...args: Parameters<typeof generateSummaryWithUsage>): Promise<string> {
  return (await generateSummaryWithUsage(...args)).text;
}

/** Summarises what `prepareCompaction` has chosen: the result of `session_before_compact`. */
export async function compact(
  preparation: Preparation,
  model: unknown,
  apiKey?: string,
  headers?: unknown,
  customInstructions?: string,
  signal?: AbortSignal,
) {
  const { messagesToSummarize, turnPrefixMessages, previousSummary, firstKeptEntryId, tokensBefore } =
    preparation;
  const messages = [...messagesToSummarize, ...turnPrefixMessages];
  const rest = [undefined, apiKey, headers, signal, customInstructions, previousSummary] as const;
  const { text, usage } = await generateSummaryWithUsage(messages, model, ...rest);
  const details = fileLists(preparation.fileOps);
  return { summary: text + filesText(details), firstKeptEntryId, tokensBefore, usage, details };
}

function filesText({ readFiles, modifiedFiles }: ReturnType<typeof fileLists>): string {
  const part = (name: string, files: readonly string[]) =>
    files.length === 0 ? "" : `\n\n<${name}>\n${files.join("\n")}\n</${name}>`;
  return part("read-files", readFiles) + part("modified-files", modifiedFiles);
}

interface Readable {
  getBranch(id?: string): SessionEntry[];
}

/** The entries that are left by going from one entry to another, and the last one that both have. */
export function collectEntriesForBranchSummary(
  session: Readable,
  oldLeafId: string | null,
  targetId: string,
): { entries: SessionEntry[]; commonAncestorId: string | null } {
  if (!oldLeafId) return { entries: [], commonAncestorId: null };
  const target = new Set(session.getBranch(targetId).map(({ id }) => id));
  const old = session.getBranch(oldLeafId);
  const last = old.findLastIndex(({ id }) => target.has(id));
  return { entries: old.slice(last + 1), commonAncestorId: old[last]?.id ?? null };
}

/** The latest messages of entries that have room in so many tokens (0: all), and the files that they name. */
export function prepareBranchEntries(entries: readonly SessionEntry[], tokenBudget = 0) {
  const fileOps = newFiles();
  const messages: Message[] = [];
  let totalTokens = 0;
  for (const message of entries.flatMap(sessionEntryToContextMessages)) addFiles(message, fileOps);
  for (const entry of [...entries].reverse()) {
    for (const message of sessionEntryToContextMessages(entry).reverse()) {
      if (message.role === "toolResult" || message.role === "system") continue;
      const tokens = tokensOf(message);
      if (tokenBudget > 0 && totalTokens + tokens > tokenBudget) return { messages, fileOps, totalTokens };
      messages.unshift(message);
      totalTokens += tokens;
    }
  }
  return { messages, fileOps, totalTokens };
}

/** A summary of a branch that is left: the result of `session_before_tree`. */
export async function generateBranchSummary(
  entries: readonly SessionEntry[],
  options: { model: unknown; signal?: AbortSignal; customInstructions?: string },
) {
  const { messages, fileOps } = prepareBranchEntries(entries);
  if (messages.length === 0) return { summary: "No content to summarize" };
  const { model, signal, customInstructions } = options;
  try {
    const rest = [undefined, undefined, undefined, signal, customInstructions] as const;
    const { text, usage } = await generateSummaryWithUsage(messages, model, ...rest);
    const files = fileLists(fileOps);
    return { summary: text + filesText(files), usage, ...files };
  } catch (error) {
    if (signal?.aborted) return { aborted: true };
    return { error: error instanceof Error ? error.message : String(error) };
  }
}
