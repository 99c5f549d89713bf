/**
 * The trusted code of a guest worker: this file, primordials.ts, source-check.ts (acorn) and SES. It makes one
 * compartment, evaluates the API and the extension's bundle in it, and carries frames. What must hold:
 *
 * - Guest code gets no object of this realm but the intrinsics that lockdown froze, and the endowments below, hardened.
 * - Only strings and copies of bytes leave (`post`), only the same enter once it has booted. The port itself never crosses.
 * - Every source that the compartment evaluates passes `checkSource`: what the guest makes here, the bundle and our own
 *   texts when they were made, and their first rule here again.
 * - Nothing here awaits, calls or reads a value of the guest except the one function `deliver`, inside `try`.
 */
import {
  ADDED_LATER,
  answerReader,
  busyMs,
  copyBytes,
  credit,
  giveTemporal,
  heapBytes,
  hidden,
  InitialDate,
  InitialMath,
  NativeError,
  natives,
  onMessage,
  onStrayError,
  post,
  queueTask,
  randomBytes,
  removeGlobals,
  strayErrors,
  subtle,
  Temporal,
  timers,
  WebAssembly,
} from "./primordials.ts";
import "ses";
import { endStartUp } from "../../src/platform/start-up.ts";
import { bundleFrames } from "../bundle/frames.ts";
import { asyncContext } from "./async-context.ts";
import { guardedRegistry } from "./finalization.ts";
import {
  type BootMessage,
  type CallReturn,
  type GuestHost,
  type HostMessage,
  MAX_CALL_CHARS,
} from "./protocol.ts";
import { checkWords } from "./source-words.ts";

/**
 * The parser is loaded when the first text of the guest's own is to be evaluated: it takes a tenth of a start. A guest can choose a
 * moment at which that fails, with hardly any stack left: then half a parser is there, and nothing is evaluated any more.
 */
declare const require: (path: "./source-check.ts") => typeof import("./source-check.ts");
let parser: typeof import("./source-check.ts") | undefined;
let isParserTried = false;
function checkSource(source: string): void {
  if (!isParserTried) {
    isParserTried = true;
    try {
      parser = require("./source-check.ts");
    } catch {
      // An error of the runtime's loader is no object for a guest.
    }
  }
  if (!parser) throw new EvaluationError("Source is refused: what checks it could not be loaded");
  parser.checkSource(source);
}
const EvaluationError = EvalError;

lockdown({
  errorTaming: "safe",
  consoleTaming: "unsafe",
  domainTaming: "unsafe",
  overrideTaming: "moderate",
  evalTaming: "safe-eval",
  reporting: "none",
});
const { parse, stringify } = JSON;
// SES keeps stacks from the guest; whoever is here before it is can have them.
const { getStackString } = globalThis as unknown as { getStackString(error: unknown): string };
const hardenAll = harden;
const CompartmentClass = Compartment;
// Nothing that leads to the engine's `Error` may be left, and if there is, nobody can change what it does.
for (const Class of strayErrors) Reflect.setPrototypeOf(Class, Error.prototype.constructor);
hardenAll(NativeError);
removeGlobals();
for (const name of ADDED_LATER) Reflect.deleteProperty(globalThis, name);

// What an extension forgot to catch ends nothing; what a policy owes an answer for is denied by the host's clock.
onStrayError((error) =>
  guarded(() => {
    throw error;
  }),
);

/** How long a worker counts as starting, in ms: the extension loads in it, too. */
const START_MS = 500;

let deliver: ((frame: unknown) => void) | undefined;
/** System calls that wait for their answer, by number. */
const waiting = new Map<number, (reply: CallReturn) => void>();
let nextCall = 1;
/** Waits until the host takes another message of that length. */
let admit: (length: number) => void = () => {};

let isBooted = false;
onMessage((data) => {
  if (isBooted) return receive(data as HostMessage);
  // Set first: whatever happens while the extension is evaluated, there is no second boot.
  isBooted = true;
  deliver = boot(data as BootMessage);
  timers.setTimeout(endStartUp, START_MS);
});

