/** What follows an extension's death (extension-protocol.md §5; wire-notes.md, "Death"). */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { gone } from "../support/processes.ts";
import { loadPeer, Session, TRANSPORTS } from "./harness.ts";
import { ALLOW, always, policy, type Step } from "./script.ts";

describe("§5 death while no event is in flight", () => {
  const dying: [string, Step[]][] = [
    ["exits right after an answer", [{ send: ALLOW }, { exit: 1 }]],
    ["sends a protocol error after an answer", [{ send: ALLOW }, { text: "oops\n" }]],
    ["sends capabilities again", [{ send: ALLOW }, { send: { type: "capabilities", payload: {} } }]],
  ];
  for (const transport of TRANSPORTS) {
    for (const [what, steps] of dying) {
      test(`§5 the next tool_call is denied once, naming it: it ${what} (${transport})`, async () => {
        await using session = await loadPeer(policy(steps), transport);
        assert.equal(await session.verdict(), "allow");
        await session.until(() => session.extension.state === "dead");
        const verdict = await session.verdict();
        assert.equal(verdict, `blocked by extension peer: it ${session.extension.reason}`);
        assert.equal(await session.verdict(), "allow");
        assert.equal(session.notices.length, 1);
      });
    }

    test(`§5 also before the first event (${transport})`, async () => {
      const send = { type: "capabilities", payload: { events: ["tool_call"] } };
      await using session = await loadPeer({ start: [{ send }, { exit: 2 }] }, transport);
      await session.until(() => session.extension.state === "dead");
      assert.equal(await session.verdict(), "blocked by extension peer: it exited with status 2");
      assert.equal(await session.verdict(), "allow");
    });

    test(`§5 also while an event that is no tool_call is in flight (${transport})`, async () => {
      for (const event of ["turn_end", "tool_result"] as const) {
        await using session = await loadPeer(
          { capabilities: { events: ["tool_call", event] }, on: { [event]: [[{ exit: 2 }]] } },
          transport,
        );
        if (event === "turn_end") session.manager.emit(event, {});
        else await session.patch();
        await session.until(() => session.extension.state === "dead");
        assert.equal(await session.verdict(), "blocked by extension peer: it exited with status 2");
        assert.equal(await session.verdict(), "allow");
      }
    });

    test(`§5 unless it is failOpen, or never claimed tool_call (${transport})`, async () => {
      const open = { failOpen: true };
      await using session = await loadPeer(policy([{ send: ALLOW }, { exit: 1 }], open), transport);
      assert.equal(await session.verdict(), "allow");
      await session.until(() => session.extension.state === "dead");
      assert.equal(await session.verdict(), "allow");
      await using other = await loadPeer(
        { capabilities: { events: ["turn_end"] }, on: { turn_end: [[{ exit: 1 }]] } },
        transport,
      );
      other.manager.emit("turn_end", {});
      await other.until(() => other.extension.state === "dead");
      assert.equal(await other.verdict(), "allow");
      assert.equal(other.notices.length, 1);
    });
  }
});

