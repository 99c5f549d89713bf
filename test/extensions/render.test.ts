import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { visibleWidth } from "@earendil-works/pi-tui/dist/utils.js";
import { addSecret } from "../../src/base/log.ts";
import { drawResult, renderResult } from "../../src/extensions/render/draw.ts";
import { rendererLookup } from "../../src/extensions/render/lookup.ts";
import { parseRenderers, type Renderer } from "../../src/extensions/renderers.ts";

function renderer(members: Record<string, unknown>): Renderer {
  const { renderers, problems } = parseRenderers([{ tool: "t", ...members }]);
  assert.deepEqual(problems, []);
  return renderers[0]!;
}

const table = (...columns: unknown[]) => renderer({ kind: "table", columns });
const card = (...fields: unknown[]) => renderer({ kind: "card", fields });
const tree = renderer({ kind: "tree", label: "name", children: "deps" });

function draw(by: Renderer, data: unknown, width = 80, color = false): string[] | undefined {
  return renderResult(by, { text: JSON.stringify(data) }, { width, color });
}

describe("a card", () => {
  test("shows the fields that are there, their values below each other", () => {
    const by = renderer({
      kind: "card",
      title: "Build",
      fields: [
        { label: "State", path: "state" },
        { label: "Commit", path: "git.head" },
        { label: "Second file", path: "files.1" },
        { label: "Missing", path: "nothing.here" },
      ],
    });
    assert.deepEqual(draw(by, { state: "ok", git: { head: "06d6fb9" }, files: ["a", "b"] }), [
      "Build",
      "State:       ok",
      "Commit:      06d6fb9",
      "Second file: b",
    ]);
  });

  test("shows numbers, booleans, null and nested values compactly", () => {
    const by = card(...["n", "b", "z", "o"].map((path) => ({ label: path, path })));
    assert.deepEqual(draw(by, { n: 1.5, b: false, z: null, o: { a: [1, "x", { b: null }], c: {} } }), [
      "n: 1.5",
      "b: false",
      "z: null",
      'o: {a: [1, "x", {b: null}], c: {}}',
    ]);
  });

  test("wraps long values and keeps their lines", () => {
    const by = card({ label: "Log", path: "log" });
    assert.deepEqual(draw(by, { log: "one\ntwo is a longer line" }, 21), [
      "Log: one",
      "     two is a longer",
      "     line",
    ]);
  });

  test("is running text where there is no room for two columns", () => {
    const by = card({ label: "State", path: "s" });
    assert.deepEqual(draw(by, { s: "up and well" }, 10), ["State: up", "and well"]);
  });

  test("has styles only where there is color", () => {
    const by = renderer({ kind: "card", title: "T", fields: [{ label: "S", path: "s", style: "green" }] });
    assert.deepEqual(draw(by, { s: "ok" }), ["T", "S: ok"]);
    assert.deepEqual(draw(by, { s: "ok" }, 80, true), ["\u001b[1mT\u001b[22m", "S: \u001b[32mok\u001b[39m"]);
  });
});

describe("a table", () => {
  const files = table(
    "name",
    { key: "size", label: "Size", align: "right" },
    { key: "by.user", label: "By" },
  );
  const rows = [
    { name: "a.txt", size: 12, by: { user: "ann" } },
    { name: "longer.txt", size: 3456, by: null },
  ];
  const drawn = [
    "name        Size  By",
    "----------  ----  ---",
    "a.txt         12  ann",
    "longer.txt  3456",
  ];

  test("takes its rows from an array, from the one array of an object, or is one row", () => {
    assert.deepEqual(draw(files, rows), drawn);
    assert.deepEqual(draw(files, { total: 2, files: rows }), drawn);
    assert.deepEqual(draw(files, rows[0]), ["name   Size  By", "-----  ----  ---", "a.txt    12  ann"]);
  });

  test("takes an object that has the columns itself for a row, although it has an array", () => {
    assert.deepEqual(draw(table("name", "tags"), { name: "x", tags: ["a", "b"] }), [
      "name  tags",
      "----  ----------",
      'x     ["a", "b"]',
    ]);
  });

  test("without rows says so", () => {
    assert.deepEqual(draw(table("a", "b"), { items: [], total: 0 }), ["a  b", "-  -", "(no rows)"]);
  });

  test("shows the values of an array by the empty path", () => {
    assert.deepEqual(draw(table({ key: "", label: "file" }), ["a", "b"]), ["file", "----", "a", "b"]);
  });

  test("aligns and cuts by terminal columns, not by characters", () => {
    const by = table({ key: "a", width: 6 }, { key: "b", align: "center", width: 7 }, "c");
    assert.deepEqual(
      draw(by, [
        { a: "日本語です", b: "👩‍🚀", c: "e\u0301" },
        { a: "x", b: "abc", c: "|" },
      ]),
      ["a          b     c", "------  -------  -", "日本…     👩‍🚀     e\u0301", "x         abc    |"],
    );
  });

  test("shrinks its widest columns first when it is too wide", () => {
    const row = { id: "17", title: "t".repeat(60), note: "n".repeat(30) };
    const lines = draw(table("id", "title", "note"), [row], 40)!;
    assert.equal(lines[1], `--  ${"-".repeat(17)}  ${"-".repeat(17)}`);
    assert.equal(lines[2], `17  ${"t".repeat(16)}…  ${"n".repeat(16)}…`);
  });

  test("shrinks a fixed width only when the others can give no more", () => {
    const by = table({ key: "a", width: 10 }, "b");
    const row = { a: "a".repeat(20), b: "b".repeat(20) };
    assert.equal(draw(by, [row], 20)![1], `${"-".repeat(10)}  ${"-".repeat(8)}`);
    assert.equal(draw(by, [row], 10)![1], "----  ----");
  });

  test("becomes lines of label and value when not even three columns each fit", () => {
    assert.deepEqual(
      draw(
        table("id", "title", "note"),
        [
          { id: 1, title: "hey", note: "x" },
          { id: 2, title: "yes" },
        ],
        11,
      ),
      ["id: 1", "title: hey", "note: x", "---", "id: 2", "title: yes", "note:"],
    );
  });

  test("draws 200 rows and says how many more there are", () => {
    const lines = draw(
      table("n"),
      Array.from({ length: 1234 }, (_, n) => ({ n })),
    )!;
    assert.equal(lines.length, 2 + 200 + 1);
    assert.equal(lines.at(-1), "… and 1034 more");
  });
});

