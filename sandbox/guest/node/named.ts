/** Names of functions, which the build shortens, as they are exported. Bundled into each module. */

/** Gives each function and class the name of the property it is. What is exported twice has the first one's. */
export function named<T extends object>(exports: T): T {
  const done = new Set<unknown>();
  for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(exports))) {
    if (typeof value !== "function" || done.has(value) || name === "default") continue;
    done.add(value);
    const own = Object.getOwnPropertyDescriptor(value, "name");
    if (own === undefined || (own.configurable && own.value !== name && SHORT.test(own.value as string))) {
      Object.defineProperty(value, "name", { value: name, configurable: true });
    }
  }
  return exports;
}

/** What the build calls them; nothing that anybody exports is as short. */
const SHORT = /^[$\w]{0,3}$/;
