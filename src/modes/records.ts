/** Records as lines of JSON to a program that reads them. Nobody's memory grows without end: who writes waits for it (`ready`). */
import { errorText } from "../base/errors.ts";
import { log, redactTexts } from "../base/log.ts";
import { printLong } from "../base/output.ts";
import { escapeControls } from "../base/text.ts";

/** So much may be on its way to the reader before we wait for it, in UTF-16 units. */
const UNREAD_LIMIT = 1024 * 1024;

/** Where records go. `written` is called when the system has taken the text or refused it. */
export interface RecordOutput {
  write(text: string, written: () => void): void;
}

export const standardOutput: RecordOutput = {
  write: (text, written) => printLong("stdout", text, written),
};

export class RecordWriter {
  readonly #output: RecordOutput;
  #unread = 0;
  #waiting: { promise: Promise<void>; resolve: () => void } | undefined;
  #isOver = false;

  constructor(output: RecordOutput) {
    this.#output = output;
  }

  /** Writes a record behind those before it. What is no JSON is logged and left out. */
  send(record: unknown): void {
    try {
      this.sendText(JSON.stringify(record, redactTexts));
    } catch (error) {
      log.error(`a record can't be written as JSON: ${errorText(error)}`);
    }
  }

  /** The same for what is JSON already, without secrets. */
  sendText(json: string): void {
    const text = `${escapeControls(json)}\n`;
    this.#unread += text.length;
    this.#output.write(text, () => {
      this.#unread -= text.length;
      if (this.#unread <= UNREAD_LIMIT / 2) this.#release();
    });
  }

  /** Undefined while the reader keeps up; otherwise resolves when it has caught up, or is gone. */
  ready(): Promise<void> | undefined {
    if (this.#unread <= UNREAD_LIMIT || this.#isOver) return undefined;
    this.#waiting ??= Promise.withResolvers<void>();
    return this.#waiting.promise;
  }

  /** From now on nobody waits for the reader. */
  release(): void {
    this.#isOver = true;
    this.#release();
  }

  #release(): void {
    this.#waiting?.resolve();
    this.#waiting = undefined;
  }
}