describe("§5 onDeath: restart", () => {
  const restart = { onDeath: "restart" as const };

  for (const transport of TRANSPORTS) {
    test(`§5 it is started again, and asked again; calls are denied while it is down (${transport})`, async () => {
      await using session = await loadPeer(always([{ send: ALLOW }, { exit: 1 }]), transport, {
        settings: restart,
      });
      assert.equal(await session.verdict(), "allow");
      await session.until(() => session.extension.state === "restarting");
      assert.equal(await session.verdict(), "blocked by extension peer: it exited with status 1");
      await session.until(() => session.extension.state === "ready");
      assert.equal(await session.verdict(), "allow");
      assert.equal(session.sent("event").length, 2);
      assert.match(session.notices[0] ?? "", /^extension peer exited with status 1; it is being restarted$/);
    });

    test(`§5 at most 3 times in 60 s, with backoff; then every call is denied (${transport})`, async () => {
      await using session = await loadPeer(always([{ exit: 1 }]), transport, { settings: restart });
      for (let life = 0; life < 4; life++) {
        await session.until(() => session.extension.state === "ready");
        assert.match(await session.verdict(), /^blocked by extension peer: it exited with status 1$/);
      }
      assert.equal(session.extension.state, "dead");
      for (let call = 0; call < 3; call++) {
        assert.match(await session.verdict(), /^blocked by extension peer: .*exited with status 1$/);
      }
      assert.equal(session.sent("hello").length, 4);
      assert.equal(session.sent("event").length, 4);
      const starts = session.passed.filter(({ sent }) => sent?.type === "hello").map(({ at }) => at);
      const waits = starts.slice(1).map((at, index) => at - starts[index]!);
      for (const [index, wait] of waits.entries()) assert.ok(wait >= 95 * 2 ** index, waits.join());
    });

    test(`§5 one that is no policy is started again, too, and denies nothing (${transport})`, async () => {
      await using session = await loadPeer(
        {
          capabilities: { events: ["turn_end"], tools: [{ name: "t" }] },
          on: { turn_end: [[{ exit: 1 }], []] },
        },
        transport,
        { settings: { onDeath: "restart" } },
      );
      session.manager.emit("turn_end", {});
      await session.until(() => session.extension.state === "restarting");
      assert.deepEqual(session.manager.tools([]), []);
      assert.equal(await session.verdict(), "allow");
      await session.until(() => session.extension.state === "ready");
      assert.equal(session.manager.tools([]).length, 1);
    });
  }

  test("§5 one that does not come back is given up, and the user is told", async () => {
    // Alive once: its later lives fail before their capabilities.
    await using session = new Session({ settings: restart });
    session.peer("peer", always([{ exit: 1 }]), "worker");
    await session.load();
    session.folder.file("peer.json", JSON.stringify({ start: [{ exit: 9 }] }));
    await session.verdict();
    await session.until(() => session.extension.state === "dead");
    assert.equal(session.sent("hello").length, 4);
    assert.equal(await session.verdict(), "blocked by extension peer: it exited with status 9");
    assert.equal(session.notices.length, 2);
    assert.match(session.notices[0] ?? "", /^extension peer exited with status 1; it is being restarted$/);
    assert.match(session.notices[1] ?? "", /^extension peer exited with status 9; every tool call is denied/);
  });

  test("§5 one that comes back without claiming tool_call is not accepted", async () => {
    await using session = new Session({ settings: restart });
    session.peer("peer", always([{ exit: 1 }]), "worker");
    await session.load();
    session.folder.file("peer.json", JSON.stringify({ capabilities: { events: ["turn_end"] } }));
    await session.verdict();
    await session.until(() => session.extension.state === "dead");
    assert.match(await session.verdict(), /it does not listen to tool_call any more$/);
  });

  test("§5 a load failure is none that is restarted", async () => {
    await using session = await loadPeer({ start: [{ exit: 1 }] }, "process", { settings: restart });
    assert.equal(session.extension.state, "failed");
    assert.equal(await session.verdict(), "allow");
    assert.equal(session.sent("hello").length, 1);
  });
});

