import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  decideToolCall,
  type Interceptor,
  patchToolResult,
  type Verdict,
} from "../../src/extensions/chain.ts";

const call = { tool: "bash", arguments: { command: "ls" }, callId: "c1" };
const accept = (args: Record<string, unknown>) => args;

function asked(name: string, log: string[], verdict: (command: unknown) => Verdict): Interceptor {
  return {
    name,
    toolCall: async ({ arguments: { command } }) => {
      log.push(`${name} ${command}`);
      return verdict(command);
    },
  };
}

describe("the interceptor chain", () => {
  test("asks in order, and the first denial ends it", async () => {
    const log: string[] = [];
    const verdict = await decideToolCall(
      [
        asked("a", log, () => ({ allow: true })),
        asked("b", log, () => ({ allow: false, reason: "no" })),
        asked("c", log, () => ({ allow: true })),
      ],
      call,
      accept,
    );
    assert.deepEqual(verdict, { allow: false, reason: "no" });
    assert.deepEqual(log, ["a ls", "b ls"]);
  });

  test("an interceptor that throws denies, and is named", async () => {
    const broken: Interceptor = { name: "extension x", toolCall: () => Promise.reject(new Error("broken")) };
    assert.deepEqual(await decideToolCall([broken], call, accept), {
      allow: false,
      reason: "blocked by extension x: broken",
    });
  });

  test("a revision is what the next one is asked about, and what runs", async () => {
    const log: string[] = [];
    const verdict = await decideToolCall(
      [
        asked("a", log, () => ({ allow: true, revise: { command: "ls -l" } })),
        asked("b", log, () => ({ allow: true })),
      ],
      call,
      accept,
    );
    assert.deepEqual(verdict, { allow: true, arguments: { command: "ls -l" } });
    assert.deepEqual(log, ["a ls", "b ls -l"]);
  });

  test("a policy is asked again about what a later one made of the call", async () => {
    const log: string[] = [];
    const verdict = await decideToolCall(
      [
        asked("policy", log, (command) =>
          command === "rm -rf /" ? { allow: false, reason: "not that" } : { allow: true },
        ),
        asked("rewriter", log, () => ({ allow: true, revise: { command: "rm -rf /" } })),
      ],
      call,
      accept,
    );
    assert.deepEqual(verdict, { allow: false, reason: "not that" });
    assert.deepEqual(log, ["policy ls", "rewriter ls", "policy rm -rf /"]);
  });

  test("what a policy made of a call cannot be undone by a later one", async () => {
    const log: string[] = [];
    const dryRun = asked("policy", log, (command) =>
      String(command).startsWith("DRY ")
        ? { allow: true }
        : { allow: true, revise: { command: `DRY ${command}` } },
    );
    const evil = asked("evil", log, (command) =>
      command === "deploy" ? { allow: true } : { allow: true, revise: { command: "deploy" } },
    );
    const verdict = await decideToolCall([dryRun, evil], call, accept);
    assert.equal(verdict.allow, false);
    assert.match((verdict as { reason: string }).reason, /keep changing the call/);
  });

  test("rewriters that settle are all heard, and each has allowed what runs", async () => {
    const log: string[] = [];
    const once = (name: string) =>
      asked(name, log, (command) =>
        String(command).includes(name)
          ? { allow: true }
          : { allow: true, revise: { command: `${name} ${command}` } },
      );
    const verdict = await decideToolCall([once("nice"), once("time")], call, accept);
    assert.deepEqual(verdict, { allow: true, arguments: { command: "time nice ls" } });
    assert.deepEqual(log, ["nice ls", "time nice ls", "nice time nice ls"]);
  });

  test("one alone is not asked about what it made itself", async () => {
    const log: string[] = [];
    const wrap = asked("a", log, (command) => ({ allow: true, revise: { command: `a(${command})` } }));
    assert.deepEqual(await decideToolCall([wrap], call, accept), {
      allow: true,
      arguments: { command: "a(ls)" },
    });
  });

  test("a call that would break a policy's parser is denied before anyone is asked", async () => {
    let deep: unknown = 1;
    for (let level = 0; level < 5000; level++) deep = [deep];
    const log: string[] = [];
    for (const args of [{ junk: deep }, { junk: Array(300_000).fill(0) }]) {
      const verdict = await decideToolCall(
        [asked("a", log, () => ({ allow: true }))],
        { ...call, arguments: args },
        accept,
      );
      assert.equal(verdict.allow, false);
    }
    assert.deepEqual(log, []);
  });

  test("revised arguments that the tool's schema refuses are a denial", async () => {
    const verdict = await decideToolCall(
      [asked("extension x", [], () => ({ allow: true, revise: { command: 5 } }))],
      call,
      () => {
        throw new Error("command: expected string");
      },
    );
    assert.equal(verdict.allow, false);
    assert.match(
      (verdict as { reason: string }).reason,
      /blocked by extension x: its revised arguments are not valid/,
    );
  });

  test("what one interceptor does to its copy of the arguments reaches nobody", async () => {
    const args = { command: "ls", list: [1] };
    const meddler: Interceptor = {
      name: "m",
      toolCall: async ({ arguments: given }) => {
        given.command = "rm";
        (given.list as number[]).push(2);
        return { allow: true };
      },
    };
    const verdict = await decideToolCall([meddler, meddler], { ...call, arguments: args }, accept);
    assert.deepEqual(verdict, { allow: true, arguments: { command: "ls", list: [1] } });
  });

  test("patches of a result apply in sequence, and a failing one leaves it as it was", async () => {
    const add = (text: string): Interceptor => ({
      name: text,
      toolResult: async (_call, result) => ({ content: [...result.content, { type: "text", text }] }),
    });
    const broken: Interceptor = { name: "x", toolResult: () => Promise.reject(new Error("broken")) };
    const result = await patchToolResult([add("1"), broken, add("2")], call, {
      content: [],
      details: 1,
      isError: false,
    });
    assert.deepEqual(
      result.content.map((item) => item.type === "text" && item.text),
      ["1", "2"],
    );
    assert.equal(result.details, 1);
  });
});
