/** The figures of the session benchmark next to the targets. */
import { LENGTHS, type LengthFigures, SESSIONS, type SessionResult } from "./session.ts";
import { table } from "./table.ts";

/** What is promised: open and context grow with the length and no more, append and list do not; and a list's multiple of reading. */
const TARGETS = { linear: 1.5, constant: 1.5, list: 2 };

export interface SessionVerdict {
  of: string;
  value: number;
  target: number;
  met: boolean;
}

export function judgeSession({ lengths, listed }: SessionResult): SessionVerdict[] {
  const [short, middle, long] = LENGTHS;
  const verdict = (of: string, value: number, target: number) => ({
    of,
    value,
    target,
    met: value <= target,
  });
  const each = (what: "open" | "context") => lengths[long][what] / long / (lengths[middle][what] / middle);
  const whole = (what: "append" | "list") => lengths[long][what] / lengths[short][what];
  return [
    verdict(`open, for each entry, of ${long} by ${middle}`, each("open"), TARGETS.linear),
    verdict(`context, for each entry, of ${long} by ${middle}`, each("context"), TARGETS.linear),
    verdict(`append to ${long} by to ${short}`, whole("append"), TARGETS.constant),
    verdict(`a list's line of ${long} by of ${short}`, whole("list"), TARGETS.constant),
    verdict(`list of ${SESSIONS} by reading 4 KB of each`, listed.ours / listed.reading, TARGETS.list),
  ];
}

export function sessionJson(result: SessionResult): string {
  return JSON.stringify({ ...result, verdicts: judgeSession(result) }, null, 2);
}

export function sessionText(result: SessionResult): string {
  const verdicts = judgeSession(result);
  const rows = LENGTHS.map((length) => {
    const { append, open, list, context, megabytes }: LengthFigures = result.lengths[length];
    return [
      String(length),
      megabytes.toFixed(1),
      append.toFixed(1),
      open.toFixed(1),
      context.toFixed(1),
      list.toFixed(1),
    ];
  });
  const judged = verdicts.map(({ of, value, target, met }) => [
    of,
    value.toFixed(2),
    `<= ${target.toFixed(2)}`,
    met ? "ok" : "MISSED",
  ]);
  const { ours, first, reading } = result.listed;
  return [
    `from source, Bun ${result.bun}; medians of ${result.runs} rounds`,
    ...(result.load > 1
      ? [`load average ${result.load.toFixed(1)}: other programs are in these figures`]
      : []),
    "",
    table(
      [["entries", "MB", "append, µs", "open, ms", "context, ms", "line of a list, µs"], ...rows],
      [0, 1, 2, 3, 4, 5],
    ),
    "",
    `${SESSIONS} sessions: listed in ${ours.toFixed(0)} ms (${first.toFixed(0)} the first time), 4 KB of each read in ${reading.toFixed(0)} ms`,
    "",
    table(judged, [1]),
    verdicts.every(({ met }) => met) ? "All targets are met." : "A target is MISSED.",
  ].join("\n");
}
