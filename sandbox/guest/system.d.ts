/**
 * The module through which our own guest modules (sandbox/guest/node, sandbox/guest/web) reach the host. It is no global, and
 * extensions can't import it; the host believes nothing that comes through it all the same.
 */
declare module "xdev:system" {
  /**
   * A system call: sends `args` as JSON, `bytes` beside it; gives the answer's value and bytes. Rejects with an `Error` that has
   * the host's `code` and `message` (and `syscall`, `path`, … where Node's would have them).
   */
  export function call<T = unknown>(
    operation: string,
    args: unknown,
    bytes?: Uint8Array,
  ): Promise<{ value: T; bytes?: Uint8Array }>;
  /** The same, and nothing else in the worker runs until the answer is there. */
  export function callSync<T = unknown>(
    operation: string,
    args: unknown,
    bytes?: Uint8Array,
  ): { value: T; bytes?: Uint8Array };
  /** At most 65,536 new bytes of chance. */
  export function randomBytes(length: number): Uint8Array;
  /** The runtime's own `crypto.subtle`, hardened. */
  export const subtle: SubtleCrypto;
  /**
   * The one slot that the engine carries from a piece of asynchronous work to what it starts, `await` included. Undefined where
   * boot has none.
   */
  export const context:
    | {
        get(): unknown;
        run<R>(value: unknown, callback: () => R): R;
        enter(value: unknown): void;
      }
    | undefined;
  /** The timers that boot gives, by numbers: the globals of these names are made of them. */
  export const timers: {
    setTimeout(run: () => void, ms?: number): number;
    setInterval(run: () => void, ms?: number): number;
    setImmediate(run: () => void): number;
    clearTimeout(timer: number): void;
    clearImmediate(timer: number): void;
  };
  /** Another of the guest's texts by its name, evaluated now if it has not been; what is only needed so is not sent before. */
  export const own: (name: string) => Record<string, unknown>;
  /** What `require` is to the extension. */
  export const requireModule: (specifier: string) => unknown;
  /** What only the API's code has of the agent's package. */
  export const agent: Readonly<{
    /** The `pi` of this extension. */
    pi: unknown;
    /** Asks the session's model once, and gives its text. Needs the permission `model`. */
    complete(prompt: string, options?: { systemPrompt?: string; maxTokens?: number }): Promise<string>;
    storageFolder: string;
    /** A call of the host (src/extensions/calls.ts); rejects with its reason. */
    ask(method: string, params: unknown): Promise<unknown>;
    /** The same, and nothing else runs until the answer is there; asked once for each turn of the loop. */
    askNow(method: string, params: unknown): unknown;
    /** What was asked is asked anew. */
    forget(): void;
    /** The theme that the session is drawn with. */
    theme?(): unknown;
    ExtensionRuntimeNotInitializedError: new (action: string) => Error;
  }>;
  /** A line for the extension's log. */
  export function log(level: "debug" | "info" | "warn" | "error", text: string): void;
  export const about: Readonly<{
    name: string;
    path: string;
    cwd: string;
    env: Readonly<Record<string, string>>;
    platform: string;
    arch: string;
    pid: number;
    home: string;
    tmp: string;
    data: string;
    wasm: boolean;
    version?: string;
  }>;
}