function receive(message: HostMessage): void {
  if (typeof message === "string") return guarded(() => deliver?.(parse(message)));
  const id = message[1];
  if (message[0] === "ping") return post(["pong", id, heapBytes(true), busyMs()]);
  const resolve = waiting.get(id);
  waiting.delete(id);
  resolve?.(message[2]);
}

function boot(message: BootMessage & { shared?: SharedArrayBuffer }): (frame: unknown) => void {
  const { sources, bundle, maxFrameChars, shared } = message;
  const trusted = new Set<string>(Object.values(sources));
  const transform = (source: string): string => {
    // The host has put these through the whole check when it made them; here, the rule that needs no parser, so that not even
    // a text which only seems to come from there can get at another module.
    if (source === bundle || trusted.has(source)) checkWords(source);
    else checkSource(source);
    return source;
  };
  const compartment = new CompartmentClass({
    globals: endowments(message),
    transforms: [transform],
    __options__: true,
  } as unknown as Record<string, unknown>);
  // SES gives each compartment these constructors; a guest that makes compartments of its own makes unchecked ones.
  for (const name of ["Compartment", "ModuleSource", "lockdown", "harden"]) {
    Reflect.deleteProperty(compartment.globalThis, name);
  }
  if (shared) admit = credit(shared);
  const wait = shared && answerReader(shared, () => post(["more"]));
  const callSync = (operation: string, args: string, bytes?: Uint8Array): CallReturn => {
    checkCall(operation, args);
    const copy = copyBytes(bytes);
    if (!wait) throw new TypeError("synchronous calls are not possible here");
    admit(args.length + (copy?.length ?? 0));
    return wait(() => post(["call", 0, operation, args, copy]));
  };
  /** One of our own texts; the host is asked for those that it did not send. */
  const sourceOf = (name: string): string | undefined => {
    if (Object.hasOwn(sources, name)) return sources[name];
    const reply = callSync("guest.source", stringify({ name }));
    if (reply.error !== undefined) return undefined;
    const text = parse(reply.text) as string;
    trusted.add(text);
    sources[name] = text;
    return text;
  };
  const host: GuestHost = hardenAll({
    send: (text: string) => sendText(text, maxFrameChars),
    maxFrameBytes: maxFrameChars,
    fail: (text: string) => {
      if (typeof text === "string") fatal(text.slice(0, 4000));
    },
    evaluateBundle: () => compartment.evaluate(bundle),
    evaluateSource: (name: string) => {
      const text = typeof name === "string" ? sourceOf(name) : undefined;
      return text === undefined ? undefined : compartment.evaluate(text);
    },
    call: (operation: string, args: string, bytes?: Uint8Array) => {
      checkCall(operation, args);
      const copy = copyBytes(bytes);
      const id = nextCall++;
      admit(args.length + (copy?.length ?? 0));
      return new Promise<CallReturn>((resolve) => {
        waiting.set(id, resolve);
        post(["call", id, operation, args, copy]);
      });
    },
    callSync,
    framesOf: (error: unknown) => {
      try {
        return bundleFrames(getStackString(error));
      } catch {
        return [];
      }
    },
    randomBytes,
    subtle,
    context: asyncContext,
  });
  const load = compartment.evaluate(sources[API] as string) as GuestSource;
  const api = { exports: {} as { start(host: GuestHost, about: unknown): typeof deliver } };
  load(
    hardenAll(() => undefined),
    api,
  );
  // What it has from here on is the extension's.
  post(["pong", 0, heapBytes(false), busyMs()]);
  const { env, ...about } = message.about;
  return api.exports.start(host, hardenAll({ ...about, env: { ...env } })) as (frame: unknown) => void;
}

type GuestSource = (require: (name: string) => unknown, module: { exports: object }) => void;

