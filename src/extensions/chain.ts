/**
 * The interceptor chain: what is asked before a tool runs and after it has (extension-protocol.md §5, §7).
 * It fails closed: an interceptor that throws denies, and the first denial ends the chain.
 */

import { measure } from "../base/data-size.ts";
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
 * Whoever has judged other arguments than those that would run is asked again, until everyone has allowed the very
 * arguments that run: without this, an extension could turn an approved call into one that a policy denies, or
 * undo what a policy made of it. Those that keep rewriting each other's work end in a denial.
 */
export async function decideToolCall(
  interceptors: readonly Interceptor[],
  call: ToolCall,
  validate: (args: Record<string, unknown>) => Record<string, unknown>,
  signal?: AbortSignal,
): Promise<{ allow: true; arguments: Record<string, unknown> } | { allow: false; reason: string }> {
  const size = measure(call.arguments);
  if (size) return { allow: false, reason: `the call is not run: its arguments ${size}` };
  let current = call;
  /** What each interceptor has allowed: the very object that was current after its answer. */
  const allowed: unknown[] = [];
  let asked = 0;
  for (;;) {
    const index = interceptors.findIndex((_, i) => allowed[i] !== current.arguments);
    if (index === -1) return { allow: true, arguments: current.arguments };
    const interceptor = interceptors[index]!;
    if (asked++ > interceptors.length * MAX_ROUNDS) {
      return { allow: false, reason: `blocked by ${interceptor.name}: it and others keep changing the call` };
    }
    const verdict = await ask(interceptor, current, signal);
    if (!verdict.allow) return verdict;
    if (verdict.revise) {
      try {
        const revised = validate(verdict.revise);
        // Saying again what is there already is no change.
        if (JSON.stringify(revised) !== JSON.stringify(current.arguments)) {
          current = { ...current, arguments: revised };
        }
      } catch (error) {
        return {
          allow: false,
          reason: `blocked by ${interceptor.name}: its revised arguments are not valid: ${errorText(error)}`,
        };
      }
    }
    allowed[index] = current.arguments;
  }
}

/** How often each interceptor is asked about one call, on average, before it is denied. */
const MAX_ROUNDS = 4;

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
