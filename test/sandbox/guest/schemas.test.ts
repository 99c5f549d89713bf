/** What checks values by schemas in a guest: typebox's parts and zod. Each expression gives what it gives outside. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { EVALUATE } from "../../support/evaluate.ts";
import { type Loaded, loadExtensions } from "../../support/extensions.ts";
import { Folder } from "../../support/folder.ts";

const PACKAGES = [
  ...["typebox", "typebox/value", "typebox/compile", "typebox/format", "typebox/error", "typebox/system"],
  ...[
    "@sinclair/typebox",
    "@sinclair/typebox/value",
    "@sinclair/typebox/compiler",
    "@sinclair/typebox/errors",
  ],
  "zod",
] as const;

const CASES = [
  'Object.keys(m["typebox/value"]).sort()',
  'Object.keys(m["typebox/compile"]).sort()',
  'Object.keys(m["@sinclair/typebox/value"]).sort()',
  'Object.keys(m["@sinclair/typebox/compiler"]).sort()',
  'Object.keys(m.zod).filter((name) => name !== "default").sort()',
  '(({ Type }, { Value }) => { const T = Type.Object({ a: Type.Number({ minimum: 1 }), b: Type.Optional(Type.Array(Type.String())) }); return [Value.Check(T, { a: 1 }), Value.Check(T, { a: 0 }), [...Value.Errors(T, { a: "x" })].length, Value.Create(T), Value.Clean(T, { a: 1, c: 2 }), Value.Convert(T, { a: "5" })]; })(m.typebox, m["typebox/value"])',
  '(({ Type }, { Compile }) => { const check = Compile(Type.Object({ a: Type.String() })); return [check.Check({ a: "x" }), check.Check({ a: 1 })]; })(m.typebox, m["typebox/compile"])',
  '(({ Type }, { Value }, Format) => { Format.Set("odd", (text) => text.length % 2 === 1); const T = Type.String({ format: "odd" }); return [Value.Check(T, "abc"), Value.Check(T, "ab")]; })(m.typebox, m["typebox/value"], m["typebox/format"].Format ?? m["typebox/format"])',
  '(({ Type }, { Value }) => { const T = Type.Object({ a: Type.Number(), b: Type.Union([Type.Literal("x"), Type.Null()]) }); return [Value.Check(T, { a: 1, b: null }), [...Value.Errors(T, { a: "1", b: 2 })].map(({ path, message }) => [path, message]), Value.Default(T, {}), Value.Decode(Type.String(), "x")]; })(m["@sinclair/typebox"], m["@sinclair/typebox/value"])',
  '(({ Type, FormatRegistry }, { Value }, { TypeCompiler }) => { FormatRegistry.Set("even", (text) => text.length % 2 === 0); const T = Type.String({ format: "even" }); return [Value.Check(T, "ab"), Value.Check(T, "abc"), TypeCompiler.Compile(T).Check("ab"), TypeCompiler.Compile(T).Check("abc")]; })(m["@sinclair/typebox"], m["@sinclair/typebox/value"], m["@sinclair/typebox/compiler"])',
  "(({ z }) => { const schema = z.object({ a: z.string().min(2), b: z.number().optional(), c: z.enum(['x', 'y']).default('x') }); return [schema.parse({ a: 'ab' }), schema.safeParse({ a: 'a' }).error.issues, z.toJSONSchema(schema)]; })(m.zod)",
];

describe("schemas in a guest", () => {
  let folder: Folder;
  let loaded: Loaded;
  let inside: string[];

  // From source the texts are built first.
  before(
    async () => {
      folder = new Folder();
      const imports = PACKAGES.map((name, at) => `import * as m${at} from ${JSON.stringify(name)};`);
      const members = PACKAGES.map((name, at) => `${JSON.stringify(name)}: m${at}`);
      const file = folder.file(
        "extension.js",
        `${imports.join("\n")}
      const m = { ${members.join(", ")} };
      ${EVALUATE}
      export default (pi) => pi.registerTool({
        name: "compare",
        parameters: { type: "object", properties: { cases: { type: "array" } } },
        async execute(id, { cases }) {
          return { content: [], details: { results: cases.map((source) => evaluate(source, m)) } };
        },
      });`,
      );
      loaded = await loadExtensions([file]);
      assert.deepEqual(
        loaded.manager.failures().map(({ reason }) => reason),
        [],
      );
      const { details } = await loaded.manager.tools([])[0]!.execute("c", { cases: CASES });
      inside = (details as { results: string[] }).results;
    },
    { timeout: 60_000 },
  );
  after(async () => {
    await loaded.manager.stop();
    folder[Symbol.dispose]();
  });

  const evaluate = new Function(`${EVALUATE} return evaluate;`)() as (source: string, m: unknown) => string;
  for (const [at, source] of CASES.entries()) {
    test(source.slice(0, 90), async () => {
      const outside = evaluate(
        source,
        Object.fromEntries(await Promise.all(PACKAGES.map(async (name) => [name, await import(name)]))),
      );
      assert.doesNotMatch(outside, /^throws/);
      assert.equal(inside[at], outside);
    });
  }

  test("an extension that brings a zod of its own is given that one", async () => {
    using own = new Folder();
    own.file("own/package.json", '{ "name": "own", "xdev": { "extensions": ["./index.js"] } }');
    own.file(
      "own/node_modules/zod/package.json",
      '{ "name": "zod", "version": "3.0.0", "main": "index.js" }',
    );
    own.file("own/node_modules/zod/index.js", 'exports.z = "my own";');
    own.file(
      "own/index.js",
      'import { z } from "zod"; export default (pi) => pi.registerTool({ name: "z", label: String(z), parameters: {}, execute() {} });',
    );
    await using other = await loadExtensions([`${own.path}/own`]);
    assert.equal(other.manager.tools([])[0]?.label, "my own");
  });
});
