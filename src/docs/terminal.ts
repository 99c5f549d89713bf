/**
 * The Markdown of our own pages for a terminal, lightly: headings bold, code indented, paragraphs, lists and tables wrapped
 * at the width. It knows what the pages use and no more; any text comes out in some readable form.
 */
import { columnsOf, pad, wrap } from "../extensions/render/columns.ts";
import { styled } from "../extensions/render/style.ts";

export interface Terminal {
  /** In columns. */
  width: number;
  /** Whether headings are bold. */
  bold: boolean;
}

const CODE_INDENT = "    ";
const GAP = "  ";
/** No column of a table is made narrower than this. */
const MIN_COLUMN = 6;

/** The page, with a line end behind every line. */
export function forTerminal(markdown: string, terminal: Terminal): string {
  return blocksOf(markdown)
    .flatMap((block) => draw(block, terminal))
    .map((line) => `${line}\n`)
    .join("");
}

type Block =
  | { kind: "code" | "table"; lines: string[] }
  | { kind: "heading" | "text"; text: string }
  | { kind: "item"; mark: string; text: string }
  | { kind: "blank" };

function blocksOf(markdown: string): Block[] {
  const blocks: Block[] = [];
  let isCode = false;
  for (const line of markdown.trimEnd().split("\n")) {
    const last = blocks.at(-1);
    const heading = /^#+ +(.*)$/.exec(line);
    const item = /^(- |\d+\. )(.*)$/.exec(line);
    if (line.startsWith("```")) {
      isCode = !isCode;
      if (isCode) blocks.push({ kind: "code", lines: [] });
    } else if (isCode) {
      if (last?.kind === "code") last.lines.push(line);
    } else if (line.trim() === "") blocks.push({ kind: "blank" });
    else if (heading) blocks.push({ kind: "heading", text: heading[1]! });
    else if (item) blocks.push({ kind: "item", mark: item[1]!, text: item[2]! });
    else if (line.startsWith("|")) {
      if (last?.kind === "table") last.lines.push(line);
      else blocks.push({ kind: "table", lines: [line] });
    } else if (last?.kind === "text" || last?.kind === "item") last.text += ` ${line.trim()}`;
    else blocks.push({ kind: "text", text: line.trim() });
  }
  return blocks;
}

function draw(block: Block, { width, bold }: Terminal): string[] {
  switch (block.kind) {
    case "blank":
      return [""];
    case "code":
      return block.lines.map((line) => (line === "" ? "" : CODE_INDENT + line));
    case "heading":
      return wrapped(inline(block.text), width).map((line) => styled(line, "bold", { width, color: bold }));
    case "text":
      return wrapped(inline(block.text), width);
    case "item": {
      const indent = " ".repeat(block.mark.length);
      const lines = wrapped(inline(block.text), width - indent.length);
      return lines.map((line, index) => (index === 0 ? block.mark : indent) + line);
    }
    case "table":
      return drawTable(block.lines.map(cellsOf), width);
  }
}

/** A link between pages becomes the command that prints it; emphasis goes. */
function inline(text: string): string {
  return text
    .replace(/\[([^\]]+)\]\(([^)]+)\)/g, (_, label: string, target: string) => {
      const page = /^([a-z]+)\.md(?:#.*)?$/.exec(target)?.[1];
      const example = /^examples\/(.+)$/.exec(target)?.[1];
      if (page !== undefined) return `${label} (xdev docs ${page})`;
      return example === undefined ? `${label} (${target})` : `${label} (xdev docs example ${example})`;
    })
    .replaceAll("**", "");
}

function cellsOf(line: string): string[] {
  const inner = line.trim().replace(/^\||\|$/g, "");
  return inner.split(/(?<!\\)\|/).map((cell) => inline(cell.trim().replaceAll("\\|", "|")));
}

/** Columns side by side, the text of each wrapped in its own; below the head a line of dashes. */
function drawTable(rows: readonly string[][], width: number): string[] {
  const [head = [], , ...body] = rows;
  const widths = narrowed([head, ...body], width - GAP.length * (head.length - 1));
  const row = (cells: readonly string[]): string[] => {
    const columns = widths.map((columns, index) => wrapped(cells[index] ?? "", columns));
    const height = Math.max(...columns.map((lines) => lines.length));
    return Array.from({ length: height }, (_, line) =>
      columns
        .map((lines, index) => pad(lines[line] ?? "", widths[index]!, "left"))
        .join(GAP)
        .trimEnd(),
    );
  };
  return [...row(head), widths.map((columns) => "-".repeat(columns)).join(GAP), ...body.flatMap(row)];
}

/**
 * The widest columns give way, down to one common width, until all fit: above the longest word of each if that is possible,
 * and below it if not.
 */
function narrowed(rows: readonly string[][], available: number): number[] {
  const widest = (measure: (cell: string) => number) =>
    rows[0]!.map((_, column) => Math.max(...rows.map((row) => measure(row[column] ?? ""))));
  const natural = widest(columnsOf);
  const words = widest((cell) => Math.max(...cell.split(" ").map(columnsOf)));
  for (const least of [words, natural.map(() => MIN_COLUMN)]) {
    for (let limit = Math.max(...natural); limit >= MIN_COLUMN; limit--) {
      const widths = natural.map((columns, index) => Math.min(columns, Math.max(limit, least[index]!)));
      if (widths.reduce((sum, columns) => sum + columns, 0) <= available) return widths;
    }
  }
  return natural.map((columns) => Math.min(columns, MIN_COLUMN));
}

function wrapped(text: string, width: number): string[] {
  return wrap(text, Math.max(width, MIN_COLUMN), Number.POSITIVE_INFINITY);
}
