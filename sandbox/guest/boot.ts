/**
 * The trusted code of a guest worker: this file, primordials.ts, source-check.ts (acorn) and SES. It makes one
 * compartment, evaluates the API and the extension's bundle in it, and carries frames. What must hold:
 *
 * - Guest code gets no object of this realm but the intrinsics that lockdown froze, and the endowments below, hardened.
 * - Only strings leave (`post`), only JSON text enters once it has booted. The port itself never crosses.
 * - Every source that the compartment evaluates passes `checkSource`: what the guest makes here, the bundle when it was
 *   made (and its first rule here again); but for texts that the host sent as its own.
 * - Nothing here awaits, calls or reads a value of the guest except the one function `deliver`, inside `try`.
 */
import {
  ADDED_LATER,
  hidden,
  InitialDate,
  InitialMath,
  natives,
  onMessage,
  onStrayRejection,
  post,
  queueTask,
  removeGlobals,
  timers,
} from "./primordials.ts";
import "ses";
import { endStartUp } from "../../src/platform/start-up.ts";
import type { BootMessage, GuestHost } from "./protocol.ts";
import { checkSource, checkWords } from "./source-check.ts";

lockdown({
  errorTaming: "safe",
  consoleTaming: "unsafe",
  domainTaming: "unsafe",
  overrideTaming: "moderate",
  evalTaming: "safe-eval",
  reporting: "none",
});
const { parse } = JSON;
const hardenAll = harden;
const CompartmentClass = Compartment;
removeGlobals();
for (const name of ADDED_LATER) Reflect.deleteProperty(globalThis, name);

// A promise that an extension forgot ends nothing; what a policy owes an answer for is denied by the host's clock.
onStrayRejection((reason) =>
  guarded(() => {
    throw reason;
  }),
);

/** How long a worker counts as starting, in ms: the extension loads in it, too. */
const START_MS = 500;

let deliver: ((frame: unknown) => void) | undefined;

let isBooted = false;
onMessage((data) => {
  if (isBooted) return guarded(() => deliver?.(parse(data as string)));
  // Set first: whatever happens while the extension is evaluated, there is no second boot.
  isBooted = true;
  deliver = boot(data as BootMessage);
  timers.setTimeout(endStartUp, START_MS);
});

function boot(message: BootMessage): (frame: unknown) => void {
  const { sources, bundle, maxFrameChars } = message;
  const trusted: ReadonlySet<string> = new Set(Object.values(sources));
  const transform = (source: string): string => {
    // The host has put the bundle through the whole check when it made it; here, the rule that needs no parser.
    if (source === bundle) checkWords(source);
    else if (!trusted.has(source)) checkSource(source);
    return source;
  };
  const compartment = new CompartmentClass({
    globals: endowments(),
    transforms: [transform],
    __options__: true,
  } as unknown as Record<string, unknown>);
  // SES gives each compartment these constructors; a guest that makes compartments of its own makes unchecked ones.
  for (const name of ["Compartment", "ModuleSource", "lockdown", "harden"]) {
    Reflect.deleteProperty(compartment.globalThis, name);
  }
  const host: GuestHost = hardenAll({
    send: (text: string) => sendText(text, maxFrameChars),
    fail: (text: string) => {
      if (typeof text === "string") post(["fatal", text.slice(0, 4000)]);
    },
    evaluateBundle: () => compartment.evaluate(bundle),
    evaluatePackage: (name: string) => {
      if (name === API || typeof name !== "string" || !Object.hasOwn(sources, name)) return undefined;
      return compartment.evaluate(sources[name] as string);
    },
  });
  const api = compartment.evaluate(sources[API] as string) as {
    start(host: GuestHost, about: unknown): typeof deliver;
  };
  return api.start(host, hardenAll({ ...message.about })) as (frame: unknown) => void;
}

const API = "api";

function sendText(text: string, maxFrameChars: number): void {
  if (typeof text !== "string") throw new TypeError("a frame is sent as text");
  if (text.length > maxFrameChars)
    throw new RangeError(`a frame may have at most ${maxFrameChars} characters`);
  post(["frame", text]);
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
    post(["log", text]);
  }
}

/** The globals beyond the language, each reviewed in sandbox/README.md. `Math` and `Date` are those with `random` and `now`. */
function endowments(): Record<string, unknown> {
  for (const object of hidden) hardenAll(object);
  return hardenAll({ ...natives, ...timerFunctions(), Math: InitialMath, Date: InitialDate });
}

/**
 * Timers with numbers as handles (the runtime's own are host objects) and functions only (a string would be evaluated in this
 * realm).
 */
function timerFunctions(): Record<string, unknown> {
  const running = new Map<number, unknown>();
  let next = 1;
  const checked = (run: unknown): ((...args: unknown[]) => void) => {
    if (typeof run !== "function") throw new TypeError("a timer needs a function");
    return run as (...args: unknown[]) => void;
  };
  const delay = (ms: unknown): number => (typeof ms === "number" && ms > 0 ? ms : 0);
  const clear = (handle: unknown): void => {
    if (typeof handle !== "number" || !running.has(handle)) return;
    timers.clearTimeout(running.get(handle));
    running.delete(handle);
  };
  return {
    setTimeout: (run: unknown, ms?: unknown, ...args: unknown[]): number => {
      const call = checked(run);
      const handle = next++;
      const fire = () => {
        running.delete(handle);
        guarded(() => call(...args));
      };
      running.set(handle, timers.setTimeout(fire, delay(ms)));
      return handle;
    },
    setInterval: (run: unknown, ms?: unknown, ...args: unknown[]): number => {
      const call = checked(run);
      const handle = next++;
      running.set(
        handle,
        timers.setInterval(() => guarded(() => call(...args)), delay(ms)),
      );
      return handle;
    },
    setImmediate: (run: unknown, ...args: unknown[]): number => {
      const call = checked(run);
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
