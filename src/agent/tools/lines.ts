import type { FileHandle } from "node:fs/promises";
import { throwIfAborted } from "./tool.ts";

const CHUNK = 256 * 1024;

export interface Line {
  /** The line's bytes without its line feed: all of them, or the first `maxBytes` if `cut`. Valid until the next chunk. */
  readonly bytes: Uint8Array;
  readonly cut: boolean;
  /** Where the line starts in the file. */
  readonly start: number;
}

/**
 * Hands every line of a file to `take`, in bounded memory whatever the length of file and lines; `take` returns false
 * to stop, or a promise where it wants to give way to other work. A file that ends in a line feed has no empty last line.
 */
export async function eachLine(
  handle: Pick<FileHandle, "read">,
  options: { maxBytes: number; signal?: AbortSignal | undefined },
  take: (line: Line) => boolean | Promise<boolean>,
): Promise<void> {
  const buffer = Buffer.allocUnsafe(CHUNK);
  // The beginning of a line that the chunks before have left; `seen` counts what did not fit into it too.
  let rest: Buffer[] = [];
  let kept = 0;
  let seen = 0;
  let position = 0;
  let lineStart = 0;

  const keep = (part: Buffer) => {
    seen += part.length;
    const room = part.subarray(0, options.maxBytes - kept);
    if (room.length === 0) return;
    rest.push(Buffer.from(room));
    kept += room.length;
  };
  const assemble = (): Line => {
    const line = { bytes: Buffer.concat(rest), cut: kept < seen, start: lineStart };
    rest = [];
    kept = 0;
    seen = 0;
    return line;
  };

  for (;;) {
    throwIfAborted(options.signal);
    const { bytesRead } = await handle.read(buffer, 0, CHUNK, position);
    if (bytesRead === 0) break;
    const chunk = buffer.subarray(0, bytesRead);
    let from = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, from)) {
      let line: Line;
      if (seen > 0) {
        keep(chunk.subarray(from, end));
        line = assemble();
      } else {
        const length = Math.min(end - from, options.maxBytes);
        line = { bytes: chunk.subarray(from, from + length), cut: length < end - from, start: lineStart };
      }
      from = end + 1;
      lineStart = position + from;
      // Awaiting a plain value would cost every line a turn of the microtask queue.
      const more = take(line);
      if (!(typeof more === "boolean" ? more : await more)) return;
    }
    if (from < bytesRead) keep(chunk.subarray(from));
    position += bytesRead;
  }
  if (seen > 0) await take(assemble());
}
