/** Rows of a table or nodes of a tree that are drawn. */
export const MAX_ITEMS = 200;

/** Says that this many are not drawn. */
export function more(count: number | string): string {
  return `… and ${count} more`;
}
