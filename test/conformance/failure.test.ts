/** The failure policy (extension-protocol.md §5): whatever becomes of a policy, no call passes that it did not allow. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { describe, test } from "node:test";
import { XdevError } from "../../src/base/errors.ts";
import { gone, isRunning } from "../support/processes.ts";
import { loadPeer, Session, TRANSPORTS } from "./harness.ts";
import { ALLOW, policy, type Step } from "./script.ts";

/** A short limit for those that let it pass, and the usual one for those that must not. */
const limits = (reason: RegExp) => (reason.source.includes("did not answer") ? { eventTimeoutMs: 200 } : {});

/** Ways not to answer; the last member: not on the worker transport. */
const failures: [string, Step[], RegExp, "process"?][] = [
  ["exits with a status", [{ exit: 3 }], /it exited with status 3$/],
  ["exits with status 0", [{ exit: 0 }], /it exited with status 0$/],
  ["is killed by a signal", [{ signal: "SIGKILL" }], /it was ended by signal SIGKILL$/, "process"],
  ["is ended by SIGTERM", [{ signal: "SIGTERM" }], /it was ended by signal SIGTERM$/, "process"],
  ["breaks off within a frame", [{ text: '{"type":"resp' }, { exit: 0 }], /status 0$/, "process"],
  ["sends a malformed frame", [{ send: { ...ALLOW, allow: "yes" } }], /it sent a malformed response frame/],
  ["never answers", [{ hang: true }], /it did not answer tool_call within 200 ms$/],
  ["answers too late", [{ sleepMs: 400 }, { send: ALLOW }], /it did not answer tool_call within 200 ms$/],
  ["answers another call", [{ send: { ...ALLOW, id: "2" } }], /it did not answer tool_call within 200 ms$/],
  ["closes its output and lives", [{ close: "stdout" }, { hang: true }], /did not answer/, "process"],
  ["ignores SIGTERM and hangs", [{ ignore: "SIGTERM" }, { hang: true }], /did not answer/, "process"],
];

