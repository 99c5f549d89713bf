/** The page about prompts: its examples, put where it says, do what it says. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { expandTemplate, loadPromptTemplates } from "../../src/agent/prompt-templates.ts";
import { PythonSession } from "../../src/agent/python.ts";
import { expandSkill, loadSkills, skillsPrompt } from "../../src/agent/skills.ts";
import { loadStreamRules } from "../../src/agent/stream-rules.ts";
import { parseUserCommand, runUserBash, runUserPython } from "../../src/agent/user-commands.ts";
import { Folder } from "../support/folder.ts";
import { fencesOf, page } from "./pages.ts";

const fences = fencesOf(page("prompts"));

function fence(info: string): string {
  const found = fences.find((each) => each.info === info);
  assert.ok(found, info);
  return found.text;
}

/** A folder with the file of a block under the path that the page gives it. */
function placed(info: string): Folder {
  const before = page("prompts").split(`\`\`\`markdown ${info}\n`)[0]!;
  const [path] = before.match(/(?<=`<dataDir>\/)[\w/.-]+\.md(?=`:\n\n$)/) ?? [];
  assert.ok(path, info);
  const folder = new Folder();
  folder.file(path, fence(`markdown ${info}`));
  return folder;
}

describe("the page about prompts", () => {
  test("has a skill that is listed for the model, and can be named", async () => {
    using folder = placed("skill");
    const { skills, diagnostics } = await loadSkills({ dataDir: folder.path });
    assert.deepEqual(diagnostics, []);
    assert.match(skillsPrompt(skills) ?? "", /<name>release-notes<\/name>/);
    const text = expandSkill(fence("text skill"), skills);
    assert.match(
      text ?? "",
      /^<skill name="release-notes"[\s\S]*Leave out[\s\S]*<\/skill>\n\nfor version 2$/,
    );
  });

  test("has a template that is a command, with and without arguments", async () => {
    using folder = placed("template");
    const { templates, diagnostics } = await loadPromptTemplates({ dataDir: folder.path });
    assert.deepEqual(diagnostics, []);
    assert.equal(templates[0]?.argumentHint, "[focus]");
    assert.equal(
      expandTemplate(fence("text template"), templates),
      "Review the output of `git diff --staged`. Look for race conditions. Be brief.",
    );
    assert.match(expandTemplate("/review", templates) ?? "", /Look for mistakes and missing tests\. $/);
  });

  test("has a rule that finds what it is about and nothing else", async () => {
    using folder = placed("rule");
    const { rules, diagnostics } = await loadStreamRules({ dataDir: folder.path });
    assert.deepEqual(diagnostics, []);
    const [matcher] = rules[0]!.matchers;
    const finds = (text: string) => matcher!.find(text, text.length, true, false);
    for (const text of ["let x: any;", "Map<string, any>", "a |any"]) assert.ok(finds(text), text);
    for (const text of ["// any word", "many: anyone", "x: unknown"]) assert.ok(!finds(text), text);
    assert.deepEqual(
      rules[0]!.scopes.map(({ tool, globs }) => [tool, globs?.[0]?.("src/a.ts"), globs?.[0]?.("a.py")]),
      [
        ["edit", true, false],
        ["write", true, false],
      ],
    );
  });

  test("names all scopes, and says what is refused", async () => {
    for (const refused of ["(a|b)*", "(a+)+"]) {
      assert.ok(page("prompts").includes(`\`${refused}\``));
      using folder = new Folder();
      folder.file("rules/x.md", `---\nttsr: ${refused}\n---\nx`);
      assert.equal((await loadStreamRules({ dataDir: folder.path })).diagnostics.length, 1);
    }
    using folder = new Folder();
    folder.file(
      "rules/x.md",
      "---\nttsr: x\\s{0,4}\nscope: text, thinking, tool, tool:NAME, tool:NAME(GLOB)\n---\nx",
    );
    assert.deepEqual((await loadStreamRules({ dataDir: folder.path })).diagnostics, []);
  });

  test("has commands that run, and two of them in one Python", async () => {
    using folder = new Folder();
    const options = {
      cwd: folder.path,
      env: { PATH: process.env.PATH ?? "" },
      scratch: async () => folder.path,
    };
    const python = new PythonSession(options);
    const outputs: [boolean, string][] = [];
    for (const line of fence("text commands").trimEnd().split("\n")) {
      const { kind, source, excludeFromContext } = parseUserCommand(line)!;
      const { output } =
        kind === "bash" ? await runUserBash(source, options) : await runUserPython(source, python, options);
      outputs.push([excludeFromContext, output]);
    }
    await python.close();
    assert.deepEqual(outputs.slice(1), [
      [true, "for me alone"],
      [false, ""],
      [false, "90"],
    ]);
  });
});
