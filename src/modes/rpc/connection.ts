/**
 * The two streams of rpc mode: lines of JSON from the client, records to it. Only `\n` ends a line. Nobody's memory grows
 * without end: while the client does not read, its commands are not read either, and the agent waits (`ready`).
 */
import type { Readable } from "node:stream";
import { errorText } from "../../base/errors.ts";
import { log, redact } from "../../base/log.ts";
import { printLong } from "../../base/output.ts";
import { escapeControls } from "../../base/text.ts";
import { LineReader } from "../../extensions/lines.ts";
import { LINE_LIMIT } from "./commands.ts";

/** So much may be on its way to the client before we wait for it, in UTF-16 units. */
const UNREAD_LIMIT = 1024 * 1024;

/** Where records go. `written` is called when the system has taken the text or refused it. */
export interface RecordOutput {
  write(text: string, written: () => void): void;
}

export const standardOutput: RecordOutput = {
  write: (text, written) => printLong("stdout", text, written),
};

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

export class Connection {
  readonly #options: ConnectionOptions;
  #unread = 0;
  #waiting: { promise: Promise<void>; resolve: () => void } | undefined;
  #isOver = false;

  constructor(options: ConnectionOptions) {
    this.#options = options;
  }

  /** Writes a record behind those before it. What is no JSON is logged and left out. */
  send(record: unknown): void {
    try {
      this.sendText(JSON.stringify(record));
    } catch (error) {
      log.error(`a record can't be written as JSON: ${errorText(error)}`);
    }
  }

  /** The same for what is JSON already. */
  sendText(json: string): void {
    const text = `${escapeControls(redact(json))}\n`;
    this.#unread += text.length;
    this.#options.output.write(text, () => {
      this.#unread -= text.length;
      if (this.#unread <= UNREAD_LIMIT / 2) this.#release();
    });
  }

  /** Undefined while the client keeps up; otherwise resolves when it has caught up, or is gone. */
  ready(): Promise<void> | undefined {
    if (this.#unread <= UNREAD_LIMIT || this.#isOver) return undefined;
    this.#waiting ??= Promise.withResolvers<void>();
    return this.#waiting.promise;
  }

  #release(): void {
    this.#waiting?.resolve();
    this.#waiting = undefined;
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
      this.#end();
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
      this.#end();
    }
  }

  #end(): void {
    this.#isOver = true;
    this.#release();
  }
}
