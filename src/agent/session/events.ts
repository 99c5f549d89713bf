/**
 * What becomes of the loop's events: listeners, hooks and extensions are told, in that order, and messages are kept. Extensions may
 * change a message as it ends. For each part of a stream it does the same small work, however long the message is.
 */
import type { AgentEvent, AgentMessage } from "@earendil-works/pi-agent-core";
import { parseResult, replacedMessage } from "../extension-results.ts";
import { slimPart } from "../stream-part.ts";
import type { Core } from "./core.ts";
import type { Attempt, Run } from "./run.ts";

export async function onLoopEvent(core: Core, run: Run, attempt: Attempt, event: AgentEvent): Promise<void> {
  const { events } = core;
  switch (event.type) {
    case "message_update":
      core.emit(event);
      attempt.onUpdate?.(event.assistantMessageEvent);
      if (events?.listens("message_update")) {
        events.stream("message_update", { assistantMessageEvent: slimPart(event.assistantMessageEvent) });
      }
      return;
    case "message_start":
      if (event.message.role === "assistant") attempt.onStart?.();
      return core.publish(event);
    case "message_end":
      return endMessage(core, run, attempt, event.message);
    case "agent_start":
      core.publish(event);
      events?.prepareRun();
      return core.tellHooks("agent_start");
    case "agent_end": {
      const willRetry = await attempt.decide(event.messages);
      core.publish({ ...event, willRetry });
      return core.tellHooks("agent_end");
    }
    case "turn_start": {
      core.emit(event);
      const { turnIndex } = run;
      if (events?.listens("turn_start")) events.emit("turn_start", { turnIndex, timestamp: Date.now() });
      return core.tellHooks("turn_start", { turnIndex });
    }
    case "turn_end": {
      core.emit(event);
      const { message, toolResults } = event;
      const stopReason = message.role === "assistant" ? message.stopReason : "stop";
      const told = { turnIndex: run.turnIndex++, stopReason };
      if (events?.listens("turn_end")) {
        events.emit("turn_end", { ...told, timestamp: Date.now(), message, toolResults }, told);
      }
      return core.tellHooks("turn_end", told);
    }
    case "tool_execution_start":
    case "tool_execution_end":
      return core.publish(event);
    case "tool_execution_update":
      core.emit(event);
      if (events?.listens("tool_execution_update")) {
        const { toolCallId, toolName, args, partialResult } = event;
        events.stream("tool_execution_update", { toolCallId, toolName, args, partialResult });
      }
  }
}

async function endMessage(core: Core, run: Run, attempt: Attempt, message: AgentMessage): Promise<void> {
  if (message.role !== "system" && core.events?.listens("message_end")) {
    await core.events.ask(
      "message_end",
      () => ({ message }),
      (result) => {
        replaceMembers(message, replacedMessage(message, parseResult("message_end", result).message));
        return undefined;
      },
    );
  }
  core.messages.push(message);
  const entryId = core.keepMessage(message);
  attempt.kept.push({ message, entryId });
  if (message.role === "assistant") {
    attempt.answer = { message, entryId };
    core.turnsExhausted = false;
    run.onAnswer(message);
  }
  core.emit({ type: "message_end", message });
}

/** The loop goes on with the very object that has ended, so what replaces it is written into it. */
function replaceMembers(target: object, source: object): void {
  for (const key of Object.keys(target)) {
    if (!Object.hasOwn(source, key)) Reflect.deleteProperty(target, key);
  }
  for (const [key, value] of Object.entries(source)) {
    Object.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true });
  }
}
