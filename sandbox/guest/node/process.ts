/**
 * `node:process` and the global of that name: plain data. Nothing of it ends, signals or changes a process. Its standard outputs
 * are the extension's log; its standard input is empty.
 */
import { about, log } from "xdev:system";
import { codedError } from "./errors.ts";
import { logWriter } from "./log_writer.ts";

type Listener = (...args: unknown[]) => void;

const start = Date.now();
const VERSION = "24.0.0";

const refuse = (name: string, why: string) => (): never => {
  throw codedError(
    Error,
    "ERR_FEATURE_UNAVAILABLE_ON_PLATFORM",
    `process.${name}() does not exist in the sandbox: ${why}`,
  );
};

/** Events that never happen: listeners are taken and forgotten. */
const silent = {
  on(): unknown {
    return this;
  },
  once(): unknown {
    return this;
  },
  off(): unknown {
    return this;
  },
  addListener(): unknown {
    return this;
  },
  removeListener(): unknown {
    return this;
  },
  removeAllListeners(): unknown {
    return this;
  },
  prependListener(): unknown {
    return this;
  },
  prependOnceListener(): unknown {
    return this;
  },
  setMaxListeners(): unknown {
    return this;
  },
  getMaxListeners: (): number => 10,
  emit: (): boolean => false,
  listeners: (): unknown[] => [],
  rawListeners: (): unknown[] => [],
  listenerCount: (): number => 0,
  eventNames: (): unknown[] => [],
};

function output(fd: number, level: "info" | "warn") {
  const write = logWriter(level);
  return {
    ...silent,
    fd,
    isTTY: false,
    writable: true,
    columns: undefined,
    rows: undefined,
    write(chunk: unknown, encoding?: unknown, done?: unknown): boolean {
      write(chunk);
      const call = typeof encoding === "function" ? encoding : done;
      if (typeof call === "function") queueMicrotask(() => (call as Listener)());
      return true;
    },
    end(chunk?: unknown): unknown {
      if (chunk !== undefined && typeof chunk !== "function") write(chunk);
      return this;
    },
    cork(): void {},
    uncork(): void {},
    destroy(): unknown {
      return this;
    },
    hasColors: (): boolean => false,
    getColorDepth: (): number => 1,
    getWindowSize: (): [number, number] => [80, 24],
  };
}

/** At its end from the start. */
const input = {
  ...silent,
  fd: 0,
  isTTY: false,
  readable: true,
  on(event: unknown, listener: unknown): unknown {
    if ((event === "end" || event === "close") && typeof listener === "function") {
      queueMicrotask(() => (listener as Listener)());
    }
    return this;
  },
  once(event: unknown, listener: unknown): unknown {
    return this.on(event, listener);
  },
  addListener(event: unknown, listener: unknown): unknown {
    return this.on(event, listener);
  },
  read: (): null => null,
  setEncoding(): unknown {
    return this;
  },
  resume(): unknown {
    return this;
  },
  pause(): unknown {
    return this;
  },
  ref(): unknown {
    return this;
  },
  unref(): unknown {
    return this;
  },
  destroy(): unknown {
    return this;
  },
  pipe<T extends { end?(): void }>(destination: T): T {
    queueMicrotask(() => destination.end?.());
    return destination;
  },
  async *[Symbol.asyncIterator](): AsyncGenerator<never> {},
};

/** In whole milliseconds: a finer clock would tell what others do. */
function hrtimeFunction(previous?: readonly [number, number]): [number, number] {
  const now = Date.now() - start;
  let seconds = Math.floor(now / 1000);
  let nanoseconds = (now % 1000) * 1e6;
  if (previous !== undefined) {
    seconds -= previous[0];
    nanoseconds -= previous[1];
    if (nanoseconds < 0) {
      seconds -= 1;
      nanoseconds += 1e9;
    }
  }
  return [seconds, nanoseconds];
}

const noMemory = () => ({ rss: 0, heapTotal: 0, heapUsed: 0, external: 0, arrayBuffers: 0 });

function warn(warning: unknown, options?: unknown): void {
  const type =
    typeof options === "string"
      ? options
      : ((options as { type?: unknown } | null | undefined)?.type ?? "Warning");
  const text = warning instanceof Error ? `${warning.name}: ${warning.message}` : `${type}: ${warning}`;
  log("warn", text);
}

const ENDS = "an extension cannot end the agent: return from its function instead";
const SIGNALS = "an extension can signal only the programs that it has started (child.kill())";

const process = {
  ...silent,
  title: "xdev",
  // Not the extension's own path: packages that are programs, too, go by that.
  argv: ["xdev", "xdev"] as string[],
  argv0: "xdev",
  execArgv: [] as string[],
  execPath: "xdev",
  env: { ...about.env } as Record<string, string | undefined>,
  exitCode: undefined as number | undefined,
  pid: about.pid,
  ppid: 1,
  platform: about.platform,
  arch: about.arch,
  version: `v${VERSION}`,
  versions: { node: VERSION } as Record<string, string>,
  release: { name: "node" },
  config: { target_defaults: {}, variables: {} },
  features: {},
  allowedNodeEnvironmentFlags: new Set<string>(),
  debugPort: 9229,
  connected: false,
  stdin: input,
  stdout: output(1, "info"),
  stderr: output(2, "warn"),
  cwd: (): string => about.cwd,
  chdir: refuse("chdir", "the working folder is the session's"),
  umask: (): number => 0o22,
  uptime: (): number => (Date.now() - start) / 1000,
  hrtime: Object.assign(hrtimeFunction, { bigint: (): bigint => BigInt(Date.now() - start) * 1_000_000n }),
  memoryUsage: Object.assign(noMemory, { rss: (): number => 0 }),
  cpuUsage: () => ({ user: 0, system: 0 }),
  resourceUsage: () => ({}),
  constrainedMemory: (): number => 0,
  availableMemory: (): number => 0,
  nextTick(run: unknown, ...args: unknown[]): void {
    if (typeof run !== "function") {
      throw codedError(
        TypeError,
        "ERR_INVALID_ARG_TYPE",
        'The "callback" argument must be of type function.',
      );
    }
    queueMicrotask(() => (run as Listener)(...args));
  },
  emitWarning: warn,
  setSourceMapsEnabled(): void {},
  hasUncaughtExceptionCaptureCallback: (): boolean => false,
  setUncaughtExceptionCaptureCallback(): void {},
  exit: refuse("exit", ENDS),
  reallyExit: refuse("reallyExit", ENDS),
  abort: refuse("abort", ENDS),
  kill: refuse("kill", SIGNALS),
  disconnect: refuse("disconnect", "there is no parent process"),
};
Object.defineProperty(process, Symbol.toStringTag, { value: "process", configurable: true });

export const {
  title,
  argv,
  argv0,
  execArgv,
  execPath,
  env,
  exitCode,
  pid,
  ppid,
  platform,
  arch,
  version,
  versions,
  release,
  config,
  features,
  allowedNodeEnvironmentFlags,
  stdin,
  stdout,
  stderr,
  cwd,
  chdir,
  umask,
  uptime,
  hrtime,
  memoryUsage,
  cpuUsage,
  resourceUsage,
  nextTick,
  emitWarning,
  exit,
  abort,
  kill,
  on,
  once,
  off,
  addListener,
  removeListener,
  removeAllListeners,
  emit,
  listeners,
  listenerCount,
} = process;

export default process;
