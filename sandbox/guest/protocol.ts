/** What crosses between a worker's host side (src/extensions/worker.ts), boot and the API, besides frames. */

/** What an extension may know of where it runs: plain data. */
export interface About {
  name: string;
  /** Of its entry file. */
  path: string;
  cwd: string;
  /** The variables that were granted. */
  env: Record<string, string>;
  platform: string;
  arch: string;
  pid: number;
  home: string;
  tmp: string;
  /** Its own storage. */
  data: string;
  /** Whether it has the permission `wasm`. */
  wasm: boolean;
  /** Of this program. */
  version?: string;
  /** `ctx.mode` and `ctx.hasUI`; print, and nobody to ask, without it. */
  ui?: SessionUi;
  /**
   * The options of the command line that xdev itself does not have, by their names without the dashes: `value` is what stands behind
   * `=`, `next` the word that follows. Each extension finds its flags among them.
   */
  flags?: Record<string, { value: string | null; next: string | null }>;
}

export interface SessionUi {
  mode: "tui" | "rpc" | "json" | "print";
  /** Whether dialogs reach somebody. */
  hasUI: boolean;
}

/** The first message to a worker. */
export interface BootMessage {
  /**
   * Our own texts by name: `api`, and those of the packages and modules that the bundle imports, and of what these
   * import. Evaluated without the source check. Others are asked for when they are needed.
   */
  sources: Record<string, string>;
  /** The extension: a script whose value is an async function of `BundleLinks`. */
  bundle: string;
  maxFrameChars: number;
  /** How many timers it may have at once. */
  maxTimers: number;
  about: About;
}

/** The system call by which a guest waits for what a `call` frame gives: `{method, params}`. */
export const HOST_CALL = "host.call";

/** The longest bytes of one system call, either way. Files and bodies are moved in pieces of less. */
export const MAX_CALL_CHARS = 128 * 1024;
export const MAX_CALL_BYTES = 4 * 1024 * 1024;

/** A system call's end: JSON text and bytes. `error` is JSON text `{code, message, details}`. */
export type CallReturn =
  | { text: string; bytes?: Uint8Array | undefined; error?: undefined }
  | { error: string; text?: undefined; bytes?: undefined };

/** What boot gives to the API code in the compartment. */
export interface GuestHost {
  /** Sends one frame as JSON text. Throws a RangeError when it is too long. */
  send(text: string): void;
  /** The longest frame, and what all of a second may have together, in bytes of UTF-8. */
  maxFrameBytes: number;
  /** Reports that the extension could not be loaded. */
  fail(text: string): void;
  /** Evaluates the extension's bundle in the compartment. */
  evaluateBundle(): unknown;
  /** Evaluates one of our own texts: a function that fills `module.exports`. Undefined if there is none of that name. */
  evaluateSource(
    name: string,
  ): ((require: (name: string) => unknown, module: { exports: unknown }) => void) | undefined;
  /** A system call (sandbox/broker): operation, JSON text, bytes. The host answers with `CallReturn`. */
  call(operation: string, args: string, bytes: Uint8Array | undefined): Promise<CallReturn>;
  /** The same, and nothing else in this worker runs until the answer is there. */
  callSync(operation: string, args: string, bytes: Uint8Array | undefined): CallReturn;
  /** Where in the bundle an error was made, the innermost place first: `xdev-bundle:LINE:COLUMN` (sandbox/bundle/frames.ts). */
  framesOf(error: unknown): readonly string[];
  /** New bytes of chance, at most 65,536. */
  randomBytes(length: number): Uint8Array;
  /** `crypto.subtle`. */
  subtle: unknown;
  /** What asynchronous work is started with (async-context.ts). */
  context: {
    get(): unknown;
    run(value: unknown, callback: unknown): unknown;
    enter(value: unknown): void;
  };
}

/**
 * A message from a worker: a frame as JSON text, the reason why loading failed, a line for the log, or a system call:
 * its number (0 for a synchronous one), operation, JSON text, and bytes.
 */
export type GuestMessage =
  | readonly ["frame" | "fatal" | "log", string]
  | readonly ["call", number, string, string, Uint8Array | undefined]
  /** The answer to a `ping`, and, with number 0, before the extension is evaluated: bytes of the heap, and the thread's time in ms. */
  | readonly ["pong", number, number, number];

/**
 * A message to a worker that has booted: a frame as JSON text, what a system call gave, or a question for the size of its heap,
 * once what can go of it is gone (sandbox/host/memory.ts).
 */
export type HostMessage = string | readonly ["return", number, CallReturn] | readonly ["ping", number];

/** The parameter `__xdev` of a bundle. */
export interface BundleLinks {
  import(specifier: string, names: readonly string[]): Record<string, unknown>;
  dynamicImport(specifier: unknown): Promise<Record<string, unknown>>;
  require(specifier: string): unknown;
  exports: Record<string, unknown>;
  meta: Record<string, unknown>;
  /** See `createLinks` in api/links.ts. */
  links(entry: string, resolved: Record<string, Record<string, string>>): FileLinks;
}

/** What a bundle calls where something depends on the file: the first argument is its path from the root of the bundle. */
export interface FileLinks {
  /** The absolute path. */
  at(path: string): string;
  /** `import.meta` */
  meta(path: string): Record<string, unknown>;
  /** `import()` of a computed path; `make` gives the modules that it may mean. */
  load(
    path: string,
    make: (() => Record<string, () => unknown>) | undefined,
    wanted: unknown,
  ): Promise<unknown>;
  /** `require()` of a computed path. */
  need(path: string, make: (() => Record<string, () => unknown>) | undefined, wanted: unknown): unknown;
  /** `require.resolve` */
  pathOf(path: string, make: unknown, wanted: unknown): string;
  /** `createRequire` */
  make(path: string, make: (() => Record<string, () => unknown>) | undefined, wanted: unknown): unknown;
}
