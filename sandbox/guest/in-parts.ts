/** Packages of which most extensions need a tenth: the rest is evaluated when a name of it is asked for. */

type Names = Record<string, unknown>;

/** `early` and, as getters, the names of each part. */
export function withParts(
  early: Names,
  parts: readonly { names: readonly string[]; load: () => Names }[],
): Names {
  const all = { ...early };
  for (const { names, load } of parts) lazily(all, names, {}, load);
  return all;
}

/**
 * Gives all that a package which builds types exports. `names` are those of its exports but `Type`, `types` those of what that holds; a default
 * export is `Type`.
 */
export function inParts(
  early: Names,
  rest: () => Names,
  { names, types }: { names: readonly string[]; types: readonly string[] },
): Names {
  const Type = lazily({}, types, early, () => rest().Type as Names);
  const all = lazily({ Type }, names, early, rest);
  if (names.includes("default")) define(all, "default", { value: Type, writable: true });
  return all;
}

function lazily(target: Names, names: readonly string[], early: Names, rest: () => Names): Names {
  for (const name of names) {
    if (Object.hasOwn(early, name)) define(target, name, { value: early[name], writable: true });
    else define(target, name, { get: () => rest()[name] });
  }
  return target;
}

function define(target: Names, name: string, descriptor: PropertyDescriptor): void {
  Object.defineProperty(target, name, { ...descriptor, enumerable: true, configurable: true });
}
