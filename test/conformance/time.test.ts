/** Clocks and order (wire-notes.md, "Time"; extension-protocol.md §4). */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { loadPeer, Session, TRANSPORTS } from "./harness.ts";
import { ALLOW, always, policy, type Script, type Step } from "./script.ts";

const INVOKED = { type: "response", id: "$id", patch: { text: "$callId" } };
const text = ({ content }: { content: unknown }) => (content as { text: string }[])[0]?.text;

/** The tool of the only extension, run. */
function invoke(session: Session, callId: string, signal?: AbortSignal) {
  return session.manager.tools([])[0]!.execute(callId, {}, signal);
}

describe("§4 the event's limit", () => {
  for (const transport of TRANSPORTS) {
    test(`§4 after it the extension is killed and marked dead (${transport})`, async () => {
      await using session = await loadPeer(always([{ hang: true }]), transport, {
        settings: { eventTimeoutMs: 150 },
      });
      assert.equal(
        await session.verdict(),
        "blocked by extension peer: it did not answer tool_call within 150 ms",
      );
      assert.equal(session.extension.state, "dead");
    });

    test(`§4 it holds for every event, and can be set for one extension alone (${transport})`, async () => {
      for (const event of ["turn_end", "tool_result", "session_start"] as const) {
        await using session = await loadPeer(
          { capabilities: { events: [event] }, on: { [event]: [[{ hang: true }]] } },
          transport,
          { settings: { overrides: { peer: { eventTimeoutMs: 120 } } } },
        );
        if (event === "tool_result") await session.patch();
        else session.manager.emit(event, {});
        await session.until(() => session.extension.state === "dead" || session.notices.length > 0);
        assert.equal(session.extension.reason, `did not answer ${event} within 120 ms`);
      }
    });

    test(`§4 an answer before the limit counts, the same after it is nobody's (${transport})`, async () => {
      const late: Step[] = [{ sleepMs: 300 }, { send: ALLOW }];
      await using session = await loadPeer(always(late), transport);
      assert.equal(await session.verdict(), "allow");
      await using strict = await loadPeer(always(late), transport, { settings: { eventTimeoutMs: 150 } });
      assert.match(await strict.verdict(), /did not answer tool_call within 150 ms$/);
    });

    test(`§4 tools have a limit of their own: the event limit does not apply to them (${transport})`, async () => {
      const script: Script = {
        capabilities: { tools: [{ name: "t" }], events: ["tool_call"] },
        on: { tool_invoke: [[{ sleepMs: 400 }, { send: INVOKED }], [{ hang: true }]] },
      };
      await using session = await loadPeer(script, transport, {
        settings: { eventTimeoutMs: 150, toolTimeoutMs: 1000 },
      });
      assert.equal(text(await invoke(session, "c1")), "c1");
      await assert.rejects(invoke(session, "c2"), /extension peer did not answer tool_invoke within 1 s/);
      assert.equal(session.extension.state, "dead");
      assert.match(await session.verdict(), /^blocked by extension peer: /, "it was a policy, too");
    });
  }
});

