/**
 * The broker of one extension: takes its system calls as text and bytes, and gives text and bytes. What must hold:
 *
 * - What comes in is bounded (length, depth, number of values, calls in flight) before it is looked at, and a schema has seen
 *   it before anything acts.
 * - What goes out is JSON text, and bytes whose memory holds nothing else.
 * - An error that no operation meant for the extension tells it nothing.
 * - When the extension ends, everything that it had open ends.
 */
import * as v from "valibot";
import { measure } from "../../src/base/data-size.ts";
import { sleep } from "../../src/base/time.ts";
import type { CallReturn } from "../guest/protocol.ts";
import {
  type BrokerLimits,
  type CallContext,
  CallError,
  type CallResult,
  type Folders,
  type Operation,
  type Operations,
  type Rights,
} from "./broker.ts";
import { OpenResources } from "./resources.ts";
import { turn } from "./turns.ts";

export interface BrokerOptions {
  extension: string;
  rights: Rights;
  folders: Folders;
  limits: BrokerLimits;
  /** The environment of the user. */
  env: Readonly<Record<string, string | undefined>>;
  /** Is told of an operation that failed in a way it did not foresee: a mistake of ours, which the extension is not told. */
  onFault?(operation: string, error: unknown): void;
  /** What can be called, by the first part of its name; everything by default. */
  families?: Families;
}

export type Families = Readonly<Record<string, () => Promise<Operations>>>;

export interface Broker {
  /** One system call. Never rejects, and never throws: what went wrong is in the answer. */
  call(operation: string, text: string, bytes: Uint8Array | undefined): Promise<CallReturn>;
  /**
   * Ends everything that is open and every call that is under way. Resolves when nothing of it is left; never rejects. Calls
   * from then on are refused with `ECANCELED`.
   */
  close(): Promise<void>;
}

/** Each file is loaded when it is needed. */
const FAMILIES: Families = {
  fs: async () => (await import("./fs.ts")).fsOperations,
  net: async () => (await import("./net.ts")).netOperations,
  run: async () => (await import("./run.ts")).runOperations,
  sys: async () => (await import("./system.ts")).systemOperations,
  env: async () => (await import("./system.ts")).systemOperations,
};

/** The longest parameters of a call, in UTF-16 units: what is larger is sent as bytes. Looking at them takes a few ms. */
const MAX_TEXT = 128 * 1024;
/** How many values they may hold. */
const MAX_VALUES = 20_000;
/** Longer parameters are looked at one after the other, each in a turn of the event loop of its own. */
const LONG_TEXT = 8 * 1024;

/** With more calls under way than this, each begins in a turn of its own: what all of them take together would hold up the agent. */
const MANY_CALLS = 32;

/** How many calls of full length may be under way: what a program does not read, for one, waits in memory. */
const CALLS_OF_BYTES = 4;

/** How long `close` waits for calls that are under way, in ms: they have been told to stop. */
const CLOSE_MS = 500;
/** How long it waits for what is being closed, in ms: a program that the system can't end right now must not hold up the agent. */
const RELEASE_MS = 2000;

export function createBroker(options: BrokerOptions): Broker {
  const { extension, rights, folders, limits, env, families: loaders = FAMILIES } = options;
  const end = new AbortController();
  const resources = new OpenResources(limits.openFiles);
  const context: CallContext = {
    extension,
    rights,
    folders,
    limits,
    env,
    resources,
    signal: end.signal,
  };
  // Each ends by itself when the signal aborts. A race with one promise of the end would keep a reaction of every call.
  const underWay = new Map<Promise<CallReturn>, (reply: CallReturn) => void>();
  let bytesUnderWay = 0;
  const families = new Map<string, Operations>();

  const perform = async (name: string, text: string, bytes: Uint8Array | undefined): Promise<CallReturn> => {
    try {
      const operation = findOperation(name, families) ?? (await loadOperation(name, loaders, families));
      if (text.length > LONG_TEXT || underWay.size > MANY_CALLS) await turn();
      const params = parseParams(name, operation, text);
      checkBytes(bytes, limits.maxCallBytes);
      end.signal.throwIfAborted();
      return success(await operation.run(params, context, bytes), limits.maxCallBytes);
    } catch (error) {
      if (error instanceof CallError) return failure(error);
      if (!end.signal.aborted) options.onFault?.(name, error);
      return failure(new CallError("EIO", "EIO: i/o error"));
    }
  };

  let closed: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    end.abort();
    for (const answer of underWay.values()) answer(failure(endedError()));
    await settledWithin(resources.end(), RELEASE_MS);
    await settledWithin(Promise.all(underWay.keys()), CLOSE_MS);
    // What a call had opened by the time it was told.
    await settledWithin(resources.end(), RELEASE_MS);
  };

  return {
    async call(name, text, bytes) {
      if (end.signal.aborted) return failure(endedError());
      const size = bytes instanceof Uint8Array ? bytes.byteLength : 0;
      const tooMany =
        underWay.size >= limits.pendingCalls
          ? `${limits.pendingCalls} calls`
          : bytesUnderWay + size > CALLS_OF_BYTES * limits.maxCallBytes
            ? `${CALLS_OF_BYTES * limits.maxCallBytes} bytes`
            : undefined;
      if (tooMany) {
        return failure(new CallError("EAGAIN", `EAGAIN: at most ${tooMany} may be under way at a time`));
      }
      bytesUnderWay += size;
      const result = perform(name, text, bytes);
      return new Promise((resolve) => {
        underWay.set(result, resolve);
        void result.then((reply) => {
          underWay.delete(result);
          bytesUnderWay -= size;
          resolve(reply);
        });
      });
    },

    close() {
      closed ??= close();
      return closed;
    },
  };
}

