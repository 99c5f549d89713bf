/** Node's `inspect` and `format`, for `util` and the console. A text of its own, since it is large and rarely needed. */

type Inspection = Record<"inspect" | "format" | "formatWithOptions", (...args: unknown[]) => string>;
declare const require: (name: string) => unknown;

/** What SES puts on intrinsics, and nobody wants to see. */
const HIDDEN = Symbol.for("harden");

/**
 * The package copies every intrinsic when it is evaluated. One that is missing here it gets empty; symbols that are not the
 * language's, by which it falls, it does not see; what SES made an accessor of, so that heirs may have their own, is a value;
 * and its copies are not frozen, since it writes to them.
 */
function load(): Inspection {
  const own = globalThis.Reflect;
  const stand: Record<string, unknown> = {
    Atomics: (globalThis as { Atomics?: object }).Atomics ?? {},
    Reflect: {
      ...Object.fromEntries(own.ownKeys(own).map((key) => [key, own.get(own, key)])),
      ownKeys: (object: object) => own.ownKeys(object).filter((key) => key !== HIDDEN),
      getOwnPropertyDescriptor: (object: object, key: PropertyKey) => {
        const descriptor = own.getOwnPropertyDescriptor(object, key);
        const getter = descriptor?.get as { originalValue?: unknown } | undefined;
        return getter && "originalValue" in getter ? { value: getter.originalValue } : descriptor;
      },
      defineProperty: (object: object, key: PropertyKey, descriptor: PropertyDescriptor) =>
        own.defineProperty(
          object,
          key,
          "value" in descriptor ? { ...descriptor, writable: true, configurable: true } : descriptor,
        ),
    },
  };
  const before = Object.keys(stand).map(
    (name) => [name, Object.getOwnPropertyDescriptor(globalThis, name)] as const,
  );
  try {
    for (const [name, value] of Object.entries(stand)) {
      Object.defineProperty(globalThis, name, { value, writable: true, configurable: true });
    }
    return require("node-inspect-extracted") as Inspection;
  } finally {
    for (const [name, descriptor] of before) {
      if (descriptor) Object.defineProperty(globalThis, name, descriptor);
      else own.deleteProperty(globalThis, name);
    }
  }
}

export const { inspect, format, formatWithOptions } = load();
