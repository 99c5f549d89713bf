/** `node:assert`. The texts of its errors are like Node's, less its finer difference of long values. */

import { inspect } from "node:util";
import { matches } from "./assert_throws.ts";
import { AssertionError, type AssertionOptions } from "./assertion_error.ts";
import { deepEqual as areDeepEqual } from "./deep_equal.ts";
import { codedError, invalidArgument, requireFunction } from "./errors.ts";
import { named } from "./named.ts";
import { contains } from "./partial_equal.ts";

export { AssertionError };

type Message = string | Error | undefined;
type Check = (actual: unknown, expected: unknown, message?: Message) => void;
type Pattern = unknown;
// biome-ignore lint/suspicious/noExplicitAny: what is called is the caller's
type Work = () => any;

function failWith(options: AssertionOptions): never {
  if (options.message instanceof Error) throw options.message;
  throw new AssertionError(options);
}

/** A check of two values. */
function pair(operator: string, holds: (actual: unknown, expected: unknown) => boolean): Check {
  const check = (...args: unknown[]): void => {
    if (args.length < 2) {
      throw codedError(
        TypeError,
        "ERR_MISSING_ARGS",
        'The "actual" and "expected" arguments must be specified',
      );
    }
    const [actual, expected, message] = args;
    if (!holds(actual, expected)) {
      failWith({ actual, expected, message: message as Message, operator, stackStartFn: check });
    }
  };
  Object.defineProperty(check, "name", { value: operator });
  return check;
}

// biome-ignore lint/suspicious/noDoubleEquals: that is what the loose comparison is
const loose = (a: unknown, b: unknown): boolean => a == b || (Number.isNaN(a) && Number.isNaN(b));

export const equal: Check = pair("==", loose);
export const notEqual: Check = pair("!=", (a, b) => !loose(a, b));
export const strictEqual: Check = pair("strictEqual", Object.is);
export const notStrictEqual: Check = pair("notStrictEqual", (a, b) => !Object.is(a, b));
export const deepEqual: Check = pair("deepEqual", (a, b) => areDeepEqual(a, b, false));
export const notDeepEqual: Check = pair("notDeepEqual", (a, b) => !areDeepEqual(a, b, false));
export const deepStrictEqual: Check = pair("deepStrictEqual", (a, b) => areDeepEqual(a, b, true));
export const notDeepStrictEqual: Check = pair("notDeepStrictEqual", (a, b) => !areDeepEqual(a, b, true));
export const partialDeepStrictEqual: Check = pair("partialDeepStrictEqual", contains);

export function ok(...args: unknown[]): void {
  const [value, message] = args;
  if (value) return;
  const isGenerated = args.length === 0;
  failWith({
    actual: value,
    expected: true,
    operator: "==",
    message: isGenerated ? "No value argument passed to `assert.ok()`" : (message as Message),
    generated: isGenerated || message === undefined,
    stackStartFn: ok,
  });
}

export function fail(message: Message = "Failed"): never {
  failWith({ message, operator: "fail", generated: false, stackStartFn: fail });
}

export function ifError(value: unknown): void {
  if (value === null || value === undefined) return;
  const shown = value instanceof Error ? value.message || value.constructor.name : inspect(value);
  failWith({
    actual: value,
    expected: null,
    operator: "ifError",
    message: `ifError got unwanted exception: ${shown}`,
    generated: true,
    stackStartFn: ifError,
  });
}

function matchCheck(
  name: string,
  wanted: boolean,
): (text: unknown, pattern: RegExp, message?: Message) => void {
  return (text, pattern, message) => {
    if (!(pattern instanceof RegExp)) throw invalidArgument("regexp", "an instance of RegExp", pattern);
    if (typeof text === "string" && pattern.test(text) === wanted) return;
    const generated =
      typeof text !== "string"
        ? `The "string" argument must be of type string. Received type ${typeof text} (${inspect(text)})`
        : wanted
          ? `The input did not match the regular expression ${inspect(pattern)}. Input:\n\n${inspect(text)}\n`
          : `The input was expected to not match the regular expression ${inspect(pattern)}. Input:\n\n${inspect(text)}\n`;
    failWith({
      actual: text,
      expected: pattern,
      operator: name,
      message: message ?? generated,
      generated: message === undefined,
    });
  };
}
export const match = matchCheck("match", true);
export const doesNotMatch = matchCheck("doesNotMatch", false);