describe("§4 one round trip at a time", () => {
  for (const transport of TRANSPORTS) {
    test(`§4 later ones wait in order (${transport})`, async () => {
      await using session = await loadPeer(always([{ send: ALLOW }]), transport);
      const commands = Array.from({ length: 20 }, (_, number) => `${number}`);
      const verdicts = await Promise.all(commands.map((command) => session.verdict(command)));
      assert.ok(verdicts.every((verdict) => verdict === "allow"));
      const frames = session.passed.flatMap(({ sent, received }) => {
        if (sent?.type === "event")
          return [`> ${(sent.payload as { arguments: { command: string } }).arguments.command}`];
        return (received as { type?: string } | undefined)?.type === "response" ? ["<"] : [];
      });
      assert.deepEqual(
        frames,
        commands.flatMap((command) => [`> ${command}`, "<"]),
      );
    });

    test(`§4 each one's clock starts when it is written (${transport})`, async () => {
      // Four in line take longer together than one may.
      await using session = await loadPeer(always([{ sleepMs: 300 }, { send: ALLOW }]), transport, {
        settings: { eventTimeoutMs: 1000 },
      });
      const verdicts = await Promise.all(["1", "2", "3", "4"].map((command) => session.verdict(command)));
      assert.deepEqual(verdicts, ["allow", "allow", "allow", "allow"]);
    });

    test(`§4 one that lists concurrent gets them at once, matched by id (${transport})`, async () => {
      const script: Script = {
        capabilities: { events: ["tool_call"], features: ["concurrent"] },
        on: { tool_call: [[{ hold: 5 }, { send: { ...ALLOW, revise: { command: "$callId" } } }]] },
      };
      await using session = await loadPeer(script, transport);
      const verdicts = await Promise.all(
        ["a", "b", "c", "d", "e"].map((id) => session.decide({ command: "ls" }, undefined, id)),
      );
      assert.deepEqual(
        verdicts.map((verdict) => verdict.allow && verdict.arguments.command),
        ["a", "b", "c", "d", "e"],
      );
    });

    for (const [features, steps] of [
      [[], [{ sleepMs: 1 }, { send: INVOKED }]],
      [["concurrent"], [{ hold: 200 }, { send: INVOKED }]],
    ] as [string[], Step[]][]) {
      const how = features.length > 0 ? "in another order than they were asked" : "one by one";
      test(`§4 200 concurrent tool calls, answered ${how}: each gets its own answer (${transport})`, async () => {
        const script = { capabilities: { tools: [{ name: "t" }], features }, on: { tool_invoke: [steps] } };
        await using session = await loadPeer(script, transport);
        const ids = Array.from({ length: 200 }, (_, number) => `call-${number}`);
        const results = await Promise.all(ids.map((id) => invoke(session, id)));
        assert.deepEqual(results.map(text), ids);
        const answers = session.passed.flatMap(({ received }) => {
          const frame = received as { type?: string; id?: string } | undefined;
          return frame?.type === "response" ? [frame.id] : [];
        });
        assert.equal(new Set(answers).size, 200);
        const order = [...answers].sort((a, b) => Number(a) - Number(b));
        if (features.length === 0) assert.deepEqual(answers, order);
        else assert.notDeepEqual(answers, order);
      });
    }
  }

  test("§4 200 concurrent tool calls of a module, in any order: each gets its own answer", async () => {
    await using session = new Session();
    session.module(
      "guest.ts",
      `export default (pi) => pi.registerTool({ name: "t", execute: async (id) => {
        await new Promise((resolve) => setTimeout(resolve, (Number(id) * 7919) % 100));
        return { content: [{ type: "text", text: id }] };
      } });`,
    );
    await session.load();
    const ids = Array.from({ length: 200 }, (_, number) => `${number}`);
    const results = await Promise.all(ids.map((id) => invoke(session, id)));
    assert.deepEqual(results.map(text), ids);
  });

  test("§4 one that hangs delays no other extension", async () => {
    await using session = new Session();
    const hung = { capabilities: { events: ["turn_end"] }, on: { turn_end: [[{ hang: true }] as Step[]] } };
    session.peer("a", hung);
    session.peer("b", hung, "worker");
    session.peer("c", always([{ send: ALLOW }]));
    await session.load();
    session.manager.emit("turn_end", {});
    assert.equal(await session.verdict(), "allow");
    assert.ok(
      session.manager.extensions.every(({ state }) => state === "ready"),
      "none was even late",
    );
    await session.manager.abort();
  });
});

describe("§4 the clock stops while the extension waits for an answer from the user", () => {
  const confirm = { type: "call", id: "q", method: "ui.confirm", params: { title: "Sure?" } };
  const asking: Script = policy([{ send: confirm }, { await: "return" }, { send: ALLOW }], {
    features: ["call"],
  });

  for (const transport of TRANSPORTS) {
    test(`§4 and goes on after it (${transport})`, async () => {
      const asked = Promise.withResolvers<void>();
      const answer = Promise.withResolvers<boolean>();
      const dialogs = {
        confirm: () => {
          asked.resolve();
          return answer.promise;
        },
        select: async () => undefined,
        input: async () => undefined,
        editor: async () => undefined,
      };
      const settings = { eventTimeoutMs: 1000 };
      await using session = await loadPeer(asking, transport, { settings, host: { dialogs } });
      const verdict = session.verdict();
      await asked.promise;
      // Longer than the limit: that is what the test is about.
      await new Promise((resolve) => setTimeout(resolve, 1200));
      assert.equal(session.extension.state, "ready");
      answer.resolve(true);
      assert.equal(await verdict, "allow");

      const silent = policy([{ send: confirm }, { await: "return" }, { hang: true }], { features: ["call"] });
      await using other = await loadPeer(silent, transport, {
        settings: { eventTimeoutMs: 300 },
        host: { dialogs },
      });
      assert.match(await other.verdict(), /did not answer tool_call within 300 ms$/);
    });

    test(`§4 one that dies with its dialog open denies, and the user's answer is nobody's (${transport})`, async () => {
      const answer = Promise.withResolvers<boolean>();
      const dialogs = {
        confirm: () => answer.promise,
        select: async () => undefined,
        input: async () => undefined,
        editor: async () => undefined,
      };
      const dying = policy([{ send: confirm }, { exit: 1 }], { features: ["call"] });
      await using session = await loadPeer(dying, transport, { host: { dialogs } });
      assert.equal(await session.verdict(), "blocked by extension peer: it exited with status 1");
      answer.resolve(true);
      assert.equal(await session.verdict(), "allow");
      assert.equal(session.sent("return").length, 0);
    });
  }
});

