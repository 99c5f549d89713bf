/** How much plain data may be that crosses between the agent and an extension: either side looks, and the agent believes itself alone. */

/** How deep data may be nested that comes from an extension or a model: deeper, and parsers of others give up. */
export const MAX_DEPTH = 64;
/** How many values one frame or the arguments of one call may hold: many more take the parser longer than the agent's loop may wait. */
export const MAX_VALUES = 20_000;

/** What is too much about plain data, completing "it …"; undefined if nothing is. Overflows no stack. */
export function measure(value: unknown, maxValues: number = MAX_VALUES): string | undefined {
  let level: unknown[] = [value];
  let values = 0;
  for (let depth = 0; level.length > 0; depth++) {
    const next: unknown[] = [];
    for (const item of level) {
      if (typeof item !== "object" || item === null) continue;
      if (depth >= MAX_DEPTH) return `is nested more than ${MAX_DEPTH} levels deep`;
      const members = Array.isArray(item) ? item : Object.values(item);
      values += members.length;
      if (values > maxValues) return `holds more than ${maxValues} values`;
      for (const member of members) if (typeof member === "object" && member !== null) next.push(member);
    }
    level = next;
  }
  return undefined;
}
