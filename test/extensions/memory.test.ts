/** Nothing of a call is kept: thousands of calls over each transport leave the heap where it was. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { createDispatcher } from "../../sandbox/guest/api/dispatch.ts";
import type { Registry } from "../../sandbox/guest/api/registry.ts";
import { Session } from "../../sandbox/guest/api/session.ts";
import { Transmitter } from "../../sandbox/guest/api/transmit.ts";
import { decideToolCall } from "../../src/extensions/chain.ts";
import { loadExtensions } from "../support/extensions.ts";
import { Folder } from "../support/folder.ts";

const fixture = (name: string) => fileURLToPath(new URL(`../fixtures/${name}`, import.meta.url));
const WARM_UP_CALLS = 3000;
const CALLS = 10_000;
/** The share of the heap that it may grow by. */
const TOLERANCE = 0.05;
/** A call that leaves a single object behind is over this: one object in four calls. */
const OBJECTS = CALLS / 4;

/** Fails if `ask` leaves something behind each time. */
async function assertKeepsNothing(ask: () => Promise<void>): Promise<void> {
  const { settledHeap } = await import("../support/heap.ts");
  for (let call = 0; call < WARM_UP_CALLS; call++) await ask();
  const before = await settledHeap();
  for (let call = 0; call < CALLS; call++) await ask();
  const after = await settledHeap();
  // What other tests of this process left may go meanwhile: less is no failure.
  const grown = after.bytes / before.bytes - 1;
  assert.ok(grown <= TOLERANCE, `the heap grew by ${(grown * 100).toFixed(1)} %`);
  const objects = after.objects - before.objects;
  assert.ok(objects < OBJECTS, `${objects} objects are left of ${CALLS} calls`);
}

/** Asks an extension as the agent does, with a signal that outlives the call. */
async function assertCallsKeepNothing(path: string): Promise<void> {
  await using loaded = await loadExtensions([path]);
  assert.deepEqual(loaded.notices, []);
  const { signal } = new AbortController();
  await assertKeepsNothing(async () => {
    const call = { tool: "bash", arguments: { command: "ls" }, callId: "c1" };
    const verdict = await decideToolCall(loaded.manager.interceptors(), call, (args) => args, signal);
    assert.equal(verdict.allow, true);
  });
}

const withoutBun = "Deno" in globalThis && "heaps are measured under Bun";

describe("memory", { skip: withoutBun }, () => {
  test("10,000 calls of a process extension leave the heap where it was", async () => {
    using folder = new Folder();
    const exec = `#!/bin/sh\nexec '${process.execPath}' '${fixture("responder.ts")}'\n`;
    await assertCallsKeepNothing(folder.program("responder", exec));
  });

  test("10,000 calls of a worker extension leave the host's heap where it was", async () => {
    await assertCallsKeepNothing(fixture("allow-all.ts"));
  });

  test("10,000 calls leave nothing in the guest's side of the API", async () => {
    const registry: Registry = {
      name: "guest",
      loading: false,
      label: undefined,
      handlers: new Map([["tool_call", [() => {}]]]),
      tools: new Map(),
      commands: new Map(),
      flags: new Map(),
      shortcuts: new Map(),
      messageRenderers: new Map(),
      entryRenderers: new Map(),
      toolRenderers: [],
      markdownTransformers: [],
      providers: new Map(),
      bus: undefined as unknown as Registry["bus"],
      context: { cwd: "/", sessionId: "", model: null },
      changed() {},
    };
    let answered: (text: string) => void = () => {};
    const refuse = (): never => assert.fail("not in this test");
    const host = {
      send: (text: string) => answered(text),
      maxFrameBytes: 8 * 1024 * 1024,
      fail: refuse,
      evaluateBundle: refuse,
      evaluateSource: refuse,
      call: refuse,
      callSync: refuse,
      randomBytes: refuse,
      subtle: undefined,
      framesOf: () => [],
      context: { get: refuse, run: refuse, enter: refuse },
    };
    const transmitter = new Transmitter(host);
    const dispatch = createDispatcher(registry, transmitter, new Session(host, transmitter), refuse);
    let id = 0;
    await assertKeepsNothing(async () => {
      const payload = { tool: "bash", arguments: { command: "ls" }, callId: "c1" };
      const answer = new Promise<string>((resolve) => {
        answered = resolve;
      });
      dispatch({ type: "event", id: String(++id), event: "tool_call", payload });
      assert.deepEqual(JSON.parse(await answer), { type: "response", id: String(id), allow: true });
    });
  });

  test("a leak of one small object per call is found", async () => {
    const kept: object[] = [];
    const leak = assertKeepsNothing(async () => {
      kept.push({ at: kept.length });
    });
    await assert.rejects(leak, /the heap grew|objects are left/);
    assert.equal(kept.length, WARM_UP_CALLS + CALLS);
  });
});
