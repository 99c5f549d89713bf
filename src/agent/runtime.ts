/** The agent of one run: pi-agent-core's loop with our tools, and the interceptor chain around every tool call. */
import {
  Agent,
  type AgentMessage,
  type AgentTool,
  type StreamFn,
  type ThinkingLevel,
} from "@earendil-works/pi-agent-core";
import type { Interceptor } from "../extensions/chain.ts";
import { toModelMessages } from "./messages.ts";
import { toolHooks } from "./tool-hooks.ts";

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
  const agent: Agent = new Agent({
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

    ...toolHooks(options.interceptors, () => agent.state.tools),

    finishTurn: ({ toolResults }) => {
      turns++;
      if (options.maxTurns === undefined || turns < options.maxTurns) return undefined;
      exhausted = toolResults.length > 0;
      return { action: "end" };
    },
  });
  return { agent, turnsExhausted: () => exhausted };
}
