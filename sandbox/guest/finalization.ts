/**
 * `FinalizationRegistry` for a guest. What a callback throws reaches no listener under Deno: the engine writes it to the process's
 * standard output.
 */
const Native = FinalizationRegistry;
const { construct, defineProperty } = Reflect;
const NoFunction = TypeError;

/** Replaces the class: its callbacks run in `guarded`. Nothing leads to the engine's own from then on. */
export function guardedRegistry(guarded: (run: () => void) => void): unknown {
  function GuardedRegistry(this: unknown, cleanup: unknown): object {
    if (new.target === undefined) throw new NoFunction("FinalizationRegistry must be called with new");
    if (typeof cleanup !== "function") throw new NoFunction("FinalizationRegistry needs a function");
    return construct(Native, [(held: unknown) => guarded(() => cleanup(held))], new.target);
  }
  const { prototype } = Native;
  defineProperty(GuardedRegistry, "name", { value: "FinalizationRegistry" });
  defineProperty(GuardedRegistry, "prototype", { value: prototype, writable: false });
  defineProperty(prototype, "constructor", { value: GuardedRegistry });
  return GuardedRegistry;
}
