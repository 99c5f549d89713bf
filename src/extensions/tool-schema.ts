/**
 * The JSON Schema of an extension's tool, made safe to use: the host checks a model's arguments against it in its own
 * event loop, and an extension must not be able to stop that loop with a regular expression.
 */

/** How deep a schema is looked at; what is deeper is left out, which allows any value there. */
const MAX_DEPTH = 24;

/** Members whose value maps names to schemas: a name there is no keyword. */
const SCHEMA_MAPS = new Set(["properties", "$defs", "definitions", "dependentSchemas"]);
/** Members that the host would have to run a regular expression for. */
const EXPRESSIONS = new Set(["pattern", "patternProperties"]);

/**
 * Gives a copy without `pattern` and `patternProperties` (a tool checks those itself), as the object schema that providers
 * want. Anything that is no object schema becomes one that takes any members.
 */
export function toolSchema(parameters: Record<string, unknown> | null | undefined): Record<string, unknown> {
  const schema = isObject(parameters) ? (clean(parameters, 0) as Record<string, unknown>) : {};
  return schema.type === "object"
    ? { properties: {}, ...schema }
    : { ...schema, type: "object", properties: isObject(schema.properties) ? schema.properties : {} };
}

function clean(value: unknown, depth: number): unknown {
  if (depth > MAX_DEPTH) return {};
  if (Array.isArray(value)) return value.map((item) => clean(item, depth + 1));
  if (!isObject(value)) return value;
  const result: Record<string, unknown> = {};
  for (const [key, member] of Object.entries(value)) {
    if (EXPRESSIONS.has(key) || key === "__proto__") continue;
    result[key] =
      SCHEMA_MAPS.has(key) && isObject(member) ? cleanMap(member, depth + 1) : clean(member, depth + 1);
  }
  return result;
}

function cleanMap(map: Record<string, unknown>, depth: number): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  for (const [name, schema] of Object.entries(map)) {
    if (name !== "__proto__") result[name] = clean(schema, depth + 1);
  }
  return result;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
