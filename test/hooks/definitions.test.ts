/** Which hooks there are, and what becomes of definitions that can't be read (wire-notes.md, "Shell hooks"). */
import assert from "node:assert/strict";
import { mkdirSync, symlinkSync } from "node:fs";
import { describe, test } from "node:test";
import { Session } from "./support.ts";

const policy = (more: Record<string, unknown> = {}) =>
  JSON.stringify({ event: "tool_call", command: "true", ...more });

describe("hooks", () => {
  test("come from config.yml, the data dir in lexical order, --hook and the workspace, in this order", async () => {
    await using session = new Session();
    session.folder.file("data/hooks/b.yaml", "event: tool_call\ncommand: 'true'\nname: my policy\n");
    session.folder.file("data/hooks/a.json", policy());
    session.folder.program("data/hooks/tool_call.sh", "#!/bin/sh\n");
    session.folder.file("data/hooks/README.md", "not a hook");
    session.folder.file("data/hooks/.hidden.yml", "not a hook");
    session.folder.file("data/hooks/lib/helper.sh", "not a hook");
    await session.load({
      setting: { tool_call: ["true", "true"], turn_end: "true" },
      options: [{ event: "tool_call", command: "true" }],
      workspace: {
        root: session.folder.path,
        files: [{ name: "w.yml", path: "/w/.xdev/hooks/w.yml", executable: false, text: policy() }],
        setting: { tool_call: "true" },
        verify: async () => undefined,
      },
    });
    assert.deepEqual(
      session.entries.map(({ name }) => name),
      [
        "turn_end of config.yml",
        "tool_call 1 of config.yml",
        "tool_call 2 of config.yml",
        "a.json",
        "my policy",
        "tool_call.sh",
        "--hook tool_call",
        "w.yml",
        "tool_call of .xdev/config.yml",
      ],
    );
    assert.deepEqual(session.notices, []);
  });

  test("are none, at no cost, without a folder", async () => {
    await using session = await new Session().load();
    assert.deepEqual(session.entries, []);
  });

  test("start in the folder of whoever wrote them, not in the session's", async () => {
    await using session = new Session();
    session.folder.program("data/hooks/check", `#!/bin/sh\nprintf '{"block":true,"reason":"%s"}' "$PWD"\n`);
    session.folder.file("data/hooks/a.yml", "event: tool_call\ncommand: ./check\n");
    await session.load({}, { cwd: "/" });
    assert.equal(await session.decide({ command: "ls" }), `blocked by hook a.yml: ${session.dataDir}/hooks`);
  });

  test("named after their event run whatever their folder is called", async () => {
    await using session = new Session();
    const odd = "it's a $(folder)";
    session.folder.program(`${odd}/hooks/tool_call.sh`, `#!/bin/sh\necho '{"block":true,"reason":"ran"}'\n`);
    await session.load({ dataDir: `${session.folder.path}/${odd}` });
    assert.equal(await session.decide({ command: "ls" }), "blocked by hook tool_call.sh: ran");
  });

  test("of a workspace that is not what was trusted any more deny", async () => {
    await using session = new Session();
    await session.load({
      workspace: {
        root: session.folder.path,
        files: [],
        setting: { tool_call: "true" },
        verify: async () => "hooks/x.yml has changed",
      },
    });
    assert.equal(
      await session.decide({ command: "ls" }),
      "blocked by hook tool_call of .xdev/config.yml: hooks/x.yml has changed",
    );
  });
});

