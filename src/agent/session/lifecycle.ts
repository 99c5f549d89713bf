/** The beginning and the end of a session, and the ways from one to another. */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { XdevError } from "../../base/errors.ts";
import { withTimeout } from "../../base/time.ts";
import type { SessionStore } from "../../session/store.ts";
import type { SessionStartReason, SwitchOptions } from "../agent-session-types.ts";
import { type AskedEvent, parseResult } from "../extension-results.ts";
import { messageText } from "../messages.ts";
import { endUserCommands } from "./commands.ts";
import type { Core } from "./core.ts";
import { recordChoices, restoreChoices } from "./models.ts";
import { loadResources } from "./resources.ts";
import { restoreTodos } from "./todo.ts";

/** How long extensions have for `session_shutdown`, in ms (extension-api.md). */
const SHUTDOWN_MS = 5000;

type Reason = "new" | "resume" | "fork";

/** Says that the session is there; modules that listen have handled it when this resolves. */
export async function announceStart(
  core: Core,
  reason: SessionStartReason,
  previousSessionFile?: string,
): Promise<void> {
  const { cwd } = core.options;
  const { id: sessionId, file } = core.store;
  const model = core.model ? `${core.model.model.provider}/${core.model.model.id}` : null;
  const more = previousSessionFile === undefined ? {} : { previousSessionFile };
  core.emit({
    type: "session_start",
    reason,
    sessionId,
    cwd,
    ...(file === undefined ? {} : { sessionFile: file }),
    ...more,
  });
  const v1 = { cwd, sessionId, model };
  core.tellHooks("session_start", v1);
  await core.events?.tell("session_start", { ...v1, reason, ...more }, v1);
}

export async function start(
  core: Core,
  reason: "startup" | "resume" | "fork",
  previousSessionFile?: string,
): Promise<void> {
  await announceStart(core, reason, previousSessionFile);
  await loadResources(core, "startup");
  core.setSystemPrompt(core.systemPrompt);
}

/** One reload, by its turn (reload.ts). */
export async function reloadNow(core: Core, onlyIfChanged: boolean): Promise<void> {
  const { manager } = core.options;
  await whenIdle(core);
  if (core.isDisposed) return;
  const plan = await manager?.plan();
  if (onlyIfChanged && !(plan && plan.ends.length + plan.starts.length > 0)) return;
  await whenIdle(core);
  if (core.isDisposed) return;
  const exchange = async (): Promise<void> => {
    await tellShutdown(core, "reload");
    if (manager && plan) await manager.reload(plan);
  };
  const exchanging = exchange();
  core.exchanging = exchanging;
  await exchanging.finally(() => {
    core.exchanging = undefined;
  });
  if (core.isDisposed) return;
  await announceStart(core, "reload");
  await loadResources(core, "reload");
  // With the tools as they are now.
  if (!core.run) core.messages[0] = core.leadingMessage();
  if (plan) core.notice((await import("../../extensions/reload.ts")).reloadSummary(plan));
}

async function whenIdle(core: Core): Promise<void> {
  while (core.run || core.compacting) await (core.run?.done ?? core.compacting?.done);
}

async function tellShutdown(core: Core, reason: "quit" | "reload"): Promise<void> {
  const told = core.events?.tell("session_shutdown", { reason });
  if (told) await withTimeout(told, SHUTDOWN_MS, "the end of the extensions").catch(() => {});
}

/**
 * One way to another session at a time, and none once the session has ended: of two at once, what belongs to one session would go on
 * in the other, and nobody would close what is opened after the end.
 */
async function moving<T>(core: Core, move: () => Promise<T>): Promise<T> {
  core.mustBeOpen();
  if (core.moving) throw new XdevError("busy", "another session is being opened already: wait for it");
  core.moving = "asking";
  try {
    return await move();
  } finally {
    core.moving = undefined;
  }
}

export function newSession(core: Core, parentSession?: string): Promise<{ cancelled: boolean }> {
  return moving(core, () => toNew(core, parentSession));
}

async function toNew(core: Core, parentSession: string | undefined): Promise<{ cancelled: boolean }> {
  if (await isCancelled(core, "session_before_switch", { reason: "new" })) return { cancelled: true };
  const { SessionStore } = await import("../../session/index.ts");
  await leave(core);
  const { cwd, dataDir } = core.options;
  const { file, folder } = core.store;
  const store =
    file === undefined || folder === undefined
      ? SessionStore.inMemory({ cwd })
      : SessionStore.create({
          cwd,
          dataDir,
          sessionDir: folder,
          ...(parentSession === undefined ? {} : { parentSession }),
        });
  await goTo(core, store, "new");
  return { cancelled: false };
}

/** Rejects with what is wrong with the file before anything has changed. */
export function switchSession(
  core: Core,
  path: string,
  options: SwitchOptions = {},
): Promise<{ cancelled: boolean }> {
  return moving(core, () => toOther(core, path, options));
}

