/** Makes a conversation shorter: its beginning becomes a summary, by the model of the session or by an extension. */
import { errorText, XdevError } from "../../base/errors.ts";
import type { CompactionEntry } from "../../session/types.ts";
import type { CompactionReason, CompactionResult } from "../agent-session-types.ts";
import { parseResult } from "../extension-results.ts";
import { type CompactionPlan, mayBeginWith, planCompaction } from "./compaction-plan.ts";
import type { Core } from "./core.ts";
import type { Run } from "./run.ts";
import { summarize } from "./summarize.ts";
import { compactionBudget, contextTokens, messageTokens } from "./usage.ts";

/** The user asks for it: what goes on ends first. Rejects with `nothing-to-compact`, `cancelled`, `aborted` or `summary-failed`. */
export async function compactManually(core: Core, instructions?: string): Promise<CompactionResult> {
  core.mustBeOpen();
  if (!core.model) throw new XdevError("no-model", "no model is chosen");
  if (core.compacting) throw new XdevError("busy", "a compaction goes on already");
  const plan = async (): Promise<CompactionPlan> => {
    core.run?.abort();
    await core.run?.done;
    const made = makePlan(core, "all");
    if (!made) throw new XdevError("nothing-to-compact", "there is nothing to summarise yet");
    return made;
  };
  return conduct(core, plan, "manual", instructions);
}

/**
 * True if the conversation is shorter now. What goes wrong is told, and not tried again in this run. Within a run the user's
 * last message stays; `beforePrompt` another one is about to come.
 */
export async function compactAutomatically(
  core: Core,
  reason: "threshold" | "overflow",
  run: Run,
  beforePrompt = false,
): Promise<boolean> {
  const plan = makePlan(core, beforePrompt ? "all" : "last-turn");
  if (!plan) return false;
  core.publish({ type: "auto_compaction_start", reason });
  const willRetry = reason === "overflow";
  const end = (result: CompactionResult | undefined, aborted: boolean, errorMessage?: string): void => {
    core.publish({
      type: "auto_compaction_end",
      result,
      aborted,
      willRetry: willRetry && result !== undefined,
      ...(errorMessage === undefined ? {} : { errorMessage }),
    });
  };
  try {
    const result = await conduct(core, async () => plan, reason, undefined, run.signal);
    end(result, false);
    return true;
  } catch (error) {
    run.compactionFailed = true;
    const isAborted = error instanceof XdevError && (error.code === "aborted" || error.code === "cancelled");
    end(undefined, isAborted, isAborted ? undefined : errorText(error));
    return false;
  }
}

function makePlan(core: Core, always: "last-turn" | "all"): CompactionPlan | undefined {
  return planCompaction(core.store.contextEntries(), compactionBudget(core).keep, messageTokens, always);
}

/** One compaction with its events; rejects if there is none in the end. */
async function conduct(
  core: Core,
  planned: () => Promise<CompactionPlan>,
  reason: CompactionReason,
  instructions?: string,
  outer?: AbortSignal,
): Promise<CompactionResult> {
  const abort = new AbortController();
  const signal = outer ? AbortSignal.any([abort.signal, outer]) : abort.signal;
  const done = Promise.withResolvers<void>();
  core.compacting = { abort, done: done.promise, isManual: reason === "manual" };
  core.emit({ type: "compaction_start", reason });
  const willRetry = reason === "overflow";
  const end = (result: CompactionResult | undefined, aborted: boolean, errorMessage?: string): void => {
    if (!result && core.events?.listens("session_compact_failed")) {
      const failed = { reason, aborted, errorMessage, willRetry, fromExtension: false };
      core.events.emit("session_compact_failed", failed);
    }
    core.emit({
      type: "compaction_end",
      reason,
      result,
      aborted,
      willRetry: willRetry && result !== undefined,
      ...(errorMessage === undefined ? {} : { errorMessage }),
    });
  };
  try {
    // From here on a run that begins waits.
    const result = await carryOut(core, await planned(), reason, instructions, signal);
    end(result, false);
    return result;
  } catch (error) {
    const failure = signal.aborted ? new XdevError("aborted", "the compaction was aborted") : error;
    const isAborted =
      failure instanceof XdevError && (failure.code === "aborted" || failure.code === "cancelled");
    end(undefined, isAborted, isAborted ? undefined : errorText(failure));
    throw failure;
  } finally {
    core.compacting = undefined;
    done.resolve();
  }
}

