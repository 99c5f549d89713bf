/** The broker's core: what bounds every call, whatever it asks for. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as v from "valibot";
import { CallError, operation } from "../../../sandbox/broker/broker.ts";
import type { Families } from "../../../sandbox/broker/index.ts";
import { testBroker } from "../../support/broker.ts";

const closed: string[] = [];
const families: Families = {
  try: async () => ({
    "try.echo": operation({
      params: v.object({ text: v.string(), list: v.optional(v.array(v.number())) }),
      run: (params, _, bytes) => ({ value: params, bytes }),
    }),
    "try.nothing": operation({ params: v.object({}), run: () => ({}) }),
    "try.refuse": operation({
      params: v.object({}),
      run: () => {
        throw new CallError("ENOENT", "ENOENT: no such file", { syscall: "open", path: "x" });
      },
    }),
    "try.fault": operation({
      params: v.object({}),
      run: () => {
        throw new Error("cannot read /home/user/.config/xdev/credentials");
      },
    }),
    "try.large": operation({
      params: v.object({ text: v.number(), bytes: v.number() }),
      run: (size) => ({ value: "x".repeat(size.text), bytes: new Uint8Array(size.bytes) }),
    }),
    "try.pooled": operation({ params: v.object({}), run: () => ({ bytes: Buffer.from("ok") }) }),
    "try.wait": operation({
      params: v.object({}),
      run: (_, { signal }) =>
        new Promise((resolve) => signal.addEventListener("abort", () => resolve({ value: "stopped" }))),
    }),
    "try.forever": operation({ params: v.object({}), run: () => new Promise(() => {}) }),
    "try.open": operation({
      params: v.object({ kind: v.string(), name: v.string() }),
      run: ({ kind, name }, { resources }) => ({
        value: resources.add(kind, name, () => void closed.push(name)),
      }),
    }),
    "try.late": operation({
      params: v.object({}),
      run: async (_, { resources, signal }) => {
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        return { value: resources.add("file", "", () => void closed.push("late")) };
      },
    }),
    "try.get": operation({
      params: v.object({ kind: v.string(), id: v.number() }),
      run: ({ kind, id }, { resources }) => ({ value: resources.get(kind, id) }),
    }),
    "try.close": operation({
      params: v.object({ kind: v.string(), id: v.number() }),
      run: async ({ kind, id }, { resources }) => {
        await resources.remove(kind, id);
        return {};
      },
    }),
  }),
};

const make = (options: Parameters<typeof testBroker>[1] = {}) =>
  testBroker("/nowhere", { families, ...options });

const code = (expected: string) => (error: { code: string }) => error.code === expected;

describe("a call", () => {
  test("gives what the operation gives, value and bytes", async () => {
    await using made = make();
    const { value, bytes } = await made.call("try.echo", { text: "hi", list: [1] }, new Uint8Array([7]));
    assert.deepEqual(value, { text: "hi", list: [1] });
    assert.deepEqual([...bytes!], [7]);
    assert.equal((await made.call("try.nothing")).value, null);
  });

  test("of a refusal carries its code, message and details", async () => {
    await using made = make();
    assert.deepEqual(JSON.parse((await made.broker.call("try.refuse", "{}", undefined)).error!), {
      code: "ENOENT",
      message: "ENOENT: no such file",
      details: { syscall: "open", path: "x" },
    });
  });

  test("that fails in a way nobody foresaw tells the extension nothing, and the host what it was", async () => {
    await using made = make();
    const { error } = await made.broker.call("try.fault", "{}", undefined);
    assert.deepEqual(JSON.parse(error!), { code: "EIO", message: "EIO: i/o error", details: {} });
    assert.match(String(made.faults[0]), /credentials/);
  });

  for (const name of [
    "",
    "try",
    "try.",
    "try.other",
    "other.echo",
    "__proto__.x",
    "try.toString",
    "toString",
  ]) {
    test(`of an operation that does not exist is refused: ${JSON.stringify(name)}`, async () => {
      await using made = make();
      await assert.rejects(made.call(name), code("ENOSYS"));
    });
  }

  const deep = `${"[".repeat(60_000)}${"]".repeat(60_000)}`;
  for (const [what, text, expected] of [
    ["no JSON", "{", "EINVAL"],
    ["the wrong type", '{"text":1}', "EINVAL"],
    ["no object", "null", "EINVAL"],
    ["no text at all", { text: "x" }, "EINVAL"],
    ["text that is too long", JSON.stringify({ text: "x".repeat(2 ** 20) }), "E2BIG"],
    ["nesting that is too deep", `{"text":"x","more":${deep}}`, "E2BIG"],
    ["too many values", `{"text":"x","list":[${"1,".repeat(30_000)}1]}`, "E2BIG"],
  ] as const) {
    test(`with ${what} is refused`, async () => {
      await using made = make();
      const { error } = await made.broker.call("try.echo", text as string, undefined);
      assert.equal(JSON.parse(error!).code, expected);
    });
  }

  test("cannot set a prototype through its parameters", async () => {
    await using made = make();
    const answer = await made.broker.call("try.echo", '{"text":"x","__proto__":{"polluted":1}}', undefined);
    assert.equal(answer.text, '{"text":"x"}');
    assert.equal(({} as { polluted?: unknown }).polluted, undefined);
  });

  test("carries bytes up to the limit, in both directions", async () => {
    await using made = make({ limits: { pendingCalls: 4, openFiles: 4, maxCallBytes: 1000 } });
    const send = (bytes: unknown) => made.call("try.echo", { text: "" }, bytes as Uint8Array);
    await send(new Uint8Array(1000));
    await assert.rejects(send(new Uint8Array(1001)), code("E2BIG"));
    await assert.rejects(send("text"), code("EINVAL"));
    await assert.rejects(send(new Uint8Array(new SharedArrayBuffer(8))), code("EINVAL"));
    await made.call("try.large", { text: 900, bytes: 1000 });
    await assert.rejects(made.call("try.large", { text: 1000, bytes: 0 }), code("E2BIG"));
    await assert.rejects(made.call("try.large", { text: 0, bytes: 1001 }), code("E2BIG"));
  });

  test("gives bytes whose memory holds nothing else", async () => {
    await using made = make();
    const { bytes } = await made.call("try.pooled");
    assert.equal(bytes!.buffer.byteLength, 2);
    assert.equal(bytes!.constructor, Uint8Array);
  });

  test("beyond the number that may be under way is refused, and possible again when one has ended", async () => {
    await using made = make({ limits: { pendingCalls: 2, openFiles: 4, maxCallBytes: 1000 } });
    const first = [made.call("try.nothing"), made.call("try.nothing")];
    await assert.rejects(made.call("try.nothing"), code("EAGAIN"));
    await Promise.all(first);
    await made.call("try.nothing");
  });
});

test("calls that are under way carry a bounded number of bytes together", async () => {
  await using made = make({ limits: { pendingCalls: 64, openFiles: 4, maxCallBytes: 1000 } });
  const send = () => made.call("try.echo", { text: "" }, new Uint8Array(1000));
  const first = [send(), send(), send(), send()];
  await assert.rejects(send(), code("EAGAIN"));
  await made.call("try.echo", { text: "" });
  await Promise.all(first);
  await send();
});

test("of many calls at once a few begin in a turn of the event loop, and the others in turns of their own", async () => {
  let begun = 0;
  const inTurns: number[] = [];
  const count = operation({ params: v.object({}), run: () => ({ value: begun++ }) });
  await using made = make({
    families: { try: async () => ({ "try.count": count }) },
    limits: { pendingCalls: 256, openFiles: 1, maxCallBytes: 1000 },
  });
  await made.call("try.count", {});
  const calls = Promise.all(Array.from({ length: 200 }, () => made.call("try.count", {})));
  for (let before = begun; begun < 201; before = begun) {
    await new Promise((resolve) => setImmediate(resolve));
    inTurns.push(begun - before);
  }
  await calls;
  assert.ok(Math.max(...inTurns) <= 40, String(inTurns));
  assert.ok(inTurns.length > 100, String(inTurns.length));
});

test("many long calls at once leave the event loop to others", async () => {
  await using made = make();
  const text = `{"text":"","more":[${"[],".repeat(40_000)}[]]}`;
  const calls = Array.from({ length: 60 }, () => made.broker.call("try.echo", text, undefined));
  let turns = 0;
  const count = setInterval(() => turns++, 1);
  for (const { error } of await Promise.all(calls)) assert.equal(JSON.parse(error!).code, "E2BIG");
  clearInterval(count);
  assert.ok(turns >= 20, `${turns} turns`);
});

describe("what is open", () => {
  test("has a number that is never used again, and a kind", async () => {
    await using made = make();
    const { value: first } = await made.call("try.open", { kind: "file", name: "a" });
    await made.call("try.close", { kind: "program", id: first });
    assert.equal((await made.call("try.get", { kind: "file", id: first })).value, "a");
    await assert.rejects(made.call("try.get", { kind: "program", id: first }), code("EBADF"));
    await made.call("try.close", { kind: "file", id: first });
    await made.call("try.close", { kind: "file", id: first });
    await assert.rejects(made.call("try.get", { kind: "file", id: first }), code("EBADF"));
    const { value: second } = await made.call("try.open", { kind: "file", name: "b" });
    assert.notEqual(second, first);
    assert.equal(closed.filter((name) => name === "a").length, 1);
  });

  test("may be so many of each kind; one too many is closed at once", async () => {
    await using made = make({ limits: { pendingCalls: 4, openFiles: 2, maxCallBytes: 1000 } });
    await made.call("try.open", { kind: "file", name: "1" });
    await made.call("try.open", { kind: "file", name: "2" });
    await assert.rejects(made.call("try.open", { kind: "file", name: "third" }), code("EMFILE"));
    assert.ok(closed.includes("third"));
    await made.call("try.open", { kind: "program", name: "4" });
  });

  test("is closed when the extension ends, also what a late call opens", async () => {
    const made = make();
    await made.call("try.open", { kind: "file", name: "at the end" });
    const late = made.call("try.late");
    const refused = assert.rejects(late, code("ECANCELED"));
    await new Promise((resolve) => setTimeout(resolve));
    await made.broker.close();
    await refused;
    assert.ok(closed.includes("at the end"));
    assert.ok(closed.includes("late"));
  });
});

describe("the end", () => {
  test("answers every call that is under way, also one that never ends, and refuses new ones", async () => {
    const made = make();
    const both = [made.call("try.wait"), made.call("try.forever")];
    const refused = Promise.all(both.map((call) => assert.rejects(call, code("ECANCELED"))));
    await made.broker.close();
    await refused;
    await assert.rejects(made.call("try.nothing"), code("ECANCELED"));
    await made.broker.close();
  });
});
