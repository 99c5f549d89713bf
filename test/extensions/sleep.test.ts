/** An extension that only waits to be called starts when it is: the session begins without its worker. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { decideToolCall } from "../../src/extensions/chain.ts";
import { CHANGES_CALLS } from "../support/extensions.ts";
import { Folder } from "../support/folder.ts";
import { type KeptOptions, loadKept } from "../support/manager.ts";

const TOOL = (name: string, text = name) => `
  pi.registerTool({
    name: "${name}", label: "${name}", description: "", parameters: { type: "object", properties: {} },
    execute: async () => ({ content: [{ type: "text", text: "${text}" }] }),
  });`;

const WAITS = (name: string) => `export default (pi) => {
  ${TOOL(name)}
  pi.registerCommand("${name}-command", { description: "it", handler: () => "done by ${name}" });
  pi.registerFlag("${name}-flag", { type: "boolean" });
};`;

const TOOL_MODULE = (text: string) => `export default (pi) => { ${TOOL("a", text)} };`;

/** Loads once, so that what is registered is known, then again. */
async function warm(folder: Folder, options: KeptOptions = {}) {
  await (await loadKept(folder, options))[Symbol.asyncDispose]();
  return loadKept(folder, options);
}

/** Starts that differ in something that nobody could have known of: a variable of the environment. */
function mood() {
  let value = "first";
  return {
    change: () => {
      value = "second";
    },
    options: {
      authority: async () => ({ ...CHANGES_CALLS, about: { ...CHANGES_CALLS.about, env: { MOOD: value } } }),
    },
  };
}
const CHANGED = `process.env.MOOD === "second"`;

const decide = (loaded: Awaited<ReturnType<typeof loadKept>>, tool: string) =>
  decideToolCall(loaded.manager.interceptors(), { tool, arguments: {}, callId: "c1" }, (args) => args);

