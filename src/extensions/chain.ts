/**
 * The interceptor chain: what is asked before a tool runs and after it has (extension-protocol.md §5, §7).
 * It fails closed: an interceptor that throws denies, and the first denial ends the chain.
 */
import { errorText } from "../base/errors.ts";
import { log } from "../base/log.ts";
import type { Content } from "./frame.ts";

export interface ToolCall {
  tool: string;
  /** What will run, after the tool's schema has seen it. */
  arguments: Record<string, unknown>;
  /** The provider's id of the call. */
  callId: string;
}

export interface ToolResult {
  content: Content;
  details: unknown;
  isError: boolean;
}

export type Verdict =
  | {
      allow: true /** New arguments, not yet checked against the tool's schema. */;
      revise?: Record<string, unknown>;
    }
  | { allow: false /** What the model is told. */; reason: string };

export interface Interceptor {
  /** For messages: "extension deny-rm", "hook tool_call". */
  readonly name: string;
  toolCall?(call: ToolCall, signal?: AbortSignal): Promise<Verdict>;
  /** Gives the members to replace, or undefined. Advisory: a failure leaves the result as it was. */
  toolResult?(
    call: ToolCall,
    result: ToolResult,
    signal?: AbortSignal,
  ): Promise<Partial<ToolResult> | undefined>;
}

/**
 * Asks each interceptor in order. `validate` checks revised arguments against the tool's own schema and gives what would
 * run, or throws; a revision that it refuses is a denial.
 *
 * Whoever was asked before a revision has judged other arguments than those that run, so it is asked again, and
 * only its verdict counts then: without this, an extension could turn an approved call into one that a policy denies.
 */
export async function decideToolCall(
  interceptors: readonly Interceptor[],
  call: ToolCall,
  validate: (args: Record<string, unknown>) => Record<string, unknown>,
  signal?: AbortSignal,
): Promise<{ allow: true; arguments: Record<string, unknown> } | { allow: false; reason: string }> {
  let current = call;
  let lastReviser = -1;
  for (const [index, interceptor] of interceptors.entries()) {
    const verdict = await ask(interceptor, current, signal);
    if (!verdict.allow) return verdict;
    if (!verdict.revise) continue;
    try {
      current = { ...current, arguments: validate(verdict.revise) };
    } catch (error) {
      return {
        allow: false,
        reason: `blocked by ${interceptor.name}: its revised arguments are not valid: ${errorText(error)}`,
      };
    }
    lastReviser = index;
  }
  for (const interceptor of interceptors.slice(0, Math.max(lastReviser, 0))) {
    const verdict = await ask(interceptor, current, signal);
    if (!verdict.allow) return verdict;
  }
  return { allow: true, arguments: current.arguments };
}

async function ask(interceptor: Interceptor, call: ToolCall, signal?: AbortSignal): Promise<Verdict> {
  if (!interceptor.toolCall) return { allow: true };
  try {
    // Each gets its own copy: what one interceptor does to it must not reach the next, or the call.
    return await interceptor.toolCall({ ...call, arguments: structuredClone(call.arguments) }, signal);
  } catch (error) {
    return { allow: false, reason: `blocked by ${interceptor.name}: ${errorText(error)}` };
  }
}

/** Applies the interceptors' patches in sequence: each sees what the one before left (§7). Never throws. */
export async function patchToolResult(
  interceptors: readonly Interceptor[],
  call: ToolCall,
  result: ToolResult,
  signal?: AbortSignal,
): Promise<ToolResult> {
  let current = result;
  for (const interceptor of interceptors) {
    if (!interceptor.toolResult) continue;
    try {
      const patch = await interceptor.toolResult(call, current, signal);
      if (patch) current = { ...current, ...patch };
    } catch (error) {
      log.debug(`${interceptor.name} left a tool result as it was: ${errorText(error)}`);
    }
  }
  return current;
}
