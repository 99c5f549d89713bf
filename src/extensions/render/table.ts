/** Tables in plain ASCII, two spaces between columns: what is drawn can be searched with grep and cut with awk. */
import type { TableColumn, TableRenderer } from "../renderers.ts";
import { fieldLines } from "./card.ts";
import { cleanLine, columnsOf, fit, pad } from "./columns.ts";
import { at, display } from "./data.ts";
import { MAX_ITEMS, more } from "./limits.ts";
import { type Space, styled } from "./style.ts";

const GAP = "  ";

/** No column is shrunk below this. */
const MIN_COLUMN = 3;

/** The widest cell where the terminal is no limit. */
const MAX_CELL = 200;

export function drawTable(renderer: TableRenderer, data: object, space: Space): string[] | undefined {
  const { columns } = renderer;
  const all = rowsOf(data, columns);
  if (!all) return undefined;
  const rows = all.slice(0, MAX_ITEMS);
  const rest = all.length > rows.length ? [fit(more(all.length - rows.length), space.width)] : [];
  return [...(gridLines(columns, rows, space) ?? recordLines(columns, rows, space)), ...rest];
}

/** The rows, or undefined if the data has none of the columns (renderers.ts says what rows are). */
function rowsOf(data: object, columns: readonly TableColumn[]): readonly unknown[] | undefined {
  const hasAny = (row: unknown) => columns.some(({ key }) => at(row, key) !== undefined);
  const lists = Array.isArray(data) ? [data] : Object.values(data).filter(Array.isArray);
  const list: readonly unknown[] | undefined = lists.length === 1 ? lists[0] : undefined;
  if (list?.slice(0, MAX_ITEMS).some(hasAny)) return list;
  if (!Array.isArray(data) && hasAny(data)) return [data];
  return list?.length === 0 ? list : undefined;
}

/** Header, separator and rows; undefined if the columns don't fit side by side. */
function gridLines(
  columns: readonly TableColumn[],
  rows: readonly unknown[],
  space: Space,
): string[] | undefined {
  const widest = Math.min(space.width, MAX_CELL);
  const header = columns.map(({ label }) => fit(cleanLine(label), widest));
  const cells = rows.map((row) => columns.map(({ key }) => fit(cleanLine(display(at(row, key))), widest)));
  const natural = columns.map(({ width }, index) => {
    if (width !== undefined) return width;
    return [header, ...cells].reduce((most, row) => Math.max(most, columnsOf(row[index]!)), 1);
  });
  const widths = shrink(
    natural,
    columns.map(({ width }) => width !== undefined),
    space.width - GAP.length * (columns.length - 1),
  );
  if (!widths) return undefined;
  const line = (row: readonly string[]) =>
    row
      .map((cell, index) => pad(fit(cell, widths[index]!), widths[index]!, columns[index]!.align))
      .join(GAP)
      .trimEnd();
  return [
    styled(line(header), "bold", space),
    widths.map((width) => "-".repeat(width)).join(GAP),
    ...(rows.length === 0 ? [fit("(no rows)", space.width)] : cells.map(line)),
  ];
}

/**
 * Widths that fit `available`: the widest columns give way first, down to one common width; those with a fixed width
 * only if that is not enough. Undefined if there is no room for `MIN_COLUMN` in each.
 */
function shrink(
  natural: readonly number[],
  fixed: readonly boolean[],
  available: number,
): number[] | undefined {
  for (const may of [(index: number) => !fixed[index], () => true]) {
    const widthsAt = (limit: number) =>
      natural.map((width, index) => (may(index) ? Math.min(width, limit) : width));
    const fits = (limit: number) => sum(widthsAt(limit)) <= available;
    if (!fits(MIN_COLUMN)) continue;
    let limit = MIN_COLUMN;
    const most = Math.max(...natural);
    while (limit < most && fits(limit + 1)) limit++;
    const widths = widthsAt(limit);
    // What is left is too little for all of them; the first get it.
    let spare = available - sum(widths);
    return widths.map((width, index) => {
      const grows = spare > 0 && may(index) && width < natural[index]!;
      if (grows) spare--;
      return grows ? width + 1 : width;
    });
  }
  return undefined;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

/** Each row as `label: value` lines, with a separator between rows. */
function recordLines(columns: readonly TableColumn[], rows: readonly unknown[], space: Space): string[] {
  if (rows.length === 0) return [fit("(no rows)", space.width)];
  return rows.flatMap((row, index) => {
    const fields = columns.map(({ key, label }) => ({ label, value: at(row, key) }));
    return [...(index === 0 ? [] : [fit("---", space.width)]), ...fieldLines(fields, space)];
  });
}
