/**
 * The agent of one run: pi-agent-core's loop with our tools, and the interceptor chain around every tool call.
 * Sibling calls of one message are checked in order and then run in parallel; that is the loop's own way.
 */
import {
  Agent,
  type AgentMessage,
  type AgentTool,
  type StreamFn,
  type ThinkingLevel,
} from "@earendil-works/pi-agent-core";
import { validateToolArguments } from "@earendil-works/pi-ai/utils/validation";
import { decideToolCall, type Interceptor, patchToolResult } from "../extensions/chain.ts";
import type { Content } from "../extensions/frame.ts";
import { toModelMessages } from "./messages.ts";

export interface AgentOptions {
  model: Agent["state"]["model"];
  stream: StreamFn;
  systemPrompt: string;
  thinking: ThinkingLevel;
  tools: readonly AgentTool<object, unknown>[];
  interceptors: () => readonly Interceptor[];
  /** Notes for the model that join the next request of the run, if there is one. */
  takeAsides: () => AgentMessage[];
  /** The run ends after this many turns; undefined for no limit. */
  maxTurns?: number;
}

export interface AgentRun {
  agent: Agent;
  /** Whether `maxTurns` ended the run although the model wanted to go on. */
  turnsExhausted(): boolean;
}

export function createAgent(options: AgentOptions): AgentRun {
  let turns = 0;
  let exhausted = false;
  const agent = new Agent({
    initialState: {
      systemPrompt: options.systemPrompt,
      model: options.model,
      thinkingLevel: options.thinking,
      tools: [...options.tools],
    },
    streamFn: options.stream,
    convertToLlm: toModelMessages,
    prepareNextTurn: () => {
      const messages = options.takeAsides();
      return messages.length > 0 ? { messages } : undefined;
    },
    // Requests say who we are and nothing about whose library this is built on.
    identity: { attribution: null },

    beforeToolCall: async ({ toolCall, args }, signal) => {
      if (!isArguments(args)) return { block: true, reason: "the arguments are not an object" };
      const tool = agent.state.tools.find(({ name }) => name === toolCall.name);
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
      const verdict = await decideToolCall(options.interceptors(), call, validate, signal);
      if (!verdict.allow) return { block: true, reason: verdict.reason };
      if (verdict.arguments !== args) replaceMembers(args, verdict.arguments);
      return undefined;
    },

    afterToolCall: async ({ toolCall, args, result, isError }, signal) => {
      const call = { tool: toolCall.name, arguments: isArguments(args) ? args : {}, callId: toolCall.id };
      const before = { content: result.content as Content, details: result.details as unknown, isError };
      const after = await patchToolResult(options.interceptors(), call, before, signal);
      return after === before ? undefined : after;
    },

    finishTurn: ({ toolResults }) => {
      turns++;
      if (options.maxTurns === undefined || turns < options.maxTurns) return undefined;
      exhausted = toolResults.length > 0;
      return { action: "end" };
    },
  });
  return { agent, turnsExhausted: () => exhausted };
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
