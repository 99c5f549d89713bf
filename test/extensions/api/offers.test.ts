/** What extensions offer to whoever shows a session: flags, shortcuts, completions and drawings, asked through the manager. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { isReserved, parseKey } from "../../../src/extensions/keys.ts";
import { styledLine } from "../../../src/extensions/render/styled-line.ts";
import { loadPeer, Session, TRANSPORTS } from "../../conformance/harness.ts";

async function load(...modules: [string, string][]): Promise<Session> {
  const session = new Session();
  for (const [name, body] of modules) session.module(`${name}.ts`, `export default (pi) => { ${body} };`);
  return session.load();
}

describe("shortcuts", () => {
  test("run the handler of the last extension that has the key; reserved keys and what is no key are skipped, and told", async () => {
    await using session = await load(
      [
        "a",
        `pi.registerShortcut("ctrl+X", { handler: () => pi.logger.info("of a") }); pi.registerShortcut("Shift+Ctrl+P", { handler() {} });`,
      ],
      [
        "b",
        `pi.registerShortcut("ctrl+x", { description: "does b", handler: (ctx) => pi.logger.info("of b in " + ctx.cwd) });
         pi.registerShortcut("ctrl+hyper+q", { handler() {} });
         pi.registerShortcut("f5", { handler() { throw new Error("on purpose"); } });`,
      ],
    );
    const { offers } = session.manager;
    assert.deepEqual(
      offers.shortcuts().map(({ key, description, extension }) => [key, description, extension.name]),
      [
        ["ctrl+x", "does b", "b"],
        ["f5", "", "b"],
      ],
    );
    assert.deepEqual(session.notices, [
      "extension a: its shortcut shift+ctrl+p is skipped, xdev has that key",
      "extension a: its shortcut ctrl+x is skipped, extension b has one of that key",
      "extension b: its shortcut ctrl+hyper+q is skipped, that is no key",
    ]);
    await offers.runShortcut("Ctrl+X");
    assert.deepEqual(session.logs, ["b info of b in /"]);
    await assert.rejects(offers.runShortcut("f5"), /extension b: on purpose/);
    await assert.rejects(offers.runShortcut("f6"), /no extension has the shortcut f6/);
    assert.equal(session.manager.extensions[1]?.state, "ready");
  });

  test("have one spelling each", () => {
    for (const [given, key] of [
      ["Shift+Ctrl+P", "ctrl+shift+p"],
      ["esc", "escape"],
      ["ctrl++", "ctrl++"],
      ["pageUp", "pageup"],
      ["super+alt+1", "alt+super+1"],
      ["ctrl+ctrl+a", undefined],
      ["ctrl", undefined],
      ["", undefined],
      ["ab", undefined],
      ["meta+a", undefined],
    ] as const) {
      assert.equal(parseKey(given), key, given);
    }
    const reserved =
      "ctrl+c ctrl+d ctrl+z ctrl+k ctrl+p ctrl+l ctrl+o ctrl+t ctrl+g shift+tab shift+ctrl+p alt+enter escape enter";
    for (const key of reserved.split(" ")) assert.ok(isReserved(parseKey(key)!), key);
    assert.equal(isReserved("ctrl+x"), false);
  });
});

describe("completions", () => {
  test("come from the command's function, in time or not at all", async () => {
    await using session = await load([
      "c",
      `pi.registerCommand("go", { handler() {}, getArgumentCompletions: async (prefix) =>
          ["north", { value: "nowhere", label: "No\\u001b[2Jwhere", description: "d" }].filter((item) => (item.value ?? item).startsWith(prefix)) });
       pi.registerCommand("none", { handler() {} });
       pi.registerCommand("slow", { handler() {}, getArgumentCompletions: () => new Promise(() => {}) });
       pi.registerCommand("bad", { handler() {}, getArgumentCompletions: () => { throw new Error("no"); } });
       pi.registerCommand("null", { handler() {}, getArgumentCompletions: () => null });`,
    ]);
    const { manager, extension } = session;
    const complete = (command: string, prefix: string) =>
      manager.offers.complete(extension, command, prefix, 200);
    assert.deepEqual(await complete("go", "no"), [
      { value: "north", label: "north" },
      { value: "nowhere", label: "Nowhere", description: "d" },
    ]);
    assert.deepEqual(await complete("go", "nor"), [{ value: "north", label: "north" }]);
    for (const command of ["none", "slow", "bad", "null", "no such"])
      assert.deepEqual(await complete(command, ""), []);
    assert.equal(extension.state, "ready");
    assert.deepEqual(
      manager.commands().map(({ command, completes }) => [command, completes]),
      [
        ["go", true],
        ["none", false],
        ["slow", true],
        ["bad", true],
        ["null", true],
      ],
    );
  });

  for (const transport of TRANSPORTS) {
    test(`of a peer are looked at before they are offered (${transport})`, async () => {
      const commands = [{ name: "c", completions: ["one", "two"], completes: true }];
      await using session = await loadPeer(
        {
          capabilities: { commands },
          on: {
            completions: [
              [{ send: { type: "response", id: "$id", result: [{ value: "other" }] } }],
              [{ send: { type: "response", id: "$id", result: [{ value: 5 }] } }],
            ],
          },
        },
        transport,
      );
      const { offers } = session.manager;
      assert.deepEqual(await offers.complete(session.extension, "c", "o"), [
        { value: "one", label: "one" },
        { value: "other", label: "other" },
      ]);
      assert.deepEqual(await offers.complete(session.extension, "c", "t"), [{ value: "two", label: "two" }]);
      assert.deepEqual(session.sent("event")[0]?.payload, { command: "c", prefix: "o" });
    });
  }

  test("a command of xdev's own name is skipped, and told", async () => {
    await using session = await load(["c", `pi.registerCommand("ext", { handler() {} });`]);
    assert.deepEqual(session.manager.commands(), []);
    assert.match(
      session.notices.join(),
      /extension c: its command \/ext is skipped, xdev has one of that name/,
    );
  });
});

const PAINTER = `
  const component = (...lines) => ({ render: (width) => lines.map((line) => line.replace("$w", String(width))) });
  pi.registerTool({
    name: "paint", description: "", execute() {},
    renderCall(args, theme, context) {
      context.state.calls = (context.state.calls ?? 0) + 1;
      return component(theme.fg("accent", args.what) + " " + context.state.calls + " " + (context.lastComponent !== undefined) + " " + context.expanded);
    },
    renderResult(result, { expanded, isPartial }, theme, context) {
      return component(theme.bold(result.content[0].text), [expanded, isPartial, context.args.what, context.what].join(" "), "$w");
    },
  });
  pi.registerTool({ name: "older", description: "", execute() {}, renderCall: (args, options, theme) => component(options.expanded + theme.fg("error", "x")) });
  pi.registerTool({ name: "plain", description: "", execute() {} });
  pi.registerTool({ name: "throws", description: "", execute() {}, renderCall() { throw new Error("no"); } });
  pi.registerTool({ name: "hangs", description: "", execute() {}, renderCall: () => new Promise(() => {}) });
  pi.registerTool({ name: "wrong", description: "", execute() {}, renderCall: () => ({}) });
  pi.registerMessageRenderer("note", (message, { expanded }, theme) => component(theme.bg("selectedBg", message.content) + expanded));
  pi.registerEntryRenderer("card", (entry) => component("card " + entry.data.n));
  pi.registerMarkdownTransformer((text, { messageType }) => text.replaceAll("teh", "the") + messageType);
`;

describe("drawings", () => {
  test("come as lines from the components of the extension, with the theme and the options, both ways of the family", async () => {
    await using session = await load(["p", PAINTER]);
    const { manager } = session;
    manager.tools([]);
    const draw = (drawing: object) => manager.offers.draw({ width: 40, ...drawing } as never, 2000);
    const call = { what: "toolCall", name: "paint", callId: "c1", args: { what: "sky" } };
    const [first] = (await draw(call)) ?? [];
    assert.match(first!, /^\u001b\[38;2;\d+;\d+;\d+msky\u001b\[39m 1 false false\u001b\[0m$/);
    const [second] = (await draw({ ...call, options: { expanded: true } })) ?? [];
    assert.match(second!, / 2 true true\u001b\[0m$/);
    const result = { content: [{ type: "text", text: "done" }] };
    assert.deepEqual(
      await draw({ ...call, what: "toolResult", result, options: { expanded: true, isPartial: false } }),
      ["\u001b[1mdone\u001b[22m\u001b[0m", "true false sky sky", "40"],
    );
    assert.match((await draw({ what: "toolCall", name: "older", args: {} }))![0]!, /^false\u001b\[38;2;/);
    assert.match(
      (await draw({ what: "message", name: "note", value: { content: "hi" } }))![0]!,
      /^\u001b\[48;2;.*hi\u001b\[49mfalse/,
    );
    assert.deepEqual(await draw({ what: "entry", name: "card", value: { data: { n: 7 } } }), ["card 7"]);
    assert.equal(
      await manager.offers.transformMarkdown("teh end", { messageType: "user", width: 80 }),
      "the enduser",
    );
    assert.equal(
      await manager.offers.transformMarkdown("teh end", { messageType: "custom", width: 80 }),
      "teh end",
    );
  });

  test("what is not drawn, fails, hangs or is none is left to whoever shows it, at once", async () => {
    await using session = await load(["p", PAINTER]);
    const { manager } = session;
    manager.tools([]);
    const before = performance.now();
    for (const name of ["plain", "throws", "hangs", "wrong", "bash"]) {
      assert.equal(await manager.offers.draw({ what: "toolCall", name, width: 40 }), undefined, name);
    }
    assert.equal(await manager.offers.draw({ what: "message", name: "other", width: 40 }), undefined);
    assert.ok(performance.now() - before < session.extension.limits.eventTimeoutMs);
    assert.equal(session.extension.state, "ready");
  });

  test("a resolver of one extension may draw the tools of all, and leaves others to their own", async () => {
    await using session = await load(
      ["p", PAINTER],
      [
        "r",
        `pi.registerToolRenderer((name, next) => name === "bash" ? { renderCall: (args, theme) => "$ " + args.command } : next());`,
      ],
    );
    const { manager } = session;
    manager.tools([]);
    const draw = (name: string, args: object) =>
      manager.offers.draw({ what: "toolCall", name, args, width: 40 }, 2000);
    assert.deepEqual(await draw("bash", { command: "ls" }), ["$ ls"]);
    assert.match((await draw("paint", { what: "sky" }))![0]!, /sky/);
  });

  test("the theme is the one that the host says, asked for when it has another name", async () => {
    let asked = 0;
    await using session = new Session({
      host: { theme: () => ({ name: `t${++asked}`, fg: { accent: asked }, bg: {} }) },
    });
    session.module("p.ts", `export default (pi) => { ${PAINTER} };`);
    await session.load();
    session.manager.tools([]);
    const draw = (theme: string) =>
      session.manager.offers.draw(
        { what: "toolCall", name: "paint", args: { what: "x" }, width: 9, theme },
        2000,
      );
    assert.match((await draw("t1"))![0]!, /^\u001b\[38;5;1m/);
    assert.match((await draw("t1"))![0]!, /^\u001b\[38;5;1m/);
    assert.match((await draw("t2"))![0]!, /^\u001b\[38;5;2m/);
    assert.equal(asked, 2);
  });

  test("a line keeps styles and links alone, and is no wider than it may be", () => {
    const esc = "\u001b";
    for (const [text, width, line] of [
      [`${esc}[31mred${esc}[39m`, 10, `${esc}[31mred${esc}[39m${esc}[0m`],
      [`a${esc}[2Jb${esc}]0;title\u0007c${esc}[5;5Hd\rX\u009b1mE`, 10, "abcd XE"],
      [`${esc}_pi:c\u0007x${esc}_Gimage${esc}\\y`, 10, "xy"],
      ["0123456789", 4, "0123"],
      ["日本語", 5, "日本"],
      [`${esc}[1m0123456789`, 4, `${esc}[1m0123${esc}[0m`],
      [
        `${esc}]8;;https://x.org${esc}\\link${esc}]8;;${esc}\\!`,
        10,
        `${esc}]8;;https://x.org${esc}\\link${esc}]8;;${esc}\\!`,
      ],
      [`${esc}]8;;https://x.org\u0007open`, 10, `${esc}]8;;https://x.org${esc}\\open${esc}]8;;${esc}\\`],
      [`${esc}]8;;javascript:alert(1)${esc}\\x`, 10, "x"],
      [`${esc}]52;c;aGk=\u0007clip`, 10, "clip"],
    ] as const) {
      assert.equal(styledLine(text, width).replace("d X", "d X"), line, JSON.stringify(text));
    }
  });
});

describe("flags", () => {
  test("of xdev's names, of another extension's, and of odd names are skipped, and told", async () => {
    await using session = await load(
      ["a", `pi.registerFlag("plan", { type: "boolean", description: "d" }); pi.registerFlag("model", {});`],
      [
        "b",
        `pi.registerFlag("plan", { type: "string" }); pi.registerFlag("a b", {}); pi.registerFlag("preset", { type: "string", default: "x" });`,
      ],
    );
    const flags = session.manager.offers.flags(new Set(["model"]));
    assert.deepEqual(
      flags.map(({ extension, name, type, default: value }) => [extension.name, name, type, value]),
      [
        ["a", "plan", "boolean", undefined],
        ["b", "preset", "string", "x"],
      ],
    );
    assert.deepEqual(session.notices, [
      "extension a: its flag --model is skipped, xdev has an option of that name",
      "extension b: its flag --plan is skipped, extension a has one of that name",
      "extension b: its flag --a b is skipped, an option has letters, digits, - and _",
    ]);
  });
});
