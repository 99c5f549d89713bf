/** The minimal extension of extension-protocol.md §8, unchanged, and what it is told to observe. */
import assert from "node:assert/strict";
import { copyFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { Session } from "./harness.ts";

const DENY_RM = fileURLToPath(new URL("../../src/docs/examples/deny-rm.py", import.meta.url));

test("§8 deny-rm.py denies bash calls with rm -rf, allows everything else, and answers every event", async () => {
  await using session = new Session();
  copyFileSync(DENY_RM, session.program("deny-rm.py", ""));
  await session.load();
  assert.deepEqual(session.notices, []);
  session.manager.emit("session_start", { cwd: "/w", sessionId: "s", model: "m" });
  session.manager.emit("turn_end", { turnIndex: 0, stopReason: "stop" });
  assert.equal(await session.verdict("ls"), "allow");
  assert.equal(
    await session.verdict("rm -rf /"),
    "blocked by extension deny-rm: rm -rf is disabled in this project",
  );
  const read = await session.decide({ command: "rm -rf /" }, undefined, "c", "read");
  assert.equal(read.allow, true, "it is about bash");
  assert.deepEqual(
    session.sent("event").map(({ event }) => event),
    ["session_start", "tool_call", "tool_call", "tool_call"],
  );
  assert.equal(session.extension.state, "ready");
});
