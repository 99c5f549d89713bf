import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { visibleWidth } from "@earendil-works/pi-tui/dist/utils.js";
import fc from "fast-check";
import { clean, columnsOf, fit, pad, wrap } from "../../src/extensions/render/columns.ts";
import { drawResult, renderResult } from "../../src/extensions/render/draw.ts";
import { parseRenderers } from "../../src/extensions/renderers.ts";

/** Pieces that terminals and measures stumble over, besides any code points. */
const piece = fc.oneof(
  fc.string({ unit: "binary", maxLength: 8 }),
  fc.string({ unit: "grapheme", maxLength: 8 }),
  fc.constantFrom(
    ..."日|한|ｱﾞ|👨‍👩‍👧‍👦|👍🏽|🏳️‍🌈|☃️|1️⃣|🇩🇪|🇩|e\u0301|\u0301|\u200d|\ufe0f|क्ष|ำ|\u0d4e|\u0600|\u3164|\u00ad|🏻|a🏻".split(
      "|",
    ),
    ...["\t", "\n", "\r", " ", "\u001b[31m", "\u001b]0;", "\u009b", "\u0007", "\ud800", "\u2028", "\u202e"],
  ),
);
const text = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(""));
const key = fc.constantFrom("a", "b", "c", "0", "", "a.b", "__proto__", "length", "constructor");
const path = fc.array(key, { minLength: 1, maxLength: 3 }).map((keys) => keys.join("."));

const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 5, withCrossShrink: true },
    fc.oneof(text, fc.integer(), fc.double(), fc.boolean(), fc.constant(null)),
    fc.array(tie("value"), { maxLength: 6 }),
    // Not fc.dictionary: `__proto__` has to be a member as JSON.parse makes it.
    fc
      .array(fc.tuple(key, tie("value")), { maxLength: 5 })
      .map((members) =>
        JSON.parse(`{${members.map(([k, v]) => `${JSON.stringify(k)}:${JSON.stringify(v)}`).join()}}`),
      ),
  ),
}));

const label = text.map((given) => given.slice(0, 100));
const announced = fc.oneof(
  fc.record(
    {
      tool: fc.constant("t"),
      kind: fc.constant("card"),
      title: label,
      fields: fc.array(
        fc.record(
          { label, path, style: fc.constantFrom("bold", "red", "cyan", "nonsense") },
          { requiredKeys: ["label", "path"] },
        ),
        { minLength: 1, maxLength: 5 },
      ),
    },
    { requiredKeys: ["tool", "kind", "fields"] },
  ),
  fc.record({
    tool: fc.constant("t"),
    kind: fc.constant("table"),
    columns: fc.array(
      fc.oneof(
        path,
        fc.record(
          {
            key: path,
            label,
            align: fc.constantFrom("left", "right", "center"),
            width: fc.integer({ min: 1, max: 60 }),
          },
          { requiredKeys: ["key"] },
        ),
      ),
      { minLength: 1, maxLength: 6 },
    ),
  }),
  fc.record({ tool: fc.constant("t"), kind: fc.constant("tree"), label: path, children: path }),
);
const width = fc.oneof(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 300 }));

function assertHarmless(lines: readonly string[], columns: number, color: boolean): void {
  for (const line of lines) {
    const plain = color ? line.replace(/\u001b\[(?:[12]|22|3[1-9])m/g, "") : line;
    assert.doesNotMatch(plain, /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/);
    assert.ok(plain.isWellFormed());
    assert.ok(visibleWidth(line) <= columns, `${visibleWidth(line)} > ${columns}: ${JSON.stringify(line)}`);
  }
}

describe("for any JSON, any renderer and any width", () => {
  test("every line is within the width, holds no control character but its styles, and nothing is thrown", () => {
    let drawn = 0;
    fc.assert(
      fc.property(announced, value, width, fc.boolean(), (members, data, columns, color) => {
        const { renderers } = parseRenderers([members]);
        if (renderers.length === 0) return; // a path or a label that is too long
        for (const result of [{ text: JSON.stringify(data) }, { text: "no JSON", details: data }]) {
          const lines = renderResult(renderers[0]!, result, { width: columns, color });
          if (lines) drawn++;
          assertHarmless(lines ?? [], columns, color);
          assertHarmless(drawResult(renderers[0]!, result, { width: columns, color }), columns, color);
        }
      }),
      { numRuns: 1500 },
    );
    assert.ok(drawn > 200, `only ${drawn} were drawn`);
  });

  test("a text is cut and wrapped within the width, and wrapping loses nothing but spaces", () => {
    fc.assert(
      fc.property(text, width, (given, columns) => {
        const line = clean(given).replaceAll("\n", " ");
        const cut = fit(line, columns);
        assertHarmless([cut], columns, false);
        assert.ok(columnsOf(line) > columns || cut === line || line.length > 40);
        assert.equal(pad(cut, columns, "center").length, cut.length + columns - columnsOf(cut));
        const lines = wrap(line, columns, 1000);
        assertHarmless(lines, columns, false);
        const dense = (parts: string[]) => parts.join("").replace(/\s/g, "");
        if (columns > 8) assert.equal(dense(lines), dense(wrap(line, 100_000, 1000)));
      }),
      { numRuns: 1500, examples: [["\u200d\r\u{1f3fb}日", 1]] },
    );
  });
});
