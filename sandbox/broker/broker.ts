/**
 * What the parts of the broker agree on. The broker is the host side of every system call that an extension makes
 * (design.md, rule 2): one for each extension, in the agent's process, whatever the transport. An operation takes plain
 * data that a schema has looked at, asks `Rights`, acts, and gives plain data. Nothing else of the program touches an
 * operating-system right on behalf of an extension.
 */
import type * as v from "valibot";
import type { Request } from "../permissions/request.ts";

/** What an operation gives: JSON data, and bytes beside it. */
export interface CallResult {
  value?: unknown;
  bytes?: Uint8Array;
}

/**
 * A refusal or a failure that the extension may know of. `code` is that of Node's error for it (`EACCES`, `ENOENT`, …) or one of
 * ours; `message` reads like Node's. A refusal (`EACCES` by rights) says which permission would allow it.
 */
export class CallError extends Error {
  readonly code: string;
  /** More of what Node's error would carry: `syscall`, `path`, `errno`, …; JSON data. */
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: string, message: string, details: Record<string, unknown> = {}) {
    super(message);
    this.code = code;
    this.details = details;
  }
}

/** What an extension may do. Made by sandbox/permissions; the same for every operation. */
export interface Rights {
  /**
   * Resolves if it may; rejects with a `CallError` `EACCES` if not. If that is neither granted nor denied for good, the user
   * is asked where there is somebody to ask; the extension's clock stands still meanwhile. Each decision is in the audit.
   */
  demand(request: Request): Promise<void>;
  /** Whether it may without a question. Asks and records nothing. */
  has(request: Request): boolean;
  /**
   * Whether something that is kept from it whatever else it may lies below a canonical path, or is there: with the folder around it, it
   * would get another name.
   */
  keepsBelow?(path: string): boolean;
}

/** Paths, all canonical. */
export interface Folders {
  cwd: string;
  home: string;
  /** The extension's own storage: may not exist yet. */
  data: string;
  tmp: string;
  /** Of one that is installed in the data dir as a folder: that folder, which it may read. */
  own?: string | undefined;
  /** The agent's data dir: nothing in it but `data` and, for reading, `own` is ever reachable. */
  dataDir: string;
}

export interface BrokerLimits {
  /** Calls in flight; more are refused with `EAGAIN`. */
  pendingCalls: number;
  /** Open files, watchers, programs, connections, each. */
  openFiles: number;
  /** The longest bytes that one call may carry, either way. */
  maxCallBytes: number;
}

/** What an operation gets besides its parameters. */
export interface CallContext {
  readonly extension: string;
  readonly rights: Rights;
  readonly folders: Folders;
  readonly limits: BrokerLimits;
  /** The environment of the user; operations give single values of it away by the right `env` alone. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** What is open for this extension: files, programs, bodies. */
  readonly resources: Resources;
  /** Aborted when the extension ends: whatever is under way stops then. */
  readonly signal: AbortSignal;
}

/** Things that stay open between calls, by number. */
export interface Resources {
  /** Gives the number. Throws `EMFILE` when there are too many of this kind. `close` is called once, at the latest at the end. */
  add(kind: string, value: unknown, close: () => void | Promise<void>): number;
  /** Throws `EBADF` when there is none of this kind. */
  get<T>(kind: string, id: number): T;
  /** Closes it; one that is not there is left alone. */
  remove(kind: string, id: number): Promise<void>;
}

/** One system call. `params` is what a schema lets through. */
export interface Operation<S extends v.GenericSchema = v.GenericSchema> {
  params: S;
  run(
    params: v.InferOutput<S>,
    context: CallContext,
    bytes: Uint8Array | undefined,
  ): CallResult | Promise<CallResult>;
}

/** For inference: `operation({ params: v.object({ path: v.string() }), run: ({ path }, context) => … })`. */
export const operation = <S extends v.GenericSchema>(one: Operation<S>): Operation => one as never;

/** Operations by name: `fs.read`, `net.open`, … */
export type Operations = Readonly<Record<string, Operation>>;
