/** Whether an error is the one that `throws` and `rejects` were told of. Bundled into `assert`. */
import { inspect } from "node:util";
import { AssertionError } from "./assertion_error.ts";
import { deepEqual } from "./deep_equal.ts";
import { invalidArgument, invalidValue } from "./errors.ts";

type Message = string | Error | undefined;

/** `pattern`: a regular expression, a class, a function that says true, or an object of what the error must have. */
export function matches(actual: unknown, pattern: unknown, message: Message, operator: string): void {
  const fail = (text: string): never => {
    if (message instanceof Error) throw message;
    throw new AssertionError({
      actual,
      expected: pattern,
      operator,
      message: message ?? text,
      generated: message === undefined,
    });
  };
  if (pattern instanceof RegExp) {
    if (pattern.test(String(actual))) return;
    fail(
      `The input did not match the regular expression ${inspect(pattern)}. Input:\n\n${inspect(String(actual))}\n`,
    );
  }
  if (typeof pattern === "function") {
    if (pattern.prototype !== undefined && actual instanceof (pattern as never)) return;
    if (Object.prototype.isPrototypeOf.call(Error, pattern)) {
      const name = (actual as object | undefined)?.constructor?.name;
      fail(
        `The error is expected to be an instance of "${pattern.name}". Received ${
          actual instanceof Error
            ? `"${name}"\n\nError message:\n\n${actual.message}`
            : `"${inspect(actual, { depth: -1 })}"`
        }`,
      );
    }
    const verdict: unknown = Reflect.apply(pattern, {}, [actual]);
    if (verdict === true) return;
    const name = pattern.name ? `"${pattern.name}" ` : "";
    const caught = actual instanceof Error ? `\n\nCaught error:\n\n${String(actual)}` : "";
    fail(
      `The ${name}validation function is expected to return "true". Received ${inspect(verdict)}${caught}`,
    );
  }
  if (typeof pattern !== "object" || pattern === null) {
    throw invalidArgument("expected", "of type function or an instance of Error, RegExp, or Object", pattern);
  }
  const keys = Object.keys(pattern);
  if (pattern instanceof Error) keys.push("name", "message");
  else if (keys.length === 0) throw invalidValue("error", pattern, "may not be an empty object");
  for (const key of keys) {
    const wanted = (pattern as Record<string, unknown>)[key];
    const has = (actual as Record<string, unknown> | null | undefined)?.[key];
    if (typeof has === "string" && wanted instanceof RegExp && wanted.test(has)) continue;
    if (actual !== null && typeof actual === "object" && key in actual && deepEqual(has, wanted, true))
      continue;
    const pick = (from: unknown): Record<string, unknown> =>
      Object.fromEntries(
        keys
          .filter((one) => typeof from === "object" && from !== null && one in from)
          .map((one) => [one, (from as Record<string, unknown>)[one]]),
      );
    if (message !== undefined) fail("");
    const told = new AssertionError({
      actual: pick(actual),
      expected: pick(pattern),
      operator: "deepStrictEqual",
    });
    throw new AssertionError({ actual, expected: pattern, operator, message: told.message, generated: true });
  }
}
