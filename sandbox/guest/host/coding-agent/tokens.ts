/** How much of a model's context messages take: what the provider said, or a guess by their characters. */

interface Usage {
  totalTokens?: number;
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
}
interface Block {
  type: string;
  text?: string;
  thinking?: string;
  name?: string;
  arguments?: unknown;
}
interface Message {
  role: string;
  content?: string | readonly Block[];
  summary?: string;
  command?: string;
  output?: string;
  stopReason?: string;
  usage?: Usage;
}

const CHARS_PER_TOKEN = 4;
/** What an image is counted as. */
const IMAGE_CHARS = 4800;

/** All tokens of a request and its answer. */
export function calculateContextTokens(usage: Usage): number {
  return usage.totalTokens || usage.input + usage.output + usage.cacheRead + usage.cacheWrite;
}

/** A guess: four characters are a token. It is rather too high than too low. */
export function estimateTokens(message: Message): number {
  const { content, summary, command, output } = message;
  let chars = (summary?.length ?? 0) + (command?.length ?? 0) + (output?.length ?? 0);
  if (typeof content === "string") chars += content.length;
  else for (const block of content ?? []) chars += charsOf(block);
  return Math.ceil(chars / CHARS_PER_TOKEN);
}

function charsOf(block: Block): number {
  if (block.type === "text") return block.text?.length ?? 0;
  if (block.type === "thinking") return block.thinking?.length ?? 0;
  if (block.type === "toolCall") {
    return (block.name?.length ?? 0) + JSON.stringify(block.arguments ?? {}).length;
  }
  return block.type === "image" ? IMAGE_CHARS : 0;
}

interface Entry {
  type: string;
  message?: Message;
}

/** What the last answer of a branch that came to its end cost; undefined before the first. */
export function getLastAssistantUsage(entries: readonly Entry[]): Usage | undefined {
  for (let place = entries.length - 1; place >= 0; place--) {
    const { type, message } = entries[place]!;
    if (type !== "message" || message?.role !== "assistant" || !message.usage) continue;
    if (message.stopReason !== "aborted" && message.stopReason !== "error") return message.usage;
  }
  return undefined;
}

export interface CompactionSettings {
  enabled: boolean;
  reserveTokens: number;
  keepRecentTokens: number;
}

export const DEFAULT_COMPACTION_SETTINGS: CompactionSettings = {
  enabled: true,
  reserveTokens: 16_384,
  keepRecentTokens: 20_000,
};

/** Whether a context is so full that it should be compacted. */
export function shouldCompact(
  contextTokens: number,
  contextWindow: number,
  settings: CompactionSettings,
): boolean {
  return settings.enabled && contextTokens > contextWindow - settings.reserveTokens;
}
