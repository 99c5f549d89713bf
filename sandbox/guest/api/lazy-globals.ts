/**
 * Globals that few extensions use and that take time to make: each loads its module when it is first looked at. They are
 * guest code; the runtime's own are not here.
 */
import { guestSourceName } from "../source-names.ts";

/** From a module's name to the globals that are exports of it (or, written `global=export`, of another name). */
const GLOBALS: Readonly<Record<string, readonly string[]>> = {
  buffer: ["Buffer"],
  crypto: ["crypto=webcrypto"],
  perf_hooks: ["performance"],
  process: ["process=default"],
  timers: ["setTimeout", "setInterval", "setImmediate", "clearTimeout", "clearInterval", "clearImmediate"],
  "web:clone": ["structuredClone"],
  "web:compression": ["CompressionStream", "DecompressionStream"],
  "web:fetch": ["fetch", "Headers", "Request", "Response", "FormData", "Blob", "File"],
  "web:streams": [
    "ByteLengthQueuingStrategy",
    "CountQueuingStrategy",
    "ReadableByteStreamController",
    "ReadableStream",
    "ReadableStreamBYOBReader",
    "ReadableStreamBYOBRequest",
    "ReadableStreamDefaultController",
    "ReadableStreamDefaultReader",
    "TextDecoderStream",
    "TextEncoderStream",
    "TransformStream",
    "TransformStreamDefaultController",
    "WritableStream",
    "WritableStreamDefaultController",
    "WritableStreamDefaultWriter",
  ],
};

/** `own` gives the exports of one of our modules. */
export function defineLazyGlobals(own: (name: string) => Record<string, unknown>): void {
  for (const [source, names] of Object.entries(GLOBALS)) {
    // A build without it has no such globals.
    if (guestSourceName(source) === undefined) continue;
    for (const item of names) {
      const [name, member = name] = item.split("=") as [string, string?];
      const define = (value: unknown): void => {
        Object.defineProperty(globalThis, name, {
          value,
          writable: true,
          configurable: true,
          enumerable: false,
        });
      };
      Object.defineProperty(globalThis, name, {
        get: () => {
          const value = own(source)[member];
          define(value);
          return value;
        },
        set: define,
        configurable: true,
        enumerable: false,
      });
    }
  }
}
