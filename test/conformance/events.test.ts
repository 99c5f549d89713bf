/** The six events and what an answer does (extension-protocol.md §4; wire-notes.md, "Events …" and "Replies"). */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { loadPeer, Session, TRANSPORTS } from "./harness.ts";
import { ALLOW, always, type Script } from "./script.ts";

const RESPONSE = { type: "response", id: "$id" };

/** The payload of the only event that was sent. */
function payload(session: Session): unknown {
  const events = session.sent("event");
  assert.equal(events.length, 1);
  return events[0]?.payload;
}

describe("§4 notifications", () => {
  const payloads = {
    session_start: { cwd: "/work", sessionId: "s1", model: "anthropic/x" },
    turn_end: { turnIndex: 3, stopReason: "toolUse" },
  };
  for (const transport of TRANSPORTS) {
    for (const event of ["session_start", "turn_end"] as const) {
      test(`§4 ${event} expects nothing: any response will do, its content is ignored (${transport})`, async () => {
        const answers = [
          { allow: false, reason: "no" },
          { error: "broken" },
          { patch: 5, revise: [1], result: "x" },
          {},
        ];
        await using session = await loadPeer(
          {
            capabilities: { events: [event, "tool_call"] },
            on: { [event]: answers.map((answer) => [{ send: { ...RESPONSE, ...answer } }]) },
          },
          transport,
        );
        for (const _ of answers) session.manager.emit(event, payloads[event]);
        assert.equal(await session.verdict(), "allow", "it comes after all of them");
        const events = session.sent("event");
        assert.deepEqual(events[0]?.payload, payloads[event]);
        assert.deepEqual(
          events.map((sent) => sent.event),
          [...answers.map(() => event), "tool_call"],
        );
        assert.equal(session.extension.state, "ready");
        assert.deepEqual(session.notices, []);
      });
    }
  }
});

describe("§4 tool_call", () => {
  for (const transport of TRANSPORTS) {
    test(`§4 payload: tool, arguments exactly as the model sent them, and the provider's call id (${transport})`, async () => {
      const args = {
        command: 'ü "\\ \u2028\u0000 🦕',
        list: [1, -0.5, 1e300, null, true, { deep: [[]] }],
        empty: {},
        "": "",
        z: 1,
        a: 2,
      };
      await using session = await loadPeer(
        always([{ send: { ...ALLOW, revise: { command: "echo", got: "$arguments" } } }]),
        transport,
      );
      const verdict = await session.decide(args, undefined, "toolu_01/ü");
      assert.deepEqual(payload(session), { tool: "bash", arguments: args, callId: "toolu_01/ü" });
      assert.ok(verdict.allow);
      assert.equal(JSON.stringify(verdict.arguments.got), JSON.stringify(args), "as the extension got them");
    });

    /** What is answered, and what becomes of the call. */
    const answers: [string, Record<string, unknown>, Record<string, unknown> | string][] = [
      ["allow lets it run", { allow: true }, { command: "ls" }],
      ["allow with a reason lets it run", { allow: true, reason: "fine" }, { command: "ls" }],
      ["no allow is a denial", {}, "denied"],
      ["a denial without a reason reads denied", { allow: false }, "denied"],
      ["a denial with an empty reason reads denied", { allow: false, reason: "" }, "denied"],
      ["the reason reaches the model", { allow: false, reason: "not on a Friday" }, "not on a Friday"],
      ["a reason cannot write to the terminal", { allow: false, reason: "a\u001b[2Jb" }, "ab"],
      ["a revise without allow is a denial", { revise: { command: "pwd" } }, "denied"],
      ["a revise with a denial is a denial", { allow: false, revise: { command: "pwd" } }, "denied"],
      ["revise replaces the arguments", { allow: true, revise: { command: "pwd" } }, { command: "pwd" }],
      [
        "revise replaces all of them",
        { allow: true, revise: { command: "pwd", timeout: 5 } },
        { command: "pwd", timeout: 5 },
      ],
      ["an absent revise is no change", { allow: true }, { command: "ls" }],
      ["a revise of null is no change", { allow: true, revise: null }, { command: "ls" }],
      ["a revise of {} is no change", { allow: true, revise: {} }, { command: "ls" }],
      ["a revise of [] is no change", { allow: true, revise: [] }, { command: "ls" }],
      ['a revise of "" is no change', { allow: true, revise: "" }, { command: "ls" }],
      ["a revise that is a text is a denial", { allow: true, revise: "pwd" }, "revise is not a JSON object"],
      [
        "a revise that is a list is a denial",
        { allow: true, revise: ["pwd"] },
        "revise is not a JSON object",
      ],
      ["a revise that is a number is a denial", { allow: true, revise: 5 }, "revise is not a JSON object"],
      ["a revise that is false is a denial", { allow: true, revise: false }, "revise is not a JSON object"],
      [
        "a revise that the tool's own schema refuses is a denial",
        { allow: true, revise: { command: 5 } },
        "its revised arguments are not valid: command: must be a string",
      ],
      ["a patch means nothing here", { allow: true, patch: "x" }, { command: "ls" }],
      ["an error is a denial", { allow: true, error: "cannot say" }, "cannot say"],
      ["an empty error is a denial, too", { allow: true, error: "" }, "failed"],
      ["failOpen on an error lets it pass", { error: "cannot say", failOpen: true }, { command: "ls" }],
      ["failOpen turns no denial into an allow", { allow: false, failOpen: true }, "denied"],
      ["failOpen stands for no allow", { failOpen: true }, "denied"],
    ];
    test(`§4 answers (${transport})`, async () => {
      await using session = await loadPeer(
        {
          capabilities: { events: ["tool_call"] },
          on: { tool_call: answers.map(([, answer]) => [{ send: { ...RESPONSE, ...answer } }]) },
        },
        transport,
      );
      for (const [what, , expected] of answers) {
        const verdict = await session.decide({ command: "ls" });
        const wanted =
          typeof expected === "string"
            ? { allow: false, reason: `blocked by extension peer: ${expected}` }
            : { allow: true, arguments: expected };
        assert.deepEqual(verdict, wanted, what);
      }
      assert.equal(session.extension.state, "ready", "an answer, whatever it says, kills nobody");
    });
  }
});

