/** From the arguments of `node:child_process` to what the host is asked for. Bundled into that module. */
import process from "node:process";
import { codedError, invalidArgument, invalidValue, unsupported } from "./errors.ts";
import { signalName, signals } from "./signals.ts";

export type StreamUse = "pipe" | "ignore" | "inherit";

/** The options of all forms; each form looks at its own. */
export interface Options {
  cwd?: string | URL;
  env?: Record<string, unknown>;
  shell?: boolean | string;
  stdio?: unknown;
  encoding?: string | null;
  timeout?: number;
  maxBuffer?: number;
  killSignal?: string | number;
  signal?: AbortSignal;
  input?: unknown;
  [name: string]: unknown;
}

/** Parameters of `run.spawn` and `run.sync`. */
export interface Request {
  what: { file: string; args: string[] } | { command: string; shell?: string };
  cwd?: string;
  env: Record<string, string>;
}

export interface Normal {
  request: Request;
  /** As Node names it in errors, and in `spawnfile`. */
  file: string;
  spawnargs: string[];
  options: Options;
}

/** `(file)`, `(file, args)`, `(file, options)`, `(file, args, options)`. */
export function normalize(file: unknown, args: unknown, options: unknown): Normal {
  checkText("file", file);
  if (file === "") throw invalidValue("file", file, "cannot be empty");
  let list: unknown[] = [];
  if (Array.isArray(args)) list = [...args];
  else if (args !== undefined && args !== null) {
    if (typeof args !== "object") throw invalidArgument("args", "an instance of Array", args);
    options = args;
  }
  if (options !== undefined && options !== null && typeof options !== "object") {
    throw invalidArgument("options", "of type object", options);
  }
  const given = { ...(options as Options | null | undefined) };
  const words = list.map((arg, index) => {
    const text = String(arg);
    checkText(`args[${index}]`, text);
    return text;
  });
  checkTime(given.timeout);
  if (given.maxBuffer !== undefined && (typeof given.maxBuffer !== "number" || !(given.maxBuffer >= 0))) {
    throw codedError(
      RangeError,
      "ERR_OUT_OF_RANGE",
      `The value of "maxBuffer" is out of range. It must be a positive number. Received ${given.maxBuffer}`,
    );
  }
  const cwd = given.cwd === undefined || given.cwd === null ? undefined : pathText(given.cwd);
  const request: Request = {
    what: { file, args: words },
    ...(cwd === undefined ? {} : { cwd }),
    env: environment(given.env ?? process.env),
  };
  if (!given.shell) return { request, file, spawnargs: [file, ...words], options: given };
  const command = [file, ...words].join(" ");
  const shell = typeof given.shell === "string" ? given.shell : undefined;
  request.what = shell === undefined ? { command } : { command, shell };
  const name = shell ?? "/bin/sh";
  return { request, file: name, spawnargs: [name, "-c", command], options: given };
}

function checkText(name: string, value: unknown): asserts value is string {
  if (typeof value !== "string") throw invalidArgument(name, "of type string", value);
  if (value.includes("\0")) throw invalidValue(name, value, "must be a string without null bytes");
}

function checkTime(value: unknown): void {
  if (value === undefined || value === null || (Number.isInteger(value) && (value as number) >= 0)) return;
  throw codedError(
    RangeError,
    "ERR_OUT_OF_RANGE",
    `The value of "timeout" is out of range. It must be an unsigned integer. Received ${value}`,
  );
}

function pathText(path: unknown): string {
  if (path instanceof URL || (typeof path === "object" && path !== null && "href" in path)) {
    const url = path as URL;
    if (url.protocol !== "file:") {
      throw codedError(TypeError, "ERR_INVALID_URL_SCHEME", "The URL must be of scheme file");
    }
    return decodeURIComponent(url.pathname);
  }
  checkText("options.cwd", path);
  return path;
}

