/** What a line is, and what becomes of one that is no command. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { LINE_LIMIT } from "../../../src/modes/rpc/commands.ts";
import { Folder } from "../../support/folder.ts";
import { type Rec, startRpc } from "../../support/rpc.ts";

const nextId = (() => {
  let count = 0;
  return () => `f${++count}`;
})();

describe("a line of a client", () => {
  test("ends at a line feed alone: U+2028, U+2029 and U+0085 inside a string are data", async () => {
    using folder = new Folder();
    await using rpc = await startRpc(folder, []);
    const name = "one\u2028two\u2029three\u0085four";
    const id = nextId();
    rpc.write(`{"id":"${id}","type":"set_session_name","name":"${name}"}`);
    await rpc.records.find((record) => record.id === id);
    const { data } = await rpc.send({ type: "get_state" });
    assert.equal((data as { sessionName: string }).sessionName.replace(/\s/g, " "), name.replace(/\s/g, " "));
    assert.equal(rpc.records.all.filter(({ success }) => success === false).length, 0);
  });

  test("may come in any pieces, end with CRLF, and be the last without a line end", async () => {
    using folder = new Folder();
    await using rpc = await startRpc(folder, []);
    const bytes = Buffer.from(
      '\ufeff{"id":"a","type":"set_session_name","name":"ü€😀"}\r\n\r\n\n{"id":"b","type":"get_state"}',
    );
    for (const byte of bytes) rpc.input.write(Buffer.from([byte]));
    rpc.input.end();
    const { data } = await rpc.records.find(({ id }) => id === "b");
    assert.equal((data as { sessionName: string }).sessionName, "ü€😀");
    assert.equal(await rpc.served, 0);
  });

  const bad: [string, string | Buffer, Partial<Rec>, RegExp][] = [
    ["no JSON", "{nope", { command: "parse" }, /^Failed to parse command: /],
    ["an array", "[1]", { command: "parse" }, /no JSON object/],
    ["null", "null", { command: "parse" }, /no JSON object/],
    [
      "bytes that are no UTF-8",
      Buffer.from([0x22, 0xff, 0x22]),
      { command: "parse" },
      /^Failed to parse command/,
    ],
    ["without a type", '{"id":"x"}', { command: "parse", id: "x" }, /type: is missing/],
    ["with a type that is no text", '{"id":"x","type":7}', { command: "parse", id: "x" }, /type/],
    ["with an id that is no text", '{"id":7,"type":"abort"}', { command: "abort" }, /id: is not/],
    [
      "of an unknown command",
      '{"id":"x","type":"dance"}',
      { command: "dance", id: "x" },
      /^Unknown command: dance$/,
    ],
    ["named as a member of all objects", '{"id":"x","type":"constructor"}', { id: "x" }, /^Unknown command/],
    ["named __proto__", '{"id":"x","type":"__proto__"}', { id: "x" }, /^Unknown command/],
    [
      "without a member that it needs",
      '{"id":"x","type":"prompt"}',
      { command: "prompt", id: "x" },
      /^message: is missing$/,
    ],
    [
      "with a member of the wrong type",
      '{"id":"x","type":"set_auto_retry","enabled":"yes"}',
      { command: "set_auto_retry", id: "x" },
      /^enabled: is not boolean$/,
    ],
    [
      "with a value that is none of the choices",
      '{"id":"x","type":"set_steering_mode","mode":"never"}',
      { id: "x" },
      /^mode: is not/,
    ],
    [
      "with an image that is none",
      '{"id":"x","type":"prompt","message":"","images":[{"type":"image","data":"no!","mimeType":"image/png"}]}',
      { id: "x" },
      /^images\.0\.data: /,
    ],
    ["with an answer without an id", '{"type":"extension_ui_response","value":"a"}', {}, /id: is missing/],
  ];
  for (const [what, line, expected, error] of bad) {
    test(`${what} is answered with an error and changes nothing`, async () => {
      using folder = new Folder();
      await using rpc = await startRpc(folder, []);
      const before = (await rpc.send({ type: "get_state" })).data;
      rpc.input.write(line);
      rpc.input.write("\n");
      const refused = await rpc.records.find(({ success }) => success === false);
      assert.equal(refused.type, "response");
      for (const [key, value] of Object.entries(expected)) assert.equal(refused[key], value);
      assert.match(refused.error as string, error);
      assert.equal("id" in refused, "id" in expected);
      assert.deepEqual((await rpc.send({ type: "get_state" })).data, before);
    });
  }

  test("longer than the limit is refused and skipped; the next one counts", async () => {
    using folder = new Folder();
    await using rpc = await startRpc(folder, [], { lineLimit: 1000 });
    rpc.write(JSON.stringify({ type: "prompt", message: "x".repeat(5000) }));
    const refused = await rpc.records.find(({ success }) => success === false);
    assert.match(refused.error as string, /longer than 1000 bytes/);
    assert.equal((await rpc.send({ type: "get_state" })).success, true);
    assert.ok(LINE_LIMIT >= 1024 * 1024);
  });

  test("with members that we don't know, or that are null, counts", async () => {
    using folder = new Folder();
    await using rpc = await startRpc(folder, []);
    assert.equal((await rpc.send({ type: "get_entries", since: null, more: [1] })).success, true);
  });
});
