import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { TodoList, todoTool } from "../../../src/agent/tools/todo.ts";
import { SessionStore } from "../../../src/session/index.ts";
import { ask, said, startSession, tool } from "../../support/agent-session.ts";
import { loadExtensions } from "../../support/extensions.ts";
import { Folder } from "../../support/folder.ts";

describe("skills and templates", () => {
  test("are listed, told in the system prompt, and stand for what they say", async () => {
    using folder = new Folder();
    folder.file("skills/tests/SKILL.md", "---\nname: tests\ndescription: How to test\n---\nRun the tests.\n");
    folder.file("prompts/fix.md", "---\ndescription: Fixes it\n---\nFix $1 with $@.\n");
    await using t = await startSession(folder, [{ text: "ok" }, { text: "ok" }, { text: "ok" }], {
      places: { dataDir: folder.path },
    });
    await t.session.start("startup");
    assert.deepEqual(
      t.session.commands().map(({ name, source }) => [name, source]),
      [
        ["fix", "prompt"],
        ["skill:tests", "skill"],
      ],
    );
    await ask(t.session, "/fix it now");
    await ask(t.session, "/skill:tests all");
    await ask(t.session, "/unknown word");
    assert.match(t.session.systemPrompt, /How to test/);
    assert.equal(said(t.model.requests[0]).at(-1), "user: Fix it with it now.");
    assert.match(said(t.model.requests[1]).at(-1) ?? "", /Run the tests\.[\s\S]*all$/);
    assert.equal(said(t.model.requests[2]).at(-1), "user: /unknown word");
    assert.equal(t.session.state.sessionName, "/fix it now", "a title is what the user typed");
  });

  test("that are new are found by a reload", async () => {
    using folder = new Folder();
    await using t = await startSession(folder, [{ text: "ok" }], { places: { dataDir: folder.path } });
    await t.session.start("startup");
    assert.deepEqual(t.session.commands(), []);
    folder.file("skills/tests/SKILL.md", "---\nname: tests\ndescription: How to test\n---\nRun.\n");
    await t.session.reload();
    await ask(t.session, "/skill:tests");
    assert.match(said(t.model.requests[0]).at(-1) ?? "", /Run\./);
    assert.match(t.session.systemPrompt, /How to test/);
    assert.equal(t.of("session_start").at(-1)?.reason, "reload");
  });

  test("of an extension come from its own folder", async () => {
    using folder = new Folder();
    using outside = new Folder();
    outside.file("evil.md", "Evil.");
    folder.file("ext/prompts/mine.md", "Mine.");
    const path = folder.file(
      "ext/m.ts",
      `export default (pi) => { pi.on("resources_discover", (e) => ({ promptPaths: ["prompts", ${JSON.stringify(`${outside.path}/evil.md`)}] })); };`,
    );
    await using loaded = await loadExtensions([path], {}, { changeSession: true });
    await using t = await startSession(folder, [{ text: "ok" }, { text: "ok" }], {
      manager: loaded.manager,
      places: { dataDir: `${folder.path}/data` },
    });
    await t.session.start("startup");
    assert.deepEqual(
      t.session.commands().map(({ name }) => name),
      ["mine"],
    );
    await ask(t.session, "/mine");
    assert.equal(said(t.model.requests[0]).at(-1), "user: Mine.");
  });
});

describe("a stream rule", () => {
  const rule = "---\nttsr: forbidden\\s+word\n---\nNever say that.\n";

  test("cuts the turn where it matches, and the model tries again knowing it; once", async () => {
    using folder = new Folder();
    folder.file("rules/polite.md", rule);
    await using t = await startSession(
      folder,
      [
        { text: `This is a forbidden word, and here is more of it. ${"x ".repeat(2000)}` },
        { text: "All is well." },
        { text: "a forbidden word again" },
      ],
      { places: { dataDir: folder.path } },
    );
    await t.session.start("startup");
    await ask(t.session, "go");
    assert.equal(t.of("ttsr_triggered").length, 1);
    assert.equal((t.of("ttsr_triggered")[0]!.rules[0] as { name: string }).name, "polite");
    const request = said(t.model.requests[1]);
    assert.equal(request.length, 2);
    assert.match(request[1] ?? "", /Never say that/);
    assert.deepEqual(
      t.of("agent_end").map(({ willRetry }) => willRetry),
      [true, false],
    );
    await ask(t.session, "again");
    assert.equal(t.session.lastAssistantText(), "a forbidden word again");
    assert.equal(t.of("ttsr_triggered").length, 1);
    assert.equal(
      t.of("agent_settled").every(({ aborted }) => !aborted),
      true,
    );
  });

  test("that was told is not told again when the session goes on", async () => {
    using folder = new Folder();
    folder.file("rules/polite.md", rule);
    let file = "";
    {
      await using t = await startSession(folder, [{ text: "a forbidden word" }, { text: "fine" }], {
        places: { dataDir: folder.path },
      });
      await t.session.start("startup");
      await ask(t.session, "go");
      file = t.session.state.sessionFile!;
    }
    const store = await SessionStore.open(file, { dataDir: folder.path });
    await using t = await startSession(folder, [{ text: "a forbidden word" }], {
      store,
      places: { dataDir: folder.path },
    });
    await t.session.start("resume");
    await ask(t.session, "again");
    assert.equal(t.of("ttsr_triggered").length, 0);
    assert.equal(t.session.lastAssistantText(), "a forbidden word");
  });
});

