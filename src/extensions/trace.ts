/**
 * What passes between the host and one extension, as a list of entries: `xdev ext trace` prints them, one JSON object a line,
 * and `xdev ext replay` reads them back. The decorator knows channels only, so both transports are traced alike.
 */
import * as v from "valibot";
import { XdevError } from "../base/errors.ts";
import { redact } from "../base/log.ts";
import { ellipsis, escapeControls, stripControls } from "../base/text.ts";
import { hideCredentials } from "../models/hide.ts";
import type { Channel } from "./channel.ts";

/** ms since the trace began, with three decimals. */
const time = v.pipe(v.number(), v.minValue(0));
const hostFrame = v.looseObject({ type: v.string() });

const entrySchema = v.union([
  /** A frame of the host. */
  v.object({ time, direction: v.literal("host→ext"), frame: hostFrame }),
  /** A message of the extension, unchecked: mostly a frame. */
  v.object({ time, direction: v.literal("ext→host"), frame: v.unknown() }),
  /** The extension broke the framing; completes "extension x …". */
  v.object({ time, direction: v.literal("ext→host"), problem: v.string() }),
  /** A line of its log: a process's standard error, a guest's console. */
  v.object({ time, direction: v.literal("ext→host"), log: v.string() }),
  /** It is gone, or, as `host→ext`, the host ended it. */
  v.object({
    time,
    direction: v.picklist(["host→ext", "ext→host"]),
    close: v.object({
      reason: v.string(),
      exitCode: v.optional(v.number()),
      signal: v.optional(v.string()),
    }),
  }),
]);
export type TraceEntry = v.InferOutput<typeof entrySchema>;

type Untimed = TraceEntry extends infer Entry ? (Entry extends unknown ? Omit<Entry, "time"> : never) : never;

/**
 * A channel that reports to `sink` whatever passes, before it passes, and changes nothing of it. An entry holds the very
 * objects that pass: a sink that keeps them turns them into text or copies them at once. What a sink throws is ignored.
 * `start` is the `performance.now()` from which times count: an extension that is restarted has a channel for each life.
 */
export function traceChannel(
  channel: Channel,
  sink: (entry: TraceEntry) => void,
  start: number = performance.now(),
): Channel {
  let closed = false;
  /** Requests whose answers are credentials: whoever asked hides them later than they pass here. */
  const logins = new Set<unknown>();
  const report = (entry: Untimed): void => {
    const elapsed = Math.round((performance.now() - start) * 1000) / 1000;
    try {
      sink({ time: elapsed, ...entry } as TraceEntry);
    } catch {
      // Watching must not change what is watched.
    }
  };
  const ended = (reason: string): void => {
    if (closed) return;
    closed = true;
    report({ direction: "host→ext", close: { reason } });
  };
  return {
    open(handlers) {
      channel.open({
        onMessage(value) {
          const { type, id, result } = (value ?? {}) as { type?: unknown; id?: unknown; result?: unknown };
          if (type === "response" && logins.delete(String(id))) hideCredentials("trace", result);
          report({ direction: "ext→host", frame: value });
          handlers.onMessage(value);
        },
        onProblem(problem) {
          report({ direction: "ext→host", problem });
          handlers.onProblem(problem);
        },
        onLog(line) {
          report({ direction: "ext→host", log: line });
          handlers.onLog(line);
        },
        onClose(end) {
          if (!closed) report({ direction: "ext→host", close: end });
          closed = true;
          handlers.onClose(end);
        },
      });
    },
    send(sent) {
      if (sent.type === "event" && sent.event === "provider_auth") logins.add(String(sent.id));
      report({ direction: "host→ext", frame: sent });
      channel.send(sent);
    },
    // A worker that the host ends says nothing about it.
    async close(graceMs) {
      await channel.close(graceMs);
      ended("was ended by the host");
    },
    async kill() {
      await channel.kill();
      ended("was killed by the host");
    },
  };
}

/**
 * An entry as one line of JSON, without the line end: valid and harmless for a terminal whatever the extension sent, and
 * read back as it was but for the user's secrets, which are replaced.
 */
export function traceLine(entry: TraceEntry): string {
  if (!isDeep(entry)) return escapeControls(JSON.stringify(entry, withoutSecrets));
  const { time, direction } = entry;
  const problem = `sent a frame that is nested more than ${MAX_DEPTH} levels deep and is not shown`;
  return JSON.stringify({ time, direction, problem });
}

/** What `JSON.parse` reads may be too deep for `JSON.stringify`, which takes seconds to find out. */
const MAX_DEPTH = 1000;

function isDeep(value: unknown): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_DEPTH) return true;
    const next: unknown[] = [];
    for (const item of level) {
      if (typeof item !== "object" || item === null) continue;
      for (const inner of Object.values(item))
        if (typeof inner === "object" && inner !== null) next.push(inner);
    }
    level = next;
  }
  return false;
}

/** Texts are redacted before they are encoded: afterwards a key of digits could stand where a number is. */
function withoutSecrets(_key: string, value: unknown): unknown {
  return typeof value === "string" ? redact(value) : value;
}

/**
 * Reads what `traceLine` wrote, one entry a line; empty lines are skipped. Throws `XdevError` with code `bad-trace`, naming
 * `file` and the line, for anything else.
 */
export function parseTrace(text: string, file: string): TraceEntry[] {
  const entries: TraceEntry[] = [];
  const lines = text.replace(/^\uFEFF/, "").split("\n");
  for (const [index, line] of lines.entries()) {
    if (line.trim() === "") continue;
    const result = v.safeParse(entrySchema, parseJson(line));
    if (!result.success) throw badTrace(file, index + 1, line);
    entries.push(result.output);
  }
  if (entries.length === 0) throw badTrace(file, 1, "");
  return entries;
}

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

function badTrace(file: string, line: number, text: string): XdevError {
  const shown = text === "" ? "it is empty" : ellipsis(stripControls(text), 80);
  return new XdevError("bad-trace", `${file}:${line}: this is no line of a trace: ${shown}`, {
    hint: "record one: xdev ext trace NAME > trace.ndjson",
  });
}
