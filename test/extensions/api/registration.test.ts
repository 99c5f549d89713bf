/** What an extension registers when it has loaded, and what it takes back. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { loadPeer, Session, TRANSPORTS, type Transport } from "../../conformance/harness.ts";

const tool = (name: string) => ({ name, description: "d", parameters: { type: "object", properties: {} } });
const OK = { type: "response", id: "$id" };

for (const transport of TRANSPORTS as readonly Transport[]) {
  describe(`a register frame (${transport})`, () => {
    const peer = (capabilities: object, payload: object, count = 1) =>
      loadPeer(
        {
          capabilities: { features: ["register"], ...capabilities },
          on: { turn_end: [[...Array(count).fill({ send: { type: "register", payload } }), { send: OK }]] },
        },
        transport,
      );
    const turnEnd = (session: Session) => session.request("turn_end").catch((error: Error) => error.message);

    test("takes the place of the capabilities", async () => {
      await using session = await peer({ tools: [tool("old")] }, { tools: [tool("new")], commands: ["c"] });
      await turnEnd(session);
      const { capabilities } = session.extension;
      assert.deepEqual(
        capabilities?.tools.map(({ name }) => name),
        ["new"],
      );
      assert.deepEqual(
        session.manager.commands().map(({ command }) => command),
        ["c"],
      );
      assert.match(session.manager.tools([])[0]!.name, /new$/);
    });

    test("makes a policy of one that listens to tool_call from then on", async () => {
      await using session = await peer({}, { events: ["tool_call"] });
      assert.equal(await session.verdict(), "allow");
      assert.equal(session.sent("event").length, 0);
      await turnEnd(session);
      await session.verdict();
      assert.equal(session.sent("event").at(-1)?.event, "tool_call");
    });

    test("ends a policy that would not be asked any more, and the next call is denied", async () => {
      await using session = await peer({ events: ["tool_call"] }, { events: [] });
      assert.equal(await session.verdict(), "allow");
      await turnEnd(session);
      assert.match(
        await session.verdict(),
        /blocked by extension peer: it does not listen to tool_call any more/,
      );
    });

    test("does not make failures harmless", async () => {
      await using session = await peer({ events: ["tool_call"] }, { events: ["tool_call"], failOpen: true });
      await turnEnd(session);
      assert.equal(session.extension.failOpen, false);
    });

    test("without the feature, or too often, ends the extension", async () => {
      await using without = await peer({ features: [] }, {});
      await turnEnd(without);
      assert.match(without.extension.reason ?? "", /sent a register frame without the feature/);
      await using often = await peer({}, {}, 200);
      await turnEnd(often);
      assert.match(often.extension.reason ?? "", /registered anew more than 20 times in a second/);
    });

    test("that is malformed ends it", async () => {
      await using session = await peer({}, { tools: "all" });
      await turnEnd(session);
      assert.match(session.extension.reason ?? "", /sent a malformed register frame/);
    });
  });
}

/** A module that does in `turn_end` what the test says. */
function module(session: Session, name: string, run: string, load = ""): void {
  session.module(
    `${name}.ts`,
    `export default (pi) => { ${load}; pi.on("turn_end", async (event, ctx) => { ${run} }); };`,
  );
}

describe("a module that has loaded", () => {
  test("registers tools, commands and handlers, which are there before its handler is done", async () => {
    const asked: string[] = [];
    await using session = new Session({
      host: {
        toolsChanged: () => void asked.push("changed"),
        tools: {
          all: () => session.manager.tools([]).map(({ name, description }) => ({ name, description })),
          active: () => [],
          setActive() {},
        },
      },
    });
    module(
      session,
      "late",
      `pi.registerTool({ name: "late_tool", description: "d", execute: async () => "ran" });
       pi.registerCommand("late", { handler: async () => "done" });
       pi.on("session_tree", () => pi.logger.info("tree"));
       pi.logger.info("sees " + pi.getAllTools().map(({ name }) => name));`,
    );
    await session.load();
    await session.manager.events.tell("turn_end", {});
    assert.deepEqual(
      session.manager.tools([]).map(({ name }) => name),
      ["late_tool"],
    );
    assert.ok(asked.includes("changed"));
    assert.ok(session.logs.includes("late info sees late_tool"), session.logs.join("\n"));
    assert.equal(session.manager.findCommand("/late")?.command, "late");
    await session.manager.events.tell("session_tree", {});
    assert.ok(session.logs.includes("late info tree"));
    const [made] = session.manager.tools([]);
    assert.deepEqual((await made!.execute("c1", {}, undefined, undefined)).content, [
      { type: "text", text: "ran" },
    ]);
  });

  test("may not take a name that is taken, and a tool that can't be told is an error where it is registered", async () => {
    await using session = new Session();
    module(
      session,
      "late",
      `pi.registerTool({ name: "bash", description: "d", execute: async () => "mine" });
       const parameters = { type: "object" }; parameters.self = parameters;
       try { pi.registerTool({ name: "x", parameters, execute() {} }); } catch (error) { pi.logger.info(error.message); }`,
    );
    await session.load();
    await session.manager.events.tell("turn_end", {});
    assert.deepEqual(session.manager.tools(["bash"]), []);
    assert.match(session.notices.join("\n"), /its tool bash is skipped, the name is taken/);
    assert.match(
      session.logs.join("\n"),
      /pi\.registerTool\("x"\): it can't leave the sandbox: it holds itself/,
    );
  });

  test("ends a handler with what `on` gave; a policy that ends its last one is asked all the same, and the user is told", async () => {
    await using session = new Session();
    module(
      session,
      "policy",
      "offTree(); offCall(); offCall();",
      `const offTree = pi.on("session_tree", () => pi.logger.info("tree"));
       const offCall = pi.on("tool_call", () => ({ block: true, reason: "no" }))`,
    );
    await session.load();
    assert.match(await session.verdict(), /no/);
    await session.manager.events.tell("session_tree", {});
    await session.manager.events.tell("turn_end", {});
    await session.manager.events.tell("session_tree", {});
    assert.equal(session.logs.filter((line) => line.endsWith("tree")).length, 1);
    assert.equal(session.extension.listensTo("session_tree"), false);
    assert.equal(await session.verdict(), "allow");
    assert.equal(session.sent("event").at(-1)?.event, "tool_call");
    assert.match(
      session.notices.join("\n"),
      /extension policy checks no tool call any more: it has taken its handler/,
    );
  });

  test("that registers in a loop is slowed down and lives", async () => {
    await using session = new Session();
    module(
      session,
      "loop",
      `for (let i = 0; i < 300; i++) { pi.registerCommand("c" + i, { handler() {} }); await null; await null; }`,
    );
    await session.load();
    await session.manager.events.tell("turn_end", {});
    await session.until(() => session.manager.commands().length === 300);
    assert.equal(session.extension.state, "ready");
  });

  test("says so much of it, and no more", async () => {
    await using session = new Session();
    module(
      session,
      "loud",
      `for (let i = 0; i < 900; i++) pi.on("no_such_event_" + event.turnIndex + "_" + i, () => {});`,
    );
    await session.load();
    await session.manager.events.tell("turn_end", { turnIndex: 0 });
    assert.equal(session.notices.length, 301);
    assert.match(session.notices.at(-1)!, /there is more to say of extensions/);
  });

  test("is told of events that only others of its family have, and of those that nobody has", async () => {
    await using session = new Session();
    session.module(
      "a.ts",
      `export default (pi) => { pi.on("project_trust", () => {}); pi.on("tool_cal", () => {}); pi.on("agent_settled", () => {}); };`,
    );
    await session.load();
    assert.deepEqual(session.notices, [
      "extension a listens to project_trust, which xdev does not send",
      'extension a listens to tool_cal, which does not exist. Did you mean "tool_call"?',
    ]);
  });
});

