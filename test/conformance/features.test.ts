/** Features beyond v1 (wire-notes.md): negotiated, never sent unasked, the same on both transports. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { CALL_METHODS, type CallServices, type DialogOptions } from "../../src/extensions/calls.ts";
import { loadPeer, Session, TRANSPORTS, type Transport } from "./harness.ts";
import { ALLOW, always, policy, type Step } from "./script.ts";

const DONE = { send: { type: "response", id: "$id" } };

/** What the host answers to these calls, one after the other, by a peer that gets `command`. */
async function answers(
  calls: Record<string, unknown>[],
  transport: Transport,
  host: Partial<CallServices> = {},
): Promise<{ returns: unknown[]; session: Session }> {
  const steps = calls.flatMap((call, index): Step[] => [
    { send: { type: "call", id: `call-${index}`, ...call } },
    { await: "return" },
  ]);
  const script = { capabilities: { features: ["call"] }, on: { command: [[...steps, DONE]] } };
  await using session = await loadPeer(script, transport, { host });
  await session.request("command", { command: "go", arguments: "" });
  assert.equal(session.extension.state, "ready", "no call, however wrong, kills the extension");
  const returns = session.sent("return").map(({ id, type: _type, ...rest }, index) => {
    assert.equal(id, calls[index]?.id ?? `call-${index}`);
    return rest;
  });
  return { returns, session };
}

const STATE = {
  isIdle: true,
  hasPendingMessages: false,
  contextUsage: null,
  systemPrompt: "s",
  name: "n",
  file: "/f",
  thinkingLevel: "off",
  model: { provider: "p", id: "m" },
  isProjectTrusted: false,
  leafId: null,
};

/** A session that says what it was asked. */
function services(asked: unknown[]): Partial<CallServices> {
  const note =
    <T>(name: string, result: T) =>
    (...args: unknown[]): T => {
      asked.push([name, ...args]);
      return result;
    };
  /** Of how long a question may stand it is noted if that is limited. */
  const dialog =
    <T>(name: string, result: Promise<T>) =>
    (...args: unknown[]): Promise<T> => {
      const { timeoutMs } = args.pop() as DialogOptions;
      return note(name, result)(...args, ...(timeoutMs === undefined ? [] : [timeoutMs]));
    };
  return {
    notify: note("notify", undefined),
    setStatus: note("setStatus", undefined),
    setWidget: note("setWidget", undefined),
    loginQuestion: async (extension, question) => note("login", "the code")(extension.name, question),
    setTitle: note("setTitle", undefined),
    setEditorText: note("setEditorText", undefined),
    dialogs: {
      select: dialog("select", Promise.resolve("b")),
      confirm: dialog("confirm", Promise.resolve(true)),
      input: dialog("input", Promise.resolve("typed")),
      editor: dialog("editor", Promise.resolve("edited")),
    },
    theme: note("theme", { name: "t", fg: {}, bg: {} }),
    flag: note("flag", "given"),
    session: {
      info: note("info", { cwd: "/w", sessionId: "s", model: "m" }),
      append: note("append", "e1"),
      entries: note("entries", [{ id: "e1" }]),
    },
    actions: () => ({
      state: note("state", STATE),
      read: note("read", [{ id: "e1" }]),
      commands: note("commands", []),
      sendMessage: note("sendMessage", Promise.resolve()),
      sendUserMessage: note("sendUserMessage", Promise.resolve()),
      setName: note("setName", undefined),
      setModel: note("setModel", Promise.resolve(true)),
      setThinkingLevel: note("setThinkingLevel", undefined),
      settings: note("settings", { retry: {} }),
      model: note("model", { provider: "p", id: "m" }),
      setLabel: note("setLabel", undefined),
      shutdown: note("shutdown", undefined),
      abort: note("abort", undefined),
      compact: note("compact", Promise.resolve({ summary: "s" })),
      waitForIdle: note("waitForIdle", Promise.resolve()),
      newSession: note("newSession", Promise.resolve({ cancelled: false })),
      switchSession: note("switchSession", Promise.resolve({ cancelled: true })),
      fork: note("fork", Promise.resolve({ text: "t", cancelled: false })),
      navigateTree: note("navigateTree", Promise.resolve({ cancelled: false })),
      reload: note("reload", Promise.resolve()),
    }),
    tools: {
      all: note("all", [{ name: "bash", description: "d" }]),
      active: note("active", ["bash"]),
      setActive: note("setActive", undefined),
    },
  };
}

