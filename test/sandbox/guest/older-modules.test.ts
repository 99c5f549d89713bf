/** Modules that were written before there were extensions: factories of custom tools, and hooks. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { createActions } from "../../../sandbox/guest/api/actions.ts";
import { parameterNames } from "../../../sandbox/guest/api/older.ts";
import type { Session } from "../../../sandbox/guest/api/session.ts";
import { type Loaded, loadExtensions } from "../../support/extensions.ts";
import { Folder } from "../../support/folder.ts";

const TOOLS = `
import type { CustomToolFactory } from "@oh-my-pi/pi-coding-agent/custom-tools";
const factory: CustomToolFactory = (pi) => [
  {
    name: "newer", label: "Newer", description: "", parameters: pi.typebox.Type.Object({ a: pi.typebox.Type.String() }),
    told: [],
    async execute(toolCallId, params, onUpdate, ctx, signal) {
      onUpdate?.({ content: [{ type: "text", text: "half" }], details: {} });
      const details = {
        a: params.a, told: this.told, cwd: pi.cwd, hasUI: pi.hasUI, aborted: signal.aborted, isIdle: typeof ctx.isIdle,
        select: typeof pi.ui.select, object: typeof pi.zod.object, text: typeof pi.pi.truncateHead,
      };
      return { content: [{ type: "text", text: toolCallId }], details };
    },
    onSession(event) { this.told.push(event.reason); },
  },
  {
    name: "oldest", label: "Oldest", description: "", parameters: { type: "object" },
    async execute(toolCallId, params, signal, onUpdate) {
      onUpdate?.({ content: [{ type: "text", text: "half" }], details: {} });
      return { content: [{ type: "text", text: String(signal.aborted) }], details: {} };
    },
  },
  {
    name: "preview", label: "Preview", description: "", parameters: { type: "object" },
    async execute(toolCallId, params, onUpdate, ctx) {
      pi.pushPendingAction({
        label: "the change",
        apply: async (reason) => ({ content: [{ type: "text", text: "done: " + reason }], details: {} }),
      });
      return { content: [{ type: "text", text: "seen" }], details: {} };
    },
  },
];
export default factory;
`;

const HOOK = `
import type { HookAPI } from "@mariozechner/pi-coding-agent/hooks";
export default function (pi: HookAPI) {
  pi.on("session", async (event, ctx) => {
    ctx.ui.notify("session " + event.reason + " " + (event.previousSessionFile ?? "none") + " " + typeof ctx.exec);
    if (event.reason === "before_clear") return { cancel: true };
    if (event.reason === "before_compact") {
      return { compactionEntry: { type: "compaction", summary: "short of " + event.messagesToSummarize.length } };
    }
  });
  pi.on("turn_end", async () => { pi.send("go on"); pi.sendMessage({ customType: "x", content: "y", display: true }, true); });
}
`;

const NOT_TOOLS = `export default (pi) => {
  for (const method of ["registerAssistantThinkingRenderer", "registerComposerShape", "registerFileWriteFallback", "setServiceTier"]) pi[method](() => {});
  pi.registerTool({
    name: "waits", description: "", parameters: { type: "object" },
    async execute(id, params, signal, onUpdate, ctx) {
      ctx.clearTimer(ctx.setInterval(() => { throw new Error("it goes on"); }, 1));
      await new Promise((resolve) => ctx.setTimeout(resolve, 5));
      return { content: [{ type: "text", text: JSON.stringify(pi.getServiceTiers()) }], details: {} };
    },
  });
  pi.registerCommand("c", { handler() {} }); return { dispose() {}, name: "thing" }; };`;

describe("modules of older kinds", () => {
  let folder: Folder;
  let loaded: Loaded;
  before(async () => {
    folder = new Folder();
    const files = { "tools.ts": TOOLS, "hook.ts": HOOK, "not-tools.ts": NOT_TOOLS };
    const paths = Object.entries(files).map(([name, text]) => folder.file(name, text));
    loaded = await loadExtensions(paths, {}, { changeSession: true });
    assert.deepEqual(loaded.manager.failures(), []);
  });
  after(async () => {
    await loaded?.manager.stop();
    folder[Symbol.dispose]();
  });

  const tool = (name: string) => {
    const found = loaded.manager.tools([]).find((one) => one.name === name);
    assert.ok(found, `there is no tool ${name}`);
    return found;
  };

  test("what a factory gives is registered, with its order of parameters", async () => {
    await loaded.manager.events.tell("session_start", {
      cwd: "/somewhere",
      sessionId: "s",
      model: null,
      reason: "startup",
    });
    const updates: unknown[] = [];
    const result = await tool("newer").execute("id-1", { a: "x" }, undefined, (update: unknown) =>
      updates.push(update),
    );
    assert.deepEqual(result.details, {
      ...{ a: "x", told: ["start"], cwd: "/somewhere", hasUI: false, aborted: false, isIdle: "function" },
      ...{ select: "function", object: "function", text: "function" },
    });
    assert.equal(updates.length, 1);
  });

  test("a tool whose third parameter is the signal gets that", async () => {
    const result = await tool("oldest").execute("id-2", {});
    assert.deepEqual(result.content, [{ type: "text", text: "false" }]);
  });

  test("a pending action is done when the model resolves it", async () => {
    await tool("preview").execute("id-3", {});
    const deadline = Date.now() + 10_000;
    while (!loaded.manager.tools([]).some(({ name }) => name === "resolve")) {
      assert.ok(Date.now() < deadline, "resolve was never registered");
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    const result = await tool("resolve").execute("id-4", { action: "apply", reason: "right" });
    assert.deepEqual(result.content, [{ type: "text", text: "done: right" }]);
  });

  test("what a factory gives besides is left alone", () => {
    assert.deepEqual(
      loaded.manager.commands().map(({ command }) => command),
      ["c"],
    );
  });

  test("what oh-my-pi has and xdev has not breaks nothing", async () => {
    const result = await tool("waits").execute("id-5", {});
    assert.deepEqual(result.content, [{ type: "text", text: "{}" }]);
  });

  test("a hook is told of the session under its older name, and may cancel", async () => {
    const { events } = loaded.manager;
    const ask = async (event: "session_before_switch" | "session_before_compact", payload: object) => {
      const results: unknown[] = [];
      await events.ask(
        event,
        () => payload,
        (result) => void results.push(result),
      );
      return results;
    };
    const cancelled = await ask("session_before_switch", { reason: "new" });
    assert.deepEqual(cancelled, [{ cancel: true }]);
    await events.tell("session_switch", { reason: "resume", previousSessionFile: "/old.jsonl" });
    await events.tell("session_start", { cwd: "/", sessionId: "s", model: null, reason: "resume" });
    const compacted = await ask("session_before_compact", {
      preparation: { messagesToSummarize: [1, 2], firstKeptEntryId: "k", tokensBefore: 7 },
      branchEntries: [],
    });
    assert.deepEqual(compacted, [
      { compaction: { type: "compaction", summary: "short of 2", firstKeptEntryId: "k", tokensBefore: 7 } },
    ]);
    assert.deepEqual(
      loaded.notifications.filter((text) => text.startsWith("hook ")),
      [
        "hook info session start none function",
        "hook info session before_clear none function",
        "hook info session switch /old.jsonl function",
        "hook info session before_compact none function",
      ],
    );
  });

  test("pi.send, a text as the message and a bare triggerTurn mean what they did", () => {
    const told: unknown[] = [];
    const tell = (_name: string, method: string, params: unknown) => void told.push([method, params]);
    const actions = createActions({ tell } as unknown as Session, () => undefined);
    actions.send?.("go on");
    actions.sendMessage?.("seen", true);
    actions.sendMessage?.({ customType: "x", content: "y", display: false }, { deliverAs: "nextTurn" });
    const messageOf = (customType: string, content: string, display: boolean) => ({
      customType,
      content,
      display,
    });
    assert.deepEqual(JSON.parse(JSON.stringify(told)), [
      ["session.sendUserMessage", { content: "go on", deliverAs: "followUp" }],
      ["session.sendMessage", { message: messageOf("message", "seen", true), triggerTurn: true }],
      ["session.sendMessage", { message: messageOf("x", "y", false), deliverAs: "nextTurn" }],
    ]);
  });

  test("the names of parameters are read from a function", () => {
    assert.deepEqual(
      parameterNames(async (_a, { b: _b }: { b: number }, [_c]: number[], _d = [1, 2].map((_e) => _e)) => {}),
      ["_a", "", "", "_d"],
    );
    assert.deepEqual(
      parameterNames(
        {
          execute(_id: string, _params: object, signal: unknown) {
            return signal;
          },
        }.execute,
      ),
      ["_id", "_params", "signal"],
    );
  });
});
