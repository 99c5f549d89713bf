/**
 * Hashes and ciphers are transforms in Node, and nearly nobody uses them as such: their prototype becomes one's heir when the
 * first method of a stream is looked for. Bundled into what makes them.
 */
declare const require: (name: string) => unknown;
type TransformClass = { prototype: object } & ((this: object, options?: object) => void);

let Transform: TransformClass | undefined;
const target = {};

function load(): TransformClass {
  if (!Transform) {
    ({ Transform } = require("node:stream") as { Transform: TransformClass });
    Object.setPrototypeOf(target, Transform.prototype);
  }
  return Transform;
}

/** What anybody looks for in any object. */
const COMMON: ReadonlySet<PropertyKey> = new Set(["then", "constructor", "toJSON", "toString", "valueOf"]);
const isCommon = (key: PropertyKey): boolean =>
  COMMON.has(key) || (typeof key === "symbol" && key !== Symbol.asyncIterator);

const prototype = new Proxy(target, {
  get(object, key, receiver) {
    if (!isCommon(key)) load();
    return Reflect.get(object, key, receiver);
  },
  has(object, key) {
    if (!isCommon(key)) load();
    return Reflect.has(object, key);
  },
  getPrototypeOf: () => load().prototype,
});

const Base = function LazyTransform() {} as unknown as new () => object;
Base.prototype = prototype;

/** To be extended; heirs have `_transform` and `_flush`. */
export abstract class LazyTransform extends Base {
  abstract _transform(chunk: Uint8Array, encoding: string, done: (error?: unknown) => void): void;
  abstract _flush(done: (error?: unknown) => void): void;
  declare push: (chunk: unknown) => boolean;
}

for (const name of ["_readableState", "_writableState"]) {
  Object.defineProperty(LazyTransform.prototype, name, {
    configurable: true,
    get(this: object): unknown {
      // Sets both, on the object itself.
      Reflect.apply(load(), this, []);
      return (this as Record<string, unknown>)[name];
    },
    set(this: object, value: unknown) {
      Object.defineProperty(this, name, { value, writable: true, configurable: true });
    },
  });
}
