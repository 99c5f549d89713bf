/**
 * Programs of the user's machine. An extension may run what was granted, found along the user's PATH and started by its
 * canonical path, with a scrubbed environment, in a process group of its own that ends with the extension at the latest.
 * Never a shell unless the shell was granted: a command line that needs none is run without one.
 */
import { constants } from "node:os";
import * as v from "valibot";
import { sleep } from "../../src/base/time.ts";
import { type CallContext, CallError, type Operations, operation } from "./broker.ts";
import { RunningProgram, type StreamName } from "./program.ts";
import { type PreparedProgram, prepareProgram, startPrepared } from "./program-start.ts";

const KIND = "program";

/** The most that one `run.read` gives, in bytes. */
const READ_BYTES = 64 * 1024;

/** How long after a program's end its outputs may be silent before `run.sync` takes them for complete, in ms. */
const SILENCE_MS = 200;

const text = (length: number) => v.pipe(v.string(), v.maxLength(length), v.check(hasNoNul, "no NUL"));

function hasNoNul(value: string): boolean {
  return !value.includes("\0");
}

/** The kernel takes 128 KB for one argument and no more. */
const argument = text(128 * 1024);
const file = v.pipe(text(4096), v.minLength(1));

/** What to run: a file with arguments, or a command line. */
const what = v.union([
  v.object({
    file,
    args: v.optional(v.pipe(v.array(argument), v.maxLength(4096)), []),
  }),
  v.object({ command: v.pipe(argument, v.minLength(1)), shell: v.optional(file) }),
]);

const where = {
  cwd: v.optional(file),
  env: v.optional(
    v.pipe(
      v.record(text(1000), text(128 * 1024)),
      v.check((env) => Object.keys(env).length <= 1000, "at most 1000 variables"),
    ),
    {},
  ),
};

const signal = v.pipe(
  v.union([v.string(), v.number()]),
  v.transform((value) => (typeof value === "string" ? value : (SIGNAL_NAMES.get(value) ?? ""))),
  v.check((name) => name === "0" || Object.hasOwn(constants.signals, name), "a signal"),
);

const SIGNAL_NAMES: ReadonlyMap<number, string> = new Map([
  [0, "0"],
  ...Object.entries(constants.signals).map(([name, number]) => [number, name] as const),
]);

const id = v.number();
const output = v.picklist(["stdout", "stderr"]);

/** A place among the extension's programs, taken before the program starts: one too many never runs. */
interface Slot {
  running?: RunningProgram;
}

async function open(
  prepared: PreparedProgram,
  wanted: ReadonlySet<StreamName>,
  { resources, signal: end }: CallContext,
): Promise<{ id: number; running: RunningProgram }> {
  const slot: Slot = {};
  const number = resources.add(KIND, slot, () => slot.running?.close());
  try {
    const start = await startPrepared(prepared, wanted);
    end.throwIfAborted();
    slot.running = new RunningProgram(await start(), wanted);
    // It may have ended while the program was starting; `close` found an empty slot then.
    if (end.aborted) await slot.running.close();
    return { id: number, running: slot.running };
  } catch (error) {
    await resources.remove(KIND, number);
    throw error;
  }
}

function find(number: number, { resources }: CallContext): RunningProgram {
  const { running } = resources.get<Slot>(KIND, number);
  if (!running) throw new CallError("EBADF", "EBADF: this program is not running");
  return running;
}