const NO_MODELS = "models are for modules: a process extension has no permissions yet";

/** Each method: parameters that it takes, what the session is asked, and the result. */
const NO_REQUEST = { error: "there is no such request to a model" };

const methods: [(typeof CALL_METHODS)[number], unknown, unknown[] | undefined, unknown][] = [
  ["provider.payload", { stream: "p1", payload: {} }, undefined, NO_REQUEST],
  ["provider.response", { stream: "p1", status: 200 }, undefined, NO_REQUEST],
  [
    "provider.login",
    { what: "prompt", message: "Code:\u001b[2J" },
    ["login", "peer", { what: "prompt", message: "Code:", allowEmpty: false }],
    { result: "the code" },
  ],
  ["ui.notify", { message: "hi\u001b[2J", level: "warning" }, ["notify", "peer", "hi", "warning"], {}],
  ["ui.notify", { message: "hi" }, ["notify", "peer", "hi", "info"], {}],
  ["ui.setStatus", { key: "k", text: "t" }, ["setStatus", "peer", "k", "t"], {}],
  ["ui.setStatus", { key: "k", text: null }, ["setStatus", "peer", "k", undefined], {}],
  [
    "ui.setWidget",
    { key: "k", lines: ["a\u001b[2J"], placement: "belowEditor" },
    ["setWidget", "peer", "k", ["a"], "belowEditor"],
    {},
  ],
  ["ui.setWidget", { key: "k" }, ["setWidget", "peer", "k", undefined, undefined], {}],
  ["ui.setTitle", { title: "t" }, ["setTitle", "peer", "t"], {}],
  ["ui.setEditorText", { text: "a\nb" }, ["setEditorText", "peer", "a\nb"], {}],
  ["ui.dismiss", { key: "k" }, undefined, {}],
  ["ui.confirm", { title: "t", key: "k", timeout: 5 }, ["confirm", "peer", "t", "", 5], { result: true }],
  ["ui.select", { title: "t", options: ["a", "b"] }, ["select", "peer", "t", ["a", "b"]], { result: "b" }],
  ["ui.confirm", { title: "t", message: "m" }, ["confirm", "peer", "t", "m"], { result: true }],
  ["ui.confirm", { title: "t" }, ["confirm", "peer", "t", ""], { result: true }],
  ["ui.input", { title: "t", placeholder: "p" }, ["input", "peer", "t", "p"], { result: "typed" }],
  ["ui.input", { title: "t" }, ["input", "peer", "t", undefined], { result: "typed" }],
  ["ui.editor", { title: "t", text: "x\n\ty" }, ["editor", "peer", "t", "x\n\ty"], { result: "edited" }],
  ["session.info", undefined, ["info"], { result: { cwd: "/w", sessionId: "s", model: "m" } }],
  [
    "session.append",
    { customType: "c", data: { a: [1] } },
    ["append", "peer", "c", { a: [1] }],
    { result: { id: "e1" } },
  ],
  ["session.append", { customType: "c" }, ["append", "peer", "c", undefined], { result: { id: "e1" } }],
  ["session.entries", {}, ["entries"], { result: [{ id: "e1" }] }],
  ["session.state", undefined, ["state"], { result: { ...STATE } }],
  ["session.read", { what: "entries" }, ["read", "entries"], { result: [{ id: "e1" }] }],
  ["session.commands", {}, ["commands"], { result: [] }],
  ["session.waitForIdle", undefined, ["waitForIdle"], {}],
  ["session.abort", null, ["abort"], {}],
  ["session.reload", undefined, ["reload"], {}],
  [
    "session.sendMessage",
    { message: { customType: "c", content: "x" }, deliverAs: "nextTurn", triggerTurn: true },
    [
      "sendMessage",
      { customType: "c", content: "x", display: true },
      { deliverAs: "nextTurn", triggerTurn: true },
    ],
    {},
  ],
  ["session.sendUserMessage", { content: "x" }, ["sendUserMessage", "x", "followUp", false], {}],
  ["session.setName", { name: "n" }, ["setName", "n"], {}],
  [
    "session.setModel",
    { provider: "p", modelId: "m" },
    ["setModel", "p", "m"],
    { result: { changed: true } },
  ],
  ["session.setThinkingLevel", { level: "high" }, ["setThinkingLevel", "high"], {}],
  ["session.model", undefined, ["model"], { result: { provider: "p", id: "m" } }],
  ["session.settings", undefined, ["settings"], { result: { retry: {} } }],
  ["session.setLabel", { entryId: "e", label: "l" }, ["setLabel", "e", "l"], {}],
  ["session.setLabel", { entryId: "e" }, ["setLabel", "e", undefined], {}],
  ["session.shutdown", undefined, ["shutdown"], {}],
  ["ui.theme", undefined, ["theme"], { result: { name: "t", fg: {}, bg: {} } }],
  ["flags.get", { name: "f" }, ["flag", "peer", "f"], { result: "given" }],
  ["events.listen", { channels: ["c"] }, undefined, {}],
  ["events.emit", { events: [{ channel: "c", data: { a: 1 } }] }, undefined, {}],
  ["session.compact", {}, ["compact", undefined], { result: { summary: "s" } }],
  ["session.newSession", {}, ["newSession", undefined], { result: { cancelled: false } }],
  ["session.switchSession", { path: "/s" }, ["switchSession", "/s"], { result: { cancelled: true } }],
  ["session.fork", { entryId: "e" }, ["fork", "e"], { result: { text: "t", cancelled: false } }],
  [
    "session.navigateTree",
    { targetId: "e", summarize: true },
    ["navigateTree", "e", { summarize: true }],
    { result: { cancelled: false } },
  ],
  ["tools.all", null, ["all"], { result: [{ name: "bash", description: "d" }] }],
  ["tools.active", undefined, ["active"], { result: ["bash"] }],
  ["tools.setActive", { names: ["bash"] }, ["setActive", ["bash"]], {}],
  ["permissions.list", undefined, undefined, { result: [] }],
  [
    "model.complete",
    { prompt: "x" },
    undefined,
    { error: "model.complete is for modules: a process extension has no permissions yet" },
  ],
  ["models.known", {}, undefined, { result: { models: [], providers: [] } }],
  ["model.mayUse", { provider: "p" }, undefined, { error: NO_MODELS }],
  [
    "model.stream",
    { provider: "p", modelId: "m", context: { messages: [{ role: "user", content: "x" }] }, options: {} },
    undefined,
    { error: NO_MODELS },
  ],
  ["model.next", { stream: "s" }, undefined, { error: "there is no such request" }],
  ["model.abort", { stream: "s" }, undefined, {}],
];

