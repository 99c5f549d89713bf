/**
 * Declarative renderers (extension-protocol.md §3, `renderers`): how a tool's result is shown to the user, as data,
 * never as code. What the model reads is not touched by them.
 *
 * An element of `renderers` is an object:
 *
 * | member | meaning |
 * | --- | --- |
 * | `tool` (or `name`) | the tool's name as this extension announced it; a renderer never applies to anyone else's tool |
 * | `kind` (or `type`) | `card`, `table` or `tree` |
 *
 * and, by kind:
 *
 * | kind | members |
 * | --- | --- |
 * | `card` | `title?`: text; `fields`: 1 to 100 of `{label, path, style?}`, `style` one of bold, dim, green, yellow, red, blue, cyan (another one is ignored) |
 * | `table` | `columns`: 1 to 30, each a path, which is its label too, or `{key, label?, align?, width?}`, where `key` is a path, `align` left (default), right or center, and `width` 1 to 1000 terminal columns |
 * | `tree` | `label`: path of a node's label; `children`: path of the array of its children, each a node again |
 *
 * The data is the text of the result if that is a JSON object or array, or else the result's `details` (only a worker
 * extension has them) if those are one.
 *
 * A path is dotted: `user.name`, `files.0.size`. A member whose name is the whole path comes first (`{"a.b": 1}`); array
 * elements go by number; the empty path is the value itself. Only a value's own members count.
 *
 * - A card shows the fields that are there. It fits if there is at least one.
 * - A table's rows are the elements of an array, or of the only array among an object's members; any other object is one
 *   row. It fits if at least one row has at least one of the columns, or if there are no rows.
 * - A tree's data is its root, or an array of roots. It fits if at least one root has a label. A node that is a text, a
 *   number or a boolean is its own label.
 *
 * A result that does not fit, and the result of a tool that failed, are shown as plain text. Nothing in the data styles
 * or moves anything: escape sequences and control characters are removed. At most 200 rows or nodes are drawn.
 *
 * Members that are not named here are ignored. One that is named here and has another shape makes that renderer
 * invalid: the user is told once, and the tool's results are shown as without it.
 */
import * as v from "valibot";
import { ellipsis, stripControls } from "../base/text.ts";

export const STYLES = ["bold", "dim", "green", "yellow", "red", "blue", "cyan"] as const;
export type Style = (typeof STYLES)[number];

const tool = v.pipe(v.string(), v.minLength(1), v.maxLength(128));
const label = v.pipe(v.string(), v.maxLength(200));
const path = v.pipe(v.string(), v.maxLength(200));
// valibot takes an array for an object.
const noArray = v.check((value: unknown) => !Array.isArray(value), "an object");

const isStyle = (value: unknown): value is Style => (STYLES as readonly unknown[]).includes(value);

const field = v.pipe(
  v.unknown(),
  noArray,
  v.object({
    label,
    path,
    style: v.pipe(
      v.nullish(v.string()),
      v.transform((style) => (isStyle(style) ? style : undefined)),
    ),
  }),
);

const column = v.union(
  [
    v.pipe(
      path,
      v.transform((key) => ({ key, label: key, align: "left" as const, width: undefined })),
    ),
    v.pipe(
      v.unknown(),
      noArray,
      v.object({
        key: path,
        label: v.nullish(label),
        align: v.nullish(v.picklist(["left", "right", "center"]), "left"),
        width: v.nullish(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(1000))),
      }),
      v.transform(({ key, label, align, width }) => ({
        key,
        label: label ?? key,
        align,
        width: width ?? undefined,
      })),
    ),
  ],
  "a path or an object",
);
export type TableColumn = v.InferOutput<typeof column>;
export type Align = TableColumn["align"];

const rendererSchema = v.variant("kind", [
  v.object({
    kind: v.literal("card"),
    tool,
    title: v.nullish(label),
    fields: v.pipe(v.array(field), v.minLength(1), v.maxLength(100)),
  }),
  v.object({
    kind: v.literal("table"),
    tool,
    columns: v.pipe(v.array(column), v.minLength(1), v.maxLength(30)),
  }),
  v.object({ kind: v.literal("tree"), tool, label: path, children: path }),
]);

/** A renderer that its schema has seen. */
export type Renderer = v.InferOutput<typeof rendererSchema>;
export type CardRenderer = Extract<Renderer, { kind: "card" }>;
export type TableRenderer = Extract<Renderer, { kind: "table" }>;
export type TreeRenderer = Extract<Renderer, { kind: "tree" }>;

/**
 * Reads `capabilities.renderers`. An element that is no renderer is left out and gets one line in `problems`, for a
 * person; so does a second renderer of a tool: the first one counts. Never throws.
 */
export function parseRenderers(values: readonly unknown[]): { renderers: Renderer[]; problems: string[] } {
  const renderers = new Map<string, Renderer>();
  const problems: string[] = [];
  values.forEach((value, index) => {
    const parsed = parseRenderer(value);
    if ("problem" in parsed) problems.push(`renderer ${index + 1}${parsed.problem}`);
    else if (renderers.has(parsed.tool)) {
      problems.push(`renderer ${index + 1}${quoted(parsed.tool)}: the tool has one already`);
    } else renderers.set(parsed.tool, parsed);
  });
  return { renderers: [...renderers.values()], problems };
}

function parseRenderer(value: unknown): Renderer | { problem: string } {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return { problem: " is not an object" };
  }
  try {
    const members = Object.fromEntries(Object.entries(value));
    const input = { ...members, tool: members.tool ?? members.name, kind: members.kind ?? members.type };
    const result = v.safeParse(rendererSchema, input);
    if (result.success) return result.output;
    const where = quoted(input.tool);
    const issue = deepest(result.issues[0]);
    const at = ellipsis(stripControls(v.getDotPath(issue) ?? ""), 80);
    const expected = issue.type === "union" ? issue.message : (issue.expected ?? issue.message);
    return { problem: `${where}: ${at === "" ? "" : `${at}: `}expected ${expected}` };
  } catch {
    return { problem: " could not be read" };
  }
}

/** Where in a union the value went wrong: its own issue only says that no variant fits. */
function deepest(issue: v.BaseIssue<unknown>): v.BaseIssue<unknown> {
  const inner = issue.issues?.find((candidate) => (candidate.path?.length ?? 0) > 0);
  if (!inner) return issue;
  // Issues inside of a union name their place from the union on.
  const path = [...(issue.path ?? []), ...(inner.path ?? [])] as [v.IssuePathItem, ...v.IssuePathItem[]];
  return { ...inner, path };
}

function quoted(tool: unknown): string {
  if (typeof tool !== "string") return "";
  return ` (tool ${JSON.stringify(ellipsis(stripControls(tool), 60))})`;
}
