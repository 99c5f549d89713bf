/** A tool result drawn by its renderer (renderers.ts says what each kind is and what fits it). */
import type { Renderer } from "../renderers.ts";
import { drawCard } from "./card.ts";
import { clean, fit, wrap } from "./columns.ts";
import { type ResultData, structureOf } from "./data.ts";
import { more } from "./limits.ts";
import type { Space } from "./style.ts";
import { drawTable } from "./table.ts";
import { drawTree } from "./tree.ts";

/** Lines of a result that is shown as plain text. */
const MAX_PLAIN_LINES = 20;

/**
 * The lines that a renderer makes of a result, each at most `space.width` terminal columns wide and without a control
 * character except, with `space.color`, its own SGR sequences. Undefined if the result does not fit the renderer: it is
 * shown as plain text then. Never throws, whatever the data.
 */
export function renderResult(renderer: Renderer, result: ResultData, space: Space): string[] | undefined {
  try {
    const data = structureOf(result);
    if (!data) return undefined;
    const place = { ...space, width: usable(space.width) };
    switch (renderer.kind) {
      case "card":
        return drawCard(renderer, data, place);
      case "table":
        return drawTable(renderer, data, place);
      case "tree":
        return drawTree(renderer, data, place);
    }
  } catch {
    // The data is a stranger's, and a result must be shown: what a runtime refuses here (its own limits) does not fit.
    return undefined;
  }
}

/** As `renderResult`, with plain text for what does not fit. */
export function drawResult(renderer: Renderer, result: ResultData, space: Space): string[] {
  return renderResult(renderer, result, space) ?? plainLines(result.text, usable(space.width));
}

function plainLines(text: string, width: number): string[] {
  const all = text.trim() === "" ? [] : text.trim().split("\n");
  const lines = all.slice(0, MAX_PLAIN_LINES).flatMap((line) => wrap(clean(line), width, MAX_PLAIN_LINES));
  const shown = lines.slice(0, MAX_PLAIN_LINES);
  const rest = Math.max(all.length - MAX_PLAIN_LINES, 0) + lines.length - shown.length;
  return rest > 0 ? [...shown, fit(more(rest), width)] : shown;
}

/** A terminal that does not know its width says 0 or nothing. */
function usable(width: number): number {
  return width >= 1 ? Math.floor(width) : 80;
}
