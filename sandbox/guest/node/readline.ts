/**
 * `node:readline` over streams: lines, as events and by iteration. An extension has no terminal: what asks the user a question is
 * `ctx.ui`.
 */
import { EventEmitter } from "node:events";
import process from "node:process";
import { StringDecoder } from "node:string_decoder";
import { abortError, codedError } from "./errors.ts";

interface Input {
  on(event: string, listener: (value: unknown) => void): unknown;
  removeListener(event: string, listener: (value: unknown) => void): unknown;
  pause?(): unknown;
  resume?(): unknown;
}
interface Output {
  write(text: string): unknown;
}

export interface InterfaceOptions {
  input?: Input;
  output?: Output;
  prompt?: string;
  signal?: AbortSignal;
}

type Answer = (line: string) => void;

const LINE_END = /\r\n|\n|\r|\u2028|\u2029/;

export class Interface extends EventEmitter {
  readonly terminal = false;
  line = "";
  cursor = 0;
  closed = false;
  readonly input: Input;
  readonly output: Output | undefined;
  #prompt: string;
  #decoder = new StringDecoder("utf8");
  #rest = "";
  /** A line that ended with a carriage return at the end of a chunk: a line feed that follows belongs to it. */
  #afterReturn = false;
  #answer: Answer | undefined;
  #paused = false;
  readonly #waiting: string[] = [];
  readonly #detach: () => void;

