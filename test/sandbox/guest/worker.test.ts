/** Worker extensions: what goes wrong in one is named, denies what it guards, and leaves the session alive. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { decideToolCall, patchToolResult } from "../../../src/extensions/chain.ts";
import { type Loaded, loadExtensions } from "../../support/extensions.ts";
import { Folder } from "../../support/folder.ts";

const QUICK_START = fileURLToPath(new URL("../../../src/docs/examples/quick-start.ts", import.meta.url));

function decide(loaded: Loaded, command = "ls") {
  return decideToolCall(
    loaded.manager.interceptors(),
    { tool: "bash", arguments: { command }, callId: "c1" },
    (args) => args,
  );
}

/** Loads one module whose default export's body is `body`. */
async function load(body: string, settings: Parameters<typeof loadExtensions>[1] = {}): Promise<Loaded> {
  return loadModule(`export default async function (pi) {\n${body}\n}`, settings);
}

async function loadModule(
  source: string,
  settings: Parameters<typeof loadExtensions>[1] = {},
): Promise<Loaded> {
  using folder = new Folder();
  return await loadExtensions([folder.file("guest.ts", source)], settings);
}

function failure(loaded: Loaded): string {
  return loaded.manager.failures()[0]?.reason ?? "(it loaded)";
}

describe("a worker extension", () => {
  test("the guide's quick start, unchanged, registers, denies, greets and notifies", async () => {
    await using loaded = await loadExtensions([QUICK_START]);
    assert.deepEqual(loaded.notices, []);
    assert.equal(loaded.manager.extensions[0]?.capabilities?.label, "Safety + Utilities");
    assert.deepEqual(await decide(loaded), { allow: true, arguments: { command: "ls" } });
    assert.deepEqual(await decide(loaded, "rm -rf /"), {
      allow: false,
      reason: "blocked by extension quick-start: Blocked by extension policy",
    });
    const [tool] = loaded.manager.tools(["bash", "read"]);
    assert.equal(tool?.name, "hello_extension");
    assert.deepEqual((tool!.parameters as { required: string[] }).required, ["name"]);
    const result = await tool?.execute("c1", { name: "you" });
    assert.deepEqual(result?.content, [{ type: "text", text: "Hello, you" }]);
    assert.deepEqual(result?.details, { greeted: "you" });
    loaded.manager.emit("session_start", { cwd: "/work", sessionId: "s", model: "m" });
    const command = loaded.manager.findCommand("/hello-ext");
    assert.equal(command?.command, "hello-ext");
    await command?.extension.request("command", { command: "hello-ext", arguments: "" }, { timeoutMs: 5000 });
    assert.deepEqual(loaded.notifications, [
      "quick-start info Extension loaded in /work",
      "quick-start info pending=false",
    ]);
  });

  /** Module text, and the reason for which it does not load. */
  const loadFailures: [string, string, RegExp][] = [
    [
      "loops for good while it is evaluated",
      "for (;;) {}\nexport default () => {};",
      /^sent no capabilities within 2 s \(is its output flushed\?\)$/,
    ],
    [
      "loops for good in its factory",
      "export default () => { for (;;) {} };",
      /^sent no capabilities within 2 s \(is its output flushed\?\)$/,
    ],
    [
      "waits for good",
      "export default () => new Promise(() => {});",
      /^sent no capabilities within 2 s \(is its output flushed\?\)$/,
    ],
    [
      "throws while it is evaluated",
      'throw new TypeError("no");\nexport default () => {};',
      /^threw while it loaded: TypeError: no \(at \/.*guest\.ts:1\)$/,
    ],
    [
      "throws in its factory",
      'export default () => { throw new Error("no"); };',
      /^threw while it loaded: no \(at \/.*guest\.ts:1\)$/,
    ],
    [
      "throws something odd",
      "export default () => { throw { get message() { throw 1; } }; };",
      /^threw while it loaded: /,
    ],
    [
      "has a syntax error",
      "export default function (pi) {\n  const a = ;\n}",
      /^could not be bundled: .*guest\.ts:2:\d+: /,
    ],
    ["has no default export", "export const a = 1;", /^has no default export/],
    [
      "has a default export that is no function",
      "export default { a: 1 };",
      /^has a default export that is no function/,
    ],
    [
      "calls process.exit() while it loads",
      "export default () => process.exit(0);",
      /^threw while it loaded: process\.exit\(\) does not exist in the sandbox/,
    ],
    [
      "takes an action while it loads",
      'export default (pi) => pi.sendMessage("x");',
      /^threw while it loaded: ExtensionRuntimeNotInitializedError: /,
    ],
    [
      "registers a tool without a name",
      "export default (pi) => pi.registerTool({ execute() {} });",
      /pi\.registerTool: name must be a text/,
    ],
    [
      "imports a name that its host does not have",
      'import { nope } from "xdev";\nexport default () => nope();',
      /"xdev" has no export "nope"/,
    ],
  ];
  for (const [what, source, reason] of loadFailures) {
    test(`one that ${what} does not load, and says so`, async () => {
      await using loaded = await loadModule(source, { handshakeTimeoutMs: 2000 });
      assert.match(failure(loaded), reason);
      assert.equal(loaded.notices.length, 1);
      assert.equal((await decide(loaded)).allow, true, "the session goes on");
    });
  }

  /** Modules that no extension can have, and what is said instead. */
  const refusals: [string, RegExp][] = [
    ["internal/model-registry", /package "internal\/model-registry" was not found/],
    ["node:internal/inspect", /module "node:internal\/inspect" is not available/],
    ["node:test", /module "node:test" is not available to a sandboxed extension/],
    ["xdev:system", /modules can't be imported by URL/],
  ];
  for (const [name, reason] of refusals) {
    test(`importing ${name} fails with an error that says why`, async () => {
      await using loaded = await loadModule(`import * as m from "${name}";\nexport default () => m.x;`);
      assert.match(failure(loaded), reason);
    });
  }

  test("net, tls and dns are there for packages that import them, and say why they can do nothing", async () => {
    await using loaded = await loadModule(
      'import { connect, isIP } from "node:net"; import * as tls from "tls"; import { lookup } from "dns/promises";\n' +
        'export default () => { if (isIP("::1") !== 6 || isIP("1.2.3.4") !== 4 || isIP("1.2.3.256") !== 0) throw 1;\n' +
        "  for (const open of [connect, tls.connect, lookup]) { try { open(); } catch (error) { console.log(error.message); } }\n" +
        '  throw new Error("so far"); };',
    );
    assert.match(failure(loaded), /so far/);
    const said = loaded.manager.failures()[0]?.log.map((line) => line.slice(0, 22));
    assert.deepEqual(said, ["net.connect: raw socke", "tls.connect: raw socke", "dns.lookup: extensions"]);
  });

  /** Handler bodies that fail, and why the call is denied. */
  const denials: [string, string, RegExp][] = [
    ["loops for good", "for (;;) {}", /did not answer tool_call within 500 ms/],
    ["never settles", "return new Promise(() => {})", /did not answer tool_call within 500 ms/],
    ["throws", 'throw new Error("broken")', /: broken$/],
    ["throws nothing", "throw undefined", /: threw undefined$/],
    ["rejects", 'return Promise.reject(new Error("broken"))', /: broken$/],
    ["calls process.exit()", "process.exit(0)", /process\.exit\(\) does not exist/],
    ["blocks without a reason", "return { block: true }", /: denied$/],
    ["blocks with a reason that is no text", "return { block: 1, reason: {} }", /: denied$/],
    ["removes the arguments", "event.input = null", /removed the arguments/],
    ["empties the arguments", "delete event.input.command", /removed the arguments/],
    ["makes the arguments cyclic", "event.input.self = event.input", /: /],
    ["makes the arguments a BigInt", "event.input.big = 1n", /: /],
    ["answers more than a frame may hold", 'event.input.big = "x".repeat(30000)', /: /],
    ["recurses without end", "const f = () => f() + 1; f()", /: /],
  ];
  for (const [what, body, reason] of denials) {
    test(`a handler that ${what} denies the call, and the session goes on`, async () => {
      await using loaded = await load(`pi.on("tool_call", (event) => { ${body} });`, {
        eventTimeoutMs: 500,
        maxFrameBytes: 20_000,
      });
      assert.equal(failure(loaded), "(it loaded)");
      const verdict = await decide(loaded);
      assert.equal(verdict.allow, false);
      assert.match((verdict as { reason: string }).reason, /^blocked by extension guest: /);
      assert.match((verdict as { reason: string }).reason, reason);
      assert.ok((await decide(loaded)) !== undefined);
    });
  }

  test("a changed event.input is what runs, for one that may change calls", async () => {
    using folder = new Folder();
    const path = folder.file(
      "guest.ts",
      'export default (pi) => pi.on("tool_call", (event) => { event.input.command += " -l"; });',
    );
    await using loaded = await loadExtensions([path], {}, { changeCalls: true });
    assert.deepEqual(await decide(loaded), { allow: true, arguments: { command: "ls -l" } });
  });

  test("a changed event.input denies the call for one that may not, whatever the change is", async () => {
    await using loaded = await load('pi.on("tool_call", (event) => { event.input.command += " -l"; });');
    const verdict = await decide(loaded);
    assert.equal(verdict.allow, false);
    assert.match(
      "reason" in verdict ? verdict.reason : "",
      /^blocked by extension guest: it wants to change the call/,
    );
  });

  test("tool_result handlers see each other's changes, and what they return replaces the members", async () => {
    await using loaded = await load(`
      pi.on("tool_result", (event) => ({ content: [...event.content, { type: "text", text: event.toolName }] }));
      pi.on("tool_result", () => { throw new Error("ignored"); });
      pi.on("tool_result", (event) => ({ details: { count: event.content.length, old: event.details } }));`);
    const result = await patchToolResult(
      loaded.manager.interceptors(),
      { tool: "bash", arguments: {}, callId: "c" },
      { content: [{ type: "text", text: "out" }], details: 7, isError: false },
    );
    assert.deepEqual(result, {
      content: [
        { type: "text", text: "out" },
        { type: "text", text: "bash" },
      ],
      details: { count: 2, old: 7 },
      isError: false,
    });
  });

  test("a tool gets an abort signal and sends partial results", async () => {
    await using loaded = await load(`pi.registerTool({ name: "t", parameters: { type: "object" },
      async execute(id, params, signal, onUpdate) {
        onUpdate({ content: [{ type: "text", text: "working" }] });
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        return { content: [{ type: "text", text: "aborted" }] };
      } });`);
    const abort = new AbortController();
    const run = loaded.manager.tools(["bash", "read"])[0]?.execute("c", {}, abort.signal, (partial) => {
      assert.deepEqual(partial.content, [{ type: "text", text: "working" }]);
      abort.abort();
    });
    await assert.rejects(async () => run, /aborted/);
    assert.equal(loaded.manager.extensions[0]?.state, "ready");
  });

  test("one extension that is long in being bundled takes no other one's time to load", async () => {
    using folder = new Folder();
    const long = `export default () => {}; export const f = () => {${"a=[b.c,/x/];".repeat(180_000)}};`;
    const guard = 'export default (pi) => pi.on("tool_call", () => ({ block: true, reason: "guarded" }));';
    const paths = [folder.file("long.ts", long), folder.file("guard.ts", guard)];
    await using loaded = await loadExtensions(paths, { handshakeTimeoutMs: 1000 });
    assert.deepEqual(
      loaded.manager.extensions.map(({ name, state }) => `${name} ${state}`),
      ["long failed", "guard ready"],
    );
    assert.match(JSON.stringify(await decide(loaded)), /guarded/);
  });

  test("one extension that hangs delays no other one's answer", async () => {
    using folder = new Folder();
    const hung = folder.file("a-hung.ts", "export default (pi) => pi.on('turn_end', () => { for (;;) {} });");
    const good = folder.file("b-good.ts", "export default (pi) => pi.on('tool_call', () => {});");
    await using loaded = await loadExtensions([hung, good], { eventTimeoutMs: 2000 });
    loaded.manager.emit("turn_end", { turnIndex: 0, stopReason: "stop" });
    assert.equal((await decide(loaded)).allow, true);
    assert.equal(loaded.manager.extensions[0]?.state, "ready", "it was not even late yet");
  });

  test("a tool whose name is taken is skipped with a notice", async () => {
    await using loaded = await load('pi.registerTool({ name: "bash", execute() {} });');
    assert.deepEqual(loaded.manager.tools(["bash", "read"]), []);
    assert.match(loaded.notices[0] ?? "", /its tool bash is skipped, the name is taken/);
  });
});

describe("ctx in a worker extension", () => {
  test("has the session's folder in every handler, whether or not it listens to session_start", async () => {
    using folder = new Folder();
    const source =
      'export default (pi) => pi.on("tool_call", (event, ctx) => { event.input.command = ctx.cwd; });';
    await using loaded = await loadExtensions([folder.file("guest.ts", source)], {}, { changeCalls: true });
    loaded.manager.emit("session_start", { cwd: "/work", sessionId: "s", model: "m" });
    assert.deepEqual(await decide(loaded), { allow: true, arguments: { command: "/work" } });
    await loaded.manager.extensions[0]?.restart();
    assert.deepEqual(
      await decide(loaded),
      { allow: true, arguments: { command: "/work" } },
      "after a restart, too",
    );
  });
});
