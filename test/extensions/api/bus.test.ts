/** `pi.events`: one bus that all extensions share, modules in workers and processes alike. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { EventBus } from "../../../src/extensions/bus.ts";
import { Session } from "../../conformance/harness.ts";

const LISTENER = `
export default (pi) => {
  const seen = (data) => pi.logger.info("heard " + JSON.stringify(data));
  const off = pi.events.on("news", seen);
  pi.events.on("stop", () => off());
  pi.events.on("bad", () => { throw new Error("on purpose"); });
};`;

const SPEAKER = `
export default (pi) => {
  pi.events.emit("news", { early: true });
  pi.on("turn_end", (event) => {
    for (const [channel, data] of event.stopReason) pi.events.emit(channel, data);
  });
};`;

async function pair(): Promise<Session> {
  const session = new Session();
  session.module("listener.ts", LISTENER);
  session.module("speaker.ts", SPEAKER);
  return session.load();
}

const emit = (session: Session, ...events: [string, unknown][]): void =>
  session.manager.events.emit("turn_end", { turnIndex: 0, stopReason: events });
const heard = (session: Session): string[] =>
  session.logs
    .filter((line) => line.includes("heard"))
    .map((line) => line.replace(/^listener info heard /, ""));

describe("the bus", () => {
  test("what is emitted while extensions load reaches those that listen when they have loaded", async () => {
    await using session = await pair();
    await session.until(() => heard(session).length === 1);
    assert.deepEqual(heard(session), ['{"early":true}']);
  });

  test("events come in their order, as copies, to whoever listens to the channel until he stops", async () => {
    await using session = await pair();
    emit(session, ["news", 1], ["other", 2], ["news", [3]], ["stop", null], ["news", 4], ["bad", 5]);
    await session.until(() => session.logs.some((line) => line.includes("on purpose")));
    assert.deepEqual(heard(session), ['{"early":true}', "1", "[3]"]);
    assert.match(session.logs.join("\n"), /its listener to "bad" failed: on purpose/);
    assert.equal(
      session.manager.extensions.every(({ state }) => state === "ready"),
      true,
    );
  });

  test("an extension hears itself at once, and an object of its own is not handed on", async () => {
    await using session = new Session();
    session.module(
      "own.ts",
      `export default (pi) => {
        const given = { list: [1] };
        pi.events.on("x", (data) => { data.list.push(2); pi.logger.info("heard " + data.list + " " + (data === given)); });
        pi.events.emit("x", given);
        pi.logger.info("kept " + given.list);
      };`,
    );
    await session.load();
    assert.deepEqual(session.logs, ["own info heard 1,2 false", "own info kept 1"]);
  });

  test("what can't be sent is an error where it is emitted, and a flood of one is no flood of others", async () => {
    await using session = new Session();
    session.module("listener.ts", LISTENER);
    session.module(
      "flood.ts",
      `export default (pi) => {
        pi.on("turn_end", async () => {
          const said = (run) => { try { run(); return "sent"; } catch (error) { return error.name + ": " + error.message; } };
          const cyclic = {}; cyclic.self = cyclic;
          pi.logger.info(said(() => pi.events.emit("news", cyclic)));
          pi.logger.info(said(() => pi.events.emit("news", 1n)));
          pi.logger.info(said(() => pi.events.emit("news", Array(30000).fill(0))));
          pi.logger.info(said(() => pi.events.emit("", 1)));
          let sent = 0;
          pi.logger.info(said(() => { for (;;) { pi.events.emit("news", sent); sent++; } }) + " after " + sent);
          for (let i = 0; i < 3000; i++) { try { pi.events.emit("news", i); } catch {} await null; }
          pi.logger.info("alive");
        });
      };`,
    );
    await session.load();
    session.manager.emit("turn_end", {});
    await session.until(() => session.logs.includes("flood info alive"));
    const told = session.logs.filter((line) => line.startsWith("flood")).join("\n");
    assert.match(told, /TypeError: pi\.events\.emit\("news"\): it can't leave the sandbox: it holds itself/);
    assert.match(told, /it holds a BigInt/);
    assert.match(told, /holds more than 20000 values/);
    assert.match(told, /a channel is a text of 1 to 200 characters/);
    assert.match(told, /RangeError: .*at most 1000 events .* after 1000/);
    await session.until(() => heard(session).length >= 1000);
    assert.deepEqual(
      session.manager.extensions.map(({ state }) => state),
      ["ready", "ready"],
    );
  });

  test("two that answer each other for ever run no race, and go on", async () => {
    await using session = new Session();
    const player = (mine: string, theirs: string) =>
      `export default (pi) => {
        pi.events.on("${mine}", (count) => { if (count % 50 === 0) pi.logger.info("${mine} " + count); pi.events.emit("${theirs}", count + 1); });
        pi.on("turn_end", () => { if ("${mine}" === "ping") pi.events.emit("${theirs}", 1); });
      };`;
    session.module("ping.ts", player("ping", "pong"));
    session.module("pong.ts", player("pong", "ping"));
    await session.load();
    session.manager.emit("turn_end", {});
    await session.until(() => session.logs.includes("ping info ping 200"));
    assert.deepEqual(
      session.manager.extensions.map(({ state }) => state),
      ["ready", "ready"],
    );
  });

  test("a process hears values and emits them", async () => {
    await using session = new Session();
    session.module("listener.ts", LISTENER);
    session.module("speaker.ts", SPEAKER);
    const response = { type: "response", id: "$id" };
    session.peer("peer", {
      capabilities: { features: ["call"], channels: ["ask"] },
      on: {
        bus: [
          [
            {
              send: {
                type: "call",
                method: "events.emit",
                params: { events: [{ channel: "news", data: { of: "peer" } }] },
              },
            },
            { send: response },
          ],
        ],
      },
    });
    await session.load();
    emit(session, ["ask", { please: true }]);
    await session.until(() => heard(session).includes('{"of":"peer"}'));
    const [event] = session.sent("event", "peer");
    assert.equal(event?.event, "bus");
    assert.deepEqual(event?.payload, { events: [{ channel: "ask", data: { please: true } }] });
  });

  test("a flood for one whose listener is slow ends neither", async () => {
    await using session = new Session({ settings: { eventTimeoutMs: 1000 } });
    session.module(
      "slow.ts",
      `export default (pi) => { pi.events.on("news", (data) => { const end = Date.now() + 250; while (Date.now() < end); if (data === 9) pi.logger.info("heard 9"); }); };`,
    );
    session.module("speaker.ts", SPEAKER);
    await session.load();
    emit(session, ...Array.from({ length: 10 }, (_, index): [string, unknown] => ["news", index]));
    await session.until(() => session.logs.includes("slow info heard 9"));
    assert.deepEqual(
      session.manager.extensions.map(({ state }) => state),
      ["ready", "ready"],
    );
  });

  test("what waits for all to have loaded is kept small, however large its events are", async () => {
    await using session = await pair();
    const [listener, speaker] = session.manager.extensions;
    const notices: string[] = [];
    const bus = new EventBus((text) => notices.push(text));
    const data = JSON.stringify("x".repeat(1_500_000));
    for (let i = 0; i < 2; i++) bus.emit(speaker!, [{ channel: "large", data }]);
    assert.deepEqual(notices, []);
    for (let i = 0; i < 3; i++) bus.emit(listener!, [{ channel: "large", data }]);
    assert.match(notices.join("\n"), /listener emits more events before all have loaded/);
  });

  test("goes through the walls of the extension host", async () => {
    await using session = new Session({ settings: { overrides: { listener: { isolation: "host" } } } });
    session.module("listener.ts", LISTENER);
    session.module("speaker.ts", SPEAKER);
    await session.load();
    assert.deepEqual(
      session.manager.extensions.map(({ level }) => level),
      // Under Deno a worker that loops can't be ended: everything is in an extension host.
      ["host", "Deno" in globalThis ? "host" : "worker"],
    );
    emit(session, ["news", "through"]);
    await session.until(() => heard(session).includes('"through"'));
  });

  test("a listener that ends is no one's trouble", async () => {
    await using session = new Session({ settings: { eventTimeoutMs: 500 } });
    session.module("listener.ts", LISTENER);
    session.module(
      "loops.ts",
      `export default (pi) => { pi.events.on("news", (data) => { if (data === "loop") for (;;); }); };`,
    );
    session.module("speaker.ts", SPEAKER);
    await session.load();
    emit(session, ["news", "loop"], ["news", "after"]);
    await session.until(() => session.notices.some((text) => text.includes("loops")));
    emit(session, ["news", "still"]);
    await session.until(() => heard(session).includes('"still"'));
    assert.equal(session.manager.extensions[1]?.state, "dead");
  });
});