/** What a session without services answers. */
const defaults: [(typeof CALL_METHODS)[number], unknown, unknown][] = [
  ["ui.setStatus", { key: "k" }, {}],
  ["ui.setWidget", { key: "k" }, {}],
  ["ui.setTitle", { title: "t" }, {}],
  ["ui.setEditorText", { text: "t" }, {}],
  ["ui.select", { title: "t", options: [] }, {}],
  ["ui.confirm", { title: "t" }, { result: false }],
  ["ui.input", { title: "t" }, {}],
  ["ui.editor", { title: "t" }, {}],
  ["session.info", undefined, { result: null }],
  ["session.append", { customType: "c" }, { error: "there is no session" }],
  ["session.entries", undefined, { result: [] }],
  [
    "session.state",
    undefined,
    {
      result: {
        isIdle: true,
        hasPendingMessages: false,
        systemPrompt: "",
        thinkingLevel: "off",
        isProjectTrusted: false,
        leafId: null,
      },
    },
  ],
  ["session.settings", undefined, { result: {} }],
  ["session.model", undefined, { result: null }],
  ["session.shutdown", undefined, { error: "there is no session" }],
  ["ui.theme", undefined, { result: null }],
  ["flags.get", { name: "f" }, {}],
  ["session.read", { what: "entries" }, { result: [] }],
  ["session.read", { what: "header" }, { result: null }],
  ["session.commands", undefined, { result: [] }],
  ["session.waitForIdle", undefined, {}],
  ["session.setName", { name: "n" }, { error: "there is no session" }],
  ["tools.all", undefined, { result: [] }],
  ["tools.active", undefined, { result: [] }],
  ["tools.setActive", { names: [] }, {}],
  [
    "provider.login",
    { what: "manualCode" },
    { error: "nobody is logging in: that is what `xdev login` is for" },
  ],
];

