/** How calls and results of the tools are drawn: the name and what matters of the arguments, and the text. */
import { own } from "xdev:system";

interface Styles {
  fg(color: string, text: string): string;
  bold(text: string): string;
}
interface Options {
  expanded?: boolean;
  isPartial?: boolean;
}
interface Result {
  content: readonly { type: string; text?: string }[];
}
export type Drawn = (...args: never[]) => unknown;

/** Lines of a result that are shown until it is expanded. */
const SHOWN_LINES = 10;

const text = (value: string): unknown => {
  const { Text } = own("pi-tui") as { Text: new (text: string, x: number, y: number) => unknown };
  return new Text(value, 0, 0);
};

/** `read src/a.ts:3-7`, `bash ls -l`, … */
export const drawCall =
  (name: string) =>
  (args: Record<string, unknown>, theme: Styles): unknown => {
    const what = args?.command ?? args?.pattern ?? args?.path ?? "";
    const range = formatReadLineRange(args?.offset, args?.limit);
    return text(`${theme.fg("toolTitle", theme.bold(name))} ${theme.fg("accent", String(what))}${range}`);
  };

/** The result's text: all of it, or its first lines. */
export function drawResult(result: Result, options: Options, theme: Styles): unknown {
  const all = result.content.flatMap((block) => (block.type === "text" ? [block.text ?? ""] : [])).join("\n");
  const lines = all.split("\n");
  const shown = options?.expanded ? lines : lines.slice(0, SHOWN_LINES);
  const rest = lines.length - shown.length;
  const more = rest > 0 ? `\n${theme.fg("muted", `… ${rest} more lines`)}` : "";
  return text(shown.map((line) => theme.fg("toolOutput", line)).join("\n") + more);
}

/** `:3-7` for the lines that a call of `read` asks for; empty where it asks for all. */
export function formatReadLineRange(offset: unknown, limit: unknown): string {
  const [first, count] = [offset, limit].map((value) =>
    value === undefined || value === null || value === "" ? undefined : Number(value),
  );
  if (first === undefined && count === undefined) return "";
  if ([first, count].some((value) => value !== undefined && !Number.isFinite(value))) return "";
  const start = first ?? 1;
  return count === undefined ? `:${start}` : `:${start}-${start + count - 1}`;
}
