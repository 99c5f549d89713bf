import type { ToolContext } from "./context.ts";
import { MAX_BYTES, MAX_LINES } from "./limits.ts";
import { Spill } from "./spill.ts";

/**
 * Output of a search, line by line: keeps the head within the limits in memory and puts everything into a file once
 * there is more. Memory stays bounded however much is found.
 */
export class HeadOutput {
  readonly #context: ToolContext;
  readonly #tool: string;
  readonly #maxLines: number;
  #head: string[] = [];
  #bytes = 0;
  #total = 0;
  #spill: Spill | undefined;

  constructor(context: ToolContext, tool: string, maxLines: number = MAX_LINES) {
    this.#context = context;
    this.#tool = tool;
    this.#maxLines = Math.min(maxLines, MAX_LINES);
  }

  /** Lines added so far. */
  get total(): number {
    return this.#total;
  }

  async add(line: string): Promise<void> {
    this.#total++;
    if (!this.#spill) {
      const size = Buffer.byteLength(line) + 1;
      if (this.#head.length < this.#maxLines && this.#bytes + size <= MAX_BYTES) {
        this.#head.push(line);
        this.#bytes += size;
        return;
      }
      this.#spill = new Spill(await this.#context.scratch(), this.#tool);
      this.#spill.write(this.#head.map((kept) => `${kept}\n`).join(""));
    }
    this.#spill.write(`${line}\n`);
  }

  /** Nothing more is added. Call it on every way out, or the file stays open. */
  close(): void {
    this.#spill?.close();
  }

  /** The kept lines, then the notes in brackets, or `empty` if there is not one line. Closes. */
  finish(empty: string, notes: readonly string[] = []): { text: string; details: object } {
    this.close();
    const spill = this.#spill;
    const all = [...notes];
    if (spill) all.unshift(`Showing ${this.#head.length} of ${this.#total} lines. ${spill.describe()}`);
    const body = this.#total === 0 ? empty : this.#head.join("\n");
    return {
      text: all.length === 0 ? body : `${body}\n\n[${all.join("]\n[")}]`,
      details: spill ? { truncated: true, fullOutputPath: spill.path } : {},
    };
  }
}
