/**
 * Functions and classes of parts that are evaluated later. An extension's named imports are read when it is loaded, whether it uses
 * them or not: what they get then stands for the function until that is called, made, extended or looked into.
 */
import { own } from "xdev:system";

type Callable = (...args: unknown[]) => unknown;

/** Getters, by these names, for stand-ins of what a part exports. */
export function standIns(part: string, names: readonly string[]): Record<string, unknown> {
  const made: Record<string, unknown> = {};
  for (const name of names) {
    let one: unknown;
    Object.defineProperty(made, name, {
      enumerable: true,
      get: () => {
        one ??= standIn(() => own(part)[name] as Callable);
        return one;
      },
    });
  }
  return made;
}

function standIn(load: () => Callable): unknown {
  const proxy: object = new Proxy(function standsIn(): void {}, {
    apply: (_, self, args) => Reflect.apply(load(), self, args),
    // Whoever extends it is what is made.
    construct: (_, args, made) => Reflect.construct(load(), args, made === proxy ? load() : made) as object,
    get: (_, key) => Reflect.get(load(), key) as unknown,
    has: (_, key) => Reflect.has(load(), key),
    set: (_, key, value) => Reflect.set(load(), key, value),
  });
  return proxy;
}
