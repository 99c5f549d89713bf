/** Stream rules: what the model's stream is looked through for, piece by piece, and what that may cost. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { AssistantMessageEvent } from "@earendil-works/pi-ai";
import {
  loadStreamRules,
  RuleWatch,
  ruleData,
  ruleMessage,
  type StreamRule,
} from "../../src/agent/stream-rules.ts";
import { Folder } from "../support/folder.ts";
import { trustedPlaces, userPlaces } from "./resources.ts";

/** Rules by the front matter of each. */
async function rules(heads: Record<string, string>): Promise<StreamRule[]> {
  using folder = new Folder();
  for (const [name, head] of Object.entries(heads)) {
    folder.file(`data/rules/${name}.md`, `---\n${head}\n---\nThe text of ${name}.`);
  }
  const { rules: loaded, diagnostics } = await loadStreamRules(userPlaces(folder));
  assert.deepEqual(diagnostics, []);
  return loaded;
}

const namesOf = (found: readonly StreamRule[]) => found.map(({ name }) => name);
type Call = { name: string; arguments: Record<string, unknown> };

/** The names that a block of the message brings up, with each event of it. */
function feedBlock(
  watch: RuleWatch,
  kind: "text" | "thinking" | "toolcall",
  deltas: readonly string[],
  call?: Call,
  finalName = call?.name,
): string[][] {
  const content = call ? [{ type: "toolCall", id: "1", ...call }] : [];
  const event = (type: string, more: object) =>
    ({
      type: `${kind}_${type}`,
      contentIndex: 0,
      partial: { content },
      ...more,
    }) as unknown as AssistantMessageEvent;
  watch.startMessage();
  return [
    ...deltas.map((delta) => namesOf(watch.feed(event("delta", { delta })))),
    namesOf(watch.feed(event("end", { toolCall: { ...content[0], name: finalName } }))),
  ];
}

const found = (
  watch: RuleWatch,
  kind: "text" | "thinking" | "toolcall",
  deltas: readonly string[],
  call?: Call,
) => feedBlock(watch, kind, deltas, call).flat();