describe("a definition that can't be used denies every tool call, is named and is reported at the start:", () => {
  const broken: [string, string, string | undefined, RegExp][] = [
    ["no YAML", "a.yml", "event: [", /line 1: /],
    ["no JSON", "a.json", '{"event":', /line 1: /],
    ["an empty file", "a.yml", "", /event: /],
    ["a list", "a.yml", "- event: tool_call\n", /line 1: /],
    ["no command", "a.yml", "event: tool_call\n", /command: /],
    ["an empty command", "a.yml", policy({ command: " " }), /the command is empty/],
    ["a command that is none", "a.yml", policy({ command: 5 }), /command: /],
    ["an unknown event", "a.yml", "event: tool_cal\ncommand: x\n", /line 1: event: /],
    ["an unknown key", "a.yml", policy({ matchers: "x" }), /unknown key\. Did you mean "matcher"/],
    ["a bad matcher", "a.yml", policy({ matcher: "(" }), /its matcher can't be used: /],
    ["a matcher that could run for ever", "a.yml", policy({ matcher: "^(a+)+$" }), /repeat inside a repeat/],
    ["two documents", "a.yml", "event: turn_end\ncommand: x\n---\nevent: tool_call\n", /./],
    ["a script that is not executable", "tool_call.sh", "#!/bin/sh\n", /not executable: chmod \+x/],
    ["a script with a misspelt event", "toolcall.sh", "#!/bin/sh\n", /no event\. Did you mean "tool_call"/],
    ["a script that nothing runs", "deny-rm.sh", "#!/bin/sh\n", /no event\. Name it after its event/],
    ["a folder in the place of a file", "a.yml", undefined, /it is no file/],
  ];
  for (const [what, name, text, reason] of broken) {
    test(what, async () => {
      await using session = new Session();
      if (text === undefined) mkdirSync(`${session.dataDir}/hooks/${name}`, { recursive: true });
      else session.folder.file(`data/hooks/${name}`, text);
      await session.load();
      const verdict = String(await session.decide({ command: "ls" }));
      const path = `${session.dataDir}/hooks/${name}`;
      assert.ok(verdict.startsWith(`blocked by hook ${path}: it can't be used: `), verdict);
      assert.match(verdict, reason);
      assert.equal(session.notices.length, 1);
      assert.ok(session.notices[0]?.includes(path));
      assert.match(session.notices[0] ?? "", reason);
    });
  }

  test("a link to nothing", async () => {
    await using session = new Session();
    session.folder.file("data/hooks/x", "");
    symlinkSync("/nonexistent", `${session.dataDir}/hooks/a.yml`);
    await session.load();
    assert.match(
      String(await session.decide({ command: "ls" })),
      /a\.yml: it can't be used: it can't be read/,
    );
  });

  test("the folder is none", async () => {
    await using session = new Session();
    session.folder.file("data/hooks", "");
    await session.load();
    assert.match(String(await session.decide({ command: "ls" })), /\/hooks: it can't be used: the folder/);
  });
});

describe("a definition that can't be used but is plainly for another event", () => {
  for (const [what, name, text] of [
    ["a bad matcher", "a.yml", JSON.stringify({ event: "turn_end", command: "true", matcher: "(" })],
    ["an unknown key", "a.yml", JSON.stringify({ event: "turn_end", command: "true", x: 1 })],
    ["a script that is not executable", "turn_end.sh", "#!/bin/sh\n"],
  ] as const) {
    test(`is reported, and denies nothing: ${what}`, async () => {
      await using session = new Session();
      session.folder.file(`data/hooks/${name}`, text);
      await session.load();
      assert.deepEqual(await session.decide({ command: "ls" }), { command: "ls" });
      assert.equal(session.notices.length, 1);
      assert.match(session.notices[0] ?? "", /it does not run/);
    });
  }
});

test("a script that a definition runs is a helper and no hook", async () => {
  await using session = new Session();
  session.folder.program("data/hooks/deny-rm.sh", `#!/bin/sh\necho '{"block":true,"reason":"helped"}'\n`);
  session.folder.file("data/hooks/a.yml", policy({ command: "./deny-rm.sh" }));
  await session.load();
  assert.equal(await session.decide({ command: "ls" }), "blocked by hook a.yml: helped");
  assert.deepEqual(session.notices, []);
});

test("an if that can't be parsed is reported, and the hook is asked about every call", async () => {
  await using session = new Session();
  session.folder.file("data/hooks/a.yml", policy({ if: "Bash(git", command: `echo '{"block":true}'` }));
  await session.load();
  assert.equal(await session.decide({ command: "ls" }), "blocked by hook a.yml: denied");
  assert.match(session.notices[0] ?? "", /a\.yml: its "if" is left out/);
});