describe("a tree", () => {
  test("is drawn from its root, or from an array of roots", () => {
    const root = {
      name: "app",
      deps: [
        { name: "a", deps: [{ name: "a1" }, "plain", 5] },
        { name: "b", deps: [{ deps: [] }] },
      ],
    };
    const lines = ["app", "|-- a", "|   |-- a1", "|   |-- plain", "|   `-- 5", "`-- b", "    `-- (no label)"];
    assert.deepEqual(draw(tree, root), lines);
    assert.deepEqual(draw(tree, [root, { name: "second" }]), [...lines, "second"]);
  });

  test("has limits for depth and nodes", () => {
    let deep: unknown = { name: "end" };
    for (let level = 0; level < 3000; level++) deep = { name: "x", deps: [deep] };
    const lines = draw(tree, deep)!;
    assert.ok(lines.length < 50);
    assert.match(lines.at(-1)!, /… and 1 more$/);

    const wide = (length: number) => ({ name: "x", deps: Array.from({ length }, () => ({ name: "y" })) });
    assert.equal(draw(tree, wide(1000))!.length, 201);
    assert.equal(draw(tree, wide(1000))!.at(-1), "… and 801 more");
    assert.equal(draw(tree, wide(50_000))!.at(-1), "… and over 10000 more");
  });

  test("keeps room for labels where it is deep and narrow", () => {
    let deep: unknown = { name: "end" };
    for (let level = 0; level < 10; level++) deep = { name: "x", deps: [deep] };
    assert.equal(draw(tree, deep, 12)!.at(-1), "  `-- end");
  });
});

describe("a result that does not fit its renderer", () => {
  const fitsNone: unknown[] = ["text", 5, null, true, [], {}, [1, 2], [null], { other: 1 }, { a: [], b: [] }];

  test("is shown as plain text", () => {
    for (const by of [card({ label: "N", path: "name" }), table("name"), tree]) {
      for (const data of fitsNone) {
        // No rows are a table.
        if (by.kind === "table" && Array.isArray(data) && data.length === 0) continue;
        assert.equal(draw(by, data), undefined, `${by.kind} ${JSON.stringify(data)}`);
        const text = JSON.stringify(data);
        assert.deepEqual(drawResult(by, { text }, { width: 80, color: true }), [text]);
      }
      assert.deepEqual(drawResult(by, { text: "{broken\nJSON \u001b[2Jhere" }, { width: 80, color: true }), [
        "{broken",
        "JSON here",
      ]);
    }
  });

  test("is cut when it is long", () => {
    const lines = drawResult(tree, { text: "line\n".repeat(100) }, { width: 80, color: false });
    assert.equal(lines.length, 21);
    assert.equal(lines.at(-1), "… and 80 more");
  });
});

