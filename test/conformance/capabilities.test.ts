/** What an extension registers (extension-protocol.md §3; wire-notes.md, "Names"). */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { loadPeer, Session, TRANSPORTS } from "./harness.ts";
import { ALLOW, type Script } from "./script.ts";

const RESERVED = ["read", "bash"];

describe("§3 tools", () => {
  test("§3 are registered as ext_<extension>_<tool>, with their description and schema", async () => {
    const parameters = { type: "object", properties: { a: { type: "number" } }, required: ["a"] };
    await using session = new Session();
    session.peer("calc.v2", {
      capabilities: { tools: [{ name: "add up", label: "Add", description: "adds", parameters }] },
    });
    await session.load();
    const [tool] = session.manager.tools(RESERVED);
    assert.equal(tool?.name, "ext_calc_v2_add_up");
    assert.equal(tool?.label, "Add");
    assert.equal(tool?.description, "adds");
    assert.deepEqual((tool?.parameters as { required?: unknown } | undefined)?.required, ["a"]);
  });

  test("§3 can never shadow read, bash, or another extension's tool", async () => {
    await using session = new Session();
    session.peer("a_b", { capabilities: { tools: [{ name: "read" }, { name: "bash" }, { name: "c" }] } });
    session.peer("a", { capabilities: { tools: [{ name: "b_c" }, { name: "d" }, { name: "d" }] } });
    await session.load();
    assert.deepEqual(
      session.manager.tools(RESERVED).map(({ name }) => name),
      ["ext_a_b_read", "ext_a_b_bash", "ext_a_b_c", "ext_a_d"],
    );
    assert.deepEqual(session.notices, [
      "extension a: its tool ext_a_b_c is skipped, the name is taken",
      "extension a: its tool ext_a_d is skipped, the name is taken",
    ]);
  });

  test("§3 have at most 64 characters in their names; a longer one is cut and gets a hash", async () => {
    await using session = await loadPeer({
      capabilities: { tools: [{ name: `${"x".repeat(80)}1` }, { name: `${"x".repeat(80)}2` }] },
    });
    const names = session.manager.tools(RESERVED).map(({ name }) => name);
    for (const name of names) assert.match(name, /^ext_peer_x{48}_\d{6}$/);
    assert.equal(new Set(names).size, 2);
  });

  test("§3 of a module keep their names, and shadow nothing either", async () => {
    await using session = new Session();
    const tools = ["bash", "ext_other_tool", "mine"].map(
      (name) => `pi.registerTool({ name: "${name}", execute() {} });`,
    );
    session.module("guest.ts", `export default (pi) => { ${tools.join(" ")} };`);
    await session.load();
    assert.deepEqual(
      session.manager.tools(RESERVED).map(({ name }) => name),
      ["mine"],
    );
  });
});

describe("§3 commands", () => {
  test("§3 are invoked as /ext:<extension>:<name>, and as /ext:<name> while that is unambiguous", async () => {
    await using session = new Session();
    session.peer("a", { capabilities: { commands: ["greet", { name: "only-a", description: "text" }] } });
    session.peer("b", { capabilities: { commands: [{ name: "greet" }] } });
    await session.load();
    const found = (word: string) => {
      const command = session.manager.findCommand(word);
      return command && `${command.extension.name} ${command.command}`;
    };
    assert.equal(found("/ext:a:greet"), "a greet");
    assert.equal(found("/ext:b:greet"), "b greet");
    assert.equal(found("/ext:greet"), undefined);
    assert.equal(found("/ext:only-a"), "a only-a");
    assert.equal(found("/only-a"), undefined, "a process's command has no shorter name");
    assert.equal(found("/ext:b:only-a"), undefined);
    assert.deepEqual(
      session.manager.commands().map(({ word, description }) => [word, description]),
      [
        ["/ext:a:greet", ""],
        ["/ext:a:only-a", "text"],
        ["/ext:b:greet", ""],
      ],
    );
  });
});

describe("§3 names of extensions", () => {
  test("§3 are the file name without its last suffix, other characters replaced by _", async () => {
    await using session = new Session();
    const names = ["deny-rm.py", "my tool.tar.gz", "ünï", "ok_1-x.sh"];
    for (const name of names) session.program(name, "#!/bin/sh\nexit 1\n");
    await session.load();
    assert.deepEqual(
      session.manager.extensions.map(({ name }) => name),
      ["deny-rm", "my_tool_tar", "_n_", "ok_1-x"],
    );
  });

  test("§3 two files that give one name: the later gets _2, with a warning", async () => {
    await using session = new Session();
    const body = `#!/bin/sh\necho '{"type":"capabilities","payload":{"commands":["c"]}}'\ncat >/dev/null\n`;
    for (const name of ["same.sh", "same.py", "same.x"]) session.program(name, body);
    await session.load();
    assert.deepEqual(
      session.manager.commands().map(({ word }) => word),
      ["/ext:same:c", "/ext:same_2:c", "/ext:same_3:c"],
    );
    assert.equal(session.notices.length, 2);
    assert.match(session.notices[0] ?? "", /^two extensions have one name: .*same\.py is called same_2$/);
  });
});