async function toOther(
  core: Core,
  path: string,
  { isCanonical = false }: SwitchOptions,
): Promise<{ cancelled: boolean }> {
  const event = { reason: "resume", targetSessionFile: path };
  if (await isCancelled(core, "session_before_switch", event)) return { cancelled: true };
  const { SessionStore } = await import("../../session/index.ts");
  if (core.store.file !== undefined && resolve(path) === core.store.file) return { cancelled: false };
  const file = resolve(core.options.cwd, path);
  if (!existsSync(file)) throw new XdevError("no-session", `there is no session file ${file}`);
  const store = await SessionStore.open(file, { dataDir: core.options.dataDir, isCanonical });
  try {
    await leave(core);
  } catch (error) {
    store.close();
    throw error;
  }
  for (const { message } of store.problems) core.notice(message);
  await goTo(core, store, "resume");
  return { cancelled: false };
}

/** The branch before a message of the user, as a session of its own; gives the message's text. */
export async function fork(core: Core, entryId: string): Promise<{ text?: string; cancelled: boolean }> {
  core.mustBeOpen();
  const entry = core.store.getEntry(entryId);
  if (entry?.type !== "message" || entry.message.role !== "user") {
    throw new XdevError("unknown-entry", `${entryId} is no message of the user in this session`);
  }
  const text = messageText(entry.message);
  const { cancelled } = await branchOff(core, entryId, entry.parentId, "before");
  return cancelled ? { cancelled } : { text, cancelled };
}

export async function clone(core: Core): Promise<{ cancelled: boolean }> {
  const { leafId } = core.store;
  if (leafId === null) throw new XdevError("unknown-entry", "there is nothing in the session yet");
  return branchOff(core, leafId, leafId, "at");
}

type Position = "before" | "at";

function branchOff(
  core: Core,
  entryId: string,
  upTo: string | null,
  position: Position,
): Promise<{ cancelled: boolean }> {
  return moving(core, () => toBranch(core, entryId, upTo, position));
}

async function toBranch(
  core: Core,
  entryId: string,
  upTo: string | null,
  position: Position,
): Promise<{ cancelled: boolean }> {
  if (await isCancelled(core, "session_before_branch", { entryId, position })) return { cancelled: true };
  if (await isCancelled(core, "session_before_switch", { reason: "fork" })) return { cancelled: true };
  const { forkSession } = await import("../../session/index.ts");
  await leave(core);
  await goTo(core, forkSession(core.store, { upTo }), "fork");
  return { cancelled: false };
}

/** `session_before_switch`, `session_before_branch`: the first that cancels decides. */
async function isCancelled(
  core: Core,
  event: Extract<AskedEvent, "session_before_switch" | "session_before_branch">,
  payload: Record<string, unknown>,
): Promise<boolean> {
  if (event === "session_before_switch") core.tellHooks(event, payload);
  let cancelled = false;
  await core.events?.ask(
    event,
    () => payload,
    (result) => {
      cancelled = parseResult(event, result).cancel === true;
      return cancelled;
    },
  );
  return cancelled;
}

/** Before another session takes this one's place, which it then does at once. Throws `closed` if the end came meanwhile. */
async function leave(core: Core): Promise<void> {
  core.moving = "leaving";
  await endWork(core);
  if (core.isDisposed) throw closed();
}

const closed = () => new XdevError("closed", "the session is closed");

/** Everything that belongs to the session that is left ends; nothing of it is told to the next one. */
async function endWork(core: Core): Promise<void> {
  const forget = (): void => {
    core.steering.clear();
    core.followUps.clear();
    core.nextTurn = [];
  };
  forget();
  core.compacting?.abort.abort();
  await core.compacting?.done;
  core.run?.abort();
  await core.run?.done;
  await endUserCommands(core);
  // Also what came while those ended.
  forget();
}

async function goTo(core: Core, store: SessionStore, reason: Reason): Promise<void> {
  const previous = core.store;
  const previousSessionFile = previous.file;
  core.store = store;
  store.onProblem = ({ message }) => core.notice(message);
  core.turnsExhausted = false;
  if (core.resources) core.resources.watch = undefined;
  // A fresh session goes on with what is chosen now; one that was there before, with what it had.
  const context = store.buildContext();
  core.rebuild(context);
  restoreTodos(core);
  previous.close();
  core.moving = "asking";
  if (reason === "resume") await restoreChoices(core, context, false);
  else {
    core.recorded = { model: context.model, thinkingLevel: context.thinkingLevel };
    if (reason === "fork") recordChoices(core);
  }
  // The end came meanwhile, and has closed this store: nobody is told of a beginning behind it.
  if (core.isDisposed) throw closed();
  const told = { reason, ...(previousSessionFile === undefined ? {} : { previousSessionFile }) };
  await announceStart(core, reason, previousSessionFile);
  core.publish({ type: "session_switch", ...told });
  core.tellHooks("session_switch", told);
  if (reason === "fork") {
    core.publish({
      type: "session_branch",
      ...(previousSessionFile === undefined ? {} : { previousSessionFile }),
    });
  }
}

export async function dispose(core: Core): Promise<void> {
  if (core.isDisposed) return;
  core.isDisposed = true;
  await endWork(core);
  await core.reloads?.catch(() => {});
  core.emit({ type: "session_shutdown" });
  await tellShutdown(core, "quit");
  core.store.close();
}
