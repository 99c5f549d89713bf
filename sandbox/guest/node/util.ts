/** `node:util`. `inspect` and `format` are loaded with their first use. */

import types from "node:util/types";
import { deepEqual } from "./deep_equal.ts";
import { codedError, invalidArgument, requireFunction, requireString } from "./errors.ts";
import { named } from "./named.ts";
import { parseArgs } from "./parse_args.ts";
import { styleText } from "./style_text.ts";
import { nameOfErrno, systemErrors } from "./system_errors.ts";

export { parseArgs, styleText, types };
export const { TextEncoder, TextDecoder } = globalThis;

type Function_ = (...args: unknown[]) => unknown;
interface Inspection {
  inspect(value: unknown, ...options: unknown[]): string;
  format(...args: unknown[]): string;
  formatWithOptions(options: unknown, ...args: unknown[]): string;
}

declare const require: (name: string) => unknown;
let loaded: (Inspection & Record<string, unknown>) | undefined;
function inspection(): Inspection {
  if (!loaded) {
    loaded = require("internal/inspect") as Inspection & Record<string, unknown>;
    Object.assign(loaded.inspect, { custom: inspectCustom });
  }
  return loaded;
}

const inspectCustom: unique symbol = Symbol.for("nodejs.util.inspect.custom") as never;

export function inspect(value: unknown, ...options: unknown[]): string {
  return inspection().inspect(value, ...options);
}
/** Of the module that is loaded later. */
function forward(name: string): PropertyDescriptor {
  return {
    enumerable: true,
    configurable: true,
    get: () => (inspection().inspect as unknown as Record<string, unknown>)[name],
    set: (value: unknown) => {
      (inspection().inspect as unknown as Record<string, unknown>)[name] = value;
    },
  };
}
Object.defineProperties(inspect, {
  custom: { value: inspectCustom, enumerable: true },
  defaultOptions: forward("defaultOptions"),
  colors: forward("colors"),
  styles: forward("styles"),
});

export function format(...args: unknown[]): string {
  // What most calls are needs nothing of it.
  if (args.every(isPlain) && (args.length === 1 || !`${args[0]}`.includes("%"))) return args.join(" ");
  return inspection().format(...args);
}

/** Shown as what it is converted to. */
function isPlain(value: unknown): boolean {
  return (
    typeof value === "string" || typeof value === "boolean" || (typeof value === "number" && value !== 0)
  );
}

export function formatWithOptions(options: unknown, ...args: unknown[]): string {
  return inspection().formatWithOptions(options, ...args);
}

const custom: unique symbol = Symbol.for("nodejs.util.promisify.custom") as never;

export function promisify(original: Function_): Function_ {
  requireFunction("original", original);
  const own = (original as unknown as Record<symbol, unknown>)[custom];
  if (own !== undefined && own !== null) {
    requireFunction("util.promisify.custom", own);
    return Object.defineProperty(own as Function_, custom, { value: own, configurable: true });
  }
  function promised(this: unknown, ...args: unknown[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      Reflect.apply(original, this, [
        ...args,
        (error: unknown, ...values: unknown[]) => {
          if (error) reject(error);
          else resolve(values[0]);
        },
      ]);
    });
  }
  Object.setPrototypeOf(promised, Object.getPrototypeOf(original) as object);
  Object.defineProperty(promised, custom, { value: promised, configurable: true });
  return Object.defineProperties(promised, Object.getOwnPropertyDescriptors(original)) as Function_;
}
Object.defineProperty(promisify, "custom", { value: custom, enumerable: true });

export function callbackify(original: Function_): Function_ {
  requireFunction("original", original);
  function calledBack(this: unknown, ...args: unknown[]): void {
    const done = args.pop();
    requireFunction("last argument", done);
    const call = (...results: unknown[]): void => {
      // Outside of the promise, so that what it throws is nobody's rejection.
      queueMicrotask(() => Reflect.apply(done as Function_, this, results));
    };
    (Reflect.apply(original, this, args) as Promise<unknown>).then(
      (value) => call(null, value),
      (reason: unknown) => {
        if (reason) return call(reason);
        const error = codedError(Error, "ERR_FALSY_VALUE_REJECTION", "Promise was rejected with falsy value");
        call(Object.assign(error, { reason }));
      },
    );
  }
  const properties = Object.getOwnPropertyDescriptors(original);
  if (typeof properties.length?.value === "number") properties.length.value++;
  if (typeof properties.name?.value === "string") properties.name.value += "Callbackified";
  return Object.defineProperties(calledBack, properties) as Function_;
}

export function inherits(child: Function_, parent: Function_): void {
  requireFunction("ctor", child);
  requireFunction("superCtor", parent);
  if (parent.prototype === undefined)
    throw invalidArgument("superCtor.prototype", "of type object", undefined);
  Object.defineProperty(child, "super_", { value: parent, writable: true, configurable: true });
  Object.setPrototypeOf(child.prototype as object, parent.prototype as object);
}

