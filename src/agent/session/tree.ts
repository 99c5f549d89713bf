/** Going on from another entry of the session, with or without a summary of what is left behind. */
import { errorText, XdevError } from "../../base/errors.ts";
import { messagesOf } from "../../session/context.ts";
import type { SessionEntry } from "../../session/types.ts";
import type { NavigateOptions } from "../agent-session-types.ts";
import { parseResult } from "../extension-results.ts";
import { messageText } from "../messages.ts";
import { filesOf } from "./compaction-plan.ts";
import type { Core } from "./core.ts";
import { summarize } from "./summarize.ts";
import { restoreTodos } from "./todo.ts";

export interface Navigation {
  cancelled: boolean;
  editorText?: string;
  summaryEntry?: SessionEntry;
}

export async function navigateTree(
  core: Core,
  targetId: string,
  { summarize: wantsSummary = false, customInstructions }: NavigateOptions,
): Promise<Navigation> {
  core.mustBeOpen();
  const { store } = core;
  const target = store.getEntry(targetId);
  if (!target) throw new XdevError("unknown-entry", `the session has no entry ${targetId}`);
  if (core.run) throw new XdevError("busy", "a run goes on: abort it before you go elsewhere in the session");
  if (core.compacting) throw new XdevError("busy", "a summary is being made: wait for it, or abort it");
  const oldLeafId = store.leafId;
  if (targetId === oldLeafId) return { cancelled: false };
  const { newLeafId, editorText } = destination(target);
  const { left, commonAncestorId } = whatIsLeft(core, newLeafId);
  const abort = new AbortController();
  const done = Promise.withResolvers<void>();
  core.compacting = { abort, done: done.promise, isManual: true };
  try {
    const asked = await askBefore(
      core,
      {
        targetId,
        oldLeafId,
        commonAncestorId,
        entriesToSummarize: left,
        userWantsSummary: wantsSummary,
      },
      abort.signal,
    );
    if (asked.isCancelled) return { cancelled: true };
    const summary =
      asked.summary ??
      (wantsSummary && left.length > 0
        ? await summaryOf(core, left, customInstructions, abort.signal)
        : undefined);
    abort.signal.throwIfAborted();
    store.branch(newLeafId);
    const summaryEntry = summary && keepSummary(core, oldLeafId, summary);
    core.rebuild();
    restoreTodos(core);
    if (core.resources) core.resources.watch = undefined;
    const told = {
      newLeafId: store.leafId,
      oldLeafId,
      ...(summaryEntry ? { summaryEntry, fromExtension: summary.fromHook === true } : {}),
    };
    core.emit({ type: "session_tree", ...told });
    if (core.events?.listens("session_tree")) core.events.emit("session_tree", told);
    return {
      cancelled: false,
      ...(editorText === undefined ? {} : { editorText }),
      ...(summaryEntry ? { summaryEntry } : {}),
    };
  } catch (error) {
    if (abort.signal.aborted) throw new XdevError("aborted", "the summary was aborted");
    throw error instanceof XdevError ? error : new XdevError("summary-failed", errorText(error));
  } finally {
    core.compacting = undefined;
    done.resolve();
  }
}

/** A message of the user is written anew: the branch goes on from before it. */
function destination(target: SessionEntry): { newLeafId: string | null; editorText?: string } {
  const isUser = target.type === "message" && target.message.role === "user";
  if (!isUser && target.type !== "custom_message") return { newLeafId: target.id };
  const [message] = messagesOf(target);
  return { newLeafId: target.parentId, editorText: message ? messageText(message) : "" };
}

/** The entries between the leaf and where the two branches part, oldest first. */
function whatIsLeft(
  core: Core,
  newLeafId: string | null,
): { left: SessionEntry[]; commonAncestorId: string | null } {
  const there = new Set(newLeafId === null ? [] : core.store.getBranchIds(newLeafId));
  const here = core.store.getBranchIds();
  const parting = here.findLastIndex((id) => there.has(id));
  return {
    left: here.slice(parting + 1).flatMap((id) => core.store.getEntry(id) ?? []),
    commonAncestorId: here[parting] ?? null,
  };
}

interface Summary {
  summary: string;
  details?: unknown;
  usage?: import("@earendil-works/pi-ai").Usage;
  fromHook?: boolean;
}

function keepSummary(core: Core, fromId: string | null, summary: Summary): SessionEntry | undefined {
  const { summary: text, details, usage, fromHook } = summary;
  const id = core.keep({
    type: "branch_summary",
    fromId: fromId ?? "root",
    summary: text,
    ...(details === undefined ? {} : { details }),
    ...(usage === undefined ? {} : { usage }),
    ...(fromHook ? { fromHook } : {}),
  });
  return id === undefined ? undefined : core.store.getEntry(id);
}

async function summaryOf(
  core: Core,
  left: readonly SessionEntry[],
  instructions: string | undefined,
  signal: AbortSignal,
): Promise<Summary | undefined> {
  const messages = left.flatMap(messagesOf);
  if (messages.length === 0) return undefined;
  const files = filesOf(messages, undefined);
  const { text, usage } = await summarize(core, { of: "branch", messages, instructions, files, signal });
  return { summary: text, usage, details: files };
}

async function askBefore(
  core: Core,
  preparation: Record<string, unknown>,
  signal: AbortSignal,
): Promise<{ isCancelled: boolean; summary?: Summary }> {
  let isCancelled = false;
  let summary: Summary | undefined;
  await core.events?.ask(
    "session_before_tree",
    () => ({ preparation }),
    (result) => {
      const asked = parseResult("session_before_tree", result);
      isCancelled = asked.cancel === true;
      if (asked.summary) {
        const { summary: text, details } = asked.summary;
        summary = { summary: text, ...(details === undefined ? {} : { details }), fromHook: true };
      }
      return isCancelled;
    },
    { signal, isLong: true },
  );
  return summary ? { isCancelled, summary } : { isCancelled };
}
