/**
 * The two streams of rpc mode: lines of JSON from the client, records to it. Only `\n` ends a line. Nobody's memory grows
 * without end: while the client does not read, its commands are not read either, and the agent waits (`ready`).
 */
import type { Readable } from "node:stream";
import { errorText } from "../../base/errors.ts";
import { log } from "../../base/log.ts";
import { LineReader } from "../../extensions/lines.ts";
import { type RecordOutput, RecordWriter } from "../records.ts";
import { LINE_LIMIT } from "./commands.ts";

export interface ConnectionOptions {
  input: Readable;
  output: RecordOutput;
  /** Ends the reading, and every wait for the client. */
  interrupt: AbortSignal;
  /** The longest line in bytes. */
  lineLimit?: number;
}

export interface LineHandler {
  line(line: Buffer): void;
  tooLong(limit: number): void;
}

export class Connection extends RecordWriter {
  readonly #options: ConnectionOptions;

  constructor(options: ConnectionOptions) {
    super(options.output);
    this.#options = options;
  }

  /** Gives each line to the handler, until the input ends or the program is interrupted. Afterwards nobody waits for the client. */
  async read(handler: LineHandler): Promise<void> {
    const { input, interrupt, lineLimit = LINE_LIMIT } = this.#options;
    let lines: (Buffer | undefined)[] = [];
    const reader = new LineReader(lineLimit, {
      line: (line) => void lines.push(Buffer.from(line)),
      tooLong: () => void lines.push(undefined),
    });
    const handle = async () => {
      const taken = lines;
      lines = [];
      for (const line of taken) {
        await this.ready();
        if (line) handler.line(line);
        else handler.tooLong(lineLimit);
      }
    };
    const stop = () => {
      input.destroy();
      this.release();
    };
    interrupt.addEventListener("abort", stop, { once: true });
    try {
      if (interrupt.aborted) return;
      for await (const chunk of input) {
        reader.push(chunk as Buffer);
        await handle();
        if (interrupt.aborted) return;
      }
      reader.end();
      await handle();
    } catch (error) {
      // Destroyed while it was read, or broken: either way nothing more comes.
      if (!interrupt.aborted) log.debug(`the client's end: ${errorText(error)}`);
    } finally {
      interrupt.removeEventListener("abort", stop);
      this.release();
    }
  }
}
