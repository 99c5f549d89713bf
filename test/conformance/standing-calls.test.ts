/** Calls that stand: how many, for how long, and what is left of them. The agent keeps each of them until it has an answer. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { addSecret } from "../../src/base/log.ts";
import type { CallServices, Dialogs } from "../../src/extensions/calls.ts";
import { loadPeer, Session, TRANSPORTS } from "./harness.ts";
import type { Step } from "./script.ts";

const DONE: Step = { send: { type: "response", id: "$id" } };
const call = (id: string, method: string, params: unknown): Step => ({
  send: { type: "call", id, method, params },
});
/** A peer that does these steps when it gets a command. */
const peer = (...steps: Step[]) => ({ capabilities: { features: ["call"] }, on: { command: [steps] } });

/** A user who never answers. */
class Silent {
  asked = 0;
  dismissed = 0;
  readonly #ask: Dialogs["input"] = (_extension, _title, _text, more) => {
    this.asked++;
    return new Promise((resolve) =>
      more?.signal?.addEventListener("abort", () => {
        this.dismissed++;
        resolve(undefined);
      }),
    );
  };
  readonly dialogs: Dialogs = {
    select: () => Promise.reject(new Error("is not asked here")),
    confirm: () => Promise.reject(new Error("is not asked here")),
    input: this.#ask,
    editor: this.#ask,
  };
}

for (const transport of TRANSPORTS) {
  describe(`an extension (${transport})`, () => {
    test("may have so many questions stand, also under one name, and takes back all that have it", async () => {
      const user = new Silent();
      const questions = Array.from({ length: 20 }, (_, at) =>
        call(`q${at}`, "ui.input", { title: "t", key: "k" }),
      );
      const refused = Array.from({ length: 4 }, (): Step => ({ await: "return" }));
      const script = peer(...questions, ...refused, call("d", "ui.dismiss", { key: "k" }), DONE);
      await using session = await loadPeer(script, transport, { host: { dialogs: user.dialogs } });
      await session.request("command", { command: "go", arguments: "" });
      await session.until(() => session.sent("return").length === 21);
      assert.deepEqual([user.asked, user.dismissed], [16, 16]);
      const errors = session.sent("return").flatMap(({ error }) => error ?? []);
      assert.deepEqual(errors, Array(4).fill("16 questions to the user stand already"));
    });

    test("leaves no question behind when it ends", async () => {
      const user = new Silent();
      const script = peer(
        call("a", "ui.input", { title: "t" }),
        call("b", "ui.editor", { title: "t", key: "k" }),
        { text: "no frame\n" },
      );
      await using session = await loadPeer(script, transport, { host: { dialogs: user.dialogs } });
      await assert.rejects(session.request("command", { command: "go", arguments: "" }));
      assert.deepEqual([user.asked, user.dismissed], [2, 2]);
    });

    test("may have so many calls under way, and gets an error for each further one", async () => {
      const actions = { waitForIdle: () => new Promise<void>(() => {}) };
      const calls = Array.from({ length: 10 }, (_, at) => call(`c${at}`, "session.waitForIdle", null));
      const script = peer(...calls, { await: "return" }, { await: "return" }, DONE);
      await using session = await loadPeer(script, transport, {
        settings: { maxPendingCalls: 8 },
        host: { actions: () => actions as ReturnType<NonNullable<CallServices["actions"]>> },
      });
      await session.request("command", { command: "go", arguments: "" });
      assert.deepEqual(
        session.sent("return").map(({ id, error }) => [id, /8 calls.*maxPendingCalls/.test(error ?? "")]),
        [
          ["c8", true],
          ["c9", true],
        ],
      );
    });

    test("has no call kept for it under an id of any length", async () => {
      const script = peer(call("x".repeat(201), "session.info", null));
      await using session = await loadPeer(script, transport);
      await assert.rejects(session.request("command", { command: "go", arguments: "" }), /too long an id/);
    });

    test("reads no key in what went wrong", async () => {
      addSecret("sk-standing-0123456789");
      const tools = {
        all: () => [],
        active: () => [],
        setActive: () => {
          throw new Error("401: sk-standing-0123456789 is not valid");
        },
      };
      const script = peer(call("a", "tools.setActive", { names: [] }), { await: "return" }, DONE);
      await using session = await loadPeer(script, transport, { host: { tools } });
      await session.request("command", { command: "go", arguments: "" });
      assert.equal(session.sent("return")[0]?.error, "401: [secret] is not valid");
    });
  });
}

test("a module without session: write takes tools away, and gives back none that is off", async () => {
  let active = ["bash", "read"];
  const tools = {
    all: () => ["bash", "read", "write"].map((name) => ({ name, description: "" })),
    active: () => active,
    setActive: (names: readonly string[]) => {
      active = [...names];
    },
  };
  await using session = new Session({ host: { tools } });
  session.module(
    "guest.ts",
    `export default (pi) => pi.registerCommand("go", { handler: async (args) => {
      pi.setActiveTools(JSON.parse(args));
      await new Promise((resolve) => setTimeout(resolve, 1));
      return JSON.stringify(pi.getActiveTools());
    } });`,
  );
  await session.load();
  const go = async (names: string[]) =>
    (await session.request("command", { command: "go", arguments: JSON.stringify(names) })).patch;
  assert.deepEqual(await go(["bash", "read", "write"]), { text: '["bash","read"]' });
  // A name that no tool has is another agent's.
  assert.deepEqual(await go(["read", "questionnaire"]), { text: '["read"]' });
  assert.deepEqual(await go(["read", "bash"]), { text: '["read"]' });
  assert.match(session.logs.join("\n"), /pi\.setActiveTools\(\).*no right session/);
});
