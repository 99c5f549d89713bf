/**
 * `SharedArrayBuffer` and `Atomics` for who has one thread: nothing is shared, so memory is an ordinary buffer and every operation is
 * atomic. Packages use them to sleep (`Atomics.wait` on a buffer that nobody wakes), which is what is left of them here.
 */
type Ints = Int8Array | Uint8Array | Int16Array | Uint16Array | Int32Array | Uint32Array;
type BigInts = BigInt64Array | BigUint64Array;
type Value = number | bigint;

/** The longest sleep, in ms: a thread that sleeps answers nobody. */
const MAX_SLEEP_MS = 10_000;

/** An ordinary buffer, whoever calls it shared. */
export function memory(length?: number): ArrayBuffer {
  return new ArrayBuffer(length ?? 0);
}

function at(array: Ints | BigInts, index: unknown): number {
  const place = Math.trunc(Number(index)) || 0;
  if (place < 0 || place >= array.length) throw new RangeError("out of bounds of the array");
  return place;
}

function change(apply: (before: never, given: never) => Value) {
  return (array: Ints | BigInts, index: unknown, given: Value): Value => {
    const place = at(array, index);
    const before = array[place] as Value;
    array[place] = apply(before as never, given as never) as never;
    return before;
  };
}

export const atomics = {
  add: change((before: number, given: number) => before + given),
  sub: change((before: number, given: number) => before - given),
  and: change((before: number, given: number) => before & given),
  or: change((before: number, given: number) => before | given),
  xor: change((before: number, given: number) => before ^ given),
  exchange: change((_before, given) => given),
  load: (array: Ints | BigInts, index: unknown): Value => array[at(array, index)] as Value,
  store(array: Ints | BigInts, index: unknown, value: Value): Value {
    array[at(array, index)] = value as never;
    return value;
  },
  compareExchange(array: Ints | BigInts, index: unknown, expected: Value, value: Value): Value {
    const place = at(array, index);
    const before = array[place] as Value;
    if (before === expected) array[place] = value as never;
    return before;
  },
  isLockFree: (size: unknown): boolean => [1, 2, 4, 8].includes(Number(size)),
  notify: (): number => 0,
  /** Sleeps: there is nobody to wake it. Without a time it would be for ever. */
  wait(array: Ints | BigInts, index: unknown, value: Value, timeout?: unknown): "not-equal" | "timed-out" {
    if (array[at(array, index)] !== value) return "not-equal";
    const ms = Math.max(0, Number(timeout ?? Number.POSITIVE_INFINITY));
    if (!(ms <= MAX_SLEEP_MS)) {
      throw new RangeError(`Atomics.wait: an extension sleeps for ${MAX_SLEEP_MS} ms at most`);
    }
    // Its own thread waits, and nothing else does.
    for (const end = Date.now() + ms; Date.now() < end; );
    return "timed-out";
  },
};
Object.defineProperty(atomics, Symbol.toStringTag, { value: "Atomics", configurable: true });
