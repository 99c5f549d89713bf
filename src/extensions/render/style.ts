import type { Style } from "../renderers.ts";

/** Where lines are drawn. */
export interface Space {
  /** Terminal columns, 1 or more. */
  width: number;
  /** Whether styles are drawn (SGR sequences). Without it, lines have no control character. */
  color: boolean;
}

// Each has its own end: a reset would take away what the line around it has.
const SGR: Record<Style, readonly [number, number]> = {
  bold: [1, 22],
  dim: [2, 22],
  green: [32, 39],
  yellow: [33, 39],
  red: [31, 39],
  blue: [34, 39],
  cyan: [36, 39],
};

export function styled(text: string, style: Style | undefined, { color }: Space): string {
  if (!color || style === undefined || text === "") return text;
  const [on, off] = SGR[style];
  return `\u001b[${on}m${text}\u001b[${off}m`;
}