async function carryOut(
  core: Core,
  plan: CompactionPlan,
  reason: CompactionReason,
  instructions: string | undefined,
  signal: AbortSignal,
): Promise<CompactionResult> {
  const tokensBefore = contextTokens(core);
  const made = (await askBefore(core, plan, reason, tokensBefore, instructions, signal)) ?? {
    ...(await ownSummary(core, plan, instructions, signal)),
    firstKeptEntryId: plan.firstKeptEntryId,
    tokensBefore,
    fromExtension: false,
  };
  signal.throwIfAborted();
  const { fromExtension, ...entry } = made;
  const id = keepCompaction(core, entry, fromExtension);
  core.rebuild();
  const compactionEntry = core.store.getEntry(id) as CompactionEntry;
  core.emit({ type: "session_compact", compactionEntry, fromExtension });
  if (core.events?.listens("session_compact")) {
    const willRetry = reason === "overflow";
    core.events.emit("session_compact", { compactionEntry, fromExtension, reason, willRetry });
  }
  core.tellHooks("session_compact", { summary: entry.summary, fromExtension });
  return {
    summary: entry.summary,
    firstKeptEntryId: compactionEntry.firstKeptEntryId,
    tokensBefore: entry.tokensBefore,
    estimatedTokensAfter: core.messages.reduce((sum, message) => sum + messageTokens(message), 0),
    ...(entry.usage === undefined ? {} : { usage: entry.usage }),
    ...(entry.details === undefined ? {} : { details: entry.details }),
  };
}

interface Made {
  summary: string;
  firstKeptEntryId: string | undefined;
  tokensBefore: number;
  details?: unknown;
  usage?: CompactionResult["usage"];
  fromExtension: boolean;
}

function keepCompaction(core: Core, made: Omit<Made, "fromExtension">, fromExtension: boolean): string {
  const { firstKeptEntryId, summary, tokensBefore, details, usage } = made;
  return core.store.append({
    type: "compaction",
    summary,
    firstKeptEntryId: firstKeptEntryId ?? "",
    tokensBefore,
    ...(details === undefined ? {} : { details }),
    ...(usage === undefined ? {} : { usage }),
    ...(fromExtension ? { fromHook: true } : {}),
  });
}

/** `session_before_compact`: a module may cancel it, or bring a summary of its own. */
async function askBefore(
  core: Core,
  plan: CompactionPlan,
  reason: CompactionReason,
  tokensBefore: number,
  customInstructions: string | undefined,
  signal: AbortSignal,
): Promise<Made | undefined> {
  if (!core.events?.listens("session_before_compact")) return undefined;
  const { messagesToSummarize, firstKeptEntryId, isSplitTurn, previousSummary, files } = plan;
  const preparation = {
    firstKeptEntryId,
    messagesToSummarize,
    turnPrefixMessages: [],
    isSplitTurn,
    tokensBefore,
    previousSummary,
    fileOps: { read: files.readFiles, written: [], edited: files.modifiedFiles },
    settings: core.settings.compaction,
  };
  let isCancelled = false;
  let made: Made | undefined;
  await core.events.ask(
    "session_before_compact",
    () => ({
      preparation,
      branchEntries: core.store.getBranch(),
      customInstructions,
      reason,
      willRetry: reason === "overflow",
    }),
    (result) => {
      const { cancel, compaction } = parseResult("session_before_compact", result);
      isCancelled = cancel === true;
      if (compaction) {
        const wanted = compaction.firstKeptEntryId;
        const fits = wanted != null && mayBeginWith(core.store.contextEntries(), wanted);
        made = {
          summary: compaction.summary,
          firstKeptEntryId: fits ? wanted : firstKeptEntryId,
          tokensBefore: compaction.tokensBefore ?? tokensBefore,
          ...(compaction.details === undefined ? {} : { details: compaction.details }),
          fromExtension: true,
        };
      }
      return isCancelled;
    },
    { signal, isLong: true },
  );
  if (isCancelled) throw new XdevError("cancelled", "an extension cancelled the compaction");
  return made;
}

async function ownSummary(
  core: Core,
  plan: CompactionPlan,
  instructions: string | undefined,
  signal: AbortSignal,
): Promise<Pick<Made, "summary" | "details" | "usage">> {
  const { messagesToSummarize, previousSummary, files } = plan;
  const context: string[] = [];
  let prompt: string | undefined;
  let preserveData: unknown;
  await core.events?.ask(
    "session.compacting",
    () => ({ sessionId: core.store.id, messages: messagesToSummarize }),
    (result) => {
      const asked = parseResult("session.compacting", result);
      context.push(...(asked.context ?? []));
      prompt = asked.prompt ?? prompt;
      if (asked.preserveData !== undefined) preserveData = asked.preserveData;
      return undefined;
    },
    { signal },
  );
  signal.throwIfAborted();
  const { text, usage } = await summarize(core, {
    of: "compaction",
    messages: messagesToSummarize,
    previousSummary,
    instructions,
    context,
    prompt,
    files,
    signal,
  });
  return {
    summary: text,
    usage,
    details: preserveData === undefined ? files : { ...files, preserveData },
  };
}
