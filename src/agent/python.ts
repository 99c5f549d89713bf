/** A Python process that lives as long as the session: what a `$` command defines, the next one has. */

import { access, constants } from "node:fs/promises";
import { isAbsolute, join } from "node:path";
import { errorText, XdevError } from "../base/errors.ts";
import { killGroup, programStarter, signalGroup } from "../base/process.ts";
import { randomHex } from "../base/random.ts";
import { ellipsis, oneLine } from "../base/text.ts";
import { sleep } from "../base/time.ts";
import type { Program } from "../platform/program.ts";
import { DRIVER, MARK_LENGTH, type MarkStatus } from "./python-driver.ts";

export interface PythonEnd {
  /** `exit`: the code itself ended the process (`sys.exit`, a crash); the next run starts a new one. */
  reason: "done" | "error" | "aborted" | "exit";
  /** Whether the process is gone, and with it all that was defined. */
  isLost: boolean;
}

export interface PythonRun {
  signal?: AbortSignal | undefined;
  /** If it returns a promise, no more is read from the process until that resolves. */
  onData(chunk: Buffer, stream: "stdout" | "stderr"): Promise<void> | undefined;
}

/** How long code may take to end after the user interrupted it. */
const INTERRUPT_MS = 2000;
const START_MS = 20_000;
/** How long output may outlive the process, and how long it may come without a pause for the rest of the program. */
const LINGER_MS = 100;
const SLICE_MS = 20;

