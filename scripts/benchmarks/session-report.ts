/** The figures of the session benchmark next to the targets. */
import { LENGTHS, type LengthFigures, SESSIONS, type SessionResult } from "./session.ts";
import { TOKENS, type Tokens } from "./stream.ts";
import { conditions, judgement, table, type Verdict } from "./table.ts";

/** What is promised: open and context grow with the length and no more, append and list do not; a list's multiple of reading, and of discarding. */
const TARGETS = { linear: 1.5, constant: 1.5, list: 2, json: 2 };

export function judgeSession({ lengths, listed, stream }: SessionResult): Verdict[] {
  const [short, middle, long] = LENGTHS;
  const [few, more, most] = TOKENS;
  const token = (from: Tokens, to: Tokens) => (stream[to].json - stream[from].json) / (to - from);
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
    verdict(
      `processor for ${few} tokens in json mode by discarding them`,
      stream[few].json / stream[few].discarded,
      TARGETS.json,
    ),
    verdict(
      `processor for each token, beyond ${more} by beyond ${few}`,
      token(more, most) / token(few, more),
      TARGETS.linear,
    ),
  ];
}

export function sessionJson(result: SessionResult): string {
  return JSON.stringify({ ...result, verdicts: judgeSession(result) }, null, 2);
}

export function sessionText(result: SessionResult): string {
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
  const { ours, first, reading } = result.listed;
  return [
    ...conditions("from source", result),
    "",
    table(
      [["entries", "MB", "append, µs", "open, ms", "context, ms", "line of a list, µs"], ...rows],
      [0, 1, 2, 3, 4, 5],
    ),
    "",
    table(
      [
        ["tokens", "discarded, s", "json, s"],
        ...TOKENS.map((tokens) => [
          String(tokens),
          result.stream[tokens].discarded.toFixed(2),
          result.stream[tokens].json.toFixed(2),
        ]),
      ],
      [0, 1, 2],
    ),
    "",
    `${SESSIONS} sessions: listed in ${ours.toFixed(0)} ms (${first.toFixed(0)} the first time), 4 KB of each read in ${reading.toFixed(0)} ms`,
    "",
    ...judgement(judgeSession(result)),
  ].join("\n");
}