const wrong: [(typeof CALL_METHODS)[number], unknown[]][] = [
  [
    "ui.notify",
    [
      undefined,
      null,
      5,
      "x",
      [],
      {},
      { message: 5 },
      { message: "x", level: 5 },
      { message: "x".repeat(100_001) },
    ],
  ],
  ["ui.setStatus", [undefined, {}, { key: 5 }, { key: "k", text: {} }]],
  [
    "ui.select",
    [
      undefined,
      {},
      { title: "t" },
      { title: "t", options: "a" },
      { title: "t", options: [5] },
      { title: 5, options: [] },
      { title: "t", options: Array(1001).fill("a") },
    ],
  ],
  [
    "ui.confirm",
    [
      undefined,
      {},
      { title: 5 },
      { title: "t", message: 5 },
      { title: "t", timeout: -1 },
      { title: "t", timeout: "5" },
      { title: "t", key: 5 },
      { title: "t", key: "x".repeat(101) },
    ],
  ],
  ["ui.setWidget", [undefined, {}, { key: "k", lines: "a" }, { key: "k", placement: "left" }]],
  ["ui.setTitle", [undefined, {}, { title: 5 }]],
  ["ui.setEditorText", [undefined, {}, { text: 5 }]],
  ["ui.dismiss", [undefined, {}, { key: 5 }, { key: "x".repeat(101) }]],
  ["ui.input", [undefined, {}, { title: [] }, { title: "t", placeholder: 5 }]],
  ["ui.editor", [undefined, {}, { title: true }, { title: "t", text: 5 }]],
  ["session.append", [undefined, {}, { customType: "" }, { customType: 5 }, { customType: "x".repeat(201) }]],
  ["session.read", [undefined, {}, { what: "tree" }]],
  [
    "session.sendMessage",
    [
      undefined,
      {},
      { message: { content: "x" } },
      { message: { customType: "", content: "x" } },
      { message: { customType: "c", content: [{ type: "file", path: "/etc/passwd" }] } },
      { message: { customType: "c", content: "x" }, deliverAs: "now" },
    ],
  ],
  [
    "session.sendUserMessage",
    [undefined, {}, { content: 5 }, { content: "x", deliverAs: "nextTurn" }, { content: "x", expand: 1 }],
  ],
  ["session.setName", [undefined, {}, { name: "" }, { name: 5 }]],
  ["provider.payload", [undefined, {}, { stream: 5 }, { stream: "x".repeat(41) }]],
  ["provider.response", [undefined, {}, { stream: "p1" }, { stream: "p1", status: "200" }]],
  [
    "provider.login",
    [
      undefined,
      {},
      { what: "password" },
      { what: "prompt" },
      { what: "url", url: "file:///etc/passwd" },
      { what: "url", url: "https://x.example/\u001b[2J" },
      { what: "select", message: "m", options: [] },
      { what: "deviceCode", url: "javascript:alert(1)", userCode: "X" },
    ],
  ],
  ["session.setModel", [undefined, {}, { provider: "p" }, { provider: "p", modelId: 5 }]],
  ["session.switchSession", [undefined, {}, { path: 5 }]],
  ["session.fork", [undefined, {}, { entryId: "" }]],
  ["session.setLabel", [undefined, {}, { entryId: "" }, { entryId: "e", label: "x".repeat(1001) }]],
  ["flags.get", [undefined, {}, { name: "x".repeat(129) }]],
  ["events.listen", [undefined, {}, { channels: [""] }, { channels: ["x".repeat(201)] }]],
  [
    "events.emit",
    [
      undefined,
      {},
      { events: [{}] },
      { events: [{ channel: "" }] },
      { events: Array(1001).fill({ channel: "c" }) },
    ],
  ],
  ["session.navigateTree", [undefined, {}, { targetId: "e", summarize: "yes" }]],
  ["models.known", [undefined, { provider: 5 }, { provider: "" }]],
  ["model.mayUse", [undefined, {}, { provider: 5 }]],
  [
    "model.stream",
    [
      undefined,
      {},
      { provider: "p", modelId: "m", context: {}, options: {} },
      { provider: "p", modelId: "m", context: { messages: "x" }, options: {} },
      { provider: "p", modelId: "m", context: { messages: [{ role: "root", content: "x" }] }, options: {} },
      { provider: "p", modelId: "m", context: { messages: [{ role: "user", content: [5] }] }, options: {} },
      { provider: "p", modelId: "m", context: { messages: [] }, options: { maxTokens: "all" } },
      { provider: { name: "p" }, modelId: "m", context: { messages: [] }, options: {} },
    ],
  ],
  ["model.next", [undefined, {}, { stream: 5 }]],
  ["model.abort", [undefined, {}, { stream: 5 }]],
  ["tools.setActive", [undefined, {}, { names: "bash" }, { names: [5] }, { names: { length: 1 } }]],
];

