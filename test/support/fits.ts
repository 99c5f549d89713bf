/** Whether a record is what a page of the manual shows of it: `…` is anything, and members may be left out. */
export function fits(shown: unknown, actual: unknown): boolean {
  if (shown === "…") return actual !== undefined;
  if (typeof shown !== "object" || shown === null) return shown === actual;
  if (typeof actual !== "object" || actual === null) return false;
  if (Array.isArray(shown) && (!Array.isArray(actual) || actual.length !== shown.length)) return false;
  return Object.entries(shown).every(([key, value]) => fits(value, (actual as Record<string, unknown>)[key]));
}