describe("§3 events", () => {
  for (const transport of TRANSPORTS) {
    test(`§3 unlisted events are never sent (${transport})`, async () => {
      await using session = await loadPeer({ capabilities: { events: ["turn_end"] } }, transport);
      session.manager.emit("session_start", {});
      assert.equal(await session.verdict(), "allow");
      assert.equal((await session.patch()).details, 1);
      session.manager.emit("turn_end", {});
      await session.until(() => session.sent("event").length > 0);
      await session.manager.stop();
      assert.deepEqual(
        session.sent("event").map(({ event }) => event),
        ["turn_end"],
      );
    });

    test(`§3 an extension may list events that nobody knows, and everything else (${transport})`, async () => {
      const capabilities = {
        events: ["tool_call", "moon_phase", "tool_call"],
        features: ["levitate", "call"],
        label: "Mine",
        more: { of: ["this"] },
        tools: null,
        commands: [],
      };
      await using session = await loadPeer({ capabilities }, transport);
      // A policy that misspells an event would be none, and nobody would know.
      assert.deepEqual(session.notices, ["extension peer listens to moon_phase, which does not exist."]);
      assert.equal(await session.verdict(), "allow");
      assert.equal(session.extension.has("call"), true);
      assert.equal(session.extension.has("update"), false);
    });

    test(`§3 empty capabilities are capabilities (${transport})`, async () => {
      await using session = await loadPeer({ capabilities: {} }, transport);
      assert.deepEqual(session.notices, []);
      assert.equal(await session.verdict(), "allow");
      assert.equal(session.sent("event").length, 0);
    });
  }
});

describe("§3 renderers", () => {
  test("§3 are kept as declared, and gone with their extension", async () => {
    const renderer = { tool: "t", kind: "card", title: "{{x}}" };
    await using session = await loadPeer({
      capabilities: { tools: [{ name: "t" }], renderers: [renderer], events: ["tool_call"] },
      on: { tool_call: [[{ exit: 1 }]] },
    });
    session.manager.tools(RESERVED);
    assert.deepEqual(session.extension.capabilities?.renderers, [renderer]);
    assert.notEqual(await session.manager.renderers(), undefined);
    await session.verdict();
    session.manager.tools(RESERVED);
    assert.equal(await session.manager.renderers(), undefined);
  });
});

describe("§3 wrong capabilities are a load failure", () => {
  const wrong: unknown[] = [
    ...[null, 5, "x", true, [], [{}]],
    ...[5, "tool_call", {}, [5], [null], [""], ["x".repeat(129)], Array(1001).fill("x")].map((events) => ({
      events,
    })),
    ...[5, "t", {}, ["t"], [{}], [null], [{ name: 5 }], [{ name: "" }]].map((tools) => ({ tools })),
    ...[{ description: 5 }, { label: {} }, { parameters: [] }, { parameters: "x" }, { hidden: 1 }].map(
      (more) => ({
        tools: [{ name: "t", ...more }],
      }),
    ),
    ...[5, "c", {}, [5], [{}], [{ name: "c", description: 5 }]].map((commands) => ({ commands })),
    ...[5, "card", {}, ["card"], [5], [[]]].map((renderers) => ({ renderers })),
    ...["true", 1, {}, []].map((failOpen) => ({ failOpen })),
    ...["call", {}, [5], [null]].map((features) => ({ features })),
    { label: 5 },
  ];
  for (const transport of TRANSPORTS) {
    test(`§3 a wrong type in any member (${transport})`, async () => {
      for (let start = 0; start < wrong.length; start += 8) {
        await using session = new Session();
        const some = wrong.slice(start, start + 8);
        for (const [index, payload] of some.entries()) {
          const script: Script = { capabilities: null, start: [{ send: { type: "capabilities", payload } }] };
          session.peer(`peer${index}`, script, transport);
        }
        await session.load();
        for (const [index, extension] of session.manager.extensions.entries()) {
          assert.equal(extension.state, "failed", JSON.stringify(some[index]));
          assert.match(extension.reason ?? "", /^sent a malformed capabilities frame/);
        }
      }
    });

    test(`§3 capabilities beside the payload are none (${transport})`, async () => {
      const start = [{ send: { type: "capabilities", events: ["tool_call"] } }];
      await using session = await loadPeer({ capabilities: null, start }, transport);
      assert.equal(session.extension.state, "failed");
    });
  }
});

describe("§3 failOpen", () => {
  for (const transport of TRANSPORTS) {
    test(`§3 opts into tolerating failures, not into ignoring denials (${transport})`, async () => {
      await using session = await loadPeer(
        {
          capabilities: { events: ["tool_call"], failOpen: true },
          on: {
            tool_call: [
              [{ send: { ...ALLOW, allow: false, reason: "no" } }],
              [{ send: { type: "response", id: "$id" } }],
              [{ send: { type: "response", id: "$id", error: "broken" } }],
              [{ exit: 1 }],
            ],
          },
        },
        transport,
      );
      const verdicts = [];
      for (let call = 0; call < 5; call++) verdicts.push(await session.verdict());
      const denied = "blocked by extension peer: ";
      assert.deepEqual(verdicts, [`${denied}no`, `${denied}denied`, "allow", "allow", "allow"]);
      assert.equal(session.extension.state, "dead");
    });
  }
});
