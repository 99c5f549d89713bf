/**
 * What boot needs of the worker's realm, captured before anything else runs, and then the removal of everything that
 * an ECMAScript program does not need. Imported first by boot.ts, before SES: under Deno without permissions, SES
 * would fail at `process.env`.
 *
 * This is not a wall. The wall is the compartment, whose global object has none of this; what is gone here is what an
 * escape from it would look for first.
 */
import { beginStartUp } from "../../src/platform/start-up.ts";
import { isBuffer } from "./buffers.ts";
import { throwToGuest } from "./exceptions.ts";
import { boundedSubtle } from "./subtle.ts";

// Evaluated before the globals go, since this module needs it.
export { answerReader, copyBytes, credit } from "./sync-call.ts";

beginStartUp();

const scope = globalThis as unknown as Record<string, unknown>;

const bound = <T>(name: string): T => (scope[name] as { bind(self: unknown): unknown }).bind(scope) as T;

export const post = bound<(message: unknown) => void>("postMessage");
const addListener = bound<(type: string, listener: (event: Event) => void) => void>("addEventListener");
/** A getter in Bun; Deno's events have data as a property of their own. */
const dataOf = Object.getOwnPropertyDescriptor(MessageEvent.prototype, "data")?.get;
const { apply } = Reflect;

/** Calls `listener` with what the host posts. An event that was made in this worker is not the host's. */
export const onMessage = (listener: (data: unknown) => void): void => {
  addListener("message", (event) => {
    if (event.isTrusted !== true) return;
    listener(dataOf ? apply(dataOf, event, []) : (event as MessageEvent).data);
  });
};

interface Memory {
  heapUsed: number;
  external: number;
}
const memoryUsage = ((scope.Deno ?? scope.process) as { memoryUsage?: () => Memory } | undefined)
  ?.memoryUsage;
const bun = scope.Bun as { gc?: (wait: boolean) => void } | undefined;
const collect = bun ? bun.gc : (scope.gc as ((wait: boolean) => void) | undefined);
const isBun = bun !== undefined;

const cpuUsage = (
  scope.process as { threadCpuUsage?: () => { user: number; system: number } } | undefined
)?.threadCpuUsage?.bind(scope.process);
let collecting = 0;

/** How long this thread has had a processor, in ms, less what `heapBytes` has taken; 0 where the runtime does not tell. */
export function busyMs(): number {
  return threadMs() - collecting;
}

function threadMs(): number {
  if (!isBun || !cpuUsage) return 0;
  const { user, system } = cpuUsage();
  return (user + system) / 1000;
}

/** What this worker's heap has in bytes, buffers and strings included. @param afterAll collect first what can go */
export function heapBytes(afterAll: boolean): number {
  if (afterAll) {
    const before = threadMs();
    collect?.(true);
    collecting += threadMs() - before;
  }
  if (!memoryUsage) return 0;
  const { heapUsed, external } = memoryUsage();
  return isBun ? heapUsed : heapUsed + external;
}

const listenOnProcess = (
  scope.process as { on(event: string, listener: unknown): void } | undefined
)?.on.bind(scope.process);

const isDeno = scope.Deno !== undefined;

/**
 * Calls `listener` with each error that nothing caught and each rejection that nobody handled. None may get to the runtime: it would
 * describe it to the host, for which it calls the error's own methods with objects of its own, and quotes the files that the
 * error's `stack` names.
 */
export const onStrayError = (listener: (error: unknown) => void): void => {
  if (!isDeno) {
    for (const event of ["uncaughtException", "unhandledRejection"]) {
      listenOnProcess?.(event, (error: unknown) => listener(error));
    }
    return;
  }
  addListener("error", (event) => {
    event.preventDefault();
    listener((event as ErrorEvent).error);
  });
  addListener("unhandledrejection", (event) => {
    event.preventDefault();
    listener((event as PromiseRejectionEvent).reason);
  });
};
export const timers = {
  setTimeout: bound<(run: () => void, ms: number) => unknown>("setTimeout"),
  clearTimeout: bound<(timer: unknown) => void>("clearTimeout"),
  setInterval: bound<(run: () => void, ms: number) => unknown>("setInterval"),
  clearInterval: bound<(timer: unknown) => void>("clearInterval"),
};
export const queueTask = bound<(run: () => void) => void>("queueMicrotask");
// At its first use Deno looks for the engine's own function below its own on the global, where there soon is none.
queueTask(() => {});
export const InitialDate = Date;
export const InitialMath = Math;

