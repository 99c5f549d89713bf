import type { TreeRenderer } from "../renderers.ts";
import { cleanLine, fit } from "./columns.ts";
import { at, display } from "./data.ts";
import { MAX_ITEMS, more } from "./limits.ts";
import type { Space } from "./style.ts";

/** Children below this depth are not drawn. */
const MAX_DEPTH = 24;

/** Nodes that are not drawn are counted up to here. */
const MAX_COUNTED = 10_000;

interface Node {
  /** Lines of the branches on its left, ASCII. */
  branches: string;
  label: string;
}

export function drawTree(renderer: TreeRenderer, data: object, { width }: Space): string[] | undefined {
  const roots: readonly unknown[] = Array.isArray(data) ? data : [data];
  const hasLabel = (root: unknown) => labelOf(renderer, root) !== "";
  if (!roots.slice(0, MAX_ITEMS).some((root) => isObject(root) && hasLabel(root))) return undefined;
  const lines: string[] = [];
  let count = 0;
  for (const { branches, label } of nodes(renderer, roots)) {
    if (++count > MAX_ITEMS + MAX_COUNTED) break;
    if (count > MAX_ITEMS) continue;
    // Where it is deep and narrow, the branches nearest to the node are the ones that tell something.
    const shown = branches.slice(Math.max(0, branches.length - Math.floor(width / 2)));
    lines.push(shown + fit(label === "" ? "(no label)" : label, width - shown.length));
  }
  const rest = count - MAX_ITEMS;
  if (rest > 0) lines.push(fit(more(rest > MAX_COUNTED ? `over ${MAX_COUNTED}` : rest), width));
  return lines;
}

/** In the order of drawing. */
function* nodes(renderer: TreeRenderer, roots: readonly unknown[]): Generator<Node> {
  // A stack of our own, since generators within generators pay for each level.
  const stack: { siblings: readonly unknown[]; next: number; left: string }[] = [
    { siblings: roots, next: 0, left: "" },
  ];
  for (let level = stack.at(-1); level; level = stack.at(-1)) {
    if (level.next === level.siblings.length) {
      stack.pop();
      continue;
    }
    const node = level.siblings[level.next++];
    const isLast = level.next === level.siblings.length;
    const isRoot = stack.length === 1;
    yield {
      branches: isRoot ? "" : `${level.left}${isLast ? "`-- " : "|-- "}`,
      label: labelOf(renderer, node),
    };
    const children = at(node, renderer.children);
    if (!Array.isArray(children) || children.length === 0 || children === node) continue;
    const left = isRoot ? "" : `${level.left}${isLast ? "    " : "|   "}`;
    if (stack.length < MAX_DEPTH) stack.push({ siblings: children, next: 0, left });
    else yield { branches: `${left}\`-- `, label: more(children.length) };
  }
}

function labelOf(renderer: TreeRenderer, node: unknown): string {
  return cleanLine(display(isObject(node) ? at(node, renderer.label) : node));
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null;
}
