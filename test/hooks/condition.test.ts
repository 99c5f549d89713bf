import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { parseCondition } from "../../src/hooks/condition.ts";

const matches = (spec: string, tool: string, args: Record<string, unknown>) =>
  parseCondition(spec)(tool, args, "/work/repo");

describe("if", () => {
  const bash: [string, string, boolean][] = [
    ["Bash(git *)", "git push", true],
    ["Bash(git *)", "git", true],
    ["Bash(git *)", "gitk", false],
    ["Bash(git *)", "ls", false],
    ["Bash(git push*)", "git push --force", true],
    ["bash(GIT *)", "git push", false],
    ["Bash(npm run test:*)", "npm run test:unit", true],
    ["Bash(git:*)", "git push", true],
    ["Bash(rm ?)", "rm x", true],
    ["Bash(rm ?)", "rm xy", false],
    ["Bash(ls)", "ls -l", false],
    ["Bash", "anything", true],
    ["Bash(*)", "anything", true],
    ["*(git *)", "git push", true],
    // What a shell runs somewhere in a command counts as much as what it begins with.
    ["Bash(git *)", "cd x && git push", true],
    ["Bash(git *)", "true; git push", true],
    ["Bash(git *)", "true\ngit push", true],
    ["Bash(git *)", "echo $(git push)", true],
    ["Bash(git *)", "(git push)", true],
    ["Bash(git *)", "sh -c 'git push'", true],
    ["Bash(git *)", "A=1 B=2 git push", true],
    ["Bash(git *)", "  git push", true],
    ["Bash(git push*)", "git   push", true],
    ["Bash(git push*)", "git \\\n  push", true],
    ["Bash(* --force)", "git push\n--force", true],
  ];
  for (const [spec, command, expected] of bash) {
    test(`${spec} ${expected ? "matches" : "does not match"} ${JSON.stringify(command)}`, () => {
      assert.equal(matches(spec, "bash", { command }), expected);
    });
  }

  test("finds the command wherever in a line it begins, and under any path", () => {
    for (const command of [
      "/usr/bin/git push",
      "2>/dev/null git push",
      "if true; then git push; fi",
      "time git push",
      "exec git push",
      "env A=1 git push",
      "A+=1 git push",
      "\\git push",
      "'git' push",
      "while ! git push; do :; done",
    ]) {
      assert.ok(parseCondition("Bash(git *)")("bash", { command }, "/work/repo"), command);
    }
    assert.ok(!parseCondition("Bash(git *)")("bash", { command: "echo digit" }, "/work/repo"));
  });

  test("compares the tool without regard to case", () => {
    assert.ok(matches("BASH(ls)", "bash", { command: "ls" }));
    assert.ok(!matches("Bash(ls)", "read", { path: "ls" }));
  });

  test("looks at the path of read, write, edit and ls, as it is written and absolute", () => {
    for (const tool of ["read", "write", "edit", "ls"]) {
      assert.ok(matches(`${tool}(src/*)`, tool, { path: "src/a/b.ts" }));
      assert.ok(matches(`${tool}(src/*)`, tool, { path: "./lib/../src/b.ts" }));
      assert.ok(matches(`${tool}(/etc/*)`, tool, { path: "../../etc/passwd" }));
      assert.ok(matches(`${tool}(*.env)`, tool, { path: "/work/repo/.env" }));
      assert.ok(!matches(`${tool}(src/*)`, tool, { path: "test/a.ts" }));
    }
  });

  test("looks at pattern and path of grep and find", () => {
    assert.ok(matches("Grep(*secret*)", "grep", { pattern: "the secret" }));
    assert.ok(matches("Find(/etc*)", "find", { pattern: "*", path: "/etc" }));
    assert.ok(!matches("Find(/etc*)", "find", { pattern: "*.ts", path: "src" }));
  });

  test("looks at every text argument of other tools", () => {
    assert.ok(matches("deploy(prod*)", "deploy", { times: 3, target: "production" }));
    assert.ok(!matches("deploy(prod*)", "deploy", { target: "staging" }));
  });

  test("matches where nobody can tell", () => {
    assert.ok(matches("Bash(git *)", "bash", { command: ["ls"] }));
    assert.ok(matches("Bash(git *)", "bash", {}));
    assert.ok(matches("deploy(prod*)", "deploy", {}));
  });

  test("is refused when it is no permission spec", () => {
    for (const spec of ["", "Bash(", "Bash(x", "Bash)x(", "two words", "(x)"]) {
      assert.throws(() => parseCondition(spec), /no permission spec/, spec);
    }
  });

  test("takes no time worth mentioning for an unlucky pattern", () => {
    const start = performance.now();
    matches(`Bash(${"a*".repeat(100)}b)`, "bash", { command: "a".repeat(10_000) });
    assert.ok(performance.now() - start < 2000);
  });
});