/**
 * Native classes and functions that the guest gets, hardened. What may be one: it computes, its instances share nothing, and
 * none of its functions does anything to the worker's global when it is called without a `this`. Nothing of the DOM's
 * events is: see api/events.ts.
 */
export const natives: Record<string, unknown> = {};
for (const name of [
  "Float16Array",
  "Float32Array",
  "Float64Array",
  "Intl",
  "WeakRef",
  "URL",
  "URLSearchParams",
  "TextEncoder",
  "TextDecoder",
  "atob",
  "btoa",
]) {
  if (scope[name] !== undefined) natives[name] = scope[name];
}

for (const name of ["atob", "btoa"]) {
  const native = natives[name] as (...args: unknown[]) => unknown;
  const { [name]: safe } = {
    [name](...args: unknown[]) {
      try {
        return apply(native, undefined, args);
      } catch (error) {
        throwToGuest(error);
      }
    },
  };
  natives[name] = safe;
}

const { isView } = ArrayBuffer;
const WrongType = TypeError;

// Bun's own describes what it does not take by its inspector, which hands itself to methods of the value.
const { decode } = TextDecoder.prototype;
Object.defineProperty(TextDecoder.prototype, "decode", {
  value: {
    decode(this: TextDecoder, input?: unknown, options?: unknown): string {
      if (input !== undefined && !isView(input) && !isBuffer(input)) {
        throw new WrongType("The input of a TextDecoder must be a buffer or a view of one");
      }
      return apply(decode, this, [input, options]);
    },
  }.decode,
});

/**
 * For who has the permission `wasm`. What compiles a `Response` is left out, that is a native class, and what changes stacks,
 * ours among them.
 */
export const WebAssembly = scope.WebAssembly as object | undefined;
for (const name of ["compileStreaming", "instantiateStreaming", "promising", "Suspending", "SuspendError"]) {
  if (WebAssembly) Reflect.deleteProperty(WebAssembly, name);
}

/**
 * For who has its name in the bundle: a quarter of all that lockdown would have to look at. Until it is hardened nothing may lead to it,
 * and a date would.
 */
export const Temporal = scope.Temporal as object | undefined;
let isTemporalGiven = false;
export function giveTemporal(): void {
  isTemporalGiven = true;
}
const { toTemporalInstant } = Date.prototype as { toTemporalInstant?: () => unknown };
if (toTemporalInstant) {
  Object.defineProperty(Date.prototype, "toTemporalInstant", {
    value: {
      toTemporalInstant(this: Date): unknown {
        if (!isTemporalGiven) throw new WrongType("Temporal is not there: its name is not in the extension");
        return apply(toTemporalInstant, this, []);
      },
    }.toTemporalInstant,
  });
}

const nativeCrypto = scope.crypto as { subtle: unknown; getRandomValues(bytes: Uint8Array): unknown };
const Bytes = Uint8Array;

/** Its methods compute; keys are objects that nobody else holds. */
export const subtle = boundedSubtle(nativeCrypto.subtle);

/** New bytes of chance. Throws a RangeError for more than 65,536. */
export function randomBytes(length: number): Uint8Array {
  if (!(length >= 0 && length <= 65_536)) throw new RangeError("at most 65536 random bytes at a time");
  const bytes = new Bytes(length);
  nativeCrypto.getRandomValues(bytes);
  return bytes;
}

// The runtime's own inspectors, which look into proxies, are no business of a guest's.
for (const prototype of [
  ...["URL", "URLSearchParams", "TextEncoder", "TextDecoder", "CryptoKey", "DOMException"].map(
    (name) => (scope[name] as { prototype: object }).prototype,
  ),
  Object.getPrototypeOf(new URLSearchParams("a=b").entries()) as object,
]) {
  for (const name of ["nodejs.util.inspect.custom", "Deno.customInspect", "Deno.privateCustomInspect"]) {
    Reflect.deleteProperty(prototype, Symbol.for(name));
  }
}

// Deno keeps ways to make a key of anything there.
for (const key of Reflect.ownKeys(scope.CryptoKey as object)) {
  if (key !== "length" && key !== "name" && key !== "prototype") {
    Reflect.deleteProperty(scope.CryptoKey as object, key);
  }
}

// A blob's URL can be loaded as code.
for (const name of ["createObjectURL", "revokeObjectURL"]) {
  Reflect.deleteProperty(natives.URL as object, name);
}