describe("§4 a user's abort while an event is in flight is not a failure", () => {
  for (const transport of TRANSPORTS) {
    test(`§4 the call is not run, the late reply is dropped, the extension lives (${transport})`, async () => {
      const script = policy([{ log: "asked" }, { sleepMs: 200 }, { send: ALLOW }]);
      await using session = await loadPeer(script, transport);
      const abort = new AbortController();
      const verdict = session.verdict("ls", abort.signal);
      await session.until(() => session.logs.length === 1);
      abort.abort();
      assert.match(await verdict, /^blocked by extension peer: .*aborted/);
      assert.equal(await session.verdict("next"), "allow", "the next one gets its own answer");
      assert.equal(session.extension.state, "ready");
      assert.deepEqual(session.notices, []);
    });

    test(`§4 also of a failOpen extension: nobody has allowed the call (${transport})`, async () => {
      const script = policy([{ sleepMs: 200 }, { send: ALLOW }], { failOpen: true });
      await using session = await loadPeer(script, transport);
      const abort = new AbortController();
      const verdict = session.verdict("ls", abort.signal);
      abort.abort();
      assert.match(await verdict, /aborted/);
    });

    test(`§4 what was not written yet is not written any more (${transport})`, async () => {
      const script = policy([{ sleepMs: 200 }, { send: ALLOW }]);
      await using session = await loadPeer(script, transport);
      const abort = new AbortController();
      const first = session.verdict("first");
      const second = session.verdict("second", abort.signal);
      abort.abort();
      assert.match(await second, /aborted/);
      assert.equal(await first, "allow");
      assert.equal(await session.verdict("third"), "allow");
      assert.equal(session.sent("event").length, 2);
    });

    test(`§4 one that never answers what was aborted is late all the same, and a denial is owed (${transport})`, async () => {
      await using session = await loadPeer(policy([{ hang: true }]), transport, {
        settings: { eventTimeoutMs: 150 },
      });
      const abort = new AbortController();
      const verdict = session.verdict("ls", abort.signal);
      abort.abort();
      await verdict;
      await session.until(() => session.notices.length === 1);
      assert.equal(
        await session.verdict(),
        "blocked by extension peer: it did not answer tool_call within 150 ms",
      );
    });
  }

  test("§4 of a tool: it fails with aborted, and the extension lives", async () => {
    await using session = new Session();
    session.module(
      "guest.ts",
      `export default (pi) => pi.registerTool({ name: "t", execute: (id, params, signal) => new Promise((resolve) =>
        signal.addEventListener("abort", () => { console.log("told"); resolve({ content: [] }); })) });`,
    );
    await session.load();
    const abort = new AbortController();
    const run = invoke(session, "c", abort.signal);
    await session.until(() => session.sent("event").length === 1);
    abort.abort();
    await assert.rejects(run, /aborted/);
    await session.until(() => session.logs.length === 1);
    assert.equal(session.extension.state, "ready");
  });
});

describe("§4 a child that does not read its stdin must not block the agent", () => {
  test("§4 the write counts against the same clock, and others are answered meanwhile", async () => {
    await using session = new Session({ settings: { overrides: { deaf: { eventTimeoutMs: 500 } } } });
    session.peer("deaf", {
      capabilities: null,
      start: [{ send: { type: "capabilities", payload: { events: ["turn_end"] } } }, { hang: true }],
    });
    session.peer("good", always([{ send: ALLOW }]));
    await session.load();
    // Far more than a pipe holds.
    session.manager.emit("turn_end", { text: "x".repeat(4_000_000) });
    assert.equal(await session.verdict(), "allow");
    await session.until(() => session.extension.state === "dead" || session.notices.length > 0);
    assert.equal(session.extension.reason, "did not answer turn_end within 500 ms");
  });

  test("§4 a policy that never reads denies", async () => {
    await using session = new Session({ settings: { eventTimeoutMs: 150 } });
    session.program(
      "deaf.sh",
      `#!/bin/sh
echo '{"type":"capabilities","payload":{"events":["tool_call"]}}'
exec <&-
while :; do sleep 1; done
`,
    );
    await session.load();
    assert.match(
      await session.verdict("x".repeat(1_000_000)),
      /deaf: it did not answer tool_call within 150 ms$/,
    );
  });
});