  constructor(inputOrOptions: Input | InterfaceOptions, output?: Output) {
    super();
    const isStream = typeof (inputOrOptions as Input).on === "function";
    const options: InterfaceOptions = isStream
      ? { input: inputOrOptions as Input, output }
      : (inputOrOptions as InterfaceOptions);
    if (!options.input || typeof options.input.on !== "function") {
      throw codedError(
        TypeError,
        "ERR_INVALID_ARG_TYPE",
        'The "input" argument must be an instance of Readable.',
      );
    }
    this.input = options.input;
    this.output = options.output ?? undefined;
    this.#prompt = options.prompt ?? "> ";
    const onData = (chunk: unknown): void => this.#take(chunk);
    const onEnd = (): void => this.#end();
    const onError = (error: unknown): void => void this.emit("error", error);
    this.#detach = () => {
      this.input.removeListener("data", onData);
      this.input.removeListener("end", onEnd);
      this.input.removeListener("error", onError);
    };
    this.input.on("error", onError);
    this.input.on("end", onEnd);
    this.input.on("data", onData);
    this.input.resume?.();
    const { signal } = options;
    if (signal?.aborted) queueMicrotask(() => this.close());
    else signal?.addEventListener("abort", () => this.close(), { once: true });
  }

  getPrompt(): string {
    return this.#prompt;
  }

  setPrompt(prompt: string): void {
    this.#prompt = prompt;
  }

  prompt(): void {
    this.output?.write(this.#prompt);
    if (this.#paused) this.resume();
  }

  /** Gives nothing here, and a promise in the form of `readline/promises`. */
  question(query: string, options?: unknown, answer?: unknown): unknown {
    const call = (typeof options === "function" ? options : answer) as Answer;
    this.ask(query, call);
    return undefined;
  }

  /** For both forms of `question`. */
  ask(query: string, answer: Answer): void {
    if (this.closed) throw codedError(Error, "ERR_USE_AFTER_CLOSE", "readline was closed");
    if ((this.input as unknown) === process.stdin) {
      throw codedError(
        Error,
        "ERR_FEATURE_UNAVAILABLE_ON_PLATFORM",
        "readline can't ask the user: an extension has no terminal. Use ctx.ui.input(), ctx.ui.select() or ctx.ui.confirm()",
      );
    }
    this.output?.write(query);
    this.#answer = answer;
  }

  write(data: unknown): void {
    if (this.closed) throw codedError(Error, "ERR_USE_AFTER_CLOSE", "readline was closed");
    this.#take(data);
  }

  pause(): this {
    if (this.#paused) return this;
    this.#paused = true;
    this.input.pause?.();
    this.emit("pause");
    return this;
  }

  resume(): this {
    if (!this.#paused) return this;
    this.#paused = false;
    this.emit("resume");
    this.input.resume?.();
    this.#deliver();
    return this;
  }

  close(): void {
    if (this.closed) return;
    this.pause();
    this.closed = true;
    this.#detach();
    this.emit("close");
  }

  [Symbol.dispose](): void {
    this.close();
  }

  getCursorPos(): { rows: number; cols: number } {
    return { rows: 0, cols: 0 };
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<string> {
    const lines: string[] = [];
    let failure: { error: unknown } | undefined;
    let wake: (() => void) | undefined;
    const next = (): void => {
      wake?.();
      wake = undefined;
    };
    this.on("line", (line: string) => {
      lines.push(line);
      if (lines.length >= 1024) this.pause();
      next();
    });
    this.on("close", next);
    this.on("error", (error: unknown) => {
      failure = { error };
      next();
    });
    try {
      for (;;) {
        const line = lines.shift();
        if (line !== undefined) yield line;
        else if (failure) throw failure.error;
        else if (this.closed) return;
        else {
          this.resume();
          if (lines.length > 0) continue;
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
      }
    } finally {
      this.close();
    }
  }

  #take(chunk: unknown): void {
    if (this.closed) return;
    let text = typeof chunk === "string" ? chunk : this.#decoder.write(chunk as Buffer);
    if (text === "") return;
    if (this.#afterReturn && text[0] === "\n") text = text.slice(1);
    this.#afterReturn = text === "" ? false : text[text.length - 1] === "\r";
    const lines = (this.#rest + text).split(LINE_END);
    this.#rest = lines.pop() as string;
    for (const line of lines) this.#waiting.push(line);
    this.#deliver();
  }

  #deliver(): void {
    while (this.#waiting.length > 0 && !this.closed && !this.#paused) {
      const line = this.#waiting.shift() as string;
      const answer = this.#answer;
      this.#answer = undefined;
      if (answer) answer(line);
      else this.emit("line", line);
    }
  }

  #end(): void {
    const last = this.#rest + this.#decoder.end();
    this.#rest = "";
    if (last !== "") this.#waiting.push(last);
    // Whoever paused it can't be waited for: the input is over.
    do {
      this.#paused = false;
      this.#deliver();
    } while (this.#waiting.length > 0 && !this.closed);
    this.close();
  }
}

export function createInterface(input: Input | InterfaceOptions, output?: Output): Interface {
  return new Interface(input, output);
}

/** Nothing here makes keys of bytes. */
export function emitKeypressEvents(): void {}

function control(stream: unknown, text: string, done: unknown): boolean {
  (stream as Output | null | undefined)?.write(text);
  if (typeof done === "function") queueMicrotask(() => done());
  return true;
}

export function clearLine(stream: unknown, direction: number, done?: unknown): boolean {
  return control(stream, direction < 0 ? "\x1b[1K" : direction > 0 ? "\x1b[0K" : "\x1b[2K", done);
}

export function clearScreenDown(stream: unknown, done?: unknown): boolean {
  return control(stream, "\x1b[0J", done);
}

export function cursorTo(stream: unknown, x: number, y?: unknown, done?: unknown): boolean {
  const text = typeof y === "number" ? `\x1b[${y + 1};${x + 1}H` : `\x1b[${x + 1}G`;
  return control(stream, text, typeof y === "function" ? y : done);
}

export function moveCursor(stream: unknown, dx: number, dy: number, done?: unknown): boolean {
  const by = (count: number, more: string, less: string) =>
    count === 0 ? "" : `\x1b[${Math.abs(count)}${count > 0 ? more : less}`;
  return control(stream, by(dx, "C", "D") + by(dy, "B", "A"), done);
}

class PromiseInterface extends Interface {
  override question(query: string, options?: { signal?: AbortSignal }): Promise<string> {
    return new Promise<string>((resolve, reject) => {
      const signal = options?.signal;
      if (signal?.aborted) return reject(abortError(signal.reason));
      signal?.addEventListener("abort", () => reject(abortError(signal.reason)), { once: true });
      this.once("close", () => reject(codedError(Error, "ERR_USE_AFTER_CLOSE", "readline was closed")));
      this.ask(query, resolve);
    });
  }
}

export const promises = {
  Interface: PromiseInterface,
  createInterface: (input: Input | InterfaceOptions, output?: Output): PromiseInterface =>
    new PromiseInterface(input, output),
};

export default {
  Interface,
  createInterface,
  emitKeypressEvents,
  clearLine,
  clearScreenDown,
  cursorTo,
  moveCursor,
  promises,
};
