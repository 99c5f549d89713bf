/** The forms of `child_process` that give the result at once. Bundled into that module. */
import { Buffer } from "node:buffer";
import { callSync } from "xdev:system";
import {
  checkSignal,
  type Normal,
  normalize,
  type Options,
  shellWords,
  spawnFailure,
  standardStreams,
} from "./child_options.ts";
import { invalidArgument } from "./errors.ts";
import { logWriter } from "./log_writer.ts";

type Output = string | Buffer | null;

interface Result {
  pid: number;
  output: Output[] | null;
  stdout: Output;
  stderr: Output;
  status: number | null;
  signal: string | null;
  error?: Error;
}

interface Answer {
  pid: number;
  code: number | null;
  signal: string | null;
  problem: "ETIMEDOUT" | "ENOBUFS" | null;
  stdoutBytes: number;
}

const MAX_BUFFER = 1024 * 1024;

export function spawnSync(file: unknown, args?: unknown, options?: unknown): Result {
  return run(normalize(file, args, options));
}

function run(normal: Normal): Result {
  const { options, request } = normal;
  const [, out, err] = standardStreams(options.stdio);
  const parameters = {
    ...request,
    timeout: options.timeout ?? 0,
    // JSON has no Infinity; the host has a limit of its own.
    maxBuffer: Math.min(options.maxBuffer ?? MAX_BUFFER, Number.MAX_SAFE_INTEGER),
    killSignal: checkSignal(options.killSignal),
  };
  let answer: Answer;
  let stdout: Buffer;
  let stderr: Buffer;
  try {
    const { value, bytes } = callSync<Answer>("run.sync", parameters, inputBytes(options));
    answer = value;
    const all = bytes ? Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength) : Buffer.alloc(0);
    stdout = all.subarray(0, value.stdoutBytes);
    stderr = all.subarray(value.stdoutBytes);
  } catch (error) {
    const words = shellWords(error, normal);
    if (!words) return notStarted(spawnFailure(error, normal, "spawnSync"));
    answer = { pid: 0, code: words.status, signal: null, problem: null, stdoutBytes: 0 };
    stdout = Buffer.alloc(0);
    stderr = Buffer.from(words.text);
  }
  const output = [null, shown(stdout, out, "info", options), shown(stderr, err, "warn", options)] as const;
  const result: Result = {
    pid: answer.pid,
    output: [...output],
    stdout: output[1],
    stderr: output[2],
    status: answer.code,
    signal: answer.signal,
  };
  if (answer.problem) result.error = spawnFailure(answer.problem, normal, "spawnSync");
  return result;
}

function notStarted(error: Error): Result {
  return { error, status: null, signal: null, output: null, pid: 0, stdout: null, stderr: null };
}

function shown(bytes: Buffer, use: string, level: "info" | "warn", { encoding }: Options): Output {
  if (use === "inherit") logWriter(level)(bytes);
  if (use !== "pipe") return null;
  return encoding && encoding !== "buffer" ? bytes.toString(encoding as BufferEncoding) : bytes;
}

function inputBytes({ input, encoding }: Options): Uint8Array | undefined {
  if (input === undefined || input === null) return undefined;
  if (typeof input === "string") {
    return Buffer.from(input, encoding && encoding !== "buffer" ? (encoding as BufferEncoding) : "utf8");
  }
  if (ArrayBuffer.isView(input)) return new Uint8Array(input.buffer, input.byteOffset, input.byteLength);
  throw invalidArgument(
    "options.input",
    "of type string or an instance of Buffer, TypedArray, or DataView",
    input,
  );
}

export function execFileSync(file: unknown, args?: unknown, options?: unknown): Output {
  return checked(normalize(file, args, options), undefined);
}

export function execSync(command: unknown, options?: Options | null): Output {
  return checked(
    normalize(command, { ...options, shell: options?.shell || true }, undefined),
    String(command),
  );
}

/** The output, or an error if it failed. What it says on standard error goes to the log unless it was asked for. */
function checked(normal: Normal, command: string | undefined): Output {
  const result = run(normal);
  if (normal.options.stdio === undefined && result.stderr !== null) {
    logWriter("warn")(typeof result.stderr === "string" ? result.stderr : Buffer.from(result.stderr));
  }
  if (result.error) throw Object.assign(result.error, { ...result, error: result.error });
  if (result.status === 0) return result.stdout;
  let message = `Command failed: ${command ?? normal.spawnargs.join(" ")}`;
  if (result.stderr && result.stderr.length > 0) message += `\n${result.stderr.toString()}`;
  throw Object.assign(new Error(message), result);
}
