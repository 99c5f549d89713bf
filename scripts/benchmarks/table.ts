/** A figure next to what is promised. */
export interface Verdict {
  of: string;
  value: number;
  target: number;
  met: boolean;
}

/** What a benchmark says of how it was made. `load` is the machine's when it began. */
export function conditions(
  how: "compiled" | "from source",
  { bun, runs, load }: { bun: string; runs: number; load: number },
): string[] {
  return [
    `${how}, Bun ${bun}; medians of ${runs} rounds`,
    ...(load > 1 ? [`load average ${load.toFixed(1)}: other programs are in these figures`] : []),
  ];
}

/** The figures next to their targets, and whether all are met. */
export function judgement(verdicts: readonly Verdict[]): string[] {
  const rows = verdicts.map(({ of, value, target, met }) => [
    of,
    value.toFixed(2),
    `<= ${target.toFixed(2)}`,
    met ? "ok" : "MISSED",
  ]);
  return [
    table(rows, [1]),
    verdicts.every(({ met }) => met) ? "All targets are met." : "A target is MISSED.",
  ];
}

/** Rows of equal length as lines, columns under each other; the columns `numeric` are flush right. */
export function table(rows: readonly (readonly string[])[], numeric: readonly number[]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((cells) => cells[column]!.length)));
  return rows
    .map((cells) =>
      cells
        .map((cell, at) => (numeric.includes(at) ? cell.padStart(widths[at]!) : cell.padEnd(widths[at]!)))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}