describe("call and return", () => {
  test("call: every method is tested here", () => {
    assert.deepEqual([...new Set(methods.map(([method]) => method))].sort(), [...CALL_METHODS].sort());
  });

  for (const transport of TRANSPORTS) {
    test(`call: each method does what it says, and returns its result (${transport})`, async () => {
      const asked: unknown[] = [];
      const calls = methods.map(([method, params]) => ({ method, params }));
      const { returns } = await answers(calls, transport, services(asked));
      for (const [index, [method, , , expected]] of methods.entries()) {
        // JSON has no undefined: what has no result returns none.
        assert.deepEqual(JSON.parse(JSON.stringify(returns[index])), expected, method);
      }
      assert.deepEqual(
        asked,
        methods.flatMap(([, , ask]) => (ask ? [ask] : [])),
      );
    });

    test(`call: without the service, its answer is that of a session without it (${transport})`, async () => {
      const { returns } = await answers(
        defaults.map(([method, params]) => ({ method, params })),
        transport,
      );
      for (const [index, [method, , expected]] of defaults.entries()) {
        assert.deepEqual(JSON.parse(JSON.stringify(returns[index])), expected, method);
      }
    });

    test(`call: wrong parameters are an error, and nothing is done (${transport})`, async () => {
      const calls = wrong.flatMap(([method, all]) => all.map((params) => ({ method, params })));
      const asked: unknown[] = [];
      const { returns } = await answers(calls, transport, services(asked));
      for (const [index, { method, params }] of calls.entries()) {
        const { error } = returns[index] as { error?: string };
        assert.ok(
          error?.startsWith(`${method}: `),
          `${method} ${JSON.stringify(params)?.slice(0, 80)}: ${error}`,
        );
      }
      assert.deepEqual(asked, []);
    });

    test(`call: an unknown method is an error (${transport})`, async () => {
      const names = ["", "nope", "ui", "UI.notify", "constructor", "__proto__", "toString", "hasOwnProperty"];
      const { returns } = await answers(
        names.map((method) => ({ method })),
        transport,
      );
      assert.deepEqual(
        returns,
        names.map((name) => ({ error: `unknown method ${name}` })),
      );
    });

    test(`call: ids come back as they were, also twice the same and numbers (${transport})`, async () => {
      const ids = ["a", "a", 7, 0, -1.5, "", "7"];
      const { returns } = await answers(
        ids.map((id) => ({ method: "tools.active", id })),
        transport,
      );
      assert.equal(returns.length, ids.length);
    });

    test(`call: one without an id is done, and not answered (${transport})`, async () => {
      const call = { type: "call", method: "ui.notify", params: { message: "hi" } };
      await using session = await loadPeer(
        policy([{ send: call }, { send: { ...call, id: null } }, { send: ALLOW }], { features: ["call"] }),
        transport,
      );
      assert.equal(await session.verdict(), "allow");
      assert.deepEqual(session.notifications, ["peer info hi", "peer info hi"]);
      assert.equal(session.sent("return").length, 0);
    });

    test(`call: what a service throws is the error (${transport})`, async () => {
      const host = services([]);
      host.tools!.setActive = () => {
        throw new Error("there is no tool x");
      };
      host.dialogs!.confirm = () => Promise.reject(new Error("no terminal"));
      const calls = [
        { method: "tools.setActive", params: { names: ["x"] } },
        { method: "ui.confirm", params: { title: "t" } },
      ];
      const { returns } = await answers(calls, transport, host);
      assert.deepEqual(returns, [{ error: "there is no tool x" }, { error: "no terminal" }]);
    });
  }

  test("call: from a module, through its API", async () => {
    await using session = new Session();
    session.module(
      "guest.ts",
      'export default (pi) => pi.on("tool_call", async (event, ctx) => { ctx.ui.notify("hi", "warning"); });',
    );
    await session.load();
    assert.equal(await session.verdict(), "allow");
    assert.deepEqual(session.notifications, ["guest warning hi"]);
  });
});

