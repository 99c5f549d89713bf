/** The agent's end of an extension host that is not on its side. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { HostClient } from "../../../sandbox/host/client.ts";
import { encodeRecord, KIND, RecordReader, type WireRecord } from "../../../sandbox/host/wire.ts";
import { programStarter } from "../../../src/base/process.ts";
import type { GuestEnd, GuestWorker } from "../../../src/platform/index.ts";
import type { OutputListener, ProgramEnd, StartProgram } from "../../../src/platform/program.ts";
import { gone } from "../../support/processes.ts";

const BOOT = { sources: {}, bundle: "", maxFrameChars: 1, maxTimers: 1, about: {} } as never;

/** A host of which the test says what it sends. */
function fakeHost(isAlone = false) {
  const exited = Promise.withResolvers<ProgramEnd>();
  const sent: WireRecord[] = [];
  const reader = new RecordReader(
    () => 1e9,
    (record) => void sent.push(record),
    assert.fail,
  );
  let listener: OutputListener = () => undefined;
  const start: StartProgram = () => ({
    pid: undefined,
    write: async (data) => {
      reader.push(Buffer.from(data as Uint8Array));
      return true;
    },
    // A host ends when its input does.
    endInput: () => exited.resolve({ code: 0, signal: null }),
    read: (given) => {
      listener = given;
    },
    release() {},
    exited: exited.promise,
    drained: Promise.resolve(),
  });
  const crashes: [string, number | undefined][] = [];
  const client = new HostClient({
    program: { file: "host", args: [] },
    start,
    maxRecordBytes: 100_000,
    isAlone,
    onCrash: (reason, culprit) => {
      crashes.push([reason, culprit]);
      return (guest) => ({ restart: guest !== 1 });
    },
  });
  return {
    client,
    sent,
    crashes,
    kinds: () => sent.map(({ extension, kind }) => `${extension} ${kind}`),
    says: (bytes: Uint8Array) => listener(Buffer.from(bytes), "stdout"),
    dies: (end: ProgramEnd) => exited.resolve(end),
  };
}

