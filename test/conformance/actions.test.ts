/** Runtime actions (extension-protocol.md §6). What a run does with them is tested in test/e2e/actions.test.ts. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createMessageQueue, QUEUE_ACTIONS, type QueueAction } from "../../src/agent/message-queue.ts";
import type { ActionFrame } from "../../src/extensions/frame.ts";
import { loadPeer, TRANSPORTS } from "./harness.ts";
import { ALLOW, policy } from "./script.ts";

const action = (name: string, more: Record<string, unknown> = {}) => ({
  send: { type: "action", action: name, ...more },
});

describe("§6 runtime actions", () => {
  for (const transport of TRANSPORTS) {
    test(`§6 steer, followUp, aside and register_provider reach the host, with who asks (${transport})`, async () => {
      const got: [string, ActionFrame][] = [];
      const steps = [
        action("steer", { text: "left" }),
        action("followUp", { text: "then" }),
        action("aside", { text: "by the way" }),
        action("register_provider", { payload: { name: "mine" } }),
        { send: ALLOW },
      ];
      await using session = await loadPeer(policy(steps), transport, {
        host: { action: (extension, frame) => void got.push([extension, frame]) },
      });
      assert.equal(await session.verdict(), "allow");
      assert.deepEqual(
        got.map(([extension, frame]) => [extension, frame.action, frame.text ?? frame.payload]),
        [
          ["peer", "steer", "left"],
          ["peer", "followUp", "then"],
          ["peer", "aside", "by the way"],
          ["peer", "register_provider", { name: "mine" }],
        ],
      );
    });

    test(`§6 an extension may act without being asked, and need not return a frame for it (${transport})`, async () => {
      await using session = await loadPeer(
        {
          capabilities: null,
          start: [{ send: { type: "capabilities", payload: {} } }, action("steer", { text: "now" })],
        },
        transport,
      );
      await session.until(() => session.actions.length === 1);
      assert.deepEqual(session.actions, ["peer steer now"]);
      assert.equal(session.sent("event").length, 0);
    });

    test(`§6 an action that nobody knows, or without a text, kills no one (${transport})`, async () => {
      const steps = [action("dance"), action("steer"), action("steer", { text: null }), { send: ALLOW }];
      await using session = await loadPeer(policy(steps), transport);
      assert.equal(await session.verdict(), "allow");
      assert.deepEqual(session.actions, ["peer dance ", "peer steer ", "peer steer "]);
      assert.equal(session.extension.state, "ready");
    });

    test(`§6 actions of an extension that was killed are dropped (${transport})`, async () => {
      const oops = { text: transport === "process" ? "oops\n" : "oops" };
      await using session = await loadPeer(policy([oops, action("steer", { text: "late" })]), transport);
      await session.verdict();
      await session.manager.stop();
      assert.deepEqual(session.actions, []);
    });

    test(`§6 the queue delivers them: steer to the running turn, followUp after it, aside as a note (${transport})`, async () => {
      const queue = createMessageQueue();
      const agent: string[] = [];
      const steps = [...QUEUE_ACTIONS.map((name) => action(name, { text: `a ${name}` })), { send: ALLOW }];
      await using session = await loadPeer(policy(steps), transport, {
        host: {
          action: (extension, { action, text }) => queue.add(extension, action as QueueAction, text ?? ""),
        },
      });
      await session.verdict();
      queue.connect({
        steer: (message) => void agent.push(`steer ${JSON.stringify(message)}`),
        followUp: (message) => void agent.push(`followUp ${JSON.stringify(message)}`),
      });
      assert.equal(agent.length, 2);
      assert.match(agent[0] ?? "", /^steer .*"a steer"/);
      assert.match(agent[1] ?? "", /^followUp .*"a followUp"/);
      assert.deepEqual(
        queue.takeAsides().map(({ extension, text }) => [extension, text]),
        [["peer", "a aside"]],
      );
    });
  }
});
