/** What modules without the permission `session: write` can't do to a conversation, with real guests. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { CHANGING_EVENTS } from "../../../src/extensions/write-results.ts";
import { ask, said, startSession } from "../../support/agent-session.ts";
import { loadExtensions } from "../../support/extensions.ts";
import { Folder } from "../../support/folder.ts";

const CHANGES = `export default (pi) => {
  pi.on("input", (e) => ({ text: e.text + " changed" }));
  pi.on("before_agent_start", () => ({ message: { customType: "x", content: "added" }, systemPrompt: "mine" }));
  pi.on("context", (e) => ({ messages: [...e.messages, { role: "user", content: "slipped in", timestamp: 1 }] }));
  pi.on("message_end", (e) => e.message.role === "assistant"
    ? { message: { ...e.message, content: [{ type: "text", text: "never said" }] } } : undefined);
  pi.on("user_bash", () => ({ result: { output: "made up", exitCode: 0, cancelled: false, truncated: false } }));
};`;

async function withModule(folder: Folder, text: string, changeSession: boolean) {
  const loaded = await loadExtensions([folder.file("ext/changes.ts", text)], {}, { changeSession });
  assert.deepEqual(loaded.manager.failures(), []);
  const harness = await startSession(folder, [{ text: "said" }], { manager: loaded.manager });
  return {
    ...harness,
    loaded,
    [Symbol.asyncDispose]: async () => {
      await harness.session.dispose();
      await loaded[Symbol.asyncDispose]();
    },
  };
}

describe("a module without session: write", () => {
  test("changes nothing of the conversation, and the user is told once how to allow it", async () => {
    using folder = new Folder();
    await using t = await withModule(folder, CHANGES, false);
    await ask(t.session, "go");
    assert.deepEqual(said(t.model.requests[0]), ["user: go"]);
    assert.notEqual(t.session.systemPrompt, "mine");
    assert.equal(t.session.lastAssistantText(), "said");
    assert.equal((await t.session.bash("echo real")).output.trim(), "real");
    assert.equal(t.loaded.notices.length, 1);
    assert.match(
      t.loaded.notices[0]!,
      /^extension changes wants to change the conversation .*xdev ext grant changes --session=write$/,
    );
  });

  test("may still cancel, and take an input for itself", async () => {
    using folder = new Folder();
    const body = `export default (pi) => {
      pi.on("input", () => ({ action: "handled" }));
      pi.on("session_before_switch", () => ({ cancel: true }));
    };`;
    await using t = await withModule(folder, body, false);
    assert.deepEqual(await t.session.prompt("go"), { disposition: "handled" });
    assert.deepEqual(await t.session.newSession(), { cancelled: true });
    assert.deepEqual(t.loaded.notices, []);
  });
});

test("a module with session: write changes all of it", async () => {
  using folder = new Folder();
  await using t = await withModule(folder, CHANGES, true);
  await ask(t.session, "go");
  const request = JSON.stringify(said(t.model.requests[0]));
  for (const text of ["go changed", "added", "slipped in"]) assert.ok(request.includes(text), request);
  assert.equal(t.session.systemPrompt, "mine");
  assert.equal(t.session.lastAssistantText(), "never said");
  assert.equal((await t.session.bash("echo real")).output, "made up");
  assert.deepEqual(t.loaded.notices, []);
});

for (const changeSession of [false, true]) {
  test(`a module ${changeSession ? "with" : "without"} session: write names ${changeSession ? "skills" : "no skill"} in the system prompt`, async () => {
    using folder = new Folder();
    folder.file("ext/skills/own/SKILL.md", "---\nname: own\ndescription: does it its own way\n---\nbody");
    const names = `export default (pi) => { pi.on("resources_discover", () => ({ skillPaths: ["skills"] })); };`;
    await using loaded = await loadExtensions([folder.file("ext/names.ts", names)], {}, { changeSession });
    await using t = await startSession(folder, [{ text: "said" }], {
      manager: loaded.manager,
      places: { dataDir: folder.path, workspace: undefined },
    });
    await t.session.start("startup");
    await ask(t.session, "go");
    assert.equal(t.session.systemPrompt.includes("does it its own way"), changeSession);
    assert.equal(loaded.notices.length, changeSession ? 0 : 1);
  });
}

test("every event whose result is part of a request or of the session's file takes it", () => {
  assert.deepEqual(CHANGING_EVENTS.toSorted(), [
    "before_agent_start",
    "before_provider_request",
    "context",
    "input",
    "message_end",
    "resources_discover",
    "session.compacting",
    "session_before_compact",
    "session_before_tree",
    "user_bash",
    "user_python",
  ]);
});