/** Starts a guest in it, and keeps what it says. */
function guestOf(host: ReturnType<typeof fakeHost>, boot = true) {
  const { number, guest } = host.client.startGuest(1e6);
  const messages: unknown[] = [];
  const exits: [string, GuestEnd | undefined][] = [];
  guest.onMessage((message) => void messages.push(message));
  guest.onExit((reason, end) => void exits.push([reason, end]));
  if (boot) guest.post(BOOT);
  return { number, guest, messages, exits };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe("the agent's end of an extension host", () => {
  test("what an extension says reaches its own channel, and no other", () => {
    const host = fakeHost();
    const [one, two] = [guestOf(host), guestOf(host)];
    host.says(encodeRecord(2, KIND.frame, 0, ["{}"]));
    host.says(encodeRecord(1, KIND.call, 7, ["fs.read", "{}", new Uint8Array([1, 2])]));
    host.says(encodeRecord(1, KIND.call, 0, ["fs.read", "{}"]));
    assert.deepEqual(two.messages, [["frame", "{}"]]);
    assert.deepEqual(one.messages, [
      ["call", 7, "fs.read", "{}", new Uint8Array([1, 2])],
      ["call", 0, "fs.read", "{}", undefined],
    ]);
    one.guest.post(["return", 7, { text: "1", bytes: new Uint8Array([9]) }]);
    one.guest.post(["return", 0, { error: "{}" }]);
    assert.deepEqual(host.kinds().slice(-2), [`1 ${KIND.returned}`, `1 ${KIND.refused}`]);
  });

  const lies: [string, Uint8Array][] = [
    ["an extension that it does not run", encodeRecord(3, KIND.frame, 0, ["{}"])],
    ["number 0", encodeRecord(0, KIND.frame, 0, ["{}"])],
    ["a kind that is the agent's", encodeRecord(1, KIND.boot, 0, ["{}"])],
    ["an extension that has not booted", encodeRecord(2, KIND.frame, 0, ["{}"])],
    ["no record at all", Buffer.from("GET / HTTP/1.1\r\n\r\n")],
    ["a record that is too long", encodeRecord(1, KIND.frame, 0, ["x".repeat(100_001)])],
    ["two ends of one", Buffer.concat([1, 1].map((id) => encodeRecord(id, KIND.exit, 0, ["x"])))],
  ];
  for (const [what, bytes] of lies) {
    test(`one that sends ${what} is ended, and every extension in it with it`, async () => {
      const host = fakeHost();
      const booted = guestOf(host);
      const fresh = guestOf(host, false);
      host.says(bytes);
      await turn();
      assert.equal(host.crashes.length, 1);
      assert.equal(host.client.ended, true);
      assert.equal(booted.exits.length, 1);
      assert.equal(fresh.exits.length, 1);
      assert.match(fresh.exits[0]![0], /^lost its extension host, which sent /);
      assert.deepEqual(fresh.exits[0]![1], { restart: true });
      host.says(encodeRecord(1, KIND.frame, 0, ["{}"]));
      assert.deepEqual(booted.messages, []);
    });
  }

  test("its death is that of each extension in it, told once, with what shall follow", async () => {
    const host = fakeHost();
    const [one, two] = [guestOf(host), guestOf(host)];
    host.dies({ code: null, signal: "SIGKILL" });
    await turn();
    assert.deepEqual(one.exits, [
      ["has now lost two extension hosts, and this one was ended by SIGKILL", { restart: false }],
    ]);
    assert.deepEqual(two.exits, [["lost its extension host, which was ended by SIGKILL", { restart: true }]]);
    await Promise.all([one.guest.terminate(), two.guest.terminate()]);
    assert.deepEqual(host.crashes, [["was ended by SIGKILL", undefined]]);
  });

  test("the end of one is waited for, and what it still says is dropped", async () => {
    const host = fakeHost();
    const [one, two] = [guestOf(host), guestOf(host)];
    const ended = one.guest.terminate();
    host.says(encodeRecord(1, KIND.frame, 0, ["{}"]));
    host.says(encodeRecord(1, KIND.exit, 0, ["was ended"]));
    await ended;
    assert.deepEqual([one.messages, one.exits, two.exits, host.client.ended], [[], [], [], false]);
    const last = two.guest.terminate();
    host.says(encodeRecord(2, KIND.exit, 0, ["was ended"]));
    await last;
    assert.equal(host.client.ended, true);
    assert.deepEqual(host.crashes, []);
  });

  test("one that cannot end an extension is ended itself, and that extension is named", async () => {
    const host = fakeHost();
    const [one, two] = [guestOf(host), guestOf(host)];
    await one.guest.terminate();
    assert.deepEqual(host.crashes, [["could not end one of its extensions", 1]]);
    assert.deepEqual(one.exits, []);
    assert.deepEqual(two.exits.length, 1);
  });

  test("one that has a host alone ends with it, whatever the host says", async () => {
    const host = fakeHost(true);
    const one = guestOf(host);
    await one.guest.terminate();
    assert.equal(host.client.ended, true);
    assert.deepEqual([one.exits, host.crashes], [[], []]);
  });

  test("however many records it sends at once, the agent has its turn between them, and their order stays", async () => {
    const host = fakeHost();
    const one = guestOf(host);
    const count = 200_000;
    const records = Array.from({ length: count }, (_, i) => encodeRecord(1, KIND.call, i + 1, ["a.b", "{}"]));
    const read = host.says(Buffer.concat(records));
    assert.ok(one.messages.length < count / 4, `${one.messages.length} at once`);
    await read;
    assert.deepEqual(
      one.messages.map((message) => (message as unknown[])[1]),
      Array.from({ length: count }, (_, i) => i + 1),
    );
  });

  for (const [what, length, most] of [
    ["long", 4 * 1024 * 1024, 40],
    ["short", 10, 100_000],
  ] as const)
    test(`one that reads nothing takes a bounded amount of memory and is ended, also if what it gets is ${what}`, async () => {
      const start = await programStarter();
      let pid: number | undefined;
      const crashed = Promise.withResolvers<string>();
      const client = new HostClient({
        program: { file: "/bin/sh", args: ["-c", "sleep 100"] },
        start: (...given) => {
          const program = start(...given);
          pid = program.pid;
          return program;
        },
        maxRecordBytes: 1000,
        isAlone: false,
        onCrash: (reason) => {
          crashed.resolve(reason);
          return () => ({ restart: false });
        },
      });
      const guest: GuestWorker = client.startGuest(1e6).guest;
      guest.post(BOOT);
      const frame = "x".repeat(length);
      for (let sent = 0; sent < most && !client.ended; sent++) guest.post(frame);
      assert.equal(await crashed.promise, "did not read what it was sent");
      await gone(pid!);
    });

  test("one that cannot be started is told like one that died", async () => {
    const start = await programStarter();
    const crashed = Promise.withResolvers<string>();
    const client = new HostClient({
      program: { file: "/nowhere/at/all", args: [] },
      start,
      maxRecordBytes: 1000,
      isAlone: false,
      onCrash: (reason) => {
        crashed.resolve(reason);
        return () => ({ restart: false });
      },
    });
    const { guest } = client.startGuest(1e6);
    const exit = new Promise<string>((resolve) => guest.onExit(resolve));
    assert.match(await crashed.promise, /^could not be started: /);
    assert.match(await exit, /could not be started/);
  });
});