export const runOperations: Operations = {
  /** Starts a program: `{id, pid}`. `outputs` are those that will be read. */
  "run.spawn": operation({
    params: v.object({
      what,
      ...where,
      outputs: v.optional(v.pipe(v.array(output), v.maxLength(2)), ["stdout", "stderr"]),
      input: v.optional(v.boolean(), true),
    }),
    async run(params, context) {
      const prepared = await prepareProgram(params.what, params, context);
      const opened = await open(prepared, new Set(params.outputs), context);
      if (!params.input) opened.running.endInput();
      return { value: { id: opened.id, pid: opened.running.pid } };
    },
  }),

  /** The next bytes of an output, as soon as there are some; none at its end. */
  "run.read": operation({
    params: v.object({ id, stream: output }),
    async run(params, context) {
      const size = Math.min(READ_BYTES, context.limits.maxCallBytes);
      return { bytes: await find(params.id, context).read(params.stream, size) };
    },
  }),

  /** Closes an output that nobody will read any more. */
  "run.discard": operation({
    params: v.object({ id, stream: output }),
    run(params, context) {
      find(params.id, context).discard(params.stream);
      return {};
    },
  }),

  /** Writes to its input; resolves when that was taken. */
  "run.write": operation({
    params: v.object({ id }),
    async run(params, context, bytes) {
      if (bytes && bytes.byteLength > 0) await find(params.id, context).write(bytes);
      return {};
    },
  }),

  "run.endInput": operation({
    params: v.object({ id }),
    run(params, context) {
      find(params.id, context).endInput();
      return {};
    },
  }),

  /** Signals the program and what it has started; gives whether there was anything to signal. */
  "run.kill": operation({
    params: v.object({ id, signal }),
    run(params, context) {
      const name = params.signal === "0" ? 0 : (params.signal as NodeJS.Signals);
      return { value: find(params.id, context).signal(name) };
    },
  }),

  /** How it ended: `{code, signal}`. */
  "run.wait": operation({
    params: v.object({ id }),
    run: async (params, context) => ({ value: await find(params.id, context).exited }),
  }),

  /** Ends it with whatever it started, if it is still there, and forgets it. */
  "run.close": operation({
    params: v.object({ id }),
    async run(params, { resources }) {
      await resources.remove(KIND, params.id);
      return {};
    },
  }),

  /**
   * Runs a program to its end: `{pid, code, signal, problem, stdoutBytes}`, and standard output followed by standard error as
   * bytes. `problem` is `ETIMEDOUT` or `ENOBUFS` if it was ended for that. The call's bytes are its input.
   */
  "run.sync": operation({
    params: v.object({
      what,
      ...where,
      timeout: v.optional(v.pipe(v.number(), v.minValue(0), v.maxValue(2 ** 31 - 1)), 0),
      maxBuffer: v.pipe(v.number(), v.minValue(0)),
      killSignal: v.optional(signal, "SIGTERM"),
    }),
    async run(params, context, bytes) {
      const prepared = await prepareProgram(params.what, params, context);
      const opened = await open(prepared, new Set(["stdout", "stderr"]), context);
      try {
        return await toTheEnd(opened.running, params, context, bytes);
      } finally {
        await context.resources.remove(KIND, opened.id);
      }
    },
  }),
};

async function toTheEnd(
  running: RunningProgram,
  limits: { timeout: number; maxBuffer: number; killSignal: string },
  context: CallContext,
  input: Uint8Array | undefined,
) {
  let problem: "ETIMEDOUT" | "ENOBUFS" | null = null;
  const stop = (why: "ETIMEDOUT" | "ENOBUFS"): void => {
    problem ??= why;
    if (limits.killSignal !== "0") running.signal(limits.killSignal as NodeJS.Signals);
    void running.close();
  };
  const timer = limits.timeout > 0 ? setTimeout(() => stop("ETIMEDOUT"), limits.timeout) : undefined;
  const ended = new AbortController();
  try {
    void feed(running, input);
    let last = performance.now();
    let room = context.limits.maxCallBytes;
    const collect = async (stream: StreamName): Promise<Buffer> => {
      const chunks: Uint8Array[] = [];
      let size = 0;
      for (;;) {
        const chunk = await running.read(stream, READ_BYTES);
        if (!chunk) return Buffer.concat(chunks);
        last = performance.now();
        const kept = chunk.subarray(0, Math.min(limits.maxBuffer - size, room));
        size += kept.byteLength;
        room -= kept.byteLength;
        chunks.push(kept);
        if (kept.byteLength < chunk.byteLength) {
          stop("ENOBUFS");
          return Buffer.concat(chunks);
        }
      }
    };
    const outputs = Promise.all([collect("stdout"), collect("stderr")]);
    const end = await running.exited;
    // Programs in the background may hold the outputs for as long as they like.
    const silent = async (): Promise<void> => {
      while (performance.now() - last < SILENCE_MS) await sleep(SILENCE_MS / 4, ended.signal);
    };
    last = performance.now();
    await Promise.race([outputs, silent()]);
    await running.close();
    const [stdout, stderr] = await outputs;
    return {
      value: { pid: running.pid, ...end, problem, stdoutBytes: stdout.byteLength },
      bytes: Buffer.concat([stdout, stderr]),
    };
  } finally {
    clearTimeout(timer);
    ended.abort();
  }
}

/** A program need not read its input. */
async function feed(running: RunningProgram, input: Uint8Array | undefined): Promise<void> {
  if (input) await running.write(input).catch(() => {});
  running.endInput();
}