describe("features", () => {
  const tool = { tools: [{ name: "t" }] };
  const partial = { content: [{ type: "text", text: "half" }] };
  const text = (value: string) => [{ type: "text", text: value }];

  for (const transport of TRANSPORTS) {
    test(`features: an extension that lists none gets hello and event frames only (${transport})`, async () => {
      await using session = await loadPeer(always([{ sleepMs: 100 }, { send: ALLOW }]), transport);
      const abort = new AbortController();
      const verdict = session.verdict("ls", abort.signal);
      abort.abort();
      await verdict;
      await session.patch();
      assert.equal(await session.verdict(), "allow");
      const types = new Set(session.passed.flatMap(({ sent }) => sent?.type ?? []));
      assert.deepEqual([...types], ["hello", "event"]);
      for (const { payload } of session.sent("event")) {
        assert.deepEqual(Object.keys(payload as object), ["tool", "arguments", "callId"]);
      }
    });

    test(`cancel: the host tells which event the user aborted (${transport})`, async () => {
      const script = policy([{ log: "asked" }, { await: "cancel" }, { send: ALLOW }], {
        features: ["cancel"],
      });
      await using session = await loadPeer(script, transport);
      const abort = new AbortController();
      const verdict = session.verdict("ls", abort.signal);
      await session.until(() => session.logs.length === 1);
      abort.abort();
      assert.match(await verdict, /aborted/);
      assert.equal(await session.verdict(), "allow", "the late reply freed the line");
      assert.deepEqual(session.sent("cancel"), [{ type: "cancel", id: session.sent("event")[0]?.id }]);
    });

    test(`update: partial results reach whoever runs the tool; what is none is dropped (${transport})`, async () => {
      const update = (payload: unknown, id: unknown = "$id") => ({ send: { type: "update", id, payload } });
      const steps: Step[] = [
        update(partial),
        update(partial, "nobody"),
        update(partial, null),
        ...[5, "half", [partial], { content: "half" }, { content: [{ type: "video" }] }].map((wrong) =>
          update(wrong),
        ),
        update({ details: { at: 50 } }),
        { send: { type: "response", id: "$id", patch: "whole" } },
        update({ content: text("too late") }),
        update({ content: text("too late") }, "1"),
      ];
      await using session = await loadPeer(
        { capabilities: { ...tool, features: ["update"] }, on: { tool_invoke: [steps] } },
        transport,
      );
      const updates: unknown[] = [];
      const result = await session.manager
        .tools([])[0]
        ?.execute("c", {}, undefined, (update) => updates.push(update));
      assert.deepEqual(result?.content, text("whole"));
      assert.deepEqual(updates, [
        { content: text("half"), details: undefined },
        { content: [], details: { at: 50 } },
      ]);
      await session.request("command");
      assert.equal(updates.length, 2);
      assert.equal(session.extension.state, "ready");
    });

    test(`result: carries content, details and isError of a tool (${transport})`, async () => {
      const result = {
        content: [...text("a"), { type: "image", data: "AA==", mimeType: "image/png" }],
        details: { d: 1 },
        isError: true,
      };
      const script = (features: string[], given: unknown) => ({
        capabilities: { ...tool, features },
        on: { tool_invoke: [[{ send: { type: "response", id: "$id", result: given, patch: "by patch" } }]] },
      });
      await using session = await loadPeer(script(["result"], result), transport);
      assert.deepEqual(await session.manager.tools([])[0]?.execute("c", {}), result);
      await using unasked = await loadPeer(script([], result), transport);
      const plain = await unasked.manager.tools([])[0]?.execute("c", {});
      assert.deepEqual(plain?.content, text("by patch"), "without the feature there is no result");
      for (const wrong of [
        5,
        "x",
        true,
        [],
        [result],
        { content: "x" },
        { content: [{ type: "text" }] },
        { isError: 1 },
      ]) {
        await using session = await loadPeer(script(["result"], wrong), transport);
        await assert.rejects(
          async () => session.manager.tools([])[0]?.execute("c", {}),
          /extension peer gave something that is no tool result/,
          JSON.stringify(wrong),
        );
        assert.equal(session.extension.state, "ready");
      }
    });

    test(`result: of tool_result replaces the members that it has; a wrong one changes nothing (${transport})`, async () => {
      const old = { content: text("old") as [{ type: "text"; text: string }], details: 1, isError: false };
      const cases: [unknown, object][] = [
        [{ content: text("new") }, { content: text("new") }],
        [{ details: { d: 2 } }, { details: { d: 2 } }],
        [{ isError: true }, { isError: true }],
        [{}, {}],
        [null, {}],
        [5, {}],
        [[], {}],
        [{ content: [{ type: "text", text: 5 }], isError: true }, {}],
      ];
      const on = {
        tool_result: cases.map(([result]) => [{ send: { type: "response", id: "$id", result } }]),
      };
      const capabilities = { events: ["tool_result"], features: ["result"] };
      await using session = await loadPeer({ capabilities, on }, transport);
      for (const [result, change] of cases) {
        assert.deepEqual(await session.patch(old), { ...old, ...change }, JSON.stringify(result));
      }
      const first = session.sent("event")[0]?.payload as Record<string, unknown>;
      assert.deepEqual(
        [first.content, first.details],
        [old.content, old.details],
        "it is told the whole result",
      );
    });
  }
});
