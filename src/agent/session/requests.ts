/** The loop's configuration: what stands between the conversation and a request, and between two turns. */
import type { AgentLoopConfig, AgentLoopTurnUpdate, AgentMessage } from "@earendil-works/pi-agent-core";
import { getCurrentSystemMessage } from "@earendil-works/pi-ai/utils/transcript";
import { parseResult } from "../extension-results.ts";
import { toModelMessages } from "../messages.ts";
import { toolHooks } from "../tool-hooks.ts";
import type { Core } from "./core.ts";
import type { Attempt, Run } from "./run.ts";

export function loopConfig(
  core: Core,
  run: Run,
  attempt: Attempt,
  /** The prompts come from the steering queue: one-at-a-time means that it is not asked again at once. */
  skipFirstPoll: boolean,
): AgentLoopConfig {
  const { signal } = attempt.abort;
  const { options, events } = core;
  const { manager, hooks } = options;
  let skip = skipFirstPoll;
  const model = core.model!.model;
  return {
    model,
    ...(core.thinkingLevel === "off" ? {} : { reasoning: core.thinkingLevel }),
    sessionId: core.store.id,
    // Requests say who we are and nothing about whose library this is built on.
    identity: { attribution: null },
    convertToLlm: toModelMessages,
    ...toolHooks(
      async () => [...(hooks?.interceptors ?? []), ...((await manager?.chain()) ?? [])],
      () => options.tools.active(),
    ),
    ...(events?.listens("context")
      ? { transformContext: (messages) => askContext(core, messages, signal) }
      : {}),
    ...(events?.listens("before_provider_request")
      ? { onPayload: (payload: unknown) => askPayload(core, payload, signal) }
      : {}),
    ...(events?.listens("after_provider_response")
      ? {
          onResponse: ({ status, headers }) => {
            const { "set-cookie": _, ...told } = headers;
            events.emit("after_provider_response", { status, headers: told });
          },
        }
      : {}),
    ...(events?.listens("provider_stream_event")
      ? {
          onProviderStreamEvent: (data, { provider, api, id }) =>
            events.emit("provider_stream_event", { provider, api, model: id, data }),
        }
      : {}),
    getSteeringMessages: async () => {
      if (signal.aborted || skip) {
        skip = false;
        return [];
      }
      return core.steering.take();
    },
    getFollowUpMessages: async () => (signal.aborted ? [] : core.followUps.take()),
    finishTurn: ({ toolResults }) => {
      run.turns++;
      if (signal.aborted) return { action: "end" };
      if (options.maxTurns === undefined || run.turns < options.maxTurns) return undefined;
      core.turnsExhausted = toolResults.length > 0;
      return { action: "end" };
    },
    prepareNextTurn: async ({ context }): Promise<AgentLoopTurnUpdate> => {
      const compacted = await compactBetweenTurns(core, run);
      return {
        context: {
          messages: compacted ? core.messages.slice() : context.messages,
          tools: options.tools.active(),
        },
        messages: options.queue?.takeAsides() ?? [],
        model: core.model?.model ?? model,
        thinkingLevel: core.thinkingLevel,
      };
    },
  };
}

async function compactBetweenTurns(core: Core, run: Run): Promise<boolean> {
  const { isContextFull } = await import("./usage.ts");
  if (run.compactionFailed || !isContextFull(core)) return false;
  const { compactAutomatically } = await import("./compaction.ts");
  return compactAutomatically(core, "threshold", run);
}

/** `context`: what modules make of the conversation for one request. The system prompt is not theirs to drop. */
async function askContext(
  core: Core,
  messages: AgentMessage[],
  signal: AbortSignal,
): Promise<AgentMessage[]> {
  const lead = getCurrentSystemMessage(messages as Parameters<typeof getCurrentSystemMessage>[0]);
  let current = messages.filter(({ role }) => role !== "system");
  let isChanged = false;
  await core.events?.ask(
    "context",
    () => ({ messages: current }),
    (result) => {
      current = parseResult("context", result).messages as unknown as AgentMessage[];
      isChanged = true;
      return undefined;
    },
    { signal },
  );
  if (!isChanged) return messages;
  const rest = current.filter(({ role }) => role !== "system");
  return lead ? [lead, ...rest] : rest;
}

async function askPayload(core: Core, payload: unknown, signal: AbortSignal): Promise<unknown> {
  let current = payload;
  let isChanged = false;
  await core.events?.ask(
    "before_provider_request",
    () => ({ payload: current }),
    (result) => {
      current = parseResult("before_provider_request", result).payload;
      isChanged = true;
      return undefined;
    },
    { signal },
  );
  return isChanged ? current : undefined;
}