const warned = new Set<string>();

export function deprecate<F extends Function_>(original: F, message: string, code?: string): F {
  requireFunction("fn", original);
  let told = false;
  function deprecated(this: unknown, ...args: unknown[]): unknown {
    if (!told) {
      told = true;
      if (code === undefined || !warned.has(code)) {
        if (code !== undefined) warned.add(code);
        globalThis.console?.warn(`${code ? `[${code}] ` : ""}DeprecationWarning: ${message}`);
      }
    }
    return new.target
      ? Reflect.construct(original, args, new.target === deprecated ? original : new.target)
      : Reflect.apply(original, this, args);
  }
  Object.setPrototypeOf(deprecated, original);
  if (original.prototype) deprecated.prototype = original.prototype;
  return deprecated as unknown as F;
}

export function debuglog(section: string): Function_ & { enabled: boolean } {
  const wanted = (globalThis as { process?: { env?: Record<string, string | undefined> } }).process?.env
    ?.NODE_DEBUG;
  const enabled = (wanted ?? "")
    .split(",")
    .some(
      (name) =>
        name !== "" &&
        new RegExp(`^${name.replace(/[.+?^${}()|[\]\\]/g, "\\$&").replaceAll("*", ".*")}$`, "i").test(
          section,
        ),
    );
  const log = (...args: unknown[]): void => {
    if (enabled) globalThis.console?.error(`${section.toUpperCase()}: ${format(...args)}`);
  };
  return Object.assign(log, { enabled });
}
export const debug: typeof debuglog = debuglog;

export function isDeepStrictEqual(a: unknown, b: unknown): boolean {
  return deepEqual(a, b, true);
}

export function stripVTControlCharacters(text: string): string {
  requireString("str", text);
  return text.replace(CONTROL, "");
}
const CONTROL =
  /[\u001b\u009b][[\]()#;?]*(?:(?:(?:;[-a-zA-Z\d/#&.:=?%@~_]+)*|[a-zA-Z\d]+(?:;[-a-zA-Z\d/#&.:=?%@~_]*)*)?(?:\u0007|\u001b\u005c|\u009c)|(?:\d{1,4}(?:;\d{0,4})*)?[\dA-PR-TZcf-nq-uy=><~])/g;

export function toUSVString(text: unknown): string {
  return `${text as string}`.toWellFormed();
}

export function getSystemErrorName(errno: number): string | undefined {
  return nameOfErrno(errno);
}

export function getSystemErrorMap(): Map<number, [string, string]> {
  return new Map(systemErrors);
}

export function getSystemErrorMessage(errno: number): string | undefined {
  return new Map(systemErrors).get(errno)?.[1];
}

/** Lines of `NAME=value`. */
export function parseEnv(content: string): Record<string, string> {
  requireString("content", content);
  const values: Record<string, string> = {};
  const line =
    /^[ \t]*(?:export[ \t]+)?([\w.-]+)[ \t]*=[ \t]*("(?:[^"\\]|\\.)*"|'[^']*'|`[^`]*`|[^\n\r#]*)?[ \t]*(?:#[^\n]*)?$/gm;
  for (const [, name = "", raw = ""] of content.matchAll(line)) {
    const quote = raw.trim()[0];
    const isQuoted = quote === '"' || quote === "'" || quote === "`";
    let value = isQuoted ? raw.trim().slice(1, -1) : raw.trim();
    if (quote === '"') value = value.replaceAll("\\n", "\n");
    values[name] = value;
  }
  return values;
}

/** Settles when the signal is aborted; `resource` is not watched. */
export async function aborted(signal: AbortSignal, resource: object): Promise<void> {
  if (typeof resource !== "object" || resource === null)
    throw invalidArgument("resource", "of type object", resource);
  if (signal.aborted) return;
  await new Promise<void>((resolve) => {
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** What `fs` and others throw: `syscall code`. */
export function _errnoException(errno: number, syscall: string, original?: string): Error {
  const code = nameOfErrno(errno) ?? `${errno}`;
  const error = new Error(`${syscall} ${code}${original ? ` ${original}` : ""}`);
  return Object.assign(error, { errno, code, syscall });
}

export const isArray: typeof Array.isArray = Array.isArray;

const exports = named({
  _errnoException,
  aborted,
  callbackify,
  debug,
  debuglog,
  deprecate,
  format,
  formatWithOptions,
  getSystemErrorMap,
  getSystemErrorMessage,
  getSystemErrorName,
  inherits,
  inspect,
  isArray,
  isDeepStrictEqual,
  parseArgs,
  parseEnv,
  promisify,
  stripVTControlCharacters,
  styleText,
  TextDecoder,
  TextEncoder,
  toUSVString,
  types,
});

export default exports;