/** The engine's own: what it gives to its `prepareStackTrace` lets one look into the trusted code's frames. */
export const NativeError = Error;

/**
 * Classes of errors that code gets without naming them (`using`, WebAssembly) and that SES leaves below the engine's `Error`:
 * a guest got there. Boot puts them below the guest's own.
 */
export const strayErrors = [
  scope.SuppressedError,
  ...(WebAssembly ? Object.values(Object.getOwnPropertyDescriptors(WebAssembly)) : []).map(
    ({ value }) => value as unknown,
  ),
].filter((one) => typeof one === "function" && Object.getPrototypeOf(one) === NativeError) as object[];

/** The prototype of what `run` throws: the runtime has one of its own for each code of its errors. */
function prototypeOfError(run: () => unknown): object | undefined {
  try {
    run();
  } catch (error) {
    return Object.getPrototypeOf(error) as object;
  }
  return undefined;
}

/** What natives hand out although nobody named it: hardened with them. */
export const hidden: unknown[] = [
  scope.DOMException,
  Object.getPrototypeOf(new URLSearchParams("a=b").entries()),
  subtle,
  scope.CryptoKey,
  // A memory of WebAssembly may have one.
  scope.SharedArrayBuffer,
  ...strayErrors,
  ...[
    () => (natives.URL as () => void)(),
    () => apply(URL.prototype.toJSON, {}, []),
    () => new URLSearchParams([1] as unknown as string[][]),
    () => new TextDecoder("none"),
    () => new TextDecoder("utf-8", { fatal: true }).decode(new Bytes([255])),
  ].map(prototypeOfError),
];

/** Globals of the language itself: SES decides about these. Every other one goes. */
const LANGUAGE: ReadonlySet<PropertyKey> = new Set([
  "globalThis",
  "Infinity",
  "NaN",
  "undefined",
  "eval",
  "isFinite",
  "isNaN",
  "parseFloat",
  "parseInt",
  "decodeURI",
  "decodeURIComponent",
  "encodeURI",
  "encodeURIComponent",
  "escape",
  "unescape",
  "Object",
  "Function",
  "Boolean",
  "Symbol",
  "Error",
  "AggregateError",
  "EvalError",
  "RangeError",
  "ReferenceError",
  "SuppressedError",
  "SyntaxError",
  "TypeError",
  "URIError",
  "Number",
  "BigInt",
  "Math",
  "Date",
  "String",
  "RegExp",
  "Array",
  "Int8Array",
  "Uint8Array",
  "Uint8ClampedArray",
  "Int16Array",
  "Uint16Array",
  "Int32Array",
  "Uint32Array",
  "BigInt64Array",
  "BigUint64Array",
  "Float16Array",
  "Float32Array",
  "Float64Array",
  "Map",
  "Set",
  "WeakMap",
  "WeakSet",
  "WeakRef",
  "FinalizationRegistry",
  "ArrayBuffer",
  "DataView",
  "JSON",
  "Promise",
  "Proxy",
  "Reflect",
  "Iterator",
  "AsyncIterator",
  "DisposableStack",
  "AsyncDisposableStack",
  "Intl",
]);

export function removeGlobals(): void {
  emptyObject(scope.Bun);
  for (const key of Reflect.ownKeys(globalThis)) {
    if (!LANGUAGE.has(key) && !ADDED_LATER.has(key) && !isInternal(key))
      Reflect.deleteProperty(globalThis, key);
  }
}

/** Deno keeps the listeners of the global, and what it knows it by, under symbols that it made itself. */
function isInternal(key: PropertyKey): boolean {
  return isDeno && typeof key === "symbol";
}

/** SES and its shims put these there; boot removes them once the compartment is made. */
export const ADDED_LATER: ReadonlySet<PropertyKey> = new Set([
  "lockdown",
  "harden",
  "repairIntrinsics",
  "hardenIntrinsics",
  "Compartment",
  "ModuleSource",
  "assert",
]);

// `Bun` can't be removed from a worker's global (it is not configurable), but what it holds can.
function emptyObject(object: unknown): void {
  if (typeof object !== "object" || object === null) return;
  for (const key of Reflect.ownKeys(object)) Reflect.deleteProperty(object, key);
}

removeGlobals();

// SES wants a console to wrap; the guest gets one of its own from the API.
scope.console = Object.fromEntries(
  ["debug", "log", "info", "warn", "error", "trace", "group", "groupEnd"].map((name) => [name, () => {}]),
);