function checkCall(operation: unknown, args: unknown): void {
  if (typeof operation !== "string" || operation.length > 100 || typeof args !== "string") {
    throw new TypeError("a system call has a name and a text");
  }
  if (args.length > MAX_CALL_CHARS) {
    throw new RangeError(`a call may have at most ${MAX_CALL_CHARS} characters`);
  }
}

const API = "api";

function sendText(text: string, maxFrameChars: number): void {
  if (typeof text !== "string") throw new TypeError("a frame is sent as text");
  if (text.length > maxFrameChars)
    throw new RangeError(`a frame may have at most ${maxFrameChars} characters`);
  admit(text.length);
  post(["frame", text]);
}

/** It goes no further. */
function fatal(text: string): void {
  admit(text.length);
  post(["fatal", text]);
}

/** Runs guest code from the worker's event loop: what it throws is reported and ends nothing. */
function guarded(run: () => void): void {
  try {
    run();
  } catch (error) {
    let text = "an error that could not be read";
    try {
      text = String(error).slice(0, 4000);
    } catch {
      // Its toString threw, too.
    }
    admit(text.length);
    post(["log", text]);
  }
}

/** The globals beyond the language, each reviewed in sandbox/README.md. `Math` and `Date` are those with `random` and `now`. */
function endowments({ about, bundle, maxTimers }: BootMessage): Record<string, unknown> {
  for (const object of hidden) hardenAll(object);
  const given = {
    ...natives,
    ...timerFunctions(maxTimers),
    Math: InitialMath,
    Date: InitialDate,
    FinalizationRegistry: guardedRegistry(guarded),
  };
  const more = {
    ...(about.wasm && WebAssembly ? { WebAssembly } : {}),
    ...(Temporal && bundle.includes("Temporal") ? { Temporal } : {}),
  };
  const hardened = hardenAll({ ...given, ...more });
  if ("Temporal" in more) giveTemporal();
  return hardened;
}

/**
 * Timers with numbers as handles (the runtime's own are host objects) and functions only (a string would be evaluated in this
 * realm).
 */
function timerFunctions(maxTimers: number): Record<string, unknown> {
  const running = new Map<number, unknown>();
  let next = 1;
  const checked = (run: unknown): ((...args: unknown[]) => void) => {
    if (typeof run !== "function") throw new TypeError("a timer needs a function");
    return run as (...args: unknown[]) => void;
  };
  const counted = (run: unknown): ((...args: unknown[]) => void) => {
    if (running.size >= maxTimers) {
      fatal(`had more than ${maxTimers} timers (extensionHost.maxTimers)`);
      throw new RangeError(`at most ${maxTimers} timers`);
    }
    return checked(run);
  };
  const delay = (ms: unknown): number => (typeof ms === "number" && ms > 0 ? ms : 0);
  const clear = (handle: unknown): void => {
    if (typeof handle !== "number" || !running.has(handle)) return;
    timers.clearTimeout(running.get(handle));
    running.delete(handle);
  };
  return {
    setTimeout: (run: unknown, ms?: unknown, ...args: unknown[]): number => {
      const call = counted(run);
      const handle = next++;
      const fire = () => {
        running.delete(handle);
        guarded(() => call(...args));
      };
      running.set(handle, timers.setTimeout(fire, delay(ms)));
      return handle;
    },
    setInterval: (run: unknown, ms?: unknown, ...args: unknown[]): number => {
      const call = counted(run);
      const handle = next++;
      running.set(
        handle,
        timers.setInterval(() => guarded(() => call(...args)), delay(ms)),
      );
      return handle;
    },
    setImmediate: (run: unknown, ...args: unknown[]): number => {
      const call = counted(run);
      const handle = next++;
      const fire = () => {
        running.delete(handle);
        guarded(() => call(...args));
      };
      running.set(handle, timers.setTimeout(fire, 0));
      return handle;
    },
    clearTimeout: clear,
    clearInterval: clear,
    clearImmediate: clear,
    queueMicrotask: (run: unknown): void => {
      const call = checked(run);
      queueTask(() => guarded(() => call()));
    },
  };
}