describe("§5 if an extension that claimed tool_call cannot answer, the call is denied with a reason naming it", () => {
  for (const transport of TRANSPORTS) {
    for (const [what, steps, reason, only] of failures) {
      if (only && only !== transport) continue;
      test(`§5 it ${what} (${transport})`, async () => {
        await using session = await loadPeer(policy(steps), transport, { settings: limits(reason) });
        const verdict = await session.verdict();
        assert.match(verdict, /^blocked by extension peer: /);
        assert.match(verdict, reason);
        assert.equal(session.extension.state, "dead");
        assert.equal(await session.verdict(), "allow", "pruned for the rest of the session");
        assert.equal(session.sent("event").length, 1, "nothing is dispatched to a corpse");
        assert.equal(session.notices.length, 1, "the user is told once");
        assert.match(session.notices[0] ?? "", /^extension peer .*; it is off now$/);
      });

      test(`§5 failOpen in its capabilities passes the call through: it ${what} (${transport})`, async () => {
        await using session = await loadPeer(policy(steps, { failOpen: true }), transport, {
          settings: limits(reason),
        });
        assert.equal(await session.verdict(), "allow");
        assert.equal(session.extension.state, "dead");
        assert.equal(await session.verdict(), "allow", "and no denial is owed");
        assert.equal(session.notices.length, 1);
      });
    }

    test(`§5 an error answers one call: that one is denied, the extension lives (${transport})`, async () => {
      await using session = await loadPeer(policy([{ send: { ...ALLOW, error: "oops" } }]), transport);
      assert.equal(await session.verdict(), "blocked by extension peer: oops");
      assert.equal(await session.verdict(), "allow");
      assert.equal(session.sent("event").length, 2);
    });

    test(`§5 failOpen on an individual frame passes its failure through (${transport})`, async () => {
      const frame = { type: "response", id: "$id", error: "oops", failOpen: true };
      await using session = await loadPeer(policy([{ send: frame }]), transport);
      assert.equal(await session.verdict(), "allow");
      assert.equal(session.extension.state, "ready");
    });

    test(`§5 what it registered is gone, and it is listed as dead with the reason (${transport})`, async () => {
      const capabilities = { tools: [{ name: "t" }], commands: ["c"] };
      await using session = await loadPeer(policy([{ exit: 3 }], capabilities), transport);
      assert.equal(session.manager.tools([]).length, 1);
      const [tool] = session.manager.tools([]);
      assert.equal(session.manager.commands().length, 1);
      await session.verdict();
      assert.deepEqual(session.manager.tools([]), []);
      assert.deepEqual(session.manager.commands(), []);
      assert.equal(session.manager.findCommand("/ext:c"), undefined);
      assert.deepEqual([session.extension.state, session.extension.reason], ["dead", "exited with status 3"]);
      await assert.rejects(async () => tool?.execute("c", {}), /extension peer exited with status 3/);
      await assert.rejects(
        session.request("tool_call"),
        (error) => error instanceof XdevError && error.code === "extension-dead",
      );
    });
  }

  test("§5 the same from POSIX sh", async () => {
    for (const [body, reason] of [
      ["exit 3", /it exited with status 3$/],
      ["kill -TERM $$", /it was ended by signal SIGTERM$/],
      ["echo allow", /it sent a line that is not JSON/],
      ["sleep 600 & exit 0", /it exited with status 0$/],
      ["exec >&-; sleep 600", /it did not answer tool_call within 200 ms$/],
      ["trap '' TERM; while :; do sleep 1; done", /it did not answer tool_call within 200 ms$/],
    ] as const) {
      await using session = new Session({ settings: limits(reason) });
      session.program(
        "policy.sh",
        `#!/bin/sh
echo '{"type":"capabilities","payload":{"events":["tool_call"]}}'
while read -r line; do
  case "$line" in *'"type":"event"'*) ${body} ;; esac
done
`,
      );
      await session.load();
      assert.match(await session.verdict(), reason);
      assert.equal(await session.verdict(), "allow");
    }
  });

  test("§5 from a module: it hangs, throws, or answers too late", async () => {
    for (const [body, reason, state] of [
      ["for (;;) {}", /it did not answer tool_call within 400 ms$/, "dead"],
      ["return new Promise(() => {});", /it did not answer tool_call within 400 ms$/, "dead"],
      ['throw new Error("oops");', /^blocked by extension guest: oops$/, "ready"],
    ] as const) {
      await using session = new Session({ settings: { eventTimeoutMs: 400 } });
      session.module("guest.ts", `export default (pi) => pi.on("tool_call", async () => { ${body} });`);
      await session.load();
      assert.match(await session.verdict(), reason);
      assert.equal(session.extension.state, state);
    }
  });

  test("§5 kill means the whole process group, also of one that ignores SIGTERM", async () => {
    const steps: Step[] = [{ ignore: "SIGTERM" }, { fork: "group" }, { hang: true }];
    await using session = await loadPeer(policy(steps), "process", {
      settings: { eventTimeoutMs: 500 },
    });
    const verdict = session.verdict();
    await session.until(() => session.forkedPid() > 0);
    assert.ok(isRunning(session.forkedPid()));
    assert.match(await verdict, /did not answer/);
    await gone(session.forkedPid());
  });

  test("§5 kill is SIGTERM first: a child may still say something, and that is in its log", async () => {
    await using session = new Session();
    session.program(
      "policy.sh",
      `#!/bin/sh
trap 'echo last words >&2; exit 0' TERM
echo '{"type":"capabilities","payload":{"events":["tool_call"]}}'
while read -r line; do
  case "$line" in *'"type":"event"'*) echo oops ;; esac
done
`,
    );
    await session.load();
    assert.match(await session.verdict(), /it sent a line that is not JSON/);
    await session.until(() => session.logs.length > 0);
    assert.deepEqual(session.logs, ["policy info last words"]);
    assert.deepEqual(session.extension.lastLog, ["last words"]);
  });

  test("§5 a child that leaves a grandchild that holds stdout open is dead, and the grandchild with it", async () => {
    await using session = await loadPeer(policy([{ fork: "group" }, { exit: 5 }]));
    assert.equal(await session.verdict(), "blocked by extension peer: it exited with status 5");
    await gone(session.forkedPid());
  });

  test("§5 a grandchild in a session of its own that holds stdout open delays nothing", async () => {
    await using session = await loadPeer(policy([{ fork: "session" }, { exit: 5 }]));
    try {
      assert.equal(await session.verdict(), "blocked by extension peer: it exited with status 5");
      assert.equal(await session.verdict(), "allow");
    } finally {
      // Nothing but its pid leads to it.
      spawnSync("kill", ["-9", String(session.forkedPid())]);
      await gone(session.forkedPid());
    }
  });
});
