import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { parseRenderers } from "../../src/extensions/renderers.ts";

describe("what an extension announces as renderers", () => {
  test("is a card, a table or a tree for one of its tools", () => {
    const { renderers, problems } = parseRenderers([
      {
        tool: "status",
        kind: "card",
        title: "Status",
        fields: [{ label: "State", path: "s", style: "green" }],
      },
      {
        tool: "list",
        kind: "table",
        columns: ["name", { key: "size", label: "Size", align: "right", width: 8 }],
      },
      { tool: "deps", kind: "tree", label: "name", children: "deps" },
    ]);
    assert.deepEqual(problems, []);
    assert.deepEqual(renderers, [
      {
        tool: "status",
        kind: "card",
        title: "Status",
        fields: [{ label: "State", path: "s", style: "green" }],
      },
      {
        tool: "list",
        kind: "table",
        columns: [
          { key: "name", label: "name", align: "left", width: undefined },
          { key: "size", label: "Size", align: "right", width: 8 },
        ],
      },
      { tool: "deps", kind: "tree", label: "name", children: "deps" },
    ]);
  });

  test("may say name for tool and type for kind", () => {
    const { renderers } = parseRenderers([{ name: "deps", type: "tree", label: "n", children: "c" }]);
    assert.deepEqual(renderers, [{ tool: "deps", kind: "tree", label: "n", children: "c" }]);
  });

  test("may have members and styles that this version does not know", () => {
    const { renderers, problems } = parseRenderers([
      {
        tool: "t",
        kind: "card",
        icon: "x",
        fields: [{ label: "A", path: "a", style: "sparkle", unit: "s" }],
      },
    ]);
    assert.deepEqual(problems, []);
    assert.deepEqual(renderers, [
      { tool: "t", kind: "card", fields: [{ label: "A", path: "a", style: undefined }] },
    ]);
  });

  test("is left out when a member is wrong, and the reason names the place", () => {
    for (const [value, problem] of [
      [5, "renderer 1 is not an object"],
      [[], "renderer 1 is not an object"],
      [{ kind: "tree", label: "n", children: "c" }, "renderer 1: tool: expected string"],
      [{ tool: "t", kind: "graph" }, 'renderer 1 (tool "t"): kind: expected ("card" | "table" | "tree")'],
      [{ tool: "t", kind: "tree", label: "n" }, 'renderer 1 (tool "t"): children: expected "children"'],
      [{ tool: "t", kind: "card", fields: [] }, 'renderer 1 (tool "t"): fields: expected >=1'],
      [{ tool: "t", kind: "card", fields: [[]] }, 'renderer 1 (tool "t"): fields.0: expected an object'],
      [
        { tool: "t", kind: "card", fields: [{ label: "x", path: "y", style: 4 }] },
        'renderer 1 (tool "t"): fields.0.style: expected string',
      ],
      [
        { tool: "t", kind: "table", columns: ["a", { key: "a", align: "middle" }] },
        'renderer 1 (tool "t"): columns.1.align: expected ("left" | "right" | "center")',
      ],
      [
        { tool: "t", kind: "table", columns: [5] },
        'renderer 1 (tool "t"): columns.0: expected a path or an object',
      ],
      [
        { tool: "t", kind: "table", columns: [{ key: "a", width: 0 }] },
        'renderer 1 (tool "t"): columns.0.width: expected >=1',
      ],
      [
        { tool: "t\u001b[31m", kind: "table", columns: "name" },
        'renderer 1 (tool "t"): columns: expected Array',
      ],
    ] as const) {
      assert.deepEqual(parseRenderers([value]), { renderers: [], problems: [problem] });
    }
  });

  test("that is wrong takes no other renderer with it", () => {
    const tree = { tool: "t", kind: "tree", label: "n", children: "c" };
    const { renderers, problems } = parseRenderers([{ tool: "x" }, tree]);
    assert.deepEqual(renderers, [tree]);
    assert.equal(problems.length, 1);
  });

  test("for a tool that has one already is left out", () => {
    const first = { tool: "t", kind: "tree", label: "n", children: "c" };
    const { renderers, problems } = parseRenderers([first, { ...first, label: "other" }]);
    assert.deepEqual(renderers, [first]);
    assert.deepEqual(problems, ['renderer 2 (tool "t"): the tool has one already']);
  });

  test("can be anything: each element is a renderer or a problem, and nothing is thrown", () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.jsonValue(), fc.anything())), (values) => {
        const { renderers, problems } = parseRenderers(values);
        assert.equal(renderers.length + problems.length, values.length);
        for (const problem of problems) assert.doesNotMatch(problem, /[\u0000-\u001f\u007f-\u009f]/);
      }),
    );
  });
});