describe("stream rules", () => {
  test("are the .md files with a ttsr, from the data dir and a trusted project; others are told", async () => {
    using folder = new Folder();
    folder.file(
      "data/rules/no-any.md",
      "---\nttsr: ': any\\b'\ndescription: No any\nscope: tool:edit\n---\nUse unknown.",
    );
    folder.file("repo/.xdev/rules/other.md", "---\nttsr: [one, two]\n---\nx");
    folder.file("data/rules/none.md", "just text");
    folder.file("data/rules/empty.md", "---\nttsr: x\n---\n");
    folder.file("data/rules/bad.md", "---\nttsr: (a+)+\n---\nx");
    folder.file("data/rules/scope.md", "---\nttsr: x\nscope: everywhere\n---\nx");
    const { rules, diagnostics } = await loadStreamRules(await trustedPlaces(folder));
    assert.deepEqual(
      rules.map(({ name, patterns, origin }) => [name, patterns, origin]),
      [
        ["no-any", [": any\\b"], "user"],
        ["other", ["one", "two"], "project"],
      ],
    );
    const told = diagnostics.map(({ path, problem }) => `${path.split("/").at(-1)} ${problem}`).sort();
    assert.match(told[0]!, /^bad\.md .*\(a\+\)\+: it has a choice or a repeat inside a repeat/);
    assert.match(told[1]!, /^empty\.md .*no text/);
    assert.match(told[2]!, /^none\.md .*no ttsr/);
    assert.match(told[3]!, /^scope\.md .*scope everywhere: write text, thinking, tool/);
    assert.equal(told.length, 4);
    assert.equal(
      ruleMessage(rules.slice(0, 1)),
      'Your message was cut off and is not kept, because it went against a rule of the user. Do the same step again and follow it.\n\n<rule name="no-any">\nUse unknown.\n</rule>',
    );
    assert.deepEqual(structuredClone(ruleData(rules[1]!)).ttsr, ["one", "two"]);
  });

  test("match over any number of pieces, once in a session", async () => {
    const watch = new RuleWatch(await rules({ a: "ttsr: forbidden\\s+word" }));
    assert.ok(watch.isActive);
    assert.deepEqual(found(watch, "text", [..."a forbidden \n word"]), ["a"]);
    assert.deepEqual(found(watch, "text", ["forbidden word"]), []);
    assert.deepEqual([watch.isActive, watch.triggered], [false, ["a"]]);
  });

  test("that were told before are not told again when the session goes on", async () => {
    const watch = new RuleWatch(await rules({ a: "ttsr: x", b: "ttsr: x" }), ["a"]);
    assert.deepEqual(found(watch, "text", ["x"]), ["b"]);
  });

  test("match while the stream goes on, not only at its end", async () => {
    const watch = new RuleWatch(await rules({ a: "ttsr: stop" }));
    const events = feedBlock(watch, "text", ["stop here\n", "more"]);
    assert.deepEqual(events, [["a"], [], []]);
  });

  test("know where a line begins and ends, and what a word is, across the pieces", async () => {
    const heads = {
      start: "ttsr: ^todo",
      end: "ttsr: done$",
      word: "ttsr: \\bany\\b",
      not: "ttsr: foo(?!bar)",
    };
    const innocent = [
      "not a to",
      "do, a",
      "nything, many, do",
      "ne! fo",
      "obar",
      " ".repeat(5000),
      "todo ",
      "anyone",
    ];
    assert.deepEqual(found(new RuleWatch(await rules(heads)), "text", innocent), []);
    assert.deepEqual(
      found(new RuleWatch(await rules(heads)), "text", ["x\ntod", "o any foo do", "ne"]).sort(),
      ["end", "not", "start", "word"],
    );
  });

  test("look where their scope says: the answer and tool calls, or thinking, or calls of one tool", async () => {
    const heads = {
      usual: "ttsr: x",
      thought: "ttsr: x\nscope: thinking",
      edits: "ttsr: x\nscope: [text, tool:edit]",
    };
    const at = async (kind: "text" | "thinking" | "toolcall", tool?: string) =>
      found(
        new RuleWatch(await rules(heads)),
        kind,
        ["x"],
        tool ? { name: tool, arguments: {} } : undefined,
      ).sort();
    assert.deepEqual(await at("text"), ["edits", "usual"]);
    assert.deepEqual(await at("thinking"), ["thought"]);
    assert.deepEqual(await at("toolcall", "edit"), ["edits", "usual"]);
    assert.deepEqual(await at("toolcall", "bash"), ["usual"]);
    for (const [name, brought] of [
      ["edit", ["edits", "usual"]],
      ["bash", ["usual"]],
    ] as const) {
      const late = { name: "", arguments: {} };
      const watch = new RuleWatch(await rules(heads));
      const [first, end] = feedBlock(watch, "toolcall", ["x\n"], late, name);
      assert.deepEqual([first, end?.sort()], [[], brought], "its name may come last");
    }
  });

  test("look at the files that their globs name, as soon as the path is all there", async () => {
    const heads = {
      ts: "ttsr: any\nglobs: src/**/*.ts",
      py: "ttsr: any\nscope: tool:write(*.py), text",
    };
    const write = async (args: Record<string, unknown>, name = "write") =>
      feedBlock(new RuleWatch(await rules(heads), [], "/repo"), "toolcall", [`${JSON.stringify(args)}\n`], {
        name,
        arguments: args,
      });
    assert.deepEqual(await write({ path: "src/a/b.ts", content: "any" }), [["ts"], []]);
    assert.deepEqual(await write({ path: "/repo/src/b.ts", content: "any" }), [["ts"], []]);
    assert.deepEqual(await write({ content: "any", path: "src/b.ts" }), [[], ["ts"]]);
    assert.deepEqual(await write({ path: "test/b.ts", content: "any" }), [[], []]);
    assert.deepEqual(await write({ command: "any" }), [[], []]);
  });

  test("see the arguments of a call as they will be, not as JSON writes them", async () => {
    const json = JSON.stringify({ content: 'a\n  say("é\\n")\n' }).replace("é", "\\u00e9");
    for (const size of [1, 2, 3, 1000]) {
      const watch = new RuleWatch(await rules({ a: 'ttsr: ^  say\\("é\\\\n"\\)$' }));
      const pieces = json.match(new RegExp(`[\\s\\S]{1,${size}}`, "g"))!;
      assert.deepEqual(found(watch, "toolcall", pieces, { name: "write", arguments: {} }), ["a"], `${size}`);
    }
  });

  test("cost the same for each piece, however long the message is", async () => {
    const heads = Object.fromEntries(
      Array.from({ length: 10 }, (_, index) => [`r${index}`, `ttsr: x${index}\\s+y\\w*z`]),
    );
    const loaded = await rules(heads);
    const timeFor = (pieces: number) => {
      const deltas = Array.from(
        { length: pieces },
        (_, index) => `word${index} x ${index % 20 === 0 ? "\n" : ""}`,
      );
      const started = performance.now();
      found(new RuleWatch(loaded), "text", deltas);
      return performance.now() - started;
    };
    timeFor(5000);
    const [short, long] = [timeFor(5000), timeFor(50_000)];
    assert.ok(long < 40 * short + 50, `${Math.round(short)} ms, then ${Math.round(long)} ms`);
  });

  test("that are slow are switched off, and the stream goes on", async () => {
    const watch = new RuleWatch(await rules({ slow: "ttsr: a*a*a*b", quick: "ttsr: end" }));
    assert.deepEqual(found(watch, "text", ["a".repeat(20_000), "\nend"]), ["quick"]);
    assert.deepEqual(watch.triggered, ["quick"]);
    assert.equal(watch.isActive, false);
  });
});
