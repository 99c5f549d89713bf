/** How an extension's answers to a recording differ from those recorded. Times, ids and log lines are no difference. */
import { type Difference, jsonDiff, jsonEqual } from "./json-diff.ts";
import type { EventOutcome, Recording } from "./recording.ts";
import type { Playback } from "./trace-player.ts";

export interface Comparison {
  /** `missing`: there was an answer and is none now; `extra`: the other way round. */
  status: "same" | "differs" | "missing" | "extra";
  /** Of `missing`: why there is none now; completes "extension x …". */
  reason?: string;
  differences?: Difference[];
}

export interface EventComparison extends Comparison {
  /** From 1, in the order in which they were sent. */
  number: number;
  event: unknown;
  /** What the event is about: a tool's or a command's name. */
  about?: string;
}

export interface ReplayReport {
  same: boolean;
  capabilities: Comparison;
  events: EventComparison[];
  /** Actions, calls and updates that were recorded and did not come now; in any order. */
  missing: unknown[];
  /** Those that came now and are not in the recording. */
  extra: unknown[];
}

/** @param failure why the extension did not load; undefined if it did */
export function compareReplay(
  recording: Recording,
  playback: Playback,
  failure: string | undefined,
): ReplayReport {
  const loaded: EventOutcome =
    failure === undefined && playback.capabilities
      ? { answer: playback.capabilities }
      : { reason: failure ?? "sent no capabilities" };
  const capabilities = compare(recording.capabilities, loaded);
  const events = recording.events.map((event) => {
    const outcome = playback.outcomes.get(event) ?? { reason: failure ?? "was not asked" };
    const about = aboutOf(event.frame.payload);
    return {
      number: event.number,
      event: event.frame.event,
      ...(about === undefined ? {} : { about }),
      ...compare(event.outcome, outcome),
    };
  });
  const missing = without(recording.others, playback.others);
  const extra = without(playback.others, recording.others);
  const same =
    missing.length + extra.length === 0 &&
    [capabilities, ...events].every((comparison) => comparison.status === "same");
  return { same, capabilities, events, missing, extra };
}

function compare(recorded: EventOutcome, replayed: EventOutcome): Comparison {
  if ("answer" in recorded && "answer" in replayed) {
    const differences = jsonDiff(recorded.answer, replayed.answer);
    return differences.length === 0 ? { status: "same" } : { status: "differs", differences };
  }
  if ("answer" in recorded) {
    return { status: "missing", ...("reason" in replayed ? { reason: replayed.reason } : {}) };
  }
  // Neither now nor then: how it failed is worded by the host.
  if ("reason" in replayed) return { status: "same" };
  return { status: "extra", differences: [{ path: "", replayed: replayed.answer }] };
}

function aboutOf(payload: unknown): string | undefined {
  const { tool, command } = (payload ?? {}) as { tool?: unknown; command?: unknown };
  const name = tool ?? command;
  return typeof name === "string" ? name : undefined;
}

/** The items of `list` that `other` has not, each as often as it is missing. */
function without(list: readonly unknown[], other: readonly unknown[]): unknown[] {
  const rest = [...other];
  return list.filter((item) => {
    const index = rest.findIndex((candidate) => jsonEqual(candidate, item));
    if (index === -1) return true;
    rest.splice(index, 1);
    return false;
  });
}
