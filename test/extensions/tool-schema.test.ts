import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { toolSchema } from "../../src/extensions/tool-schema.ts";

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

  test("that is nested without end does not overflow the host", () => {
    let schema: Record<string, unknown> = { type: "object" };
    for (let depth = 0; depth < 50_000; depth++) schema = { type: "object", properties: { x: schema } };
    assert.equal(toolSchema(schema).type, "object");
  });
});
