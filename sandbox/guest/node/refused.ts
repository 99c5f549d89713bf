/** What modules of Node's give that packages import and no extension can use: it throws when it is used, and says why. */

/** A function, and a class, of that name which throws. */
export function refused(name: string, why: string): new (...args: unknown[]) => never {
  // No arrow function: what is made with `new` is told why not, too.
  function refuse(): never {
    throw Object.assign(new Error(`${name}: ${why}`), { code: "ERR_FEATURE_UNAVAILABLE" });
  }
  Object.defineProperty(refuse, "name", { value: name.slice(name.lastIndexOf(".") + 1) });
  return refuse as unknown as new (
    ...args: unknown[]
  ) => never;
}
