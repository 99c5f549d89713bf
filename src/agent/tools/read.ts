import type { FileHandle } from "node:fs/promises";
import { resolvePath } from "../../base/files.ts";
import type { BuiltinTool, ToolContext } from "./context.ts";
import { imageType, readImage } from "./image.ts";
import { formatBytes, headBytes, MAX_BYTES, MAX_LINES } from "./limits.ts";
import { eachLine } from "./lines.ts";
import { displayPath, openRegular } from "./paths.ts";
import { READ } from "./specs.ts";
import { abortable, defineTool, type ToolResult, textResult, wholeNumber } from "./tool.ts";

/** Up to this size the lines behind the range are counted, so that the note can say how many there are. */
const COUNT_ALL_BYTES = 16 * 1024 * 1024;
/** How much of a file is looked at to tell text from other data. */
const PROBE_BYTES = 8192;

export interface ReadParams {
  path: string;
  offset?: number;
  limit?: number;
}

/** Lines: the first one's number, from 1, and how many. */
export interface Range {
  first: number;
  limit: number;
}

export function rangeOf({ offset, limit }: ReadParams): Range {
  return { first: wholeNumber(offset, 1, 1), limit: wholeNumber(limit, MAX_LINES, 1) };
}

/** `read`: text with line numbers, from any line on, or an image. */
export function readTool({ cwd }: ToolContext): BuiltinTool {
  return defineTool<ReadParams>({
    ...READ,
    async run(params, { signal }) {
      const absolute = resolvePath(params.path, cwd);
      return await abortable(readFile(absolute, cwd, rangeOf(params), signal), signal);
    },
  });
}

async function readFile(
  path: string,
  cwd: string,
  range: Range,
  signal: AbortSignal | undefined,
): Promise<ToolResult> {
  const { handle, stats } = await openRegular(path, cwd);
  try {
    return await readOpened(handle, displayPath(path, cwd), stats.size, range, signal);
  } finally {
    await handle.close();
  }
}

/** The result for what is open as `handle`, of `size` bytes; `name` is how the model knows it. */
export async function readOpened(
  handle: Pick<FileHandle, "read" | "stat">,
  name: string,
  size: number,
  range: Range,
  signal: AbortSignal | undefined,
): Promise<ToolResult> {
  const probe = Buffer.alloc(PROBE_BYTES);
  const head = probe.subarray(0, (await handle.read(probe, 0, PROBE_BYTES, 0)).bytesRead);
  // The size proves nothing: files of /proc have none and yet have content.
  if (head.length === 0) return textResult(`${name} is empty`);
  const image = imageType(head);
  if (image) return await readImage(handle, image, name, signal);
  refuseBinary(head, name, size);
  return await readText(handle, name, size, range, signal);
}

/** Throws if a file that starts with `head` is not text in UTF-8 or a superset of ASCII. */
export function refuseBinary(head: Uint8Array, name: string, size: number): void {
  if ((head[0] === 0xff && head[1] === 0xfe) || (head[0] === 0xfe && head[1] === 0xff)) {
    throw new Error(`${name} is UTF-16 text; convert it with bash: iconv -f UTF-16 -t UTF-8`);
  }
  if (head.includes(0)) throw new Error(`${name} is a binary file (${formatBytes(size)})`);
}

async function readText(
  handle: Pick<FileHandle, "read">,
  name: string,
  size: number,
  { first, limit }: Range,
  signal: AbortSignal | undefined,
): Promise<ToolResult> {
  const maxLines = Math.min(limit, MAX_LINES);
  const lines: string[] = [];
  const notes: string[] = [];
  let bytes = 0;
  let number = 0;
  // The first line behind the range, once there is one.
  let next: number | undefined;

  await eachLine(handle, { maxBytes: MAX_BYTES, signal }, (line) => {
    number++;
    if (number < first) return true;
    if (next !== undefined) return size <= COUNT_ALL_BYTES;
    // A line that is too long for the rest of the room is left for the next call, unless it is the first.
    const long = line.cut || bytes + line.bytes.length + 8 > MAX_BYTES;
    if (lines.length === maxLines || (long && lines.length > 0)) {
      next = number;
      return size <= COUNT_ALL_BYTES;
    }
    const shown = long ? headBytes(line.bytes, MAX_BYTES - 8) : line.bytes;
    const text = `${number}\t${decode(shown, number === 1)}`;
    bytes += shown.length + String(number).length + 2;
    lines.push(text);
    if (long) {
      const rest = line.start + shown.length + 1;
      notes.push(`Line ${number} is cut; more with bash: tail -c +${rest} ${quote(name)} | head -c 50000`);
    }
    return true;
  });

  if (lines.length === 0) throw new Error(`${name} has ${number} lines; offset ${first} is beyond the end`);
  if (next !== undefined) {
    const total = size <= COUNT_ALL_BYTES ? ` of ${number}` : "";
    notes.push(`Lines ${first}-${next - 1}${total}; go on with offset=${next}`);
  }
  const body = lines.join("\n");
  return textResult(notes.length === 0 ? body : `${body}\n\n[${notes.join("]\n[")}]`, {
    firstLine: first,
    lines: lines.length,
    truncated: notes.length > 0,
  });
}

// Without the marks that the model can't see and that edit adds again: the byte order mark and the CR of CRLF.
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
function decode(bytes: Uint8Array, isFirst: boolean): string {
  const text = decoder.decode(bytes).replace(/\r$/, "");
  return isFirst ? text.replace(/^\uFEFF/, "") : text;
}

function quote(name: string): string {
  return `'${name.replaceAll("'", "'\\''")}'`;
}
