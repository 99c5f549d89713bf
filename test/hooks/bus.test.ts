import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { gone } from "../support/processes.ts";
import { Session } from "./support.ts";

describe("what is emitted", () => {
  test("never keeps the loop waiting, and each hook is told everything in order", async () => {
    await using session = new Session();
    const told = `${session.folder.path}/told`;
    const hook = `sleep 0.2; cat >> ${told}`;
    await session.load({ setting: { turn_start: hook, turn_end: `cat >> ${told}.end` } });
    const start = performance.now();
    for (let turnIndex = 0; turnIndex < 4; turnIndex++) session.bus.emit("turn_start", { turnIndex });
    assert.ok(performance.now() - start < 800, "less than the hooks themselves take");
    await session.bus.close();
    const lines = readFileSync(told, "utf8").trimEnd().split("\n");
    assert.deepEqual(
      lines.map((line) => JSON.parse(line)),
      [0, 1, 2, 3].map((turnIndex) => ({
        event: "turn_start",
        turnIndex,
        cwd: session.folder.path,
        sessionId: "s1",
      })),
    );
    assert.ok(!existsSync(`${told}.end`), "another event's hook is told nothing");
  });

  test("does not keep the end of the session waiting for longer than one limit", async () => {
    await using session = new Session();
    const pid = `${session.folder.path}/pid`;
    await session.load(
      { setting: { agent_end: `echo $$ > ${pid}; trap '' TERM; sleep 60; sleep 60` } },
      { timeoutMs: 400 },
    );
    session.bus.emit("agent_end");
    session.bus.emit("agent_end");
    session.bus.emit("agent_end");
    const start = performance.now();
    await session.bus.close();
    assert.ok(performance.now() - start < 1500);
    await gone(Number(readFileSync(pid, "utf8")));
  });

  test("is nothing any more once the session was aborted, and what runs is ended", async () => {
    await using session = new Session();
    await session.load({ setting: { agent_end: "sleep 60", turn_end: "sleep 60" } });
    session.bus.emit("agent_end");
    await session.bus.abort();
    session.bus.emit("turn_end");
    await session.bus.close();
  });

  test("reaches no hook of a tool: those are asked by the chain alone", async () => {
    await using session = new Session();
    const told = `${session.folder.path}/told`;
    await session.load({ setting: { tool_call: `touch ${told}` } });
    session.bus.emit("tool_call", {});
    await session.bus.close();
    assert.ok(!existsSync(told));
  });
});