async function settledWithin(promise: Promise<unknown>, ms: number): Promise<void> {
  const timer = new AbortController();
  await Promise.race([promise, sleep(ms, timer.signal).catch(() => {})]);
  timer.abort();
}

const endedError = (): CallError => new CallError("ECANCELED", "ECANCELED: the extension has ended");

/** Of a family that is loaded. */
function findOperation(name: unknown, loaded: ReadonlyMap<string, Operations>): Operation | undefined {
  const operations = loaded.get(familyOf(name));
  return operations && Object.hasOwn(operations, name as string) ? operations[name as string] : undefined;
}

async function loadOperation(
  name: unknown,
  loaders: Families,
  loaded: Map<string, Operations>,
): Promise<Operation> {
  const family = familyOf(name);
  const load = Object.hasOwn(loaders, family) ? loaders[family] : undefined;
  const operations = await load?.();
  if (operations) loaded.set(family, operations);
  const found = findOperation(name, loaded);
  if (!found) throw new CallError("ENOSYS", "ENOSYS: this version of xdev has no such operation");
  return found;
}

function familyOf(name: unknown): string {
  return typeof name === "string" ? name.slice(0, name.indexOf(".")) : "";
}

function parseParams(name: string, operation: Operation, text: unknown): unknown {
  if (typeof text !== "string") throw invalid(name, "parameters that are no text");
  if (text.length > MAX_TEXT) {
    throw new CallError("E2BIG", `E2BIG: the parameters of ${name} are longer than ${MAX_TEXT} characters`);
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw invalid(name, "parameters that are not JSON");
  }
  const size = measure(value, MAX_VALUES);
  if (size) throw new CallError("E2BIG", `E2BIG: what ${name} was given ${size}`);
  const result = v.safeParse(operation.params, value, { abortEarly: true, abortPipeEarly: true });
  if (result.success) return result.output;
  const path = v.getDotPath(result.issues[0]);
  throw invalid(name, path ? `a wrong value for ${path.slice(0, 80)}` : "wrong parameters");
}

const invalid = (name: string, what: string): CallError =>
  new CallError("EINVAL", `EINVAL: ${name} was given ${what}`);

function checkBytes(bytes: unknown, limit: number): void {
  if (bytes === undefined) return;
  // Memory that the other side can still write to could change between check and use.
  if (!(bytes instanceof Uint8Array) || !(bytes.buffer instanceof ArrayBuffer)) {
    throw new CallError("EINVAL", "EINVAL: the bytes of a call are no bytes");
  }
  if (bytes.byteLength > limit) {
    throw new CallError("E2BIG", `E2BIG: a call may carry at most ${limit} bytes`);
  }
}

function success(result: CallResult, limit: number): CallReturn {
  const text = JSON.stringify(result.value) ?? "null";
  const { bytes } = result;
  if (text.length > limit || (bytes?.byteLength ?? 0) > limit) {
    throw new CallError("E2BIG", `E2BIG: the result is larger than ${limit} bytes`);
  }
  return bytes ? { text, bytes: ownMemory(bytes) } : { text };
}

/**
 * The same bytes, alone in their memory. A message carries the whole buffer behind a view, and behind a small `Buffer` is a pool
 * that the agent's other parts write to.
 */
function ownMemory(bytes: Uint8Array): Uint8Array {
  const isAlone = bytes.constructor === Uint8Array && bytes.byteLength === bytes.buffer.byteLength;
  return isAlone ? bytes : new Uint8Array(bytes);
}

function failure({ code, message, details }: CallError): CallReturn {
  return { error: JSON.stringify({ code, message: message.slice(0, 4000), details }) };
}
