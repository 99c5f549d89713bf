import type { CardRenderer, Style } from "../renderers.ts";
import { clean, cleanLine, columnsOf, fit, pad, wrap } from "./columns.ts";
import { at, display } from "./data.ts";
import { type Space, styled } from "./style.ts";

/** A value is shown on this many lines at most. */
const MAX_LINES = 12;

/** With less than this for the values, in columns, they get no column of their own. */
const MIN_VALUE = 12;

export function drawCard(renderer: CardRenderer, data: object, space: Space): string[] | undefined {
  const fields = renderer.fields.flatMap(({ label, path, style }) => {
    const value = at(data, path);
    return value === undefined ? [] : [{ label, value, style }];
  });
  if (fields.length === 0) return undefined;
  const title = cleanLine(renderer.title ?? "");
  const lines = fieldLines(fields, space);
  return title === "" ? lines : [styled(fit(title, space.width), "bold", space), ...lines];
}

/** `label: value` lines with the values below each other, or, where it is too narrow for that, as running text. */
export function fieldLines(
  fields: readonly { label: string; value: unknown; style?: Style | undefined }[],
  space: Space,
): string[] {
  const { width } = space;
  const labels = fields.map(({ label }) => cleanLine(label));
  const labelWidth = Math.min(Math.max(...labels.map(columnsOf)), Math.floor(width / 3));
  const valueWidth = width - labelWidth - 2;
  return fields.flatMap(({ value, style }, index) => {
    const text = clean(display(value)).trim();
    const label = labels[index]!;
    if (valueWidth < MIN_VALUE) return wrap(`${label}: ${text}`.trimEnd(), width, MAX_LINES);
    return wrap(text, valueWidth, MAX_LINES).map((line, number) => {
      const head = number === 0 ? `${fit(label, labelWidth)}:` : "";
      return `${pad(head, labelWidth + 1, "left")} ${styled(line, style, space)}`.trimEnd();
    });
  });
}
