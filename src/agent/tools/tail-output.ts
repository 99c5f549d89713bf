import { errorText } from "../../base/errors.ts";
import { stripControls } from "../../base/text.ts";
import { formatBytes, MAX_BYTES, MAX_LINES, tailBytes } from "./limits.ts";
import { Spill } from "./spill.ts";

export interface OutputDetails {
  truncated: boolean;
  fullOutputPath?: string | undefined;
}

/**
 * A program's output as it comes: the tail in memory, everything in a file once there is more than a result holds.
 * Whatever comes, memory holds some hundred KB.
 */
export class TailOutput {
  readonly #scratch: () => Promise<string>;
  // One decoder a stream: a character may be split over two chunks, with one of the other stream between them.
  readonly #decoders = { stdout: newDecoder(), stderr: newDecoder() };
  #tail = "";
  #dropped = false;
  #bytes = 0;
  #lineFeeds = 0;
  /** What belongs at the beginning of the file, until there is one. */
  #pending: Uint8Array[] = [];
  #spill: Spill | undefined;
  #opening: Promise<void> | undefined;
  #problem: string | undefined;

  constructor(scratch: () => Promise<string>) {
    this.#scratch = scratch;
  }

  /** Takes a chunk. If it returns a promise, the caller holds the streams back until that resolves; it never rejects. */
  add(chunk: Uint8Array, stream: "stdout" | "stderr"): Promise<void> | undefined {
    this.#bytes += chunk.length;
    for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, at + 1)) this.#lineFeeds++;
    this.#append(this.#decoders[stream].decode(chunk, { stream: true }));
    if (this.#spill) {
      this.#spill.write(chunk);
      return undefined;
    }
    if (this.#problem !== undefined) return undefined;
    this.#pending.push(chunk);
    if (this.#opening || (this.#bytes <= MAX_BYTES && this.#lineFeeds <= MAX_LINES)) return undefined;
    this.#opening = this.#openSpill();
    return this.#opening;
  }

  /** No more comes. */
  async end(): Promise<void> {
    await this.#opening;
    this.#append(this.#decoders.stdout.decode() + this.#decoders.stderr.decode());
    this.#spill?.close();
  }

  /** The tail as the model sees it, without escape sequences, and the note that something is missing, if it is. */
  view(): { text: string; note: string | undefined; details: OutputDetails } {
    const lines = readable(this.#tail).replace(/\n$/, "").split("\n");
    const shown = lines.slice(-MAX_LINES).join("\n");
    const text = new TextDecoder().decode(wholeLines(Buffer.from(shown)));
    if (!this.#dropped && text.length === shown.length && lines.length <= MAX_LINES) {
      return { text, note: undefined, details: { truncated: false } };
    }
    const where = this.#spill?.describe() ?? `The full output could not be kept: ${this.#problem}`;
    return {
      text,
      note: `The end of ${this.#lineFeeds} lines, ${formatBytes(this.#bytes)}. ${where}`,
      details: { truncated: true, fullOutputPath: this.#spill?.path },
    };
  }

  #append(text: string): void {
    this.#tail += text;
    // One UTF-16 unit is at least one byte, so this is never less than a result can hold.
    if (this.#tail.length > 4 * MAX_BYTES) {
      this.#tail = this.#tail.slice(-2 * MAX_BYTES);
      this.#dropped = true;
    }
  }

  async #openSpill(): Promise<void> {
    try {
      this.#spill = new Spill(await this.#scratch(), "bash");
      for (const chunk of this.#pending) this.#spill.write(chunk);
    } catch (error) {
      this.#problem = errorText(error);
    }
    this.#pending = [];
  }
}

function newDecoder(): TextDecoder {
  return new TextDecoder("utf-8", { ignoreBOM: true });
}

/** A progress bar writes one line again and again: keep what a terminal would show at the end, then drop the controls. */
function readable(text: string): string {
  const ended = text.replace(/\r+\n/g, "\n");
  return stripControls(ended.replace(/^[^\n]*\r(?=(?:\u001b\[[0-9;]*[A-Za-z])*[^\r\n\u001b])/gm, ""));
}

/** At most MAX_BYTES from the end, starting at a line's beginning unless that one line is longer. */
function wholeLines(bytes: Uint8Array): Uint8Array {
  if (bytes.length <= MAX_BYTES) return bytes;
  const tail = tailBytes(bytes, MAX_BYTES);
  const lineFeed = tail.indexOf(10);
  return lineFeed === -1 ? tail : tail.subarray(lineFeed + 1);
}
