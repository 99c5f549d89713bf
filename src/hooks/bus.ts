/**
 * The hooks bus of a session (wire-notes.md, "Shell hooks"; extension-protocol.md §7): shell commands that may deny or revise a
 * tool call, replace a result's text or the system prompt, or just be told. In the chain they come before the
 * extensions.
 */
import { errorText, XdevError } from "../base/errors.ts";
import { log } from "../base/log.ts";
import { ellipsis, stripControls } from "../base/text.ts";
import { withTimeout } from "../base/time.ts";
import type { Interceptor } from "../extensions/chain.ts";
import { type HookEvent, isToolEvent } from "./events.ts";
import { type Hook, type HookEntry, isBroken } from "./hook.ts";
import { type AskHook, hookInterceptor } from "./interceptor.ts";
import { type HookReply, unknownMembers } from "./reply.ts";
import { HOOK_LIMIT_MS, runHookCommand } from "./run.ts";

export interface HooksContext {
  /** The session's working folder; hooks get it in the payload and as XDEV_CWD. */
  cwd: string;
  sessionId: string;
  env: Record<string, string | undefined>;
  /** Tells the user something once. */
  notice(text: string): void;
  /** For tests; 10 s. */
  timeoutMs?: number;
}

export interface HooksBus {
  /** In order, to be put before those of the extensions. */
  readonly interceptors: readonly Interceptor[];
  /** Tells the hooks of an event without a tool; returns at once, and nobody's answer is waited for. */
  emit(event: HookEvent, payload?: Record<string, unknown>): void;
  /**
   * Before a run: waits for the hooks of `before_agent_start`, then asks those of `context`, each of which sees what the
   * one before it made of the system prompt. Gives the prompt to use. A hook that fails changes nothing.
   */
  prepare(prompt: string, systemPrompt: string, signal?: AbortSignal): Promise<string>;
  /** Waits for what was emitted, one limit at most, and ends the rest. Leaves no process. */
  close(): Promise<void>;
  /** Ends everything now. */
  abort(): Promise<void>;
}

/** Reports the broken hooks at once. */
export function hooksBus(entries: readonly HookEntry[], context: HooksContext): HooksBus {
  const { cwd, sessionId, timeoutMs = HOOK_LIMIT_MS } = context;
  const env: Record<string, string> = { XDEV_CWD: cwd };
  for (const [name, value] of Object.entries(context.env)) {
    if (value !== undefined && name !== "XDEV_CWD") env[name] = value;
  }
  const ended = new AbortController();
  const told = new Set<Hook>();
  const running = new Set<Promise<unknown>>();
  /** The end of what a hook is to be told: its runs come in order and never overlap, and a slow one delays no other. */
  const queues = new Map<Hook, Promise<unknown>>();

  for (const entry of entries) {
    if (!isBroken(entry)) continue;
    const effect = entry.denies ? "every tool call is denied until it is repaired" : "it does not run";
    context.notice(`hook ${entry.name} can't be used: ${entry.problem} (${effect})`);
  }

  const ask: AskHook = async (hook, payload, signal) => {
    const refusal = await hook.verify?.();
    if (refusal !== undefined) throw new XdevError("hook-failed", refusal);
    const reply = await runHookCommand(
      hook.command,
      { event: hook.event, ...payload, cwd, sessionId },
      {
        cwd: hook.cwd,
        env,
        timeoutMs,
        signal: signal ? AbortSignal.any([signal, ended.signal]) : ended.signal,
      },
    );
    warnOfUnknown(hook, reply);
    return reply;
  };

  const once = (hook: Hook, text: string) => {
    if (told.has(hook)) return log.debug(text);
    told.add(hook);
    log.warn(text);
  };
  const failed = (hook: Hook, reason: string) =>
    once(hook, `hook ${hook.name} (${hook.event}): ${ellipsis(stripControls(reason), 500)}`);
  const warnOfUnknown = (hook: Hook, reply: HookReply | undefined) => {
    const unknown = reply ? unknownMembers(reply) : [];
    if (unknown.length === 0) return;
    const names = ellipsis(unknown.join(", "), 100);
    once(
      hook,
      `hook ${hook.name} replied with ${names}, which means nothing here (block, reason, input, text)`,
    );
  };

  const listeners = (event: HookEvent, payload: Record<string, unknown>): Hook[] => {
    const hooks = entries.filter((entry): entry is Hook => !isBroken(entry) && entry.event === event);
    const json = hooks.some(({ matcher }) => matcher) ? JSON.stringify({ event, ...payload }) : "";
    return hooks.filter(({ matcher }) => matcher?.(json) ?? true);
  };
  /** Like `ask`, but a failure is only logged. */
  const tell = async (hook: Hook, payload: Record<string, unknown>, signal?: AbortSignal) => {
    try {
      return await ask(hook, payload, signal);
    } catch (error) {
      const isAbort = error instanceof XdevError && error.code === "aborted";
      if (!isAbort) failed(hook, errorText(error));
      return undefined;
    }
  };

  const end = async () => {
    ended.abort();
    await Promise.all(running);
  };
  return {
    interceptors: entries.flatMap((entry) => hookInterceptor(entry, { ask, cwd, failed }) ?? []),

    emit(event, payload = {}) {
      if (isToolEvent(event) || ended.signal.aborted) return;
      for (const hook of listeners(event, payload)) {
        const before = queues.get(hook) ?? Promise.resolve();
        const run = before.then(() => tell(hook, payload)).finally(() => running.delete(run));
        queues.set(hook, run);
        running.add(run);
      }
    },

    async prepare(prompt, systemPrompt, signal) {
      for (const hook of listeners("before_agent_start", { prompt })) await tell(hook, { prompt }, signal);
      let current = systemPrompt;
      for (const hook of listeners("context", { systemPrompt })) {
        const reply = await tell(hook, { systemPrompt: current }, signal);
        if (reply?.text != null) current = reply.text;
      }
      return current;
    },

    async close() {
      await withTimeout(Promise.all(running), timeoutMs, "the hooks").catch(() => {
        log.warn("hooks that were still running at the end of the session were ended");
      });
      await end();
    },

    abort: end,
  };
}
