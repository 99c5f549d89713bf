/**
 * YAML (so JSON too) checked against a zod schema, with errors that name the file, the line and the path in it. Used by
 * config.yml, models.yml and replay files. Loads `yaml` when called: who has no file does not pay for it.
 */
import type { Document, LineCounter, Node } from "yaml";
import type { z } from "zod";
import { XdevError } from "../base/errors.ts";
import { ellipsis, stripControls } from "../base/text.ts";
import { didYouMean } from "./suggest.ts";

/** Alias bombs are refused by the parser beyond this expansion. */
const MAX_ALIASES = 100;
const MAX_PROBLEMS = 5;

export interface ParsedFile<T> {
  value: T;
  /** The 1-based line of a path in the file, as near as it can be told. */
  lineOf(path: readonly PropertyKey[]): number;
}

/** Parses and validates. Throws XdevError with `code` for bad YAML and for what the schema refuses. */
export async function parseFile<S extends z.ZodType>(
  text: string,
  schema: S,
  file: string,
  code: string,
): Promise<ParsedFile<z.output<S>>> {
  const { LineCounter: Counter, parseDocument } = await import("yaml");
  const counter = new Counter();
  const document = parseDocument(text, { lineCounter: counter, prettyErrors: false, uniqueKeys: true });
  const bad = document.errors[0];
  if (bad) throw new XdevError(code, `${file}:${counter.linePos(bad.pos[0]).line}: ${harmless(bad.message)}`);
  let data: unknown;
  try {
    data = document.toJS({ maxAliasCount: MAX_ALIASES });
  } catch (error) {
    throw new XdevError(code, `${file}: ${harmless(error instanceof Error ? error.message : String(error))}`);
  }
  const lineOf = (path: readonly PropertyKey[]) => findLine(document, counter, path);
  // Compiling the schema pays off after many parses; this is one.
  const result = schema.safeParse(data ?? {}, { jitless: true });
  if (result.success) return { value: result.data, lineOf };
  const problems = result.error.issues.flatMap((issue) => describe(issue, schema));
  const lines = problems
    .slice(0, MAX_PROBLEMS)
    .map((problem) => `${file}:${lineOf(problem.path)}: ${showPath(problem.path)}${harmless(problem.text)}`);
  if (problems.length > MAX_PROBLEMS) lines.push(`… and ${problems.length - MAX_PROBLEMS} more`);
  throw new XdevError(code, lines.join("\n"));
}

interface Problem {
  path: PropertyKey[];
  text: string;
}

function describe(issue: z.core.$ZodIssue, schema: z.ZodType): Problem[] {
  if (issue.code === "unrecognized_keys") {
    const known = keysAt(schema, issue.path);
    return issue.keys.map((key) => {
      const guess = didYouMean(key, known);
      const list = guess || known.length === 0 ? "" : ` Known: ${known.join(", ")}.`;
      return { path: [...issue.path, key], text: `unknown key.${guess}${list}` };
    });
  }
  if (issue.code === "invalid_union") {
    // The branch that got furthest is the one that was meant: the others stopped at the value's type.
    const branch = issue.errors.find(
      (errors) => errors[0] && !(errors[0].code === "invalid_type" && errors[0].path.length === 0),
    );
    if (branch) {
      const inner = branch.map((one) => ({ ...one, path: [...issue.path, ...one.path] }) as z.core.$ZodIssue);
      return inner.flatMap((one) => describe(one, schema));
    }
    const wanted = issue.errors.flatMap((errors) => errors.slice(0, 1).map((one) => one.message));
    return [{ path: issue.path, text: wanted.join(", or ") || issue.message }];
  }
  if (issue.code === "invalid_key") {
    return [{ path: issue.path, text: `bad name: ${issue.issues.map((one) => one.message).join("; ")}` }];
  }
  return [{ path: issue.path, text: issue.message }];
}

/** The keys of the object schema at a path, read from its JSON Schema-like definition; empty when it is none. */
function keysAt(schema: z.ZodType, path: readonly PropertyKey[]): string[] {
  let current: unknown = schema;
  for (const step of [...path, undefined]) {
    const definition = unwrap(current, typeof step === "number" ? "array" : "object");
    if (definition === undefined) return [];
    const shape = definition.shape as Record<string, unknown> | undefined;
    if (step === undefined) return shape ? Object.keys(shape) : [];
    if (shape) current = shape[String(step)];
    else current = definition.element ?? definition.valueType;
  }
  return [];
}

/** A schema's definition without the wrappers around it (optional, default, prefault); of a union, the member of that type. */
function unwrap(schema: unknown, type: "array" | "object"): Record<string, unknown> | undefined {
  let current = schema;
  for (let depth = 0; depth < 8; depth++) {
    const definition = (current as { _zod?: { def?: Record<string, unknown> } } | undefined)?._zod?.def;
    if (!definition) return undefined;
    if (definition.type === "union") {
      const options = definition.options as unknown[];
      current = options.find((option) => unwrap(option, type)?.type === type);
    } else if (definition.innerType !== undefined) current = definition.innerType;
    else return definition;
  }
  return undefined;
}

function findLine(document: Document, counter: LineCounter, path: readonly PropertyKey[]): number {
  for (let length = path.length; length >= 0; length--) {
    const steps = path.slice(0, length);
    const offset = keyOffset(document, steps) ?? nodeOffset(document, steps);
    if (offset !== undefined) return counter.linePos(offset).line;
  }
  return 1;
}

/** Where the key of the last step stands: a mapping's value may begin on the line after its key. */
function keyOffset(document: Document, steps: readonly PropertyKey[]): number | undefined {
  const last = steps.at(-1);
  if (typeof last !== "string") return undefined;
  const parent = steps.length === 1 ? document.contents : document.getIn(steps.slice(0, -1), true);
  const items = (parent as { items?: { key?: { value?: unknown; range?: number[] } }[] } | null | undefined)
    ?.items;
  return items?.find((pair) => pair.key?.value === last)?.key?.range?.[0];
}

function nodeOffset(document: Document, steps: readonly PropertyKey[]): number | undefined {
  const node = (steps.length === 0 ? document.contents : document.getIn(steps, true)) as Node | undefined;
  return node?.range?.[0];
}

function showPath(path: readonly PropertyKey[]): string {
  if (path.length === 0) return "";
  const text = path.map((step) => (typeof step === "number" ? `[${step}]` : `.${String(step)}`)).join("");
  return `${harmless(text.replace(/^\./, ""))}: `;
}

function harmless(text: string): string {
  return ellipsis(stripControls(text).replace(/\s+/g, " ").trim(), 300);
}