describe("an extension that only waits to be called", () => {
  test("ten of them cost a warm start no worker, and are there all the same", async () => {
    using folder = new Folder();
    for (let i = 0; i < 10; i++) folder.file(`extensions/e${i}.ts`, WAITS(`e${i}`));
    await using loaded = await warm(folder);
    assert.deepEqual(loaded.guests.started, []);
    assert.deepEqual(
      loaded.states(),
      [...Array(10).keys()].map((i) => `e${i} asleep`),
    );
    assert.equal(loaded.manager.tools([]).length, 10);
    assert.equal(loaded.manager.commands().length, 10);
    assert.equal(loaded.manager.commands()[3]!.description, "it");
    // A session that begins, and its calls, wake nobody.
    await loaded.manager.events.tell("session_start", {});
    assert.equal((await decide(loaded, "bash")).allow, true);
    assert.deepEqual(loaded.guests.started, []);
    assert.deepEqual(loaded.notices, []);
  });

  test("may listen to what comes later in a session: a policy starts for the first call, and decides it", async () => {
    using folder = new Folder();
    folder.file(
      "extensions/policy.ts",
      `export default (pi) => pi.on("tool_call", (event) => event.input.no ? { block: true, reason: "no" } : undefined);`,
    );
    folder.file(
      "extensions/moves.ts",
      `export default (pi) => { pi.on("session_before_switch", () => ({ cancel: true })); pi.on("session_tree", () => {}); };`,
    );
    folder.file(
      "extensions/start.ts",
      `export default (pi) => { pi.on("session_start", () => {}); pi.on("tool_call", () => {}); };`,
    );
    folder.file("extensions/input.ts", `export default (pi) => pi.on("input", () => ({ text: "x" }));`);
    await using loaded = await warm(folder);
    assert.deepEqual(loaded.states(), ["input ready", "moves asleep", "policy asleep", "start ready"]);
    await loaded.manager.events.tell("session_start", { cwd: "/", sessionId: "s", model: null });
    assert.deepEqual(loaded.guests.started.toSorted(), ["input", "start"]);
    const call = (args: Record<string, unknown>) =>
      decideToolCall(
        loaded.manager.interceptors(),
        { tool: "bash", arguments: args, callId: "c" },
        (given) => given,
      );
    const [first, second] = await Promise.all([call({ no: true }), call({})]);
    assert.deepEqual([first.allow, second.allow], [false, true]);
    assert.equal(loaded.guests.started.filter((name) => name === "policy").length, 1);
    let cancelled: unknown;
    assert.ok(loaded.manager.events.listens("session_before_switch"));
    await loaded.manager.events.ask(
      "session_before_switch",
      () => ({ reason: "new" }),
      (result) => {
        cancelled = result;
        return true;
      },
    );
    assert.deepEqual(cancelled, { cancel: true });
    assert.deepEqual(loaded.states(), ["input ready", "moves ready", "policy ready", "start ready"]);
  });

  test("that listens to what comes in every run is started when a run begins", async () => {
    using folder = new Folder();
    folder.file("extensions/policy.ts", `export default (pi) => pi.on("tool_call", () => {});`);
    folder.file("extensions/later.ts", `export default (pi) => pi.on("session_compact", () => {});`);
    await using loaded = await warm(folder);
    loaded.manager.events.prepareRun();
    assert.equal((await decide(loaded, "bash")).allow, true);
    assert.deepEqual(loaded.states(), ["later asleep", "policy ready"]);
  });

  for (const onDeath of ["prune", "restart", "deny"] as const) {
    test(`and is a policy that can't be started denies the call at hand, and is then one that died (${onDeath})`, async () => {
      using folder = new Folder();
      const { change, options } = mood();
      const settings = { onDeath };
      folder.file(
        "extensions/policy.ts",
        `export default (pi) => { if (${CHANGED}) throw new Error("broken"); pi.on("tool_call", () => {}); };`,
      );
      await using loaded = await warm(folder, { ...options, settings });
      assert.deepEqual(loaded.states(), ["policy asleep"]);
      change();
      const first = await decide(loaded, "bash");
      assert.equal(first.allow, false);
      assert.match(String(first.allow === false && first.reason), /broken|could not|restart/);
      assert.equal((await decide(loaded, "bash")).allow, onDeath === "prune");
    });
  }

  test("that was a policy and starts as none denies calls: it does not silently check nothing", async () => {
    using folder = new Folder();
    const { change, options } = mood();
    folder.file(
      "extensions/policy.ts",
      `export default (pi) => { ${TOOL("t")} if (!(${CHANGED})) pi.on("tool_call", () => {}); };`,
    );
    await using loaded = await warm(folder, options);
    change();
    assert.equal((await decide(loaded, "bash")).allow, false);
    assert.match(loaded.notices.join(), /does not listen to tool_call any more/);
  });

  for (const [how, code] of [
    ["at some times only", `if (Date.now() % 2 === 2) pi.on("tool_call", () => {});`],
    [
      "behind its load",
      `(async () => { for (let i = 0; i < 50; i++) await null; pi.on("tool_call", () => ({ block: true })); })();`,
    ],
  ] as const) {
    test(`is never left asleep as none if it is a policy ${how}`, async () => {
      using folder = new Folder();
      folder.file("extensions/a.ts", `export default (pi) => { ${TOOL("a")} ${code} };`);
      await using loaded = await warm(folder);
      assert.deepEqual(loaded.states(), ["a ready"]);
    });
  }

  test("starts for its first call, once, and hears of the session before it", async () => {
    using folder = new Folder();
    folder.file(
      "extensions/a.ts",
      `export default (pi) => pi.registerCommand("where", { handler: (_, ctx) => ctx.cwd });`,
    );
    folder.file("extensions/b.ts", WAITS("b"));
    await using loaded = await warm(folder);
    loaded.manager.emit("session_start", { cwd: "/somewhere", sessionId: "s", model: null });
    const twice = await Promise.all([loaded.command("/where"), loaded.command("/where")]);
    assert.deepEqual(twice, ["/somewhere", "/somewhere"]);
    assert.deepEqual(loaded.guests.started, ["a"]);
    assert.deepEqual(loaded.states(), ["a ready", "b asleep"]);
    loaded.manager.tools([]);
    assert.equal(await loaded.call("b"), "b");
    assert.deepEqual(loaded.guests.started, ["a", "b"]);
  });

  for (const [what, text] of [
    ["an event of a start", `pi.on("before_agent_start", () => {});`],
    ["an event that does not exist", `pi.on("tool_cal", () => {});`],
    ["a provider", `pi.registerProvider("p", { baseUrl: "http://127.0.0.1:1", models: [] });`],
    ["a message renderer", `pi.registerMessageRenderer("m", () => undefined);`],
    ["a timer", `setInterval(() => {}, 60_000);`],
    ["a file that it reads while it loads", `require("node:fs").existsSync("/x");`],
  ] as const) {
    test(`is started like any other with ${what}`, async () => {
      using folder = new Folder();
      folder.file("extensions/a.ts", `export default (pi) => { ${TOOL("a")} ${text} };`);
      await using loaded = await warm(folder, { authority: async () => CHANGES_CALLS });
      assert.deepEqual(loaded.guests.started, ["a"]);
    });
  }

  test("is started when its code, its permissions or its folders have changed, and when it is required", async () => {
    using folder = new Folder();
    folder.file("extensions/a.ts", WAITS("a"));
    await (await warm(folder))[Symbol.asyncDispose]();
    const started = async (options: KeptOptions = {}) => {
      await using loaded = await loadKept(folder, options);
      return loaded.guests.started.length;
    };
    assert.equal(await started({ circumstances: () => "others" }), 1);
    assert.equal(await started({ circumstances: () => "others" }), 0);
    assert.equal(await started(), 0);
    assert.equal(await started({ settings: { overrides: { a: { required: true } } } }), 1);
    folder.file("extensions/a.ts", WAITS("b"));
    assert.equal(await started(), 1);
    assert.equal(await started(), 0);
  });

  test("that is a policy by the time it starts is asked about the very call that starts it", async () => {
    using folder = new Folder();
    const { change, options } = mood();
    folder.file(
      "extensions/a.ts",
      `export default (pi) => {
        ${TOOL("a")} ${TOOL("b")}
        // Made of parts: whoever writes it out is never asleep without it.
        if (${CHANGED}) pi.on(["tool", "call"].join("_"), () => ({ block: true, reason: "not any more" }));
      };`,
    );
    folder.file("extensions/other.ts", WAITS("other"));
    await using loaded = await warm(folder, options);
    assert.deepEqual(loaded.guests.started, []);
    loaded.manager.tools([]);
    change();
    assert.equal((await decide(loaded, "other")).allow, true);
    const verdict = await decide(loaded, "a");
    assert.match(verdict.allow ? "" : verdict.reason, /blocked by extension a: not any more/);
    assert.equal((await decide(loaded, "bash")).allow, false);
  });

  test("answers for a tool that is gone, or another, with an error that says so", async () => {
    using folder = new Folder();
    const { change, options } = mood();
    const tool = (properties: string) => TOOL("b").replace("properties: {}", `properties: ${properties}`);
    folder.file(
      "extensions/a.ts",
      `export default (pi) => {
        if (${CHANGED}) { ${tool('{ x: { type: "string" } }')} ${TOOL("same")} }
        else { ${TOOL("a")} ${tool("{}")} ${TOOL("same")} }
      };`,
    );
    await using loaded = await warm(folder, options);
    assert.deepEqual(loaded.guests.started, []);
    const [a, b, same] = loaded.manager.tools([]);
    change();
    await assert.rejects(a!.execute("c", {}, undefined, undefined), /extension a has no tool a any more/);
    await assert.rejects(b!.execute("c", {}, undefined, undefined), /tool b takes other parameters by now/);
    assert.equal((await same!.execute("c", {}, undefined, undefined)).content.length, 1);
    assert.deepEqual(
      loaded.manager.tools([]).map(({ name }) => name),
      ["b", "same"],
    );
  });

  test("of a project starts as it was when the session began, whatever has been written since", async () => {
    using folder = new Folder();
    const path = folder.file("repo/a.ts", TOOL_MODULE("trusted"));
    const source = { name: "a", path, kind: "worker", origin: "project" } as const;
    await using loaded = await warm(folder, { sources: [source] });
    assert.deepEqual(loaded.states(), ["a asleep"]);
    folder.file("repo/a.ts", TOOL_MODULE("not trusted"));
    loaded.manager.tools([]);
    assert.equal(await loaded.call("a"), "trusted");
  });

  test("that can't be started when it is needed is off, and says why", async () => {
    using folder = new Folder();
    const { change, options } = mood();
    folder.file(
      "extensions/a.ts",
      `export default (pi) => { if (${CHANGED}) throw new Error("another time"); ${TOOL("a")} };`,
    );
    await using loaded = await warm(folder, options);
    const [tool] = loaded.manager.tools([]);
    change();
    await assert.rejects(
      tool!.execute("c", {}, undefined, undefined),
      /threw while it loaded: .*another time/,
    );
    assert.deepEqual(loaded.states(), ["a failed"]);
    assert.match(loaded.notices.join("\n"), /another time.*it is off now/);
    assert.deepEqual(loaded.manager.tools([]), []);
    assert.equal((await decide(loaded, "bash")).allow, true);
  });

  test("is not waited for by a call that is aborted meanwhile", async () => {
    using folder = new Folder();
    folder.file("extensions/a.ts", `export default (pi) => { ${TOOL("a")} };`);
    await using loaded = await warm(folder);
    const [tool] = loaded.manager.tools([]);
    await assert.rejects(tool!.execute("c", {}, AbortSignal.abort(), undefined), /aborted/);
  });
});
