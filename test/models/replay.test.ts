import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Message, TranscriptContext } from "@earendil-works/pi-ai";
import { normalizeContext } from "@earendil-works/pi-ai/utils/transcript";
import { z } from "zod";
import { type ResolvedModel, resolveModel } from "../../src/models/index.ts";
import { replaySchema } from "../../src/models/replay-schema.ts";
import { ask, contextOf, textOf, withFolder } from "./helpers.ts";

function replay(text: string, name = "turns.yml"): Promise<ResolvedModel> {
  return withFolder({ [name]: text }, (cwd) =>
    resolveModel({ dataDir: cwd, cwd, env: {}, spec: `replay:${name}` }),
  );
}

function afterTool(text: string, isError = false): TranscriptContext {
  const result: Message = {
    role: "toolResult",
    toolCallId: "1",
    toolName: "bash",
    content: [{ type: "text", text }],
    isError,
    timestamp: 1,
  };
  return normalizeContext({ messages: [result] });
}

async function refused(text: string, pattern: RegExp): Promise<void> {
  await assert.rejects(replay(text), (error: Error & { code?: string }) => {
    assert.equal(error.code, "bad-replay-file");
    assert.match(error.message, pattern);
    return true;
  });
}

describe("a replay", () => {
  test("plays its turns in order: thinking, streamed text, tool calls, and numbers of use", async () => {
    const model = await replay(`
- thinking: Let me see.
  text: A text that is longer than one part of the stream is.
  toolCalls: [{ name: bash, arguments: { command: ls } }, { name: read, id: mine }]
- text: Done.
`);
    const first = await ask(model);
    assert.equal(textOf(first.message), "A text that is longer than one part of the stream is.");
    assert.equal(first.message.stopReason, "toolUse");
    assert.deepEqual(
      first.message.content.map((part) => part.type),
      ["thinking", "text", "toolCall", "toolCall"],
    );
    const calls = first.message.content.filter((part) => part.type === "toolCall");
    assert.deepEqual(
      calls.map((call) => call.arguments),
      [{ command: "ls" }, {}],
    );
    assert.equal(calls[1]?.id, "mine");
    assert.ok(first.events.filter((event) => event.type === "text_delta").length > 1);
    const { input, output, totalTokens } = first.message.usage;
    assert.ok(input > 0 && output > 0);
    assert.equal(totalTokens, input + output);
    const second = await ask(model);
    assert.equal(textOf(second.message), "Done.");
    assert.equal(second.message.stopReason, "stop");
  });

  test("may be JSON, and an object with turns", async () => {
    const model = await replay(
      JSON.stringify({ turns: [{ text: "hi", stopReason: "length" }] }),
      "turns.json",
    );
    const { message } = await ask(model);
    assert.equal(message.stopReason, "length");
  });

  test("that runs out of turns says so", async () => {
    const model = await replay("- text: one");
    await ask(model);
    const { message, events } = await ask(model);
    assert.equal(message.stopReason, "error");
    assert.equal(message.errorMessage, "replay turns.yml: the replay has 1 turn, the run asked for one more");
    assert.equal(events.at(-1)?.type, "error");
  });

  test("ends a turn with its error, after its text", async () => {
    const { message } = await ask(await replay("- { text: half, error: provider broke }"));
    assert.equal(textOf(message), "half");
    assert.equal(message.errorMessage, "provider broke");
  });

  test("goes on when its expectations hold", async () => {
    const model = await replay(`
- expect: hello
- expect: { role: toolResult, toolName: bash, isError: true, contains: [no, file], matches: "^no" }
  text: seen
`);
    assert.equal((await ask(model)).message.stopReason, "stop");
    assert.equal(textOf((await ask(model, { context: afterTool("no such file", true) })).message), "seen");
  });

  test("shows what it expected and what it got when they fail", async () => {
    const wrong = await ask(await replay("- expect: goodbye"));
    assert.equal(
      wrong.message.errorMessage,
      'replay turns.yml, turn 1: expected text that contains "goodbye", got user: "hello"',
    );
    const tool = await ask(await replay("- expect: { toolName: read, isError: true, matches: x+ }"), {
      context: afterTool("fine"),
    });
    assert.equal(
      tool.message.errorMessage,
      'replay turns.yml, turn 1: expected a result of read and a failed tool call and text that matches /x+/u, got a successful result of bash: "fine"',
    );
  });

  test("honours an abort during a delay", async () => {
    const model = await replay("- { delayMs: 600000, text: late }");
    const abort = new AbortController();
    const asked = ask(model, { signal: abort.signal });
    abort.abort();
    assert.equal((await asked).message.stopReason, "aborted");
  });

  test("is refused with file, line and path when it is not well-formed", async () => {
    await refused("- text: ok\n- txt: no\n", /turns\.yml:2: \[1\]\.txt: unknown key\. Did you mean "text"\?/);
    await refused(
      "- expect: { containz: a }\n",
      /turns\.yml:1: \[0\]\.expect\.containz: unknown key\. Did you mean "contains"\?/,
    );
    await refused('- expect: { matches: "(" }\n', /\[0\]\.expect\.matches: /);
    await refused("- text: 3\n", /turns\.yml:1: \[0\]\.text: .*string/);
    await refused("just text", /turns\.yml:1: .*array.*object/);
    await refused("- [", /turns\.yml:1: /);
  });

  test("that does not exist is named", async () => {
    const missing = resolveModel({ dataDir: "/nowhere", cwd: "/nowhere", env: {}, spec: "replay:none.yml" });
    await assert.rejects(missing, /the replay file \/nowhere\/none\.yml does not exist/);
  });

  test("has a JSON Schema", () => {
    assert.ok(JSON.stringify(z.toJSONSchema(replaySchema, { io: "input" })).includes("toolCalls"));
    assert.ok(contextOf().messages.length > 0);
  });
});
