/**
 * One hook as an interceptor: what its reply, and its failure, mean for a tool call. Each hook is one of its own, so that the
 * chain validates what it revises, and asks those before it again (chain.ts).
 */
import { errorText, XdevError } from "../base/errors.ts";
import { ellipsis, stripControls } from "../base/text.ts";
import type { Interceptor, ToolCall, ToolResult, Verdict } from "../extensions/chain.ts";
import type { Content } from "../extensions/frame.ts";
import { type BrokenHook, type Hook, type HookEntry, isBroken } from "./hook.ts";
import { type HookReply, isForeign } from "./reply.ts";

/** Runs a hook that matches; throws what `runHookCommand` does. */
export type AskHook = (
  hook: Hook,
  payload: Record<string, unknown>,
  signal: AbortSignal | undefined,
) => Promise<HookReply | undefined>;

export interface InterceptorHost {
  ask: AskHook;
  /** What relative paths in arguments are relative to. */
  cwd: string;
  /** A failure that changes nothing for the run. */
  failed(hook: Hook, reason: string): void;
}

/** Undefined for a hook of another event. */
export function hookInterceptor(entry: HookEntry, host: InterceptorHost): Interceptor | undefined {
  const name = `hook ${entry.name}`;
  if (isBroken(entry)) return entry.denies ? { name, toolCall: async () => refuse(entry) } : undefined;
  if (entry.event === "tool_call") {
    return { name, toolCall: (call, signal) => decide(entry, call, host, signal) };
  }
  if (entry.event === "tool_result") {
    return { name, toolResult: (call, result, signal) => patch(entry, call, result, host, signal) };
  }
  return undefined;
}

function refuse(entry: BrokenHook): Verdict {
  return deny(entry, `it can't be used: ${entry.problem}`);
}

async function decide(
  hook: Hook,
  call: ToolCall,
  host: InterceptorHost,
  signal?: AbortSignal,
): Promise<Verdict> {
  if (!concerns(hook, call, host.cwd)) return { allow: true };
  let reply: HookReply | undefined;
  try {
    reply = await host.ask(hook, { tool: call.tool, input: call.arguments, toolCallId: call.callId }, signal);
  } catch (error) {
    return deny(hook, errorText(error));
  }
  if (reply?.block === true) return deny(hook, reply.reason || "denied");
  // Nothing in it that is known here: it may well have meant to deny, in a word that is misspelt or another agent's.
  if (reply && isForeign(reply))
    return deny(hook, "its output has no member that is known (block, reason, input, text)");
  return reply?.input == null ? { allow: true } : { allow: true, revise: reply.input };
}

/** Whether a hook is to be asked. One whose matcher or condition fails is. */
function concerns(hook: Hook, call: ToolCall, cwd: string): boolean {
  try {
    return (hook.matcher?.(call.tool) ?? true) && (hook.condition?.(call.tool, call.arguments, cwd) ?? true);
  } catch {
    return true;
  }
}

function deny({ name }: HookEntry, reason: string): Verdict {
  return { allow: false, reason: `blocked by hook ${name}: ${ellipsis(stripControls(reason), 2000)}` };
}

async function patch(
  hook: Hook,
  call: ToolCall,
  result: ToolResult,
  host: InterceptorHost,
  signal?: AbortSignal,
): Promise<Partial<ToolResult> | undefined> {
  if (!concerns(hook, call, host.cwd)) return undefined;
  const { text, rest } = parts(result.content);
  try {
    const reply = await host.ask(
      hook,
      { tool: call.tool, input: call.arguments, toolCallId: call.callId, text, isError: result.isError },
      signal,
    );
    if (reply?.text == null) return undefined;
    return { content: [{ type: "text", text: reply.text }, ...rest] };
  } catch (error) {
    if (!(error instanceof XdevError && error.code === "aborted")) host.failed(hook, errorText(error));
    return undefined;
  }
}

/** The text of a result, and what is none: images stay when the text is replaced. */
function parts(content: Content): { text: string; rest: Content } {
  return {
    text: content.flatMap((item) => (item.type === "text" ? [item.text] : [])).join("\n"),
    rest: content.filter((item) => item.type !== "text"),
  };
}
