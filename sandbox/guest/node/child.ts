/** A running program, as an extension sees it. Bundled into `child_process`. */
import { Buffer } from "node:buffer";
import { EventEmitter } from "node:events";
import type { Readable, Writable } from "node:stream";
import { call, callSync } from "xdev:system";
import { checkSignal, type Normal, shellWords, spawnFailure, standardStreams } from "./child_options.ts";
import { abortError } from "./errors.ts";
import { logWriter } from "./log_writer.ts";

// Who runs programs to their end at once needs no streams.
declare const require: (name: string) => unknown;
const streams = () => require("node:stream") as typeof import("node:stream");

/** The most that one call writes, in bytes. */
const WRITE_BYTES = 64 * 1024;

interface Ended {
  code: number | null;
  signal: string | null;
}

export class ChildProcess extends EventEmitter {
  pid: number | undefined = undefined;
  exitCode: number | null = null;
  signalCode: string | null = null;
  killed = false;
  readonly connected = false;
  readonly channel = undefined;
  readonly spawnfile: string;
  readonly spawnargs: string[];
  readonly stdin: Writable | null;
  readonly stdout: Readable | null;
  readonly stderr: Readable | null;
  readonly stdio: [Writable | null, Readable | null, Readable | null, null, null];
  /** The host's number for it; rejects if it was not started. */
  readonly #started: Promise<number>;
  readonly #start = Promise.withResolvers<number>();
  #id: number | undefined;
  /** A signal that came before it had started. */
  #early: string | undefined;
  /** What has not been closed yet: outputs, and the program itself. */
  #open = 1;

  constructor(normal: Normal) {
    super();
    const [input, output, errors] = standardStreams(normal.options.stdio);
    this.spawnfile = normal.file;
    this.spawnargs = normal.spawnargs;
    this.#started = this.#start.promise;
    this.#started.catch(() => {});
    this.stdin = input === "pipe" ? this.#input() : null;
    this.stdout = output === "ignore" ? null : this.#output("stdout");
    this.stderr = errors === "ignore" ? null : this.#output("stderr");
    const outputs = [
      ["stdout", this.stdout],
      ["stderr", this.stderr],
    ] as const;
    const wanted = outputs.filter(([, stream]) => stream).map(([name]) => name);
    // Set up first: what it writes at once must find a reader.
    if (output === "inherit") this.stdout?.on("data", logWriter("info"));
    if (errors === "inherit") this.stderr?.on("data", logWriter("warn"));
    if (output === "inherit") this.stdout = null;
    if (errors === "inherit") this.stderr = null;
    this.stdio = [this.stdin, this.stdout, this.stderr, null, null];
    const parameters = { ...normal.request, outputs: wanted, input: input === "pipe" };
    void this.#run(normal, parameters, [outputs[0][1], outputs[1][1]]);
  }