describe("the data of a result", () => {
  const by = card({ label: "N", path: "name" });

  test("is its text, or its details where the text is no JSON", () => {
    const space = { width: 80, color: false };
    assert.deepEqual(renderResult(by, { text: "done", details: { name: "d" } }, space), ["N: d"]);
    assert.deepEqual(renderResult(by, { text: '{"name":"t"}', details: { name: "d" } }, space), ["N: t"]);
  });

  test("has no members but its own", () => {
    assert.equal(draw(card({ label: "N", path: "constructor.name" }), { a: 1 }), undefined);
    assert.equal(draw(card({ label: "N", path: "list.length" }), { list: [] }), undefined);
    const text = '{"__proto__":{"name":"own"}}';
    assert.equal(renderResult(by, { text }, { width: 80, color: false }), undefined);
    const own = card({ label: "N", path: "__proto__.name" });
    assert.deepEqual(renderResult(own, { text }, { width: 80, color: false }), ["N: own"]);
  });

  test("finds a member whose name has dots before a path", () => {
    assert.deepEqual(draw(card({ label: "N", path: "a.b" }), { "a.b": 1, a: { b: 2 } }), ["N: 1"]);
  });

  test("can't style, move or hide anything", () => {
    const evil = "\u001b[31mred\u001b[0m\u001b]0;title\u0007\u009b2J\rx\u0008\u202eabc\u200b\u00ad";
    assert.deepEqual(draw(by, { name: evil }), ["N: red", "   xabc"]);
    assert.deepEqual(draw(table({ key: "name", label: "\u001b[5mN" }), [{ name: evil }]), [
      "N",
      "--------",
      "red xabc",
    ]);
    assert.deepEqual(draw(tree, { name: evil }), ["red xabc"]);
  });

  test("is measured as it is drawn: a lone surrogate, a filler and a heap of marks", () => {
    for (const name of ["\ud800".repeat(50), "\u3164".repeat(50), `x${"\u0301".repeat(5000)}`]) {
      const line = draw(table({ key: "name", width: 5 }, "x"), [{ name, x: 1 }])!.at(-1)!;
      assert.ok(line.isWellFormed() && line.length < 20, JSON.stringify(line));
      assert.equal(visibleWidth(line), 8);
    }
  });

  test("never shows a secret that is known, not even cut or wrapped", () => {
    addSecret("sk-render-secret-0123456789");
    const value = { name: "key sk-render-secret-0123456789" };
    for (const width of [3, 8, 20, 80]) {
      for (const each of [by, table("name"), tree]) {
        assert.doesNotMatch(draw(each, value, width)!.join(""), /sk-/);
      }
    }
  });

  test("may be huge, and is drawn in no time that a user would notice", () => {
    const huge = Object.fromEntries(Array.from({ length: 100_000 }, (_, n) => [`k${n}`, n]));
    const long = "日本e\u0301 ".repeat(200_000);
    const started = performance.now();
    for (const x of [huge, long]) {
      draw(card(...Array.from({ length: 100 }, () => ({ label: "x", path: "x" }))), { x });
      draw(table(...Array.from({ length: 30 }, () => "x")), { x }, 200);
    }
    draw(tree, { name: "r", deps: Array.from({ length: 100_000 }, () => ({ name: "x" })) });
    renderResult(tree, { text: "[".repeat(2_000_000) }, { width: 80, color: false });
    assert.ok(performance.now() - started < 5000);
  });
});

describe("the renderers of a session", () => {
  const result = { text: '{"name":"x"}' };
  const space = { width: 80, color: false };
  const source = (extension: string, tools: [string, string][], tool = "list") => ({
    extension,
    renderers: [{ tool, kind: "table", columns: ["name"] }],
    tools: new Map(tools),
    isAlive: () => true,
  });

  test("are found by the name that the agent has for a tool", () => {
    const notices: string[] = [];
    const lookup = rendererLookup([source("files", [["list", "ext_files_list"]])], (text) =>
      notices.push(text),
    );
    assert.deepEqual(lookup("ext_files_list")?.(result, space), ["name", "----", "x"]);
    assert.equal(lookup("list"), undefined);
    assert.deepEqual(notices, []);
  });

  test("apply to nobody else's tool, and the user is told what is not used", () => {
    const notices: string[] = [];
    const broken = { ...source("broken", []), renderers: [{ tool: "x", kind: "pie" }] };
    const lookup = rendererLookup([source("evil", [], "bash"), broken], (text) => notices.push(text));
    assert.equal(lookup("bash"), undefined);
    assert.deepEqual(notices, [
      "extension evil: a renderer names a tool that it does not have; it is not used",
      'extension broken: renderer 1 (tool "x"): kind: expected ("card" | "table" | "tree"); it is not used',
    ]);
  });

  test("go when their extension is retired", () => {
    let alive = true;
    const lookup = rendererLookup(
      [{ ...source("files", [["list", "ext_files_list"]]), isAlive: () => alive }],
      () => {},
    );
    assert.ok(lookup("ext_files_list"));
    alive = false;
    assert.equal(lookup("ext_files_list"), undefined);
  });
});
