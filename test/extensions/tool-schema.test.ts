import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { checkArgumentSize, toolSchema } from "../../src/extensions/tool-schema.ts";

describe("the schema of an extension's tool", () => {
  test("is an object schema, whatever the extension said", () => {
    for (const given of [undefined, null, {}, { type: "string" }, { properties: 5 }] as const) {
      const schema = toolSchema(given as Record<string, unknown>);
      assert.equal(schema.type, "object", JSON.stringify(given));
      assert.deepEqual(schema.properties, {});
    }
  });

  test("keeps what it says, except for regular expressions that the host would have to run", () => {
    const given = {
      type: "object",
      required: ["a"],
      properties: {
        a: { type: "string", pattern: "(a+)+$", description: "x" },
        pattern: { type: "array", items: { type: "string", pattern: "(a+)+$" } },
        patternProperties: { type: "object", patternProperties: { "(a+)+$": {} } },
      },
    };
    assert.deepEqual(toolSchema(given), {
      type: "object",
      required: ["a"],
      properties: {
        a: { type: "string", description: "x" },
        pattern: { type: "array", items: { type: "string" } },
        patternProperties: { type: "object" },
      },
    });
  });

  test("has no reference that leads into itself, and no branches that multiply", () => {
    const bomb = { type: "object", $ref: "#/$defs/d0", $defs: {} as Record<string, unknown> };
    for (let i = 0; i < 40; i++) {
      const next = { $ref: `#/$defs/d${i + 1}` };
      bomb.$defs[`d${i}`] = { anyOf: [next, next] };
    }
    for (const given of [
      { type: "object", $ref: "#" },
      {
        type: "object",
        properties: { a: { $ref: "#/$defs/t" } },
        $defs: { t: { items: { $ref: "#/$defs/t" } } },
      },
      bomb,
    ]) {
      const schema = toolSchema(given);
      assert.doesNotMatch(JSON.stringify(schema), /"\$ref"/);
      assert.ok(JSON.stringify(schema).length < 100_000);
    }
  });

  test("keeps what a reference means where it is plain", () => {
    const given = {
      type: "object",
      properties: { a: { $ref: "#/$defs/size" }, b: { $ref: "#/$defs/size", description: "b" } },
      $defs: { size: { type: "string", enum: ["s", "l"] } },
    };
    assert.deepEqual(toolSchema(given).properties, {
      a: { type: "string", enum: ["s", "l"] },
      b: { type: "string", enum: ["s", "l"], description: "b" },
    });
  });

  test("comes with a limit on the arguments that are checked against it", () => {
    assert.deepEqual(checkArgumentSize({ a: [1, 2] }), { a: [1, 2] });
    assert.throws(() => checkArgumentSize({ a: Array(30_000).fill(1) }), /holds more than 20000 values/);
  });

  test("that is nested without end does not overflow the host", () => {
    let schema: Record<string, unknown> = { type: "object" };
    for (let depth = 0; depth < 50_000; depth++) schema = { type: "object", properties: { x: schema } };
    assert.equal(toolSchema(schema).type, "object");
  });
});
