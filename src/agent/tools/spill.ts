import { closeSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { errorText } from "../../base/errors.ts";
import { randomHex } from "../../base/random.ts";
import { formatBytes } from "./limits.ts";

/** No output fills the disk: what comes after this much is dropped, and the result says so. */
export const MAX_SPILL_BYTES = 100 * 1024 * 1024;

/**
 * The file that takes the output a result has no room for. Writes are synchronous on purpose: they go to the page
 * cache, and a program that floods us is then held back by its pipe instead of filling our memory with a write queue.
 */
export class Spill {
  readonly path: string;
  #file: number | undefined;
  #written = 0;
  #problem: string | undefined;
  readonly #limit: number;

  constructor(folder: string, tool: string, limit: number = MAX_SPILL_BYTES) {
    this.path = join(folder, `${tool}-${randomHex(4)}.txt`);
    this.#limit = limit;
    // Output may hold secrets of the user: nobody else reads it.
    this.#file = openSync(this.path, "wx", 0o600);
  }

  write(data: string | Uint8Array): void {
    if (this.#file === undefined) return;
    const bytes = typeof data === "string" ? Buffer.from(data) : data;
    const room = bytes.subarray(0, this.#limit - this.#written);
    try {
      for (let done = 0; done < room.length; ) done += writeSync(this.#file, room, done, room.length - done);
      this.#written += room.length;
      if (room.length < bytes.length) this.#stop(`only its first ${formatBytes(this.#limit)} were kept`);
    } catch (error) {
      // A full disk must not fail the command whose output this is.
      this.#stop(`incomplete: ${errorText(error)}`);
    }
  }

  close(): void {
    this.#stop(undefined);
  }

  /** How a result names the file. */
  describe(): string {
    return `Full output: ${this.path}${this.#problem === undefined ? "" : ` (${this.#problem})`}`;
  }

  #stop(problem: string | undefined): void {
    if (this.#file === undefined) return;
    closeSync(this.#file);
    this.#file = undefined;
    this.#problem = problem;
  }
}