export class PythonSession {
  readonly #options: { cwd: string; env: Record<string, string> };
  #process: PythonProcess | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  constructor(options: { cwd: string; env: Record<string, string> }) {
    this.#options = options;
  }

  /**
   * Runs one piece of code; calls wait for each other. `onData` gets what it prints, and the last expression's value. Starts
   * python3 if it does not run; rejects with `XdevError` `no-python` if there is none.
   */
  run(code: string, options: PythonRun): Promise<PythonEnd> {
    const result = this.#last.then(() => this.#run(code, options));
    this.#last = result.catch(() => {});
    return result;
  }

  /** Ends the process and all that it started. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#process?.end();
    await this.#last;
  }

  async #run(code: string, options: PythonRun): Promise<PythonEnd> {
    if (this.#isClosed) throw new XdevError("closed", "the session is closed");
    if (options.signal?.aborted) return { reason: "aborted", isLost: false };
    if (this.#process?.isGone) {
      await this.#process.end();
      this.#process = undefined;
    }
    this.#process ??= await PythonProcess.start(this.#options);
    // Closed while it started: nobody else ends it.
    if (this.#isClosed) await this.#process.end();
    const end = await this.#process.run(code, options);
    if (end.isLost) {
      await this.#process.end();
      this.#process = undefined;
    }
    return end;
  }
}

class PythonProcess {
  isGone = false;
  readonly #program: Program;
  readonly #begin: Buffer;
  readonly #secret: string;
  #held: Buffer = Buffer.alloc(0);
  #onData: PythonRun["onData"] | undefined;
  #onMark: ((status: MarkStatus) => void) | undefined;
  #onStart: (() => void) | undefined;
  #sliceStart = performance.now();
  #complaint = "";

  private constructor(program: Program) {
    this.#program = program;
    this.#secret = randomHex(16);
    this.#begin = Buffer.from(`\x1e${this.#secret}`);
    const onExit = () => {
      this.isGone = true;
    };
    void program.exited.then(onExit, onExit);
  }

  static async start({ cwd, env }: { cwd: string; env: Record<string, string> }): Promise<PythonProcess> {
    const file = await findPython(env);
    const start = await programStarter();
    const program = start(file, ["-u", "-X", "utf8", "-c", DRIVER], { cwd, env });
    const started = new PythonProcess(program);
    const timer = new AbortController();
    try {
      const ready = started.#nextMark();
      program.read((chunk, stream) => started.#take(chunk, stream));
      void program.write(`${started.#secret}\n`);
      const late = sleep(START_MS, timer.signal).then(() => "late" as const);
      late.catch(() => {});
      const first = await Promise.race([ready, started.#gone(), late]);
      if (first !== "r")
        throw new Error(ellipsis(oneLine(started.#complaint).trim(), 500) || "it ended at once");
      return started;
    } catch (error) {
      await started.end();
      throw new XdevError("no-python", `${file} can't be used: ${errorText(error)}`);
    } finally {
      timer.abort();
    }
  }

  async run(code: string, { signal, onData }: PythonRun): Promise<PythonEnd> {
    this.#onData = onData;
    const interrupted = Promise.withResolvers<"late">();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const { promise: started, resolve: onStart } = Promise.withResolvers<void>();
    this.#onStart = onStart;
    const interrupt = () => {
      // Before the code has started, it would not be heard.
      void started.then(() => this.#program.pid !== undefined && signalGroup(this.#program.pid, "SIGINT"));
      timer = setTimeout(() => interrupted.resolve("late"), INTERRUPT_MS);
    };
    try {
      const mark = this.#nextMark();
      void this.#program.write(`${JSON.stringify(code)}\n`);
      signal?.addEventListener("abort", interrupt, { once: true });
      if (signal?.aborted) interrupt();
      const end = await Promise.race([mark, this.#gone(), interrupted.promise]);
      if (end === "late" || (end === "gone" && signal?.aborted)) return { reason: "aborted", isLost: true };
      if (end === "gone" || end === "x") return { reason: "exit", isLost: true };
      if (end === "i") return { reason: "aborted", isLost: false };
      return { reason: end === "e" ? "error" : "done", isLost: false };
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", interrupt);
      this.#onData = undefined;
      this.#onMark = undefined;
      this.#onStart = undefined;
    }
  }

  async end(): Promise<void> {
    await killGroup(this.#program.pid);
    this.#program.release();
  }

  #nextMark(): Promise<MarkStatus> {
    return new Promise((resolve) => {
      this.#onMark = resolve;
    });
  }

  /** Resolves when it has ended and what it had printed is read. */
  async #gone(): Promise<"gone"> {
    await this.#program.exited.catch((error: unknown) => {
      this.#complaint = errorText(error);
    });
    await Promise.race([this.#program.drained, sleep(LINGER_MS)]);
    return "gone";
  }

  #take(chunk: Buffer, stream: "stdout" | "stderr"): Promise<void> | undefined {
    // Before the driver has joined both: what kept Python from its start.
    if (stream === "stderr") {
      this.#complaint = (this.#complaint + chunk.toString("utf8")).slice(-2000);
      return undefined;
    }
    let data = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    const waits: Promise<void>[] = [];
    for (;;) {
      const at = data.indexOf(this.#begin);
      const shown = at === -1 ? data.length - this.#partOfMark(data) : at;
      const wait = shown === 0 ? undefined : this.#onData?.(data.subarray(0, shown), "stdout");
      if (wait) waits.push(wait);
      if (at === -1 || data.length < at + MARK_LENGTH) {
        this.#held = Buffer.from(data.subarray(shown));
        break;
      }
      this.#marked(String.fromCharCode(data[at + this.#begin.length]!) as MarkStatus, waits);
      data = data.subarray(at + MARK_LENGTH);
    }
    return this.#paced(waits.length === 0 ? undefined : Promise.all(waits).then(() => {}));
  }

  #marked(status: MarkStatus, waits: readonly Promise<void>[]): void {
    if (status === "s") return this.#onStart?.();
    // What a thread prints from here on belongs to no command.
    this.#onData = undefined;
    const tell = this.#onMark;
    void Promise.all(waits).then(() => tell?.(status));
  }

  /** How many bytes at the end may be the beginning of a mark. */
  #partOfMark(data: Buffer): number {
    for (let length = Math.min(data.length, this.#begin.length - 1); length > 0; length--) {
      if (data.subarray(data.length - length).equals(this.#begin.subarray(0, length))) return length;
    }
    return 0;
  }

  /** A flood would keep the loop from its timers, and the user's interrupt with them. */
  #paced(wait: Promise<void> | undefined): Promise<void> | undefined {
    if (wait || performance.now() - this.#sliceStart <= SLICE_MS) return wait;
    return sleep(1).then(() => {
      this.#sliceStart = performance.now();
    });
  }
}

/** `python3` of PATH. Relative entries are passed over: the working folder may be a stranger's repository. */
async function findPython(env: Record<string, string>): Promise<string> {
  for (const folder of (env.PATH ?? "").split(":").filter((entry) => isAbsolute(entry))) {
    const file = join(folder, "python3");
    const isThere = await access(file, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isThere) return file;
  }
  throw new XdevError("no-python", "there is no python3 on your PATH", {
    hint: "install Python 3.8 or later, or run something else with !",
  });
}
