/** Skills: where they come from, what the model is told of them, and what never becomes one. */
import assert from "node:assert/strict";
import { rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { expandSkill, loadSkills, skillsPrompt } from "../../src/agent/skills.ts";
import { Folder } from "../support/folder.ts";
import { skillText, trustedPlaces, userPlaces } from "./resources.ts";

const namesOf = (skills: readonly { name: string }[]) => skills.map(({ name }) => name);

describe("skills", () => {
  test("are folders with a SKILL.md, at any depth, with what their front matter says", async () => {
    using folder = new Folder();
    folder.file("data/skills/pdf/SKILL.md", skillText("pdf", "Reads PDF files.", "license: MIT\n"));
    folder.file("data/skills/pdf/inner/SKILL.md", skillText("inner"));
    folder.file(
      "data/skills/office/word/SKILL.md",
      "\ufeff---\r\ndescription: Words\r\n---\r\nText\r\nmore\r\n",
    );
    folder.file("data/skills/notes.md", "no skill");
    folder.file("data/skills/.hidden/SKILL.md", skillText("hidden"));
    folder.file("data/skills/node_modules/x/SKILL.md", skillText("x"));
    const { skills, diagnostics } = await loadSkills(userPlaces(folder));
    assert.deepEqual(diagnostics, []);
    assert.deepEqual(skills, [
      {
        name: "word",
        description: "Words",
        filePath: join(folder.path, "data/skills/office/word/SKILL.md"),
        baseDir: join(folder.path, "data/skills/office/word"),
        origin: "user",
        disableModelInvocation: false,
        text: "Text\nmore",
      },
      {
        name: "pdf",
        description: "Reads PDF files.",
        filePath: join(folder.path, "data/skills/pdf/SKILL.md"),
        baseDir: join(folder.path, "data/skills/pdf"),
        origin: "user",
        disableModelInvocation: false,
        text: "Do pdf.",
      },
    ]);
  });

  test("of a project are those of the moment in which it was trusted", async () => {
    using folder = new Folder();
    const path = folder.file("repo/.xdev/skills/deploy/SKILL.md", skillText("deploy"));
    const places = await trustedPlaces(folder);
    writeFileSync(path, skillText("deploy", "Something else"));
    folder.file("repo/.xdev/skills/late/SKILL.md", skillText("late"));
    const { skills } = await loadSkills(places);
    assert.deepEqual(
      skills.map(({ name, description, origin }) => [name, description, origin]),
      [["deploy", "about deploy", "project"]],
    );
    assert.deepEqual((await loadSkills(userPlaces(folder))).skills, [], "nothing of it without trust");
  });

  test("of one name: the user's own stays, and the other is told", async () => {
    using folder = new Folder();
    folder.file("data/skills/deploy/SKILL.md", skillText("deploy", "mine"));
    folder.file("repo/.xdev/skills/deploy/SKILL.md", skillText("deploy", "theirs"));
    const { skills, diagnostics } = await loadSkills(await trustedPlaces(folder));
    assert.deepEqual(
      skills.map(({ description }) => description),
      ["mine"],
    );
    assert.match(diagnostics[0]!.path, /repo\/\.xdev\/skills\/deploy/);
    assert.match(
      diagnostics[0]!.problem,
      /deploy is there already: .*data\/skills\/deploy\/SKILL\.md is used/,
    );
  });

  test("that an extension names are read from its own folder and nowhere else", async () => {
    using folder = new Folder();
    folder.file("ext/skills/a/SKILL.md", skillText("a"));
    folder.file("ext/one/SKILL.md", skillText("one"));
    folder.file("ext/single.md", skillText("single"));
    folder.file("ext/run.sh", skillText("run"));
    folder.file("secret/SKILL.md", skillText("secret"));
    symlinkSync("../secret", join(folder.path, "ext/link"));
    const root = join(folder.path, "ext");
    const paths = ["skills", join(root, "one"), "single.md", "run.sh", "../secret", "link", "nothing"];
    const extra = paths.map((path) => ({ kind: "skill" as const, path, root, extension: "tool" }));
    const others = [{ kind: "prompt" as const, path: "skills", root, extension: "other" }];
    const { skills, diagnostics } = await loadSkills({ ...userPlaces(folder), extra: [...others, ...extra] });
    assert.deepEqual(
      skills.map(({ name, origin }) => [name, origin]),
      [
        ["a", "extension"],
        ["one", "extension"],
        ["single", "extension"],
      ],
    );
    assert.deepEqual(
      diagnostics.map(({ problem }) => problem.replace(/: ENOENT.*/, ": not there")),
      [
        "named by extension tool: neither a folder nor a .md file",
        "named by extension tool: it lies outside of the extension's folder",
        "named by extension tool: it lies outside of the extension's folder",
        "named by extension tool: not there",
      ],
    );
  });

  test("are not read through a link that leads out of the data dir, and once through one that stays in it", async () => {
    using folder = new Folder();
    folder.file("data/skills/a/SKILL.md", skillText("a"));
    folder.file("outside/SKILL.md", skillText("outside"));
    folder.file("key.md", skillText("key"));
    folder.file("data/skills/b/other", "");
    symlinkSync("../../outside", join(folder.path, "data/skills/c"));
    symlinkSync("../../../key.md", join(folder.path, "data/skills/b/SKILL.md"));
    symlinkSync("a", join(folder.path, "data/skills/d"));
    symlinkSync("..", join(folder.path, "data/skills/loop"));
    const { skills, diagnostics } = await loadSkills(userPlaces(folder));
    assert.deepEqual(namesOf(skills), ["a"]);
    const told = diagnostics
      .map(({ path, problem }) => `${path.slice(folder.path.length)}: ${problem}`)
      .sort();
    assert.equal(told.length, 2, told.join("\n"));
    for (const line of told) assert.match(line, /leads out of its folder/);
  });

  test("need a description and a name that is one, or a folder's name that is", async () => {
    using folder = new Folder();
    folder.file("data/skills/none/SKILL.md", "---\nname: none\n---\ntext");
    folder.file("data/skills/plain/SKILL.md", "no front matter");
    folder.file("data/skills/broken/SKILL.md", "---\nname: broken\ndescription: when: now\n---\n");
    folder.file("data/skills/list/SKILL.md", "---\n- a\n---\n");
    folder.file("data/skills/good-one/SKILL.md", skillText("Good One"));
    folder.file("data/skills/bad--one/SKILL.md", skillText("x".repeat(65)));
    folder.file("data/skills/long/SKILL.md", skillText("long", "d".repeat(2000)));
    const { skills, diagnostics } = await loadSkills(userPlaces(folder));
    assert.deepEqual(namesOf(skills), ["good-one", "long"]);
    assert.equal(skills[1]!.description.length, 1024);
    const told = diagnostics.map(({ path, problem }) => `${path.split("/").at(-2)}: ${problem}`).sort();
    assert.equal(told.length, 7);
    assert.match(told[0]!, /^bad--one: it is no skill: x+ is no name/);
    assert.match(told[1]!, /^broken: it is no skill: line 3: /);
    assert.match(told[2]!, /^good-one: it is named good-one, like its folder: Good One is no name/);
    assert.match(told[3]!, /^list: it is no skill: its front matter has no names and values/);
    assert.match(told[4]!, /^long: its description is cut/);
    assert.match(told[5]!, /^none: it is no skill: its front matter has no description/);
    assert.match(told[6]!, /^plain: .* no description/);
  });

  test("have bounds: of one file, and of the list for the model", async () => {
    using folder = new Folder();
    folder.file("data/skills/huge/SKILL.md", skillText("huge") + "x".repeat(70_000));
    for (let index = 0; index < 60; index++) {
      folder.file(`data/skills/s${index}/SKILL.md`, skillText(`s${index}`, "d".repeat(1000)));
    }
    const { skills, diagnostics } = await loadSkills(userPlaces(folder));
    assert.equal(skills.length, 60);
    assert.match(diagnostics[0]!.problem, /larger than 65536 bytes/);
    const list = skillsPrompt(skills)!;
    assert.ok(list.length < 34_000, `${list.length}`);
    assert.match(list, /<!-- \d+ more are not listed -->/);
  });

  test("reach the model as name, description and place, unless they are for the user alone", async () => {
    using folder = new Folder();
    folder.file("data/skills/a/SKILL.md", skillText("a", '"</skill> & \\u001b[31m<more>"'));
    folder.file("data/skills/b/SKILL.md", skillText("b", "hidden", "disable-model-invocation: true\n"));
    const { skills } = await loadSkills(userPlaces(folder));
    const text = skillsPrompt(skills)!;
    const location = join(folder.path, "data/skills/a/SKILL.md");
    assert.ok(
      text.endsWith(
        `<available_skills>\n<skill><name>a</name><description>&lt;/skill&gt; &amp; &lt;more&gt;</description><location>${location}</location></skill>\n</available_skills>`,
      ),
      text,
    );
    assert.equal(skillsPrompt(skills.slice(1)), undefined);
    assert.equal(skillsPrompt([]), undefined);
  });

  test("are put in place of /skill:name, with what stands behind it as the request", async () => {
    using folder = new Folder();
    folder.file("data/skills/pdf/SKILL.md", skillText("pdf", "x", "disable-model-invocation: true\n"));
    const { skills } = await loadSkills(userPlaces(folder));
    const base = join(folder.path, "data/skills/pdf");
    const block = `<skill name="pdf" location="${base}/SKILL.md">\nReferences are relative to ${base}.\n\nDo pdf.\n</skill>`;
    assert.equal(expandSkill("/skill:pdf", skills), block);
    assert.equal(expandSkill(" /skill:pdf  extract it\nall ", skills), `${block}\n\nextract it\nall`);
    for (const text of ["/skill:pd", "/skill: pdf", "skill:pdf", "x /skill:pdf", ""]) {
      assert.equal(expandSkill(text, skills), undefined, text);
    }
  });

  test("that are not there are no trouble", async () => {
    using folder = new Folder();
    rmSync(join(folder.path, "data"), { recursive: true, force: true });
    assert.deepEqual(await loadSkills(userPlaces(folder)), { skills: [], diagnostics: [] });
  });
});
