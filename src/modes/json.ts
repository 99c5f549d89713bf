/**
 * JSON mode: the header of the session, then every event of it as one line, as it happens. A `message_update` carries the change alone, never the
 * message so far: with it, a long answer would cost the square of its length.
 */
import type { SessionEvent } from "../agent/agent-session-types.ts";
import { slimPart } from "../agent/stream-part.ts";
import { log } from "../base/log.ts";
import { failureOf, type Mode } from "./mode.ts";
import { RecordWriter, standardOutput } from "./records.ts";
import { wireEvent } from "./wire.ts";

/** @param interrupt afterwards nobody waits for the reader */
export function createJsonMode(interrupt: AbortSignal): Mode {
  const writer = new RecordWriter(standardOutput);
  interrupt.addEventListener("abort", () => writer.release(), { once: true });
  const print = (value: unknown) => writer.send(value);
  // The header is the first line, whatever extensions have to say while they load.
  let early: unknown[] | undefined = [];
  const write = (value: unknown) => (early ? void early.push(value) : print(value));
  return {
    begin(header) {
      if (!early) return;
      if (header) {
        const { type, version, id, timestamp, cwd, parentSession } = header;
        print({
          type,
          version,
          id,
          timestamp,
          cwd,
          ...(parentSession === undefined ? {} : { parentSession }),
        });
      }
      for (const value of early) print(value);
      early = undefined;
    },
    event(event) {
      write(slim(event));
      return writer.ready();
    },
    notice: (text) => write({ type: "notice", text }),
    say: (text) => write({ type: "command_output", text }),
    finish(messages, end) {
      const failure = failureOf(messages, end);
      if (failure !== undefined) log.error(failure);
      return failure === undefined;
    },
  };
}

/** What a message has cost so far is in its end. */
function slim(event: SessionEvent): unknown {
  if (event.type !== "message_update") return wireEvent(event);
  const { type, assistantMessageEvent } = event;
  return { type, assistantMessageEvent: slimPart(assistantMessageEvent) };
}
