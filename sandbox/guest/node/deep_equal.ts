/** Deep equality as `util.isDeepStrictEqual` and `assert.deepEqual` have it. Bundled into both. */
import {
  isArgumentsObject,
  isArrayBuffer,
  isArrayBufferView,
  isBoxedPrimitive,
  isDate,
  isMap,
  isNativeError,
  isRegExp,
  isSet,
} from "./util_types.ts";

type Memory = Map<object, Set<object>>;

export function deepEqual(a: unknown, b: unknown, strict: boolean): boolean {
  return same(a, b, strict, new Map());
}

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;

function same(a: unknown, b: unknown, strict: boolean, seen: Memory): boolean {
  if (a === b) return a !== 0 || !strict || Object.is(a, b);
  if (!isObject(a) || !isObject(b)) {
    if (strict || isObject(a) || isObject(b)) return Object.is(a, b);
    // biome-ignore lint/suspicious/noDoubleEquals: that is what the loose comparison is
    return a == b || (Number.isNaN(a) && Number.isNaN(b));
  }
  if (strict && Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return false;
  const before = seen.get(a);
  if (before?.has(b)) return true;
  if (before) before.add(b);
  else seen.set(a, new Set([b]));
  const result = sameObjects(a, b, strict, seen);
  seen.get(a)?.delete(b);
  return result;
}

function sameObjects(a: object, b: object, strict: boolean, seen: Memory): boolean {
  const tag = Object.prototype.toString.call(a);
  if (tag !== Object.prototype.toString.call(b)) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  if (isArgumentsObject(a) !== isArgumentsObject(b)) return false;
  for (const check of [
    isDate,
    isRegExp,
    isMap,
    isSet,
    isArrayBuffer,
    isArrayBufferView,
    isBoxedPrimitive,
    isNativeError,
  ]) {
    if (check(a) !== check(b)) return false;
  }
  if (isDate(a) && !Object.is((a as Date).getTime(), (b as Date).getTime())) return false;
  if (isRegExp(a)) {
    const [left, right] = [a as RegExp, b as RegExp];
    if (left.source !== right.source || left.flags !== right.flags || left.lastIndex !== right.lastIndex)
      return false;
  }
  if (isNativeError(a)) {
    const [left, right] = [a as Error, b as Error];
    if (left.message !== right.message || left.name !== right.name) return false;
    if (!same(left.cause, right.cause, strict, seen)) return false;
    const [some, others] = [(a as AggregateError).errors, (b as AggregateError).errors];
    if (!same(some, others, strict, seen)) return false;
  }
  if (isBoxedPrimitive(a) && !Object.is((a as object).valueOf(), b.valueOf())) return false;
  if (isArrayBuffer(a) && !sameBytes(new Uint8Array(a as ArrayBuffer), new Uint8Array(b as ArrayBuffer)))
    return false;
  let keysOfA = Object.keys(a);
  let keysOfB = Object.keys(b);
  if (isArrayBufferView(a)) {
    if (!sameViews(a as ArrayBufferView, b as ArrayBufferView, strict)) return false;
    [keysOfA, keysOfB] = [keysOfA, keysOfB].map((keys) => keys.filter((key) => !isIndex(key))) as [
      string[],
      string[],
    ];
  } else if (Array.isArray(a) && a.length !== (b as unknown[]).length) return false;
  if (keysOfA.length !== keysOfB.length) return false;
  for (const key of keysOfA) if (!Object.prototype.propertyIsEnumerable.call(b, key)) return false;
  if (strict && !sameSymbols(a, b)) return false;
  if (isSet(a) && !sameSets(a as Set<unknown>, b as Set<unknown>, strict, seen)) return false;
  if (isMap(a) && !sameMaps(a as Map<unknown, unknown>, b as Map<unknown, unknown>, strict, seen))
    return false;
  const keys: PropertyKey[] = strict ? [...keysOfA, ...symbolsOf(a)] : keysOfA;
  return keys.every((key) =>
    same((a as Record<PropertyKey, unknown>)[key], (b as Record<PropertyKey, unknown>)[key], strict, seen),
  );
}

const isIndex = (key: string): boolean => /^\d+$/.test(key);

function symbolsOf(object: object): symbol[] {
  return Object.getOwnPropertySymbols(object).filter((key) =>
    Object.prototype.propertyIsEnumerable.call(object, key),
  );
}

function sameSymbols(a: object, b: object): boolean {
  const left = symbolsOf(a);
  return (
    left.length === symbolsOf(b).length &&
    left.every((key) => Object.prototype.propertyIsEnumerable.call(b, key))
  );
}

function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}

/** Floats by value (loose: 0 is -0), everything else by its bytes. */
function sameViews(a: ArrayBufferView, b: ArrayBufferView, strict: boolean): boolean {
  if (a.byteLength !== b.byteLength) return false;
  const name = Object.prototype.toString.call(a);
  if (!strict && name.includes("Float")) {
    return (a as Float64Array).every((value, i) => value === (b as Float64Array)[i]);
  }
  const bytes = (view: ArrayBufferView) => new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
  return sameBytes(bytes(a), bytes(b));
}

function sameSets(a: Set<unknown>, b: Set<unknown>, strict: boolean, seen: Memory): boolean {
  if (a.size !== b.size) return false;
  const rest: unknown[] = [];
  for (const value of a) if (!b.has(value)) rest.push(value);
  if (rest.length === 0) return true;
  const others = [...b].filter((value) => !a.has(value));
  return rest.every((value) => {
    if (strict && !isObject(value)) return false;
    const at = others.findIndex((other) => same(value, other, strict, seen));
    if (at < 0) return false;
    others.splice(at, 1);
    return true;
  });
}

function sameMaps(
  a: Map<unknown, unknown>,
  b: Map<unknown, unknown>,
  strict: boolean,
  seen: Memory,
): boolean {
  if (a.size !== b.size) return false;
  const others = [...b].filter(([key]) => !a.has(key));
  for (const [key, value] of a) {
    if (b.has(key)) {
      if (!same(value, b.get(key), strict, seen)) return false;
      continue;
    }
    if (strict && !isObject(key)) return false;
    const at = others.findIndex(
      ([otherKey, other]) => same(key, otherKey, strict, seen) && same(value, other, strict, seen),
    );
    if (at < 0) return false;
    others.splice(at, 1);
  }
  return true;
}
