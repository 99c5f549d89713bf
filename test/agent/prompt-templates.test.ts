/** Prompt templates: files that are commands, and what their arguments become. */
import assert from "node:assert/strict";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import {
  expandTemplate,
  loadPromptTemplates,
  splitArguments,
  substituteArguments,
} from "../../src/agent/prompt-templates.ts";
import { Folder } from "../support/folder.ts";
import { trustedPlaces, userPlaces } from "./resources.ts";

describe("prompt templates", () => {
  test("are the .md files of a folder, named after them, with what their front matter says", async () => {
    using folder = new Folder();
    folder.file(
      "data/prompts/review.md",
      '---\ndescription: Reviews\nargument-hint: "[focus]"\n---\nReview $1.\n',
    );
    folder.file("data/prompts/plain.md", "\n\nJust this.\nAnd that.\n");
    folder.file("data/prompts/inner/deep.md", "deep");
    folder.file("data/prompts/other.txt", "no");
    const { templates, diagnostics } = await loadPromptTemplates(userPlaces(folder));
    assert.deepEqual(diagnostics, []);
    assert.deepEqual(templates, [
      {
        name: "plain",
        description: "Just this.",
        content: "Just this.\nAnd that.",
        filePath: join(folder.path, "data/prompts/plain.md"),
        origin: "user",
      },
      {
        name: "review",
        description: "Reviews",
        argumentHint: "[focus]",
        content: "Review $1.",
        filePath: join(folder.path, "data/prompts/review.md"),
        origin: "user",
      },
    ]);
  });

  test("of a trusted project come behind the user's own, those of an extension behind both", async () => {
    using folder = new Folder();
    folder.file("data/prompts/a.md", "mine");
    folder.file("repo/.xdev/prompts/a.md", "theirs");
    folder.file("repo/.xdev/prompts/b.md", "b");
    folder.file("repo/.xdev/prompts/deep/c.md", "c");
    folder.file("ext/p/B.md", "B");
    folder.file("ext/p/d.md", "d");
    const extra = [{ kind: "prompt" as const, path: "p", root: join(folder.path, "ext"), extension: "tool" }];
    const { templates, diagnostics } = await loadPromptTemplates({ ...(await trustedPlaces(folder)), extra });
    assert.deepEqual(
      templates.map(({ name, content, origin }) => [name, content, origin]),
      [
        ["a", "mine", "user"],
        ["b", "b", "project"],
        ["d", "d", "extension"],
      ],
    );
    assert.deepEqual(
      diagnostics.map(({ problem }) => problem.split(" ", 1)[0]),
      ["a", "B"],
    );
  });

  test("that are empty, broken, misnamed or elsewhere are told, and no commands", async () => {
    using folder = new Folder();
    folder.file("data/prompts/empty.md", "---\ndescription: x\n---\n");
    folder.file("data/prompts/broken.md", "---\na: b: c\n---\nx");
    folder.file("data/prompts/two words.md", "x");
    folder.file("data/prompts/skill:x.md", "x");
    folder.file("key", "secret");
    symlinkSync("../../key", join(folder.path, "data/prompts/key.md"));
    const { templates, diagnostics } = await loadPromptTemplates(userPlaces(folder));
    assert.deepEqual(templates, []);
    const told = diagnostics.map(({ problem }) => problem).sort();
    assert.deepEqual(
      told.map((problem) => /empty|line 2|two words|skill:x|leads out/.exec(problem)?.[0]).sort(),
      ["empty", "leads out", "line 2", "skill:x", "two words"],
    );
  });

  test("take the place of /name args, and of nothing else", async () => {
    using folder = new Folder();
    folder.file("data/prompts/fix.md", "Fix $1 in $2: $@");
    const { templates } = await loadPromptTemplates(userPlaces(folder));
    assert.equal(
      expandTemplate('/fix "the bug" main.ts', templates),
      "Fix the bug in main.ts: the bug main.ts",
    );
    assert.equal(expandTemplate("/fix\na\nb", templates), "Fix a in b: a b");
    assert.equal(expandTemplate("/fix", templates), "Fix  in : ");
    for (const text of ["fix a", "/fixx a", "/Fix a", "/ fix", "see /fix a", "/path/fix", ""]) {
      assert.equal(expandTemplate(text, templates), undefined, text);
    }
  });
});

describe("arguments", () => {
  const split: [string, string[]][] = [
    ["", []],
    ["  a   b\tc\nd ", ["a", "b", "c", "d"]],
    ['"API compatibility" x', ["API compatibility", "x"]],
    ["'a b' \"c d\"", ["a b", "c d"]],
    ["doesn't work", ["doesn't", "work"]],
    ['"no end here', ['"no', "end", "here"]],
    ['"the \\"fast\\" path"', ['the "fast" path']],
    ["'it\\'s' C:\\dir", ["it's", "C:\\dir"]],
    ['"a\\b"', ["a\\b"]],
    ['""', [""]],
    ['"a b"c d', ["a bc", "d"]],
  ];
  for (const [text, words] of split) {
    test(`are split as in a shell: ${JSON.stringify(text)}`, () =>
      assert.deepEqual(splitArguments(text), words));
  }

  const filled: [string, string][] = [
    ["$1 $2 $3 $4.", "one two three ."],
    ["$@|$ARGUMENTS", "one two three|one two three"],
    ["${1:-x} ${4:-default value} ${9:-}", "one default value "],
    ["${@:-none}", "one two three"],
    ["${@:2}", "two three"],
    ["${@:2:1}|${@:1:2}|${@:0}|${@:9}", "two|one two|one two three|"],
    ["$10 $0", " "],
    ["costs $ 5, $x, $$1, ${HOME}, ${1}", "costs $ 5, $x, $one, ${HOME}, ${1}"],
  ];
  for (const [content, text] of filled) {
    test(`fill a template: ${content}`, () =>
      assert.equal(substituteArguments(content, ["one", "two", "three"]), text));
  }

  test("are text: what they say is not filled in again, and a default stands for what is missing or empty", () => {
    assert.equal(substituteArguments("$1 $2", ["$2", "$ARGUMENTS"]), "$2 $ARGUMENTS");
    assert.equal(substituteArguments("${1:-$2}", ["", "x"]), "$2");
    assert.equal(substituteArguments("${ARGUMENTS:-none} ${@:-none}", []), "none none");
  });

  test("can't make a prompt of any length", () => {
    assert.throws(() => substituteArguments("$@".repeat(30_000), ["x".repeat(1000)]), /too long/);
  });

  test("of any length are split in linear time", () => {
    const started = performance.now();
    splitArguments('"a '.repeat(200_000));
    assert.ok(performance.now() - started < 2000);
  });
});
