/** How full the model's window is, and what a session has cost. */
import type { AgentMessage } from "@earendil-works/pi-agent-core";
import type { Usage } from "@earendil-works/pi-ai";
import { calculateContextTokens, estimateMessageTokens } from "@earendil-works/pi-ai/utils/estimate";
import type { ContextUsage, SessionStats } from "../agent-session-types.ts";
import { toModelMessages } from "../messages.ts";
import type { Core } from "./core.ts";

/** About how many tokens a message is. */
export function messageTokens(message: AgentMessage): number {
  return toModelMessages([message]).reduce((sum, one) => sum + estimateMessageTokens(one), 0);
}

/** What the last answer said of the request before it, and an estimate of what came since; undefined if no answer has. */
function knownTokens(core: Core): number | undefined {
  let since = 0;
  for (let at = core.messages.length - 1; at >= core.freshFrom; at--) {
    const message = core.messages[at]!;
    if (message.role === "assistant" && message.stopReason !== "error" && message.stopReason !== "aborted") {
      const tokens = calculateContextTokens(message.usage);
      if (tokens > 0) return tokens + since;
    }
    since += messageTokens(message);
  }
  return undefined;
}

/** In tokens: what was said, or an estimate of everything. */
export function contextTokens(core: Core): number {
  return knownTokens(core) ?? core.messages.reduce((sum, message) => sum + messageTokens(message), 0);
}

/** Null where nothing is known: between a compaction and the next answer. */
export function contextUsage(core: Core): ContextUsage | undefined {
  const contextWindow = core.model?.model.contextWindow ?? 0;
  if (contextWindow <= 0) return undefined;
  const tokens = knownTokens(core) ?? (core.freshFrom > 0 ? null : contextTokens(core));
  return { tokens, contextWindow, percent: tokens === null ? null : (tokens / contextWindow) * 100 };
}

/** What is left free of a window, and what of the conversation is kept: of a small window never more than a quarter. */
export function compactionBudget(core: Core): { reserve: number; keep: number } {
  const { reserveTokens, keepRecentTokens } = core.settings.compaction;
  const quarter = Math.floor((core.model?.model.contextWindow ?? 0) / 4);
  return { reserve: Math.min(reserveTokens, quarter), keep: Math.min(keepRecentTokens, quarter) };
}

export function isContextFull(core: Core): boolean {
  const contextWindow = core.model?.model.contextWindow ?? 0;
  if (!core.settings.compaction.enabled || contextWindow <= 0) return false;
  return contextTokens(core) > contextWindow - compactionBudget(core).reserve;
}

/** Of the whole session, branches and all. */
export function sessionStats(core: Core): SessionStats {
  const stats: SessionStats = {
    sessionFile: core.store.file,
    sessionId: core.store.id,
    userMessages: 0,
    assistantMessages: 0,
    toolCalls: 0,
    toolResults: 0,
    totalMessages: 0,
    tokens: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
    cost: 0,
  };
  const add = (usage: Usage | undefined): void => {
    if (!usage) return;
    for (const name of ["input", "output", "cacheRead", "cacheWrite"] as const) {
      stats.tokens[name] += usage[name] ?? 0;
      stats.tokens.total += usage[name] ?? 0;
    }
    stats.cost += usage.cost?.total ?? 0;
  };
  for (const entry of core.store.entries()) {
    if (entry.type === "compaction" || entry.type === "branch_summary" || entry.type === "usage") {
      add(entry.usage);
    }
    if (entry.type === "custom_message") stats.totalMessages++;
    if (entry.type !== "message") continue;
    const { message } = entry;
    stats.totalMessages++;
    if (message.role === "user") stats.userMessages++;
    else if (message.role === "toolResult") stats.toolResults++;
    else if (message.role === "assistant") {
      stats.assistantMessages++;
      stats.toolCalls += message.content.filter(({ type }) => type === "toolCall").length;
      add(message.usage);
    }
  }
  const usage = contextUsage(core);
  return usage ? { ...stats, contextUsage: usage } : stats;
}
