/** Hooks and extensions in one chain (extension-protocol.md §7; wire-notes.md, "Shell hooks"). */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { describe, test } from "node:test";
import { hooksBus } from "../../src/hooks/bus.ts";
import { loadHooks } from "../../src/hooks/sources.ts";
import { Session } from "./harness.ts";
import { ALLOW, always, type Script, type Step } from "./script.ts";

/** Loads the session with hooks of these commands before its extensions. */
async function withHooks(session: Session, hooks: Record<string, string[]>): Promise<AsyncDisposable> {
  const { path } = session.folder;
  const notice = (text: string) => assert.fail(text);
  const entries = await loadHooks({ dataDir: path, setting: hooks, options: [], startFolder: path, notice });
  const bus = hooksBus(entries, { cwd: path, sessionId: "s", env: process.env, notice });
  session.interceptorsBefore = bus.interceptors;
  await session.load();
  return { [Symbol.asyncDispose]: () => bus.abort() };
}

const deny = (reason: string): Step[] => [{ send: { ...ALLOW, allow: false, reason } }];
const revise = (command: string): Step[] => [{ send: { ...ALLOW, revise: { command } } }];
const asked = (session: Session, extension: string) =>
  session
    .sent("event", extension)
    .map(({ payload }) => (payload as { arguments: { command: string } }).arguments.command);

describe("§7 hooks bus → extension manager → agent", () => {
  test("§7 hooks are asked first, then extensions in load order", async () => {
    await using session = new Session();
    session.peer("b", always(revise("b")));
    session.peer("a", always([{ send: ALLOW }]));
    await using _bus = await withHooks(session, {
      tool_call: [`grep -q '"ls"' && echo '{"input":{"command":"hook"}}' || true`],
    });
    const verdict = await session.decide({ command: "ls" });
    assert.deepEqual(verdict, { allow: true, arguments: { command: "b" } });
    assert.equal(asked(session, "b")[0], "hook", "b was asked about what the hook made of it");
    assert.equal(asked(session, "a")[0], "b", "a about what b made of that");
  });

  test("§7 the first denial short-circuits: a hook's, and no extension is asked", async () => {
    await using session = new Session();
    session.peer("a", always([{ send: ALLOW }]));
    const second = `${session.folder.path}/second`;
    await using _bus = await withHooks(session, {
      tool_call: [`echo '{"block":true,"reason":"hook"}'`, `touch ${second}`],
    });
    assert.equal(await session.verdict(), "blocked by hook tool_call 1 of config.yml: hook");
    assert.equal(session.sent("event").length, 0);
    assert.ok(!existsSync(second));
  });

  test("§7 the first denial short-circuits: an extension's, and the later ones are not asked", async () => {
    await using session = new Session();
    session.peer("a", always([{ send: ALLOW }]));
    session.peer("b", always(deny("no")));
    session.peer("c", always([{ send: ALLOW }]));
    await session.load();
    assert.equal(await session.verdict(), "blocked by extension b: no");
    assert.deepEqual([asked(session, "a"), asked(session, "b"), asked(session, "c")], [["ls"], ["ls"], []]);
  });

  test("§7 what a later one makes of a call is shown to those before it: nothing runs that one would deny", async () => {
    const wary = `#!/bin/sh
echo '{"type":"capabilities","payload":{"events":["tool_call"]}}'
while read -r line; do
  case "$line" in *'"type":"event"'*) ;; *) continue ;; esac
  allow=true
  case "$line" in *'rm -rf'*) allow=false ;; esac
  id=\${line#*'"id":"'}
  echo '{"type":"response","id":"'"\${id%%'"'*}"'","allow":'$allow',"reason":"no rm"}'
done
`;
    await using session = new Session();
    session.program("a.sh", wary);
    session.peer("b", always(revise("rm -rf /")));
    await session.load();
    assert.equal(await session.verdict(), "blocked by extension a: no rm");
  });

  test("§7 tool_result patches apply in sequence: later interceptors see the earlier patch", async () => {
    const patching = (patch: unknown): Script => ({
      capabilities: { events: ["tool_result"] },
      on: { tool_result: [[{ send: { type: "response", id: "$id", patch } }]] },
    });
    await using session = new Session();
    session.peer("a", patching({ text: "by a" }));
    session.peer("b", patching(""));
    session.peer("c", patching({ isError: true }));
    await using _bus = await withHooks(session, { tool_result: [`echo '{"text":"by the hook"}'`] });
    const patched = await session.patch();
    assert.deepEqual(patched, { content: [{ type: "text", text: "by a" }], details: 1, isError: true });
    const seen = session.sent("event").map(({ payload }) => (payload as { result: unknown }).result);
    assert.deepEqual(seen, [
      { text: "by the hook", isError: false },
      { text: "by a", isError: false },
      { text: "by a", isError: false },
    ]);
  });

  test("§7 one that fails on a result leaves it to the others", async () => {
    await using session = new Session();
    session.peer("a", { capabilities: { events: ["tool_result"] }, on: { tool_result: [[{ exit: 1 }]] } });
    session.peer("b", {
      capabilities: { events: ["tool_result"] },
      on: { tool_result: [[{ send: { type: "response", id: "$id", patch: "by b" } }]] },
    });
    await session.load();
    assert.deepEqual((await session.patch()).content, [{ type: "text", text: "by b" }]);
  });

  test("§7 events fan out to everyone who listens, whatever the others do", async () => {
    await using session = new Session();
    const listening = { capabilities: { events: ["turn_end"] } };
    session.peer("a", { ...listening, on: { turn_end: [[{ exit: 1 }]] } });
    session.peer("b", { ...listening, on: { turn_end: [[{ hang: true }]] } });
    session.peer("c", listening);
    session.peer("d", listening, "worker");
    await session.load();
    session.manager.emit("turn_end", { turnIndex: 0, stopReason: "stop" });
    await session.until(() => session.extension.state === "dead");
    assert.deepEqual(
      session.sent("event").map(({ event }) => event),
      ["turn_end", "turn_end", "turn_end", "turn_end"],
    );
    await session.manager.abort();
  });

  test("§7 processes and modules stand in one chain", async () => {
    await using session = new Session();
    session.peer("a", always([{ send: ALLOW }]));
    session.module(
      "b.ts",
      'export default (pi) => pi.on("tool_call", (event) => { event.input.command = "b"; });',
    );
    session.peer("c", always(deny("no")));
    await session.load();
    assert.equal(await session.verdict(), "blocked by extension c: no");
    assert.deepEqual([asked(session, "a"), asked(session, "c")], [["ls", "b"], ["b"]]);
  });
});