function environment(env: Record<string, unknown>): Record<string, string> {
  const result: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined) continue;
    const text = String(value);
    checkText(`options.env['${name}']`, text);
    result[name] = text;
  }
  return result;
}

/** What each of the three standard streams is for. */
export function standardStreams(stdio: unknown): [StreamUse, StreamUse, StreamUse] {
  const list = Array.isArray(stdio) ? stdio : [stdio, stdio, stdio];
  const uses = [0, 1, 2].map((index) => streamUse(list[index]));
  for (const extra of list.slice(3)) {
    if (extra === "ipc") throw unsupported("stdio 'ipc' of a child process");
    if (extra !== "ignore" && extra !== null && extra !== undefined) {
      throw unsupported("more than the three standard streams of a child process");
    }
  }
  return uses as [StreamUse, StreamUse, StreamUse];
}

function streamUse(value: unknown): StreamUse {
  if (value === undefined || value === null || value === "pipe" || value === "overlapped") return "pipe";
  if (value === "ignore") return "ignore";
  if (value === "inherit" || value === 0 || value === 1 || value === 2) return "inherit";
  if (value === process.stdin || value === process.stdout || value === process.stderr) return "inherit";
  if (value === "ipc") throw unsupported("stdio 'ipc' of a child process");
  if (typeof value === "string") throw invalidValue("stdio", value);
  throw unsupported("a stream or file as stdio of a child process: use 'pipe', and pipe() to it");
}

/** A signal's name for the host; `0` asks whether something is there. */
export function checkSignal(signal: unknown): string | 0 {
  if (signal === undefined || signal === null) return "SIGTERM";
  if (signal === 0) return 0;
  const name = typeof signal === "string" || typeof signal === "number" ? signalName(signal) : undefined;
  if (name === undefined || !Object.hasOwn(signals, name)) {
    throw codedError(TypeError, "ERR_UNKNOWN_SIGNAL", `Unknown signal: ${String(signal)}`);
  }
  return name;
}

const NUMBERS: Readonly<Record<string, number>> = {
  EPERM: -1,
  ENOENT: -2,
  EIO: -5,
  E2BIG: -7,
  EAGAIN: -11,
  ENOMEM: -12,
  EACCES: -13,
  ENOTDIR: -20,
  EINVAL: -22,
  EMFILE: -24,
  EPIPE: -32,
  ENOBUFS: -105,
  ETIMEDOUT: -110,
};

export type SpawnError = Error &
  Record<"code" | "syscall" | "path", string> & { errno: number; spawnargs: string[] };

/** What the host's error, or a code of ours, is as an error of `spawn` or `spawnSync`. */
export function spawnFailure(
  error: unknown,
  { file, spawnargs }: Normal,
  syscall: "spawn" | "spawnSync",
): SpawnError {
  const code = typeof error === "string" ? error : ((error as { code?: string }).code ?? "EIO");
  const plain = `${syscall} ${file} ${code}`;
  const said = typeof error === "string" ? plain : (error as Error).message;
  // A refusal says which permission it takes; for everything else Node's words will do.
  const failure = new Error(/^spawn .* E[A-Z0-9]+$/.test(said) ? plain : said);
  return Object.assign(failure, {
    errno: NUMBERS[code] ?? -5,
    code,
    syscall: `${syscall} ${file}`,
    path: file,
    spawnargs: spawnargs.slice(1),
  }) as SpawnError;
}

/** In a shell's place: what it says of a program that is not there, and its status. Undefined for other errors. */
export function shellWords(
  error: unknown,
  { request }: Normal,
): { text: string; status: number } | undefined {
  const { code, path } = error as { code?: string; path?: string };
  if (!("command" in request.what) || code !== "ENOENT" || typeof path !== "string") return undefined;
  if (path === "sh" || path === request.what.shell) return undefined;
  return { text: `sh: 1: ${path}: not found\n`, status: 127 };
}
