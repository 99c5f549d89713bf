/** `Blob` and `File` as exports of `buffer`, into which this is bundled. */

/** A class of another module's, that is loaded when it is used. */
export function later(name: "Blob" | "File"): typeof globalThis.Blob {
  const load = (): object => (globalThis as unknown as Record<string, object>)[name] as object;
  return new Proxy((() => {}) as unknown as typeof globalThis.Blob, {
    construct: (_target, args) => Reflect.construct(load() as new () => object, args),
    get: (_target, key) => Reflect.get(load(), key) as unknown,
    has: (_target, key) => Reflect.has(load(), key),
  });
}
