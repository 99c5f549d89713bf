/** `assert.partialDeepStrictEqual`. Bundled into `assert`. */
import { deepEqual } from "./deep_equal.ts";

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;

/** Whether all that `expected` has is in `actual`, and equal. */
export function contains(actual: unknown, expected: unknown): boolean {
  if (!isObject(expected) || !isObject(actual)) return Object.is(actual, expected);
  if (Object.prototype.toString.call(actual) !== Object.prototype.toString.call(expected)) return false;
  if (expected instanceof Map) {
    const all = actual as Map<unknown, unknown>;
    return [...expected].every(([key, value]) => all.has(key) && contains(all.get(key), value));
  }
  if (expected instanceof Set) {
    const all = [...(actual as Set<unknown>)];
    return [...expected].every((value) => all.some((one) => contains(one, value)));
  }
  if (Array.isArray(expected)) {
    // In order, with others between.
    let at = 0;
    return expected.every((value) => {
      while (at < (actual as unknown[]).length) if (contains((actual as unknown[])[at++], value)) return true;
      return false;
    });
  }
  const prototype: unknown = Object.getPrototypeOf(expected);
  if (prototype !== Object.prototype && prototype !== null && !(expected instanceof Error)) {
    return deepEqual(actual, expected, true);
  }
  return Reflect.ownKeys(expected).every(
    (key) =>
      Object.hasOwn(actual, key) &&
      contains(
        (actual as Record<PropertyKey, unknown>)[key],
        (expected as Record<PropertyKey, unknown>)[key],
      ),
  );
}
