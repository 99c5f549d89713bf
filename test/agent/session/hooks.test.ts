/** What the shell hooks are told and asked by a session. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { hooksBus } from "../../../src/hooks/bus.ts";
import { loadHooks } from "../../../src/hooks/sources.ts";
import { ask, said, startSession, tool } from "../../support/agent-session.ts";
import { Folder } from "../../support/folder.ts";

test("hooks are told of a session's events, make its system prompt and decide about its tools", async () => {
  using folder = new Folder();
  const seen = `${folder.path}/seen`;
  const note = `sed -n 's/.*"event":"\\([a-z_]*\\)".*/\\1/p' >> ${seen}`;
  const setting: Record<string, string> = {
    context: `cat > /dev/null; echo '{"text":"hooked prompt"}'`,
    tool_call: `cat > /dev/null; echo '{"block":true,"reason":"not today"}'`,
  };
  for (const event of [
    "session_start",
    "agent_start",
    "turn_end",
    "agent_end",
    "session_switch",
    "session_compact",
  ]) {
    setting[event] = note;
  }
  const hooks = await loadHooks({
    dataDir: folder.path,
    setting,
    options: [],
    startFolder: folder.path,
    workspace: undefined,
    notice: () => {},
  });
  const bus = hooksBus(hooks, {
    cwd: folder.path,
    sessionId: "s",
    env: { PATH: process.env.PATH },
    notice: () => {},
  });
  await using t = await startSession(
    folder,
    [{ toolCalls: [{ name: "run" }] }, { text: "done" }, { text: "SUMMARY" }],
    { hooks: bus, tools: [tool("run", () => "ran")] },
  );
  await t.session.start("startup");
  await ask(t.session, "go");
  assert.equal(t.session.systemPrompt, "hooked prompt");
  assert.match(said(t.model.requests[1]).at(-1) ?? "", /not today/);
  await t.session.compact();
  await t.session.newSession();
  await bus.close();
  const events = (await readFile(seen, "utf8")).trim().split("\n");
  assert.deepEqual(events.sort(), [
    "agent_end",
    "agent_start",
    "session_compact",
    "session_start",
    "session_start",
    "session_switch",
    "turn_end",
    "turn_end",
  ]);
});
