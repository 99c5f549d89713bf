/**
 * The JSON Schema of an extension's tool, made safe to use: the host checks a model's arguments against it in its own
 * event loop, and an extension must not be able to stop that loop, with a regular expression, a reference to itself, or
 * branches that multiply. What is left out here the tool checks itself; a value is then taken as it is.
 */
import { measure } from "../base/data-size.ts";

/** How deep a schema is looked at; what is deeper is left out, which allows any value there. */
const MAX_DEPTH = 24;
/** How many parts a schema may have once its references are put in their places. */
const MAX_PARTS = 1000;
/** How many values a list of allowed ones may have. */
const MAX_ENUM = 500;
/** How many values a call of such a tool may hold: each may be checked against every part. */
const MAX_ARGUMENT_VALUES = 20_000;

/** Members whose value maps names to schemas: a name there is no keyword. */
const SCHEMA_MAPS = new Set(["properties"]);
/** Members that are left out: regular expressions, what is only reached by references, and what is costly to decide. */
const LEFT_OUT = new Set([
  "pattern",
  "patternProperties",
  "$defs",
  "definitions",
  "$ref",
  "$dynamicRef",
  "$recursiveRef",
  "$dynamicAnchor",
  "$recursiveAnchor",
  "$anchor",
  "$id",
  "$schema",
  "if",
  "then",
  "else",
  "not",
  "contains",
  "minContains",
  "maxContains",
  "uniqueItems",
  "dependentSchemas",
  "dependencies",
  "propertyNames",
  "unevaluatedItems",
  "unevaluatedProperties",
  "__proto__",
]);

/**
 * Gives the object schema that providers want, with local references put in their places where they are not recursive.
 * Anything that is no object schema becomes one that takes any members.
 */
export function toolSchema(parameters: Record<string, unknown> | null | undefined): Record<string, unknown> {
  const schema = isObject(parameters)
    ? (new Cleaner(parameters).clean(parameters, 0, []) as Record<string, unknown>)
    : {};
  const properties = isObject(schema.properties) ? schema.properties : {};
  return { ...schema, type: "object", properties };
}

/** Refuses arguments that would take long to check. Gives them back; throws an error for the model. */
export function checkArgumentSize(args: unknown): unknown {
  const problem = measure(args, MAX_ARGUMENT_VALUES);
  if (problem) throw new Error(`the call is not run: its arguments ${problem}`);
  return args;
}

class Cleaner {
  readonly #root: Record<string, unknown>;
  #parts = 0;

  constructor(root: Record<string, unknown>) {
    this.#root = root;
  }

  /** `within`: the references that led here, so that none is followed into itself. */
  clean(value: unknown, depth: number, within: readonly string[]): unknown {
    if (depth > MAX_DEPTH || this.#parts > MAX_PARTS) return {};
    if (Array.isArray(value))
      return value.slice(0, MAX_PARTS).map((item) => this.clean(item, depth + 1, within));
    if (!isObject(value)) return value;
    this.#parts++;
    const target = typeof value.$ref === "string" ? this.#find(value.$ref, within) : undefined;
    const result: Record<string, unknown> = target
      ? (this.clean(target, depth + 1, [...within, value.$ref as string]) as Record<string, unknown>)
      : {};
    for (const [key, member] of Object.entries(value)) {
      if (LEFT_OUT.has(key)) continue;
      if (key === "enum") {
        if (Array.isArray(member) && member.length <= MAX_ENUM) result.enum = member;
      } else if (SCHEMA_MAPS.has(key) && isObject(member))
        result[key] = this.#cleanMap(member, depth + 1, within);
      else result[key] = this.clean(member, depth + 1, within);
    }
    return result;
  }

  #cleanMap(map: Record<string, unknown>, depth: number, within: readonly string[]): Record<string, unknown> {
    const result: Record<string, unknown> = {};
    for (const [name, schema] of Object.entries(map)) {
      if (name !== "__proto__") result[name] = this.clean(schema, depth + 1, within);
    }
    return result;
  }

  /** What `#/$defs/name` means; undefined for any other reference, and for one that leads into itself. */
  #find(ref: string, within: readonly string[]): unknown {
    const parts = /^#\/(\$defs|definitions)\/([^/~%]+)$/.exec(ref);
    if (!parts || within.includes(ref)) return undefined;
    const defs = this.#root[parts[1]!];
    return isObject(defs) && Object.hasOwn(defs, parts[2]!) ? defs[parts[2]!] : undefined;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
