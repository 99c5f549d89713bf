/**
 * JSON mode: every event of the agent as one line, as it happens. A `message_update` carries the change alone, never the
 * message so far: with it, a long answer would cost the square of its length.
 */
import type { AgentEvent } from "@earendil-works/pi-agent-core";
import { log, redact } from "../base/log.ts";
import { printLong } from "../base/output.ts";
import { escapeControls } from "../base/text.ts";
import { failureOf, type Mode } from "./mode.ts";

export function createJsonMode(): Mode {
  const write = (value: unknown) => printLong("stdout", `${escapeControls(redact(JSON.stringify(value)))}\n`);
  return {
    event: (event) => write(slim(event)),
    notice: (text) => write({ type: "notice", text }),
    say: (text) => write({ type: "command_output", text }),
    finish(messages, end) {
      const failure = failureOf(messages, end);
      if (failure !== undefined) log.error(failure);
      return failure === undefined;
    },
  };
}

function slim(event: AgentEvent): unknown {
  if (event.type !== "message_update") return event;
  const { partial: _, ...change } = event.assistantMessageEvent as { partial?: unknown };
  return { type: event.type, assistantMessageEvent: change };
}