interface Outcome {
  threw: boolean;
  error?: unknown;
}

function tryIt(run: Work): Outcome {
  requireFunction("fn", run);
  try {
    run();
  } catch (error) {
    return { threw: true, error };
  }
  return { threw: false };
}

async function tryAsync(work: Work | Promise<unknown>): Promise<Outcome> {
  let promise: unknown = work;
  if (typeof work === "function") {
    promise = work();
    if (typeof (promise as { then?: unknown } | null)?.then !== "function") {
      throw codedError(
        TypeError,
        "ERR_INVALID_RETURN_VALUE",
        `Expected instance of Promise to be returned from the "promiseFn" function but got type ${typeof promise}.`,
      );
    }
  } else if (typeof (work as { then?: unknown } | null)?.then !== "function") {
    throw invalidArgument("promiseFn", "of type function or an instance of Promise", work);
  }
  try {
    await promise;
  } catch (error) {
    return { threw: true, error };
  }
  return { threw: false };
}

/** `error` may be left out. */
function settle(operator: string, outcome: Outcome, given: Pattern, text: Message): void {
  const [pattern, message] = typeof given === "string" ? [undefined, given] : [given, text];
  if (outcome.threw) {
    if (pattern !== undefined) matches(outcome.error, pattern, message, operator);
    return;
  }
  const name = (pattern as { name?: string } | undefined)?.name;
  const what = operator === "rejects" ? "rejection" : "exception";
  failWith({
    actual: undefined,
    expected: pattern,
    operator,
    message:
      message instanceof Error
        ? message
        : `Missing expected ${what}${name ? ` (${name})` : ""}${message ? `: ${message}` : "."}`,
    generated: message === undefined,
  });
}

function settleNot(operator: string, outcome: Outcome, given: Pattern, text: Message): void {
  if (!outcome.threw) return;
  const [pattern, message] = typeof given === "string" ? [undefined, given] : [given, text];
  const { error } = outcome;
  if (
    pattern instanceof RegExp
      ? !pattern.test(String(error))
      : typeof pattern === "function" && !isOf(error, pattern as never)
  ) {
    throw error;
  }
  const what = operator === "doesNotReject" ? "rejection" : "exception";
  failWith({
    actual: error,
    expected: pattern,
    operator,
    message: `Got unwanted ${what}${message ? `: ${message}` : "."}\nActual message: "${(error as Error | undefined)?.message}"`,
    generated: true,
  });
}

function isOf(error: unknown, pattern: (...args: never[]) => unknown): boolean {
  return pattern.prototype !== undefined && error instanceof (pattern as never)
    ? true
    : Object.prototype.isPrototypeOf.call(Error, pattern)
      ? false
      : Reflect.apply(pattern, {}, [error]) === true;
}

export function throws(run: Work, error?: Pattern, message?: Message): void {
  settle("throws", tryIt(run), error, message);
}
export function doesNotThrow(run: Work, error?: Pattern, message?: Message): void {
  settleNot("doesNotThrow", tryIt(run), error, message);
}
export async function rejects(
  work: Work | Promise<unknown>,
  error?: Pattern,
  message?: Message,
): Promise<void> {
  settle("rejects", await tryAsync(work), error, message);
}
export async function doesNotReject(
  work: Work | Promise<unknown>,
  error?: Pattern,
  message?: Message,
): Promise<void> {
  settleNot("doesNotReject", await tryAsync(work), error, message);
}

const common = named({
  AssertionError,
  deepStrictEqual,
  doesNotMatch,
  doesNotReject,
  doesNotThrow,
  fail,
  ifError,
  match,
  notDeepStrictEqual,
  notStrictEqual,
  ok,
  partialDeepStrictEqual,
  rejects,
  strictEqual,
  throws,
});

function assert(...args: unknown[]): void {
  ok(...args);
}
function assertStrict(...args: unknown[]): void {
  ok(...args);
}
export const strict = Object.assign(assertStrict, common, {
  deepEqual: deepStrictEqual,
  equal: strictEqual,
  notDeepEqual: notDeepStrictEqual,
  notEqual: notStrictEqual,
}) as unknown as typeof assertStrict & Record<string, unknown>;
strict.strict = strict;

export default Object.assign(assert, common, { deepEqual, equal, notDeepEqual, notEqual, strict });
