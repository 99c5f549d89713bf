/**
 * Text cut to what a tool's result may hold, at lines' ends: from the beginning (`truncateHead`) or the end (`truncateTail`). The
 * limits are those of the built-in tools.
 */
import { MAX_BYTES, MAX_LINES, tailBytes } from "../../../../src/agent/tools/limits.ts";

export const DEFAULT_MAX_LINES = MAX_LINES;
export const DEFAULT_MAX_BYTES = MAX_BYTES;
/** The most of a line that a search shows, in characters. */
const MAX_LINE_CHARS = 500;

export interface TruncationOptions {
  maxLines?: number;
  maxBytes?: number;
}

export interface TruncationResult {
  content: string;
  truncated: boolean;
  truncatedBy: "lines" | "bytes" | null;
  totalLines: number;
  totalBytes: number;
  outputLines: number;
  outputBytes: number;
  /** `truncateTail` has cut the last line itself. */
  lastLinePartial: boolean;
  /** `truncateHead` gives nothing, since not even the first line has room. */
  firstLineExceedsLimit: boolean;
  maxLines: number;
  maxBytes: number;
}

/** Keeps the first lines that have room within both limits, none in part. */
export function truncateHead(content: string, options: TruncationOptions = {}): TruncationResult {
  const { whole, lines, limits } = look(content, options);
  if (whole) return whole;
  const { count, truncatedBy } = fitting(lines.length, (place) => lines[place]!, limits);
  return cut(content, lines, limits, lines.slice(0, count).join("\n"), {
    truncatedBy,
    outputLines: count,
    firstLineExceedsLimit: count === 0 && truncatedBy === "bytes",
  });
}

/** Keeps the last lines that have room within both limits; of the last one its end, if that alone is too long. */
export function truncateTail(content: string, options: TruncationOptions = {}): TruncationResult {
  const { whole, lines, limits } = look(content, options);
  if (whole) return whole;
  const { count, truncatedBy } = fitting(lines.length, (place) => lines[lines.length - 1 - place]!, limits);
  if (count === 0 && truncatedBy === "bytes") {
    const end = Buffer.from(tailBytes(Buffer.from(lines.at(-1)!), limits.maxBytes)).toString();
    return cut(content, lines, limits, end, { truncatedBy, outputLines: 1, lastLinePartial: true });
  }
  return cut(content, lines, limits, count === 0 ? "" : lines.slice(-count).join("\n"), {
    truncatedBy,
    outputLines: count,
  });
}

/** Cuts one line to `maxChars` characters and says so behind it. */
export function truncateLine(
  line: string,
  maxChars: number = MAX_LINE_CHARS,
): { text: string; wasTruncated: boolean } {
  if (line.length <= maxChars) return { text: line, wasTruncated: false };
  const end = /[\ud800-\udbff]/.test(line[maxChars - 1] ?? "") ? maxChars - 1 : maxChars;
  return { text: `${line.slice(0, end)}... [truncated]`, wasTruncated: true };
}

/** `900B`, `12.3KB`, `4.0MB`: 1 KB is 1,024 bytes. */
export function formatSize(bytes: number): string {
  if (bytes < 1024) return `${bytes}B`;
  if (bytes < 1024 * 1024) return `${(bytes / 1024).toFixed(1)}KB`;
  return `${(bytes / (1024 * 1024)).toFixed(1)}MB`;
}

type Limits = Pick<TruncationResult, "maxLines" | "maxBytes">;

/** How many lines have room, and what there was no room in. */
function fitting(total: number, lineAt: (place: number) => string, { maxLines, maxBytes }: Limits) {
  let bytes = 0;
  for (let count = 0; count < total && count < maxLines; count++) {
    bytes += Buffer.byteLength(lineAt(count)) + (count > 0 ? 1 : 0);
    if (bytes > maxBytes) return { count, truncatedBy: "bytes" as const };
  }
  return { count: Math.min(total, maxLines), truncatedBy: "lines" as const };
}

function look(content: string, options: TruncationOptions) {
  const { maxLines = MAX_LINES, maxBytes = MAX_BYTES } = options;
  const limits: Limits = { maxLines, maxBytes };
  // A line feed at the end ends the last line; it begins none.
  const lines = content === "" ? [] : content.replace(/\n$/, "").split("\n");
  const totalBytes = Buffer.byteLength(content);
  if (lines.length > maxLines || totalBytes > maxBytes) return { lines, limits };
  const whole: TruncationResult = {
    content,
    truncated: false,
    truncatedBy: null,
    totalLines: lines.length,
    totalBytes,
    outputLines: lines.length,
    outputBytes: totalBytes,
    lastLinePartial: false,
    firstLineExceedsLimit: false,
    ...limits,
  };
  return { whole, lines, limits };
}

function cut(
  content: string,
  lines: readonly string[],
  limits: Limits,
  output: string,
  rest: Pick<TruncationResult, "truncatedBy" | "outputLines"> & Partial<TruncationResult>,
): TruncationResult {
  return {
    content: output,
    truncated: true,
    totalLines: lines.length,
    totalBytes: Buffer.byteLength(content),
    outputBytes: Buffer.byteLength(output),
    lastLinePartial: false,
    firstLineExceedsLimit: false,
    ...rest,
    ...limits,
  };
}
