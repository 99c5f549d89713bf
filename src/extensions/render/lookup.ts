/** The renderers of a session's extensions, by the name under which the agent knows a tool. */
import { parseRenderers, type Renderer } from "../renderers.ts";
import type { ResultData } from "./data.ts";
import { drawResult } from "./draw.ts";
import type { Space } from "./style.ts";

/** What one extension announced, and what the host made of it. */
export interface RendererSource {
  extension: string;
  /** `capabilities.renderers`. */
  renderers: readonly unknown[];
  /** The extension's tools: from the announced name to the one the agent has. A tool that was skipped is not in it. */
  tools: ReadonlyMap<string, string>;
  /** Whether it is still there: renderers go when their extension is retired (wire-notes.md, "Retire"). */
  isAlive(): boolean;
}

/** Draws a result, as plain text if it does not fit. Never throws; every line is at most `space.width` columns wide. */
export type DrawResult = (result: ResultData, space: Space) => string[];

/**
 * The lookup for a mode: a tool's way of drawing, or undefined if it has none. Each renderer that is unusable is told to
 * `notice` once, here.
 */
export function rendererLookup(
  sources: readonly RendererSource[],
  notice: (text: string) => void,
): (toolName: string) => DrawResult | undefined {
  const found = new Map<string, { renderer: Renderer; source: RendererSource }>();
  for (const source of sources) {
    const { renderers, problems } = parseRenderers(source.renderers);
    for (const problem of problems) notice(`extension ${source.extension}: ${problem}; it is not used`);
    for (const renderer of renderers) {
      const name = source.tools.get(renderer.tool);
      // Only its own: a worker's tool names are not namespaced, and nobody dresses up the results of another.
      if (name !== undefined) found.set(name, { renderer, source });
      else
        notice(
          `extension ${source.extension}: a renderer names a tool that it does not have; it is not used`,
        );
    }
  }
  return (toolName) => {
    const entry = found.get(toolName);
    if (!entry?.source.isAlive()) return undefined;
    return (result, space) => drawResult(entry.renderer, result, space);
  };
}