describe("§4 tool_result", () => {
  const image = { type: "image" as const, data: "AA==", mimeType: "image/png" };
  const old = { content: [{ type: "text" as const, text: "old" }], details: 1, isError: false };
  const events = { events: ["tool_result"] };

  for (const transport of TRANSPORTS) {
    test(`§4 payload: the call, and the result as text and isError (${transport})`, async () => {
      await using session = await loadPeer({ capabilities: events }, transport);
      const text = (value: string) => ({ type: "text" as const, text: value });
      await session.patch({ content: [text("one"), image, text("two")], isError: true });
      assert.deepEqual(payload(session), {
        tool: "bash",
        arguments: { command: "ls" },
        callId: "c1",
        result: { text: "one\ntwo", isError: true },
      });
    });

    /** What is answered, and what of `old` has changed. */
    const answers: [string, Record<string, unknown>, { text?: string; isError?: boolean }][] = [
      ["nothing changes nothing", {}, {}],
      ["null changes nothing", { patch: null }, {}],
      ["{} changes nothing", { patch: {} }, {}],
      ["[] changes nothing", { patch: [] }, {}],
      ['"" changes nothing', { patch: "" }, {}],
      ["a text is new text", { patch: "new" }, { text: "new" }],
      ["text is new text", { patch: { text: "new" } }, { text: "new" }],
      ["isError alone keeps the text", { patch: { isError: true } }, { isError: true }],
      ["both", { patch: { text: "new", isError: true } }, { text: "new", isError: true }],
      ["null members keep their old value", { patch: { text: null, isError: null } }, {}],
      ["an allow of false means nothing here", { allow: false, patch: "new" }, { text: "new" }],
      ["a revise means nothing here", { revise: { command: "rm" } }, {}],
      ["a wrong patch changes nothing", { patch: 5 }, {}],
      ["a wrong text changes nothing", { patch: { text: 5, isError: true } }, {}],
      ["a list changes nothing", { patch: ["new"] }, {}],
      ["an error changes nothing", { error: "broken", patch: "new" }, {}],
    ];
    test(`§4 patch (${transport})`, async () => {
      await using session = await loadPeer(
        {
          capabilities: events,
          on: { tool_result: answers.map(([, answer]) => [{ send: { ...RESPONSE, ...answer } }]) },
        },
        transport,
      );
      for (const [what, , { text = "old", isError = false }] of answers) {
        assert.deepEqual(
          await session.patch(old),
          { ...old, content: [{ type: "text", text }], isError },
          what,
        );
      }
      assert.equal(session.extension.state, "ready");
    });

    test(`§4 new text leaves images where they are (${transport})`, async () => {
      await using session = await loadPeer(
        { capabilities: events, on: { tool_result: [[{ send: { ...RESPONSE, patch: "new" } }]] } },
        transport,
      );
      const patched = await session.patch({ ...old, content: [...old.content, image] });
      assert.deepEqual(patched.content, [{ type: "text", text: "new" }, image]);
    });

    test(`§4 tool_result is advisory: one that cannot answer leaves the result as it is (${transport})`, async () => {
      await using session = await loadPeer(
        { capabilities: events, on: { tool_result: [[{ exit: 1 }]] } },
        transport,
      );
      assert.deepEqual(await session.patch(old), old);
      assert.equal(session.extension.state, "dead");
      assert.deepEqual(await session.patch(old), old);
      assert.equal(await session.verdict(), "allow", "it never was a policy");
    });
  }
});