describe("a run that ends with open todos", () => {
  const add = { toolCalls: [{ name: "todo", arguments: { action: "add", items: ["one", "two"] } }] };

  test("is reminded of them, a few times", async () => {
    using folder = new Folder();
    const todos = new TodoList();
    await using t = await startSession(
      folder,
      [
        add,
        { text: "done" },
        { toolCalls: [{ name: "todo", arguments: { action: "complete", id: 1 } }] },
        { text: "really" },
        { text: "no more" },
        { text: "stop" },
      ],
      { todos, tools: [todoTool(todos)] },
    );
    await ask(t.session, "go");
    assert.deepEqual(
      t.of("todo_reminder").map(({ attempt, maxAttempts, todos }) => [attempt, maxAttempts, todos.length]),
      [
        [1, 3, 2],
        [2, 3, 1],
        [3, 3, 1],
      ],
    );
    assert.match(said(t.model.requests[2]).at(-1) ?? "", /one/);
    assert.equal(t.of("agent_settled").length, 1);
  });

  test("knows them again when the session goes on, also behind a summary", async () => {
    using folder = new Folder();
    let file = "";
    {
      const todos = new TodoList();
      await using t = await startSession(
        folder,
        [add, { text: "a", stopReason: "length" }, { text: "b", stopReason: "length" }, { text: "SUMMARY" }],
        { todos, tools: [todoTool(todos)] },
      );
      await ask(t.session, "go");
      await ask(t.session, "on");
      await t.session.compact();
      assert.equal(todos.open.length, 2);
      file = t.session.state.sessionFile!;
    }
    const todos = new TodoList();
    const store = await SessionStore.open(file, { dataDir: folder.path });
    await using t = await startSession(folder, [], { store, todos, tools: [todoTool(todos)] });
    assert.equal(todos.open.length, 2);
    await t.session.newSession();
    assert.equal(todos.open.length, 0);
  });
});

describe("what the user runs himself", () => {
  const env = { PATH: process.env.PATH ?? "", HOME: "/nonexistent" };

  test("is kept, and told the model with the next prompt unless he says otherwise", async () => {
    using folder = new Folder();
    await using t = await startSession(folder, [{ text: "ok" }], { env });
    const result = await t.session.bash("echo hello; exit 3", { id: "r1" });
    assert.equal(result.output.trim(), "hello");
    assert.equal(result.exitCode, 3);
    await t.session.bash("echo secret", { excludeFromContext: true });
    assert.deepEqual(
      t
        .of("bash_execution_update")
        .filter(({ id }) => id === "r1")
        .map(({ delta }) => delta)
        .join("")
        .trim(),
      "hello",
    );
    await ask(t.session, "go");
    const request = said(t.model.requests[0]).join("\n");
    assert.match(request, /Ran `echo hello; exit 3`[\s\S]*hello/);
    assert.doesNotMatch(request, /secret/);
    assert.equal(t.session.entries().entries.filter(({ type }) => type === "message").length, 4);
  });

  test("is told as it comes, all of it, also where the result has only the end", async () => {
    using folder = new Folder();
    await using t = await startSession(folder, [], { env, scratch: async () => folder.path });
    const result = await t.session.bash("seq 1 30000");
    assert.equal(result.truncated, true);
    const told = t.of("bash_execution_update").map(({ delta }) => delta);
    assert.equal(told.join(""), Array.from({ length: 30_000 }, (_, at) => `${at + 1}\n`).join(""));
  });

  test("while a run goes on follows it", async () => {
    using folder = new Folder();
    const gate = Promise.withResolvers<void>();
    await using t = await startSession(folder, [{ toolCalls: [{ name: "wait" }] }, { text: "ok" }], {
      env,
      tools: [
        tool("wait", async () => {
          await gate.promise;
          return "";
        }),
      ],
    });
    await t.session.prompt("go");
    await t.session.bash("echo hello");
    gate.resolve();
    await t.session.waitForIdle();
    assert.doesNotMatch(said(t.model.requests[1]).join("\n"), /hello/);
    assert.equal(t.session.messages.at(-1)?.role, "bashExecution");
  });

  test("can be ended", async () => {
    using folder = new Folder();
    await using t = await startSession(folder, [], { env });
    const running = t.session.bash("echo begun; sleep 60");
    await t.next("bash_execution_update");
    t.session.abortBash();
    const result = await running;
    assert.deepEqual([result.cancelled, result.exitCode], [true, undefined]);
  });
});