  /** Signals the program and what it has started. False if it has ended. */
  kill(signal?: unknown): boolean {
    const name = checkSignal(signal);
    if (this.exitCode !== null || this.signalCode !== null) return false;
    if (this.#id === undefined) {
      if (name !== 0) this.#early = name;
    } else {
      try {
        if (!callSync<boolean>("run.kill", { id: this.#id, signal: name }).value) return false;
      } catch {
        return false;
      }
    }
    if (name !== 0) this.killed = true;
    return true;
  }

  ref(): void {}
  unref(): void {}
  disconnect(): void {}

  [Symbol.dispose](): void {
    if (!this.killed) this.kill();
  }

  async #run(normal: Normal, parameters: unknown, outputs: readonly (Readable | null)[]): Promise<void> {
    let ended: Ended;
    let failure: Error | undefined;
    try {
      const { id, pid } = (await call<{ id: number; pid: number }>("run.spawn", parameters)).value;
      this.#id = id;
      this.pid = pid;
      this.#start.resolve(id);
      if (this.#early !== undefined) {
        const signal = this.#early;
        await call("run.kill", { id, signal }).catch(() => {});
      }
      this.#tell("spawn");
      ended = await this.#wait(id);
    } catch (error) {
      const words = shellWords(error, normal);
      const stderr = outputs[1];
      if (words && stderr) stderr.push(Buffer.from(words.text));
      this.#start.reject(error);
      if (words) ended = { code: words.status, signal: null };
      else {
        const spawnError = spawnFailure(error, normal, "spawn");
        failure = spawnError;
        ended = { code: spawnError.errno, signal: null };
      }
    }
    this.exitCode = ended.code;
    this.signalCode = ended.signal;
    this.stdin?.destroy();
    if (failure) this.#tell("error", failure);
    else this.#tell("exit", ended.code, ended.signal);
    // Nobody need read what is left for the program to be over.
    for (const output of outputs) {
      if (!output?.readable) continue;
      if (
        (output as unknown as { _readableState: { readableListening: boolean } })._readableState
          .readableListening
      ) {
        output.read(0);
      } else output.resume();
    }
    this.#closed();
  }

  async #wait(id: number): Promise<Ended> {
    try {
      return (await call<Ended>("run.wait", { id })).value;
    } catch {
      // Only if the extension itself ends.
      return { code: null, signal: "SIGKILL" };
    }
  }

  /** A listener that throws changes nothing for the program: its error is the extension's. */
  #tell(event: string, ...args: unknown[]): void {
    try {
      this.emit(event, ...args);
    } catch (error) {
      queueMicrotask(() => {
        throw error;
      });
    }
  }

  #closed(): void {
    this.#open--;
    if (this.#open > 0) return;
    if (this.#id !== undefined) void call("run.close", { id: this.#id }).catch(() => {});
    this.#tell("close", this.exitCode, this.signalCode);
  }

  #input(): Writable {
    const { Writable: WritableClass } = streams();
    return new WritableClass({
      write: (chunk: Buffer, _encoding, done) => {
        this.#write(chunk).then(() => done(), done);
      },
      final: (done) => {
        this.#endInput().then(() => done());
      },
      destroy: (error, done) => {
        void this.#endInput();
        done(error);
      },
    });
  }

  async #endInput(): Promise<void> {
    await this.#started.then((id) => call("run.endInput", { id })).catch(() => {});
  }

  async #write(chunk: Buffer): Promise<void> {
    const id = await this.#started.catch(() => undefined);
    if (id === undefined) return;
    for (let at = 0; at < chunk.length; at += WRITE_BYTES) {
      await call("run.write", { id }, chunk.subarray(at, at + WRITE_BYTES));
    }
  }

  #output(stream: "stdout" | "stderr"): Readable {
    const { Readable: ReadableClass } = streams();
    this.#open++;
    const readable: Readable = new ReadableClass({
      read: () => {
        this.#started
          .then((id) => call("run.read", { id, stream }))
          .then(
            ({ bytes }) =>
              readable.push(bytes ? Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength) : null),
            () => readable.push(null),
          );
      },
    });
    readable.once("close", () => {
      if (!readable.readableEnded) void this.#discard(stream);
      this.#closed();
    });
    return readable;
  }

  /** As a pipe that is closed: a program that writes on is ended by that. */
  async #discard(stream: "stdout" | "stderr"): Promise<void> {
    await this.#started.then((id) => call("run.discard", { id, stream })).catch(() => {});
  }
}

/** Ends the child when the signal is aborted, and after a time-out. */
export function limit(child: ChildProcess, normal: Normal): ChildProcess {
  const { signal, timeout, killSignal } = normal.options;
  if (timeout !== undefined && timeout > 0) {
    const timer = setTimeout(() => child.kill(killSignal), timeout);
    child.once("exit", () => clearTimeout(timer));
    child.once("error", () => clearTimeout(timer));
  }
  if (signal) {
    const abort = (): void => {
      if (child.kill(killSignal)) child.emit("error", abortError(signal.reason));
    };
    if (signal.aborted) queueMicrotask(abort);
    else {
      signal.addEventListener("abort", abort, { once: true });
      child.once("exit", () => signal.removeEventListener("abort", abort));
    }
  }
  return child;
}