describe("§4 tool_invoke and command", () => {
  const script = (answer: Record<string, unknown>): Script => ({
    capabilities: { tools: [{ name: "add up" }], commands: ["greet"] },
    on: {
      tool_invoke: [[{ send: { ...RESPONSE, ...answer } }]],
      command: [[{ send: { ...RESPONSE, ...answer } }]],
    },
  });
  for (const transport of TRANSPORTS) {
    test(`§4 tool_invoke is sent although it is not listed, with the announced name (${transport})`, async () => {
      await using session = await loadPeer(script({ patch: { text: "42", isError: false } }), transport);
      const [tool] = session.manager.tools([]);
      const result = await tool?.execute("c7", { a: 1 });
      assert.deepEqual(result?.content, [{ type: "text", text: "42" }]);
      assert.deepEqual(payload(session), { tool: "add up", arguments: { a: 1 }, callId: "c7" });
    });

    test(`§4 tool_invoke answers with patch: {text, isError} (${transport})`, async () => {
      const cases: [Record<string, unknown>, string, boolean][] = [
        [{ patch: { text: "no", isError: true } }, "no", true],
        [{ patch: "short" }, "short", false],
        [{}, "", false],
        [{ allow: false, patch: "denials are for tool_call" }, "denials are for tool_call", false],
      ];
      for (const [answer, text, isError] of cases) {
        await using session = await loadPeer(script(answer), transport);
        const result = await session.manager.tools([])[0]?.execute("c", {});
        assert.deepEqual(result?.content, [{ type: "text", text }]);
        assert.equal((result as { isError?: boolean }).isError, isError);
      }
    });

    test(`§4 an error, or a wrong patch, of tool_invoke fails the call and nothing else (${transport})`, async () => {
      for (const [answer, reason] of [
        [{ error: "no such file" }, /^Error: extension peer: no such file$/],
        [{ error: "" }, /^Error: extension peer: failed$/],
        [{ patch: 5 }, /^Error: extension peer: patch is neither/],
      ] as const) {
        await using session = await loadPeer(script(answer), transport);
        await assert.rejects(async () => session.manager.tools([])[0]?.execute("c", {}), reason);
        assert.equal(session.extension.state, "ready");
      }
    });

    test(`§4 command is sent although it is not listed, with the raw text behind it (${transport})`, async () => {
      await using session = await loadPeer(script({ patch: { text: "hello" } }), transport);
      const found = session.manager.findCommand("/ext:greet");
      assert.equal(found?.command, "greet");
      const reply = await session.request("command", { command: "greet", arguments: ' a  "b ' });
      assert.deepEqual(payload(session), { command: "greet", arguments: ' a  "b ' });
      assert.deepEqual(reply.patch, { text: "hello" });
    });
  }

  test("§4 each goes to the extension that announced it", async () => {
    await using session = new Session();
    for (const name of ["a", "b"]) session.peer(name, script({ patch: name }));
    await session.load();
    const tools = session.manager.tools([]);
    const results = await Promise.all(tools.map((tool) => tool.execute("c", {})));
    assert.deepEqual(
      results.map(({ content }) => content),
      [[{ type: "text", text: "a" }], [{ type: "text", text: "b" }]],
    );
  });

  test("§4 from a module: every event, through its API", async () => {
    await using session = new Session();
    session.module(
      "guest.ts",
      `export default (pi) => {
        pi.on("session_start", (event, ctx) => ctx.ui.notify(\`start \${ctx.cwd}\`));
        pi.on("turn_end", (event, ctx) => ctx.ui.notify(\`turn \${event.turnIndex} \${event.stopReason}\`));
        pi.on("tool_call", (event) => { if (event.input.command === "rm") return { block: true, reason: event.toolName + " " + event.toolCallId }; event.input.command += "!"; });
        pi.on("tool_result", (event) => ({ content: [{ type: "text", text: event.input.command + " " + event.content[0].text }], isError: true }));
        pi.registerTool({ name: "t", execute: async (id, params) => ({ content: [{ type: "text", text: id + params.a }] }) });
        pi.registerCommand("greet", { handler: (args, ctx) => ctx.ui.notify("greet " + args) });
      };`,
    );
    await session.load();
    session.manager.emit("session_start", { cwd: "/w", sessionId: "s", model: "m" });
    assert.deepEqual(await session.decide({ command: "ls" }), { allow: true, arguments: { command: "ls!" } });
    assert.equal(await session.verdict("rm"), "blocked by extension guest: bash c1");
    const patched = await session.patch();
    assert.deepEqual([patched.content, patched.isError], [[{ type: "text", text: "ls old" }], true]);
    const result = await session.manager.tools([])[0]?.execute("c7", { a: 1 });
    assert.deepEqual(result?.content, [{ type: "text", text: "c71" }]);
    await session.request("command", { command: "greet", arguments: "you" });
    session.manager.emit("turn_end", { turnIndex: 0, stopReason: "stop" });
    await session.until(() => session.notifications.length === 3);
    assert.deepEqual(session.notifications, [
      "guest info start /w",
      "guest info greet you",
      "guest info turn 0 stop",
    ]);
  });
});