describe("§5 onDeath: deny", () => {
  /** Every call is denied; then the user restarts it, and it answers. */
  async function deniesUntilRestarted(session: Session, reason: RegExp): Promise<void> {
    for (let call = 0; call < 3; call++) assert.match(await session.verdict(), reason);
    session.folder.file("peer.json", JSON.stringify(always([{ send: ALLOW }])));
    const restarted = session.extension.restart();
    assert.match(await session.verdict(), /^blocked by extension peer: it is being restarted$/);
    await restarted;
    assert.equal(session.extension.state, "ready");
    assert.equal(await session.verdict(), "allow");
  }

  for (const transport of TRANSPORTS) {
    for (const [name, how] of [
      ["onDeath: deny", { onDeath: "deny" as const }],
      ["onDeath: deny of this extension", { overrides: { peer: { onDeath: "deny" as const } } }],
      ["required: true", { overrides: { peer: { required: true } } }],
    ] as const) {
      test(`§5 ${name}: every later call is denied until the user restarts it (${transport})`, async () => {
        await using session = await loadPeer(always([{ exit: 1 }]), transport, { settings: how });
        assert.match(await session.verdict(), /^blocked by extension peer: it exited with status 1$/);
        await deniesUntilRestarted(session, /^blocked by extension peer: it exited with status 1$/);
      });
    }

    test(`§5 required: true of one that fails to load denies from the start on (${transport})`, async () => {
      await using session = await loadPeer({ start: [{ exit: 1 }] }, transport, {
        settings: { overrides: { peer: { required: true } } },
      });
      assert.equal(session.extension.state, "failed");
      await deniesUntilRestarted(session, /^blocked by extension peer: it exited with status 1$/);
    });

    test(`§5 death between two calls denies all that follow, not only one (${transport})`, async () => {
      await using session = await loadPeer(policy([{ send: ALLOW }, { exit: 1 }]), transport, {
        settings: { onDeath: "deny" },
      });
      assert.equal(await session.verdict(), "allow");
      await session.until(() => session.extension.state === "dead");
      await deniesUntilRestarted(session, /^blocked by extension peer: it exited with status 1$/);
    });
  }

  test("§5 required: true of one that is not there at all denies every call, and the user is told", async () => {
    await using session = new Session({ settings: { overrides: { lost: { required: true } } } });
    session.peer("peer", always([{ send: ALLOW }]));
    await session.load();
    assert.match(session.notices[0] ?? "", /^extension lost is required .* is not there/);
    for (let call = 0; call < 2; call++) {
      assert.match(await session.verdict(), /^blocked by extension lost: it is required .* is not there$/);
    }
  });

  test("§5 required: true is not met by what a project calls so", async () => {
    await using session = new Session({ settings: { overrides: { peer: { required: true } } } });
    session.peer("peer", always([{ send: ALLOW }]));
    await session.load("project");
    assert.match(session.notices[0] ?? "", /^extension peer is required .* \(one that a project brings does/);
    assert.match(await session.verdict(), /^blocked by extension peer: it is required .* is not there$/);
  });

  test("§5 a setting for one extension does not reach the others", async () => {
    await using session = new Session({ settings: { overrides: { other: { onDeath: "deny" } } } });
    session.peer("peer", always([{ exit: 1 }]));
    session.peer("other", { capabilities: { events: ["tool_call"] } });
    await session.load();
    assert.match(await session.verdict(), /^blocked by extension peer: /);
    assert.equal(await session.verdict(), "allow");
  });
});

describe("§5 restarted by the user", () => {
  test("§5 a pruned policy is back in the chain", async () => {
    await using session = new Session();
    session.peer("peer", always([{ exit: 1 }]));
    await session.load();
    await session.verdict();
    session.folder.file("peer.json", JSON.stringify(always([{ send: { ...ALLOW, allow: false } }])));
    await session.extension.restart();
    assert.equal(await session.verdict(), "blocked by extension peer: denied");
  });

  test("§5 what is in flight is denied, and answers of the old life are nobody's", async () => {
    await using session = await loadPeer(policy([{ log: "asked" }, { hang: true }]));
    const verdict = session.verdict();
    await session.until(() => session.logs.length === 1);
    const restarted = session.extension.restart();
    assert.equal(await verdict, "blocked by extension peer: it was restarted");
    await restarted;
    assert.deepEqual(session.notices, [], "the user knows");
  });

  test("§5 twice at once leaves one process, and both are told of its end", async () => {
    await using session = new Session();
    const start: Step[] = [{ fork: "group" }];
    session.peer("peer", { ...always([{ send: ALLOW }]), start });
    await session.load();
    await Promise.all([session.extension.restart(), session.extension.restart()]);
    assert.equal(session.extension.state, "ready");
    assert.equal(await session.verdict(), "allow");
    await session.manager.stop();
    for (const line of session.logs) await gone(Number(/\d+/.exec(line)?.[0]));
  });
});
