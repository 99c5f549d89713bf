/** `structuredClone` of the guest gives what the runtime's own gives, for what is of ECMAScript. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { structuredClone as clone } from "../../../../sandbox/guest/web/structured_clone.ts";

const cycle: Record<string, unknown> = { name: "a" };
cycle.self = cycle;
const shared = { x: 1 };
class Point {
  x = 1;
  get y(): number {
    return 2;
  }
}

const VALUES: readonly [what: string, value: unknown][] = [
  ["primitives", [1, "a", null, undefined, true, 1n, Number.NaN, -0]],
  ["objects and arrays", { a: [1, { b: 2 }], [Symbol("gone")]: 1 }],
  ["sparse arrays, with members", Object.assign(new Array(3), { 0: 1, 2: 3, more: "x" })],
  ["wrappers", [Object(1), Object("a"), Object(false), Object(1n)]],
  ["dates", [new Date(5), new Date(Number.NaN)]],
  ["regular expressions", /a(b)/giu],
  ["maps", new Map<unknown, unknown>([[{ a: 1 }, new Map([[1, 2]])]])],
  ["sets", new Set<unknown>([1, { a: 1 }])],
  ["bytes", new Uint8Array([1, 2, 3]).subarray(1)],
  [
    "other numbers",
    [new Float64Array([1.5]), new BigInt64Array([1n]), new DataView(new ArrayBuffer(4), 1, 2)],
  ],
  ["buffers", new Uint8Array([1, 2]).buffer],
  ["objects of classes, as plain ones", new Point()],
  ["members that only look special", JSON.parse('{"__proto__":{"a":1},"constructor":1}')],
];

describe("structuredClone", () => {
  for (const [what, value] of VALUES) {
    test(`copies ${what}`, () => {
      const copy = clone(value);
      assert.deepStrictEqual(copy, globalThis.structuredClone(value));
      assert.notEqual(copy, value);
    });
  }

  test("copies cycles, and what is shared as shared", () => {
    const copy = clone({ cycle, one: shared, two: shared }) as Record<string, Record<string, unknown>>;
    assert.equal(copy.cycle!.self, copy.cycle);
    assert.equal(copy.one, copy.two);
    assert.notEqual(copy.one, shared);
  });

  test("copies views of one buffer as views of one buffer", () => {
    const buffer = new ArrayBuffer(4);
    const [a, b] = clone([new Uint8Array(buffer), new Uint16Array(buffer)]) as [Uint8Array, Uint16Array];
    assert.equal(a.buffer, b.buffer);
  });

  test("copies errors with their kind, message, stack and cause", () => {
    const error = new RangeError("far", { cause: { a: 1 } });
    const copy = clone(error) as RangeError;
    assert.ok(copy instanceof RangeError);
    assert.deepEqual([copy.message, copy.stack, copy.cause], ["far", error.stack, { a: 1 }]);
  });

  test("transfers buffers: they are empty then, and views of them lead to the new one", () => {
    const bytes = new Uint8Array([1, 2, 3]);
    const unused = new ArrayBuffer(8);
    const copy = clone({ bytes }, { transfer: [bytes.buffer, unused] }) as { bytes: Uint8Array };
    assert.deepEqual([...copy.bytes], [1, 2, 3]);
    assert.equal(bytes.length, 0);
    assert.equal(unused.detached, true);
  });

  for (const [what, value, options] of [
    ["a function", () => {}],
    ["a symbol", Symbol("a")],
    ["a method within", { f() {} }],
    ["a promise", Promise.resolve()],
    ["a WeakMap", new WeakMap()],
    ["a URL", new URL("a:b")],
    ["what is to be transferred and is no buffer", 1, { transfer: [{}] }],
    ["a buffer that is to be transferred twice", 1, twice()],
  ] as const) {
    test(`has no copy of ${what}`, () => {
      assert.throws(() => clone(value, options), { name: "DataCloneError", code: 25 });
    });
  }
});

function twice(): { transfer: ArrayBuffer[] } {
  const buffer = new ArrayBuffer(1);
  return { transfer: [buffer, buffer] };
}