describe("what can't leave the sandbox", () => {
  test("is an error at the call, and the extension goes on", async () => {
    await using session = new Session();
    module(
      session,
      "values",
      `const cyclic = {}; cyclic.self = cyclic;
       let deep = {}; for (let i = 0; i < 100; i++) deep = { deep };
       const said = (run) => { try { run(); return "sent"; } catch (error) { return error.message; } };
       const told = {
         entry: said(() => pi.appendEntry("t", cyclic)),
         big: said(() => pi.appendEntry("t", 10n)),
         many: said(() => pi.appendEntry("t", Array(30000).fill(0))),
         deep: said(() => pi.appendEntry("t", deep)),
         long: said(() => pi.appendEntry("t", "x".repeat(9_000_000))),
         message: said(() => pi.sendMessage({ customType: "t", content: "c", details: cyclic })),
         function: said(() => pi.appendEntry("t", { run() {}, date: new Date(0) })),
       };
       let sent = 0;
       for (; sent < 10; sent++) if (said(() => pi.appendEntry("t", "x".repeat(3_000_000))) !== "sent") break;
       told.second = sent < 10 && said(() => pi.appendEntry("t", "x".repeat(3_000_000)));
       pi.logger.info(JSON.stringify(told));`,
    );
    await session.load();
    await session.manager.events.tell("turn_end", {});
    const told = JSON.parse(session.logs.find((line) => line.includes("{"))!.replace(/^values info /, ""));
    assert.match(told.entry, /pi\.appendEntry\("t"\): .*it holds itself/);
    assert.match(told.big, /BigInt/);
    assert.match(told.many, /holds more than 20000 values/);
    assert.match(told.deep, /nested more than 64 levels deep/);
    assert.match(told.long, /longer than 8388608 bytes/);
    assert.match(told.message, /pi\.sendMessage\(\): .*it holds itself/);
    assert.equal(told.function, "sent");
    assert.match(told.second, /more than 8388608 bytes in a second/);
    assert.equal(session.extension.state, "ready");
  });

  test("as a tool's result or an event's answer is that call's error", async () => {
    await using session = new Session();
    session.module(
      "answers.ts",
      `export default (pi) => {
        const cyclic = {}; cyclic.self = cyclic;
        pi.registerTool({ name: "t", description: "", execute: async () => ({ content: [], details: cyclic }) });
        pi.on("context", () => ({ messages: Array(30000).fill({ role: "user", content: "x" }) }));
        pi.on("tool_call", (event) => { if (event.input.command === "odd") event.input.self = event.input; });
      };`,
    );
    await session.load();
    const errors: string[] = [];
    session.manager.events.onEventError = (_extension, event, error) =>
      void errors.push(`${event}: ${error}`);
    const [tool] = session.manager.tools([]);
    await assert.rejects(
      tool!.execute("c", {}, undefined, undefined),
      /its answer cannot be sent: .*it holds itself/,
    );
    await session.manager.events.ask(
      "context",
      () => ({ messages: [] }),
      () => undefined,
    );
    assert.match(errors.join(), /context: its answer cannot be sent: .*holds more than 20000 values/);
    assert.match(await session.verdict("odd"), /^blocked by extension answers: /);
    assert.equal(await session.verdict("ls"), "allow");
  });
});
