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

  test("when it is asked again, only the verdict counts: two rewriters do not wrap each other for good", async () => {
    const log: string[] = [];
    const wrap = (name: string) =>
      asked(name, log, (command) => ({ allow: true, revise: { command: `${name}(${command})` } }));
    const verdict = await decideToolCall([wrap("a"), wrap("b")], call, accept);
    assert.deepEqual(verdict, { allow: true, arguments: { command: "b(a(ls))" } });
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
