/** The tree of a session's entries, as objects in each other. */
import type { EntryIndex } from "./entry-index.ts";
import type { SessionEntry, TreeNode } from "./types.ts";

export function treeOf(index: EntryIndex, entryAt: (place: number) => SessionEntry): TreeNode[] {
  const nodes = Array.from({ length: index.length }, (_, place): TreeNode => {
    const node: TreeNode = { entry: entryAt(place), children: [] };
    const label = index.labels.get(node.entry.id);
    if (label) Object.assign(node, { label: label.label, labelTimestamp: label.timestamp });
    return node;
  });
  const roots: TreeNode[] = [];
  nodes.forEach((node, place) => {
    const parent = index.parentAt(place);
    (parent < 0 ? roots : nodes[parent]!.children).push(node);
  });
  return roots;
}
