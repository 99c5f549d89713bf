/**
 * The interceptor chain around every tool call of a loop. Sibling calls of one message are checked in order and then run in
 * parallel; that is the loop's own way.
 */
import type { AgentLoopConfig, AgentTool } from "@earendil-works/pi-agent-core";
import { validateToolArguments } from "@earendil-works/pi-ai/utils/validation";
import { decideToolCall, type Interceptor, patchToolResult } from "../extensions/chain.ts";
import type { Content } from "../extensions/frame.ts";

export type ToolHooks = Required<Pick<AgentLoopConfig, "beforeToolCall" | "afterToolCall">>;

/**
 * @param interceptors the chain as it is when a call is made, which may be waited for
 * @param tools what can run, as it is when a call is made
 */
export function toolHooks(
  interceptors: () => readonly Interceptor[] | Promise<readonly Interceptor[]>,
  // biome-ignore lint/suspicious/noExplicitAny: the library's type for a tool of any parameters
  tools: () => readonly AgentTool<any>[],
): ToolHooks {
  return {
    beforeToolCall: async ({ toolCall, args }, signal) => {
      if (!isArguments(args)) return { block: true, reason: "the arguments are not an object" };
      const tool = tools().find(({ name }) => name === toolCall.name);
      if (!tool) return { block: true, reason: `there is no tool ${toolCall.name}` };
      const call = { tool: toolCall.name, arguments: args, callId: toolCall.id };
      const validate = (revised: Record<string, unknown>): Record<string, unknown> => {
        const checked: unknown = validateToolArguments(tool, {
          ...toolCall,
          arguments: revised as typeof toolCall.arguments,
        });
        if (!isArguments(checked)) throw new Error("they are not an object");
        return checked;
      };
      const verdict = await decideToolCall(await interceptors(), call, validate, signal);
      if (!verdict.allow) return { block: true, reason: verdict.reason };
      if (verdict.arguments !== args) replaceMembers(args, verdict.arguments);
      return undefined;
    },

    afterToolCall: async ({ toolCall, args, result, isError }, signal) => {
      const call = { tool: toolCall.name, arguments: isArguments(args) ? args : {}, callId: toolCall.id };
      const before = { content: result.content as Content, details: result.details as unknown, isError };
      const after = await patchToolResult(await interceptors(), call, before, signal);
      return after === before ? undefined : after;
    },
  };
}

function isArguments(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The loop runs the very object that it gave to `beforeToolCall`, so a revision is written into it. */
function replaceMembers(target: Record<string, unknown>, source: Record<string, unknown>): void {
  for (const key of Object.keys(target)) delete target[key];
  for (const [key, value] of Object.entries(source)) {
    Object.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true });
  }
}
