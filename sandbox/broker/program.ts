/** A program that runs for an extension: its output waits until it is asked for, and nothing of it stays behind. */
import { killGroup, livingMembers, signalGroup } from "../../src/base/process.ts";
import type { Program, ProgramEnd } from "../../src/platform/program.ts";
import { CallError } from "./broker.ts";

export type StreamName = "stdout" | "stderr";

/** How much output waits here, in bytes: the program itself waits after that. */
const HIGH_WATER = 64 * 1024;

/** One output: chunks come in as the program writes, and go out as the extension asks. */
class Output {
  readonly #chunks: Uint8Array[] = [];
  #size = 0;
  #ended = false;
  #reader: (() => void) | undefined;
  #room: (() => void) | undefined;

  /** Gives a promise if there is enough for now. */
  push(chunk: Uint8Array): Promise<void> | undefined {
    if (this.#ended) return undefined;
    this.#chunks.push(chunk);
    this.#size += chunk.byteLength;
    this.#wake();
    if (this.#size < HIGH_WATER) return undefined;
    return new Promise((resolve) => {
      this.#room = resolve;
    });
  }

  end(): void {
    this.#ended = true;
    this.#wake();
    this.#room?.();
  }

  /** At most `limit` bytes, as soon as there are some; undefined at the end. */
  async read(limit: number): Promise<Uint8Array | undefined> {
    if (this.#reader) throw new CallError("EBUSY", "EBUSY: this output is being read already");
    while (this.#chunks.length === 0) {
      if (this.#ended) return undefined;
      await new Promise<void>((resolve) => {
        this.#reader = resolve;
      });
    }
    const parts: Uint8Array[] = [];
    let size = 0;
    for (let chunk = this.#chunks.shift(); chunk; chunk = this.#chunks.shift()) {
      const rest = limit - size;
      if (chunk.byteLength > rest) {
        this.#chunks.unshift(chunk.subarray(rest));
        chunk = chunk.subarray(0, rest);
      }
      parts.push(chunk);
      size += chunk.byteLength;
      if (size >= limit) break;
    }
    this.#size -= size;
    if (this.#size < HIGH_WATER) {
      this.#room?.();
      this.#room = undefined;
    }
    return Buffer.concat(parts);
  }

  #wake(): void {
    this.#reader?.();
    this.#reader = undefined;
  }
}

export class RunningProgram {
  readonly pid: number;
  /** How its first process ended. */
  readonly exited: Promise<ProgramEnd>;
  readonly #program: Program;
  readonly #outputs: Record<StreamName, Output>;
  #hasExited = false;
  #gone: Promise<void> | undefined;

  /** `wanted`: the outputs that will be read; the program was started without the others. */
  constructor(program: Program & { pid: number }, wanted: ReadonlySet<StreamName>) {
    this.#program = program;
    this.pid = program.pid;
    const outputs = { stdout: new Output(), stderr: new Output() };
    this.#outputs = outputs;
    for (const name of ["stdout", "stderr"] as const) if (!wanted.has(name)) outputs[name].end();
    program.read((chunk, stream) => outputs[stream].push(chunk));
    this.exited = program.exited.then(async (end) => {
      this.#hasExited = true;
      // Alone: its number may soon be another program's. Not alone: others hold that number, and maybe the outputs.
      if ((await livingMembers(this.pid)).length === 0) await this.#killRest();
      return end;
    });
    this.exited.catch(() => {});
    // What it left in the background may go on for as long as it holds an output, and no longer.
    void Promise.allSettled([this.exited, program.drained]).then(async () => {
      for (const name of ["stdout", "stderr"] as const) outputs[name].end();
      await this.#killRest();
    });
  }

  read(stream: StreamName, limit: number): Promise<Uint8Array | undefined> {
    return this.#outputs[stream].read(limit);
  }

  /** Nobody will read this output any more: the program is told so when it writes. */
  discard(stream: StreamName): void {
    this.#outputs[stream].end();
    this.#program.release(stream);
  }

  /** Resolves when the program has taken it. Throws `EPIPE` if it reads no more. */
  async write(data: Uint8Array): Promise<void> {
    const isTaken =
      !this.#hasExited &&
      (await Promise.race([this.#program.write(data), this.exited.then(() => false).catch(() => false)]));
    if (!isTaken) throw new CallError("EPIPE", "write EPIPE", { syscall: "write" });
  }

  endInput(): void {
    this.#program.endInput();
  }

  /** Signals its group; false if nothing of it is there any more. */
  signal(signal: NodeJS.Signals | 0): boolean {
    return !this.#gone && signalGroup(this.pid, signal);
  }

  /** Ends its group and forgets its output. */
  async close(): Promise<void> {
    await this.#killRest();
    for (const output of Object.values(this.#outputs)) output.end();
    this.#program.release();
    await this.exited.catch(() => {});
  }

  #killRest(): Promise<void> {
    this.#gone ??= killGroup(this.pid);
    return this.#gone;
  }
}
