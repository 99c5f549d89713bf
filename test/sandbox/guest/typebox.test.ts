/**
 * The packages of types that the host gives, of which a guest evaluates a part at first: each expression is evaluated by an
 * extension in a real worker, and outside with the package itself, and what both give is compared.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type Loaded, loadExtensions } from "../../support/extensions.ts";
import { Folder } from "../../support/folder.ts";

/** JSON text of a value, with the keys that are symbols, and which functions it holds. */
const SHOW = `
const show = (value) => {
  if (typeof value === "symbol") return String(value);
  if (typeof value === "function") return "(function)";
  if (typeof value !== "object" || value === null) return value === undefined ? "(undefined)" : value;
  if (Array.isArray(value)) return value.map(show);
  return Reflect.ownKeys(value).map((key) => [String(key), show(value[key])]);
};
const evaluate = (source, T) => {
  try {
    return JSON.stringify(show((0, eval)("(T) => (" + source + ")")(T)));
  } catch (error) {
    return "throws " + error.name + ": " + error.message;
  }
};
`;

const COMMON = [
  "Object.keys(T).sort()",
  "Object.keys(T.Type).sort()",
  "Object.entries(Object.getOwnPropertyDescriptors(T.Type)).filter(([, { enumerable }]) => !enumerable)",
  "Object.keys(T.Type).filter((name) => T.Type[name] !== T[name])",
  "'Composite' in T.Type && 'String' in T && !('Strin' in T)",
  "T.Type.Object({ a: T.Type.String({ minLength: 1 }), b: T.Type.Optional(T.Type.Number()) })",
  "T.Object({ a: T.Readonly(T.Array(T.Integer())) }, { additionalProperties: false })",
  "T.Type.Union([T.Type.Literal('a'), T.Type.Literal(2), T.Type.Literal(true), T.Type.Null()])",
  "T.Type.Union([T.Type.Optional(T.Type.String()), T.Type.Number()])",
  "T.Type.Tuple([T.Type.Any(), T.Type.Unknown(), T.Type.Never(), T.Type.Boolean()])",
  "T.Type.Unsafe({ type: 'string', enum: ['x', 'y'] })",
  "T.Type.Enum({ A: 'a', B: 'b' })",
  "T.Type.Ref('Node')",
  "T.Type.Record(T.Type.String(), T.Type.Number())",
  "T.Type.Partial(T.Type.Object({ a: T.Type.String(), b: T.Type.Optional(T.Type.Number()) }))",
  "T.Type.Required(T.Type.Partial(T.Type.Object({ a: T.Type.String() })))",
  "T.Type.Pick(T.Type.Object({ a: T.Type.String(), b: T.Type.Number() }), ['a'])",
  "T.Type.Omit(T.Type.Object({ a: T.Type.String(), b: T.Type.Number() }), ['a'])",
  "T.Type.KeyOf(T.Type.Object({ a: T.Type.String(), b: T.Type.Number() }))",
  "T.Type.Intersect([T.Type.Object({ a: T.Type.String() }), T.Type.Object({ b: T.Type.Number() })])",
  "T.Type.Array(T.Type.Omit(T.Object({ a: T.Optional(T.String()), b: T.Null() }), ['b']), { minItems: 1 })",
  "(({ Type }) => Type.Object({}))({ ...T })",
];
const CASES: Readonly<Record<string, readonly string[]>> = {
  typebox: [
    ...COMMON,
    "T.default === T.Type",
    "[T.IsObject(T.Object({})), T.IsOptional(T.Optional(T.String())), T.IsString(T.Type.String())]",
    "(() => { try { T.Literal({}) } catch (error) { return error instanceof T.InvalidLiteralValue } })()",
    "T.Type.Script('{ a: string, b?: number[] }')",
  ],
  "@sinclair/typebox": [
    ...COMMON,
    "T.Type.Date()",
    "T.Type.Composite([T.Type.Object({ a: T.Type.String() }), T.Type.Object({ b: T.Type.Optional(T.Type.Null()) })])",
    "T.Type.Recursive((This) => T.Type.Object({ nodes: T.Type.Array(This) }), { $id: 'Node' })",
    "[T.Kind, T.OptionalKind, T.ReadonlyKind]",
    "[T.TypeGuard.IsObject(T.Object({})), T.TypeGuard.IsOptional(T.Optional(T.String())), T.KindGuard.IsUnion(T.Union([T.String(), T.Null()]))]",
    "(T.FormatRegistry.Set('odd', () => true), [T.FormatRegistry.Has('odd'), T.FormatRegistry.Has('nobody sets it')])",
    "new T.JavaScriptTypeBuilder().Object({ a: new T.JsonTypeBuilder().String() })",
  ],
};

for (const [name, cases] of Object.entries(CASES)) {
  describe(`the package ${name} in a guest`, () => {
    let folder: Folder;
    let loaded: Loaded;
    let inside: string[];

    before(async () => {
      folder = new Folder();
      const file = folder.file(
        "extension.js",
        `import * as T from ${JSON.stringify(name)};
        ${SHOW}
        export default (pi) => pi.registerTool({
          name: "compare",
          parameters: { type: "object", properties: { cases: { type: "array" } } },
          async execute(id, { cases }) {
            const results = cases.map((source) => evaluate(source, T));
            return { content: [{ type: "text", text: "" }], details: { results } };
          },
        });`,
      );
      loaded = await loadExtensions([file]);
      const { details } = await loaded.manager.tools([])[0]!.execute("c", { cases });
      inside = (details as { results: string[] }).results;
    });
    after(async () => {
      await loaded.manager.stop();
      folder[Symbol.dispose]();
    });

    const evaluate = new Function(`${SHOW} return evaluate;`)() as (source: string, T: unknown) => string;
    for (const [at, source] of cases.entries()) {
      test(source, async () => {
        const outside = evaluate(source, await import(name));
        assert.doesNotMatch(outside, /^throws/);
        assert.equal(inside[at], outside);
      });
    }
  });
}
