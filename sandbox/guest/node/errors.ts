/** Errors as Node's modules throw them: a `code`, and messages in Node's words. Bundled into each module that needs it. */

type ErrorClass = new (message: string) => Error;

/** An error with Node's `code`. */
export function codedError(Class: ErrorClass, code: string, message: string): Error & { code: string } {
  const error = new Class(message) as Error & { code: string };
  Object.defineProperty(error, "code", { value: code, writable: true, enumerable: true, configurable: true });
  return error;
}

/** `Received …`, as Node describes what it was given. */
export function received(value: unknown): string {
  if (value === null || value === undefined) return ` Received ${value}`;
  if (typeof value === "function") return ` Received function ${value.name}`;
  if (typeof value === "object") {
    const name = (value as { constructor?: { name?: string } }).constructor?.name;
    return name ? ` Received an instance of ${name}` : " Received an object without a prototype";
  }
  let shown = typeof value === "bigint" ? `${value}n` : String(value);
  if (typeof value === "string") {
    if (shown.length > 28) shown = `${shown.slice(0, 25)}...`;
    shown = `'${shown}'`;
  }
  return ` Received type ${typeof value} (${shown})`;
}

/** `expected` reads like `of type string` or `an instance of Buffer`. */
export function invalidArgument(name: string, expected: string, value: unknown): Error {
  const what = name.endsWith(" argument") ? `The ${name}` : `The "${name}" ${kindOf(name)}`;
  return codedError(TypeError, "ERR_INVALID_ARG_TYPE", `${what} must be ${expected}.${received(value)}`);
}

export function invalidValue(name: string, value: unknown, reason = "is invalid"): Error {
  const shown = typeof value === "string" ? `'${value}'` : String(value);
  return codedError(
    TypeError,
    "ERR_INVALID_ARG_VALUE",
    `The ${kindOf(name)} '${name}' ${reason}. Received ${shown}`,
  );
}

export function outOfRange(name: string, range: string, value: unknown): Error {
  return codedError(
    RangeError,
    "ERR_OUT_OF_RANGE",
    `The value of "${name}" is out of range. It must be ${range}. Received ${grouped(value)}`,
  );
}

export function unsupported(what: string): Error {
  return codedError(Error, "ERR_FEATURE_UNAVAILABLE_ON_PLATFORM", `${what} is not available in the sandbox`);
}

export function requireString(name: string, value: unknown): asserts value is string {
  if (typeof value !== "string") throw invalidArgument(name, "of type string", value);
}

export function requireFunction(name: string, value: unknown): void {
  if (typeof value !== "function") throw invalidArgument(name, "of type function", value);
}

/** An integer in a range. */
export function requireInteger(
  name: string,
  value: unknown,
  min = Number.MIN_SAFE_INTEGER,
  max = Number.MAX_SAFE_INTEGER,
): asserts value is number {
  if (typeof value !== "number") throw invalidArgument(name, "of type number", value);
  if (!Number.isInteger(value)) throw outOfRange(name, "an integer", value);
  if (value < min || value > max) throw outOfRange(name, `>= ${min} && <= ${max}`, value);
}

export function abortError(cause?: unknown): Error {
  const error = codedError(Error, "ABORT_ERR", "The operation was aborted");
  Object.defineProperty(error, "name", { value: "AbortError", writable: true, configurable: true });
  if (cause !== undefined)
    Object.defineProperty(error, "cause", { value: cause, writable: true, configurable: true });
  return error;
}

function kindOf(name: string): string {
  return name.includes(".") ? "property" : "argument";
}

/** Node writes large integers with underscores. */
function grouped(value: unknown): string {
  if (typeof value === "bigint" || (Number.isInteger(value) && Math.abs(value as number) > 2 ** 32)) {
    const text = String(value).replace(/(\d)(?=(\d{3})+$)/g, "$1_");
    return typeof value === "bigint" ? `${text}n` : text;
  }
  return typeof value === "string" ? `'${value}'` : String(value);
}
