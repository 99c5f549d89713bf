/**
 * `node:child_process`: the host finds the program, asks for the permission `run`, and starts it with a scrubbed environment.
 * It ends with the extension. `pid` is known from the event `spawn` on.
 */
import { Buffer } from "node:buffer";
import { ChildProcess, limit } from "./child.ts";
import { normalize, type Options } from "./child_options.ts";
import { execFileSync, execSync, spawnSync } from "./child_sync.ts";
import { codedError, requireFunction, unsupported } from "./errors.ts";

export { ChildProcess, execFileSync, execSync, spawnSync };

type Text = string | Buffer;
type Callback = (error: Error | null, stdout: Text, stderr: Text) => void;

const MAX_BUFFER = 1024 * 1024;

export function spawn(file: unknown, args?: unknown, options?: unknown): ChildProcess {
  const normal = normalize(file, args, options);
  return limit(new ChildProcess(normal), normal);
}

export function fork(): never {
  throw unsupported("child_process.fork()");
}

export function exec(command: unknown, options?: unknown, callback?: unknown): ChildProcess {
  const call = typeof options === "function" ? options : callback;
  const given = typeof options === "function" ? {} : (options as Options | null | undefined);
  return start(command, undefined, { ...given, shell: given?.shell || true }, call, String(command));
}

export function execFile(file: unknown, ...rest: unknown[]): ChildProcess {
  let args: unknown;
  const callback = typeof rest.at(-1) === "function" ? rest.pop() : undefined;
  if (Array.isArray(rest[0])) args = rest.shift();
  else if (rest.length > 1) rest.shift();
  const options = rest[0];
  return start(file, args, { ...(options as Options | null | undefined) }, callback, undefined);
}

function start(
  file: unknown,
  args: unknown,
  options: Options,
  callback: unknown,
  command: string | undefined,
): ChildProcess {
  if (callback !== undefined && callback !== null) requireFunction("callback", callback);
  const normal = normalize(file, args ?? [], { ...options, stdio: undefined });
  const { timeout = 0, killSignal, signal, maxBuffer = MAX_BUFFER } = options;
  const child = new ChildProcess(normal);
  const encoding = options.encoding === undefined ? "utf8" : options.encoding;
  const shown = command ?? normal.spawnargs.join(" ");
  let problem: Error | undefined;
  let isDone = false;
  let wasEnded = false;
  const outputs = (["stdout", "stderr"] as const).map((name) =>
    collect(child, name, encoding, maxBuffer, (error) => fail(error)),
  );

  const end = (): void => {
    wasEnded = true;
    child.stdout?.destroy();
    child.stderr?.destroy();
    child.kill(killSignal);
  };
  const fail = (error: Error): void => {
    problem ??= error;
    end();
  };
  const timer = timeout > 0 ? setTimeout(end, timeout) : undefined;
  const onAbort = (): void => fail(aborted(signal));
  if (signal?.aborted) queueMicrotask(onAbort);
  else signal?.addEventListener("abort", onAbort, { once: true });

  const finish = (code: number | null, signalCode: string | null): void => {
    if (isDone) return;
    isDone = true;
    clearTimeout(timer);
    signal?.removeEventListener("abort", onAbort);
    if (typeof callback !== "function") return;
    const [stdout, stderr] = outputs.map((output) => output()) as [Text, Text];
    if (!problem && code === 0 && signalCode === null) return callback(null, stdout, stderr);
    let error: Error;
    if (problem) error = problem;
    else {
      const text = stderr.length > 0 ? `\n${stderr.toString()}` : "\n";
      error = Object.assign(new Error(`Command failed: ${shown}${text}`), {
        code,
        killed: child.killed || wasEnded,
        signal: signalCode,
      });
    }
    callback(Object.assign(error, { cmd: shown }), stdout, stderr);
  };
  child.on("close", finish);
  child.on("error", (error: Error) => {
    child.stdout?.destroy();
    child.stderr?.destroy();
    problem ??= error;
    finish(null, null);
  });
  return child;
}

function aborted(signal: AbortSignal | undefined): Error {
  const error = codedError(Error, "ABORT_ERR", "The operation was aborted");
  Object.defineProperty(error, "name", { value: "AbortError", configurable: true, writable: true });
  return Object.assign(error, { cause: signal?.reason });
}

/** Gives a function for what an output has been; reports when that is more than it may. */
function collect(
  child: ChildProcess,
  name: "stdout" | "stderr",
  encoding: string | null,
  maxBuffer: number,
  tooMuch: (error: Error) => void,
): () => Text {
  const stream = child[name];
  const isText = encoding !== null && encoding !== "buffer" && Buffer.isEncoding(encoding);
  const chunks: Text[] = [];
  let size = 0;
  if (isText) stream?.setEncoding(encoding as BufferEncoding);
  stream?.on("data", (chunk: Text) => {
    const length =
      typeof chunk === "string" ? Buffer.byteLength(chunk, encoding as BufferEncoding) : chunk.length;
    const room = maxBuffer - size;
    size += length;
    chunks.push(length > room ? (chunk.slice(0, Math.max(room, 0)) as Text) : chunk);
    if (length > room) {
      tooMuch(
        codedError(RangeError, "ERR_CHILD_PROCESS_STDIO_MAXBUFFER", `${name} maxBuffer length exceeded`),
      );
    }
  });
  return () => (isText ? chunks.join("") : Buffer.concat(chunks as Buffer[]));
}

type Runner = (...args: unknown[]) => ChildProcess;

/** For `util.promisify`: `{stdout, stderr}`, and the child as `child`. */
for (const run of [exec, execFile] as Runner[]) {
  Object.defineProperty(run, Symbol.for("nodejs.util.promisify.custom"), {
    enumerable: false,
    value: (...args: unknown[]) => {
      const { promise, resolve, reject } = Promise.withResolvers<{ stdout: Text; stderr: Text }>();
      const done: Callback = (error, stdout, stderr) =>
        error === null ? resolve({ stdout, stderr }) : reject(Object.assign(error, { stdout, stderr }));
      const child = run(...args, done);
      return Object.assign(promise, { child });
    },
  });
}

export default { ChildProcess, exec, execFile, execFileSync, execSync, fork, spawn, spawnSync };
