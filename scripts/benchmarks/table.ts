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
