import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import * as v from "valibot";
import { inbound, parseInbound, parsePatch, parseRevise, plainResponse } from "../../src/extensions/frame.ts";

describe("frames", () => {
  test("the specification's frames are understood", () => {
    const capabilities = parseInbound({
      type: "capabilities",
      payload: { events: ["tool_call", "session_start"] },
    });
    assert.ok("frame" in capabilities && capabilities.frame.type === "capabilities");
    assert.deepEqual(capabilities.frame.payload.events, ["tool_call", "session_start"]);
    assert.deepEqual(capabilities.frame.payload.tools, []);
    assert.equal(capabilities.frame.payload.failOpen, false);
    for (const frame of [
      { type: "response", id: "1", allow: true, reason: "" },
      { type: "response", id: 1, allow: false, reason: null },
      { type: "action", action: "steer", text: "look" },
      { type: "log", text: "x", level: "info" },
      { type: "update", id: "1", payload: {} },
      { type: "call", id: "1", method: "ui.notify", params: {} },
    ]) {
      assert.ok("frame" in parseInbound(frame), JSON.stringify(frame));
    }
  });

  test("the short cut for responses takes nothing that the schema refuses, and gives what the schema gives", () => {
    const members = ["id", "allow", "reason", "revise", "patch", "result", "error", "failOpen", "payload"];
    const member = fc.oneof(fc.boolean(), fc.string(), fc.integer(), fc.constant(null), fc.jsonValue());
    const name = fc.constantFrom(...members, "type", "__proto__", "constructor", "toString", "");
    const response = fc
      .uniqueArray(fc.tuple(name, member), { maxLength: 6, selector: ([key]) => key })
      // As from the wire: `__proto__` is a member like any other.
      .map((pairs) => JSON.parse(JSON.stringify(Object.fromEntries([["type", "response"], ...pairs]))));
    let taken = 0;
    fc.assert(
      fc.property(response, (value) => {
        if (value.type !== "response") return;
        const frame = plainResponse(value);
        if (!frame) return;
        taken++;
        const checked = v.safeParse(inbound, value);
        assert.ok(checked.success);
        assert.deepStrictEqual(frame, checked.output);
      }),
      { numRuns: 5000 },
    );
    assert.ok(taken > 500, `it took ${taken}`);
    // What a policy's answers are, whichever it gives, goes this way.
    for (const answer of [
      { allow: true },
      { allow: false, reason: "no" },
      { error: "oops" },
      { patch: {} },
    ]) {
      assert.ok(plainResponse({ type: "response", id: "1", ...answer }));
    }
  });

  test("wrong types in any known member make a frame malformed", () => {
    for (const frame of [
      { type: "response", id: "1", allow: "true" },
      { type: "response", id: "1", allow: 1 },
      { type: "response", id: {}, allow: true },
      { type: "response", id: "1", allow: true, reason: 5 },
      { type: "response", id: "1", allow: true, failOpen: "yes" },
      { type: "capabilities" },
      { type: "capabilities", payload: [] },
      { type: "capabilities", payload: { events: "tool_call" } },
      { type: "capabilities", payload: { events: [1] } },
      { type: "capabilities", payload: { tools: [{}] } },
      { type: "capabilities", payload: { failOpen: "true" } },
      { type: "action" },
      { type: "nonsense" },
      {},
      [],
      null,
      "text",
      5,
    ]) {
      const result = parseInbound(frame);
      assert.ok("problem" in result, JSON.stringify(frame));
      assert.match(result.problem, /^sent a/);
    }
  });

  test("members of a prototype are not members of a frame", () => {
    const frame = JSON.parse('{"type":"response","id":"1","__proto__":{"allow":true}}');
    const result = parseInbound(frame);
    assert.ok("frame" in result && result.frame.type === "response");
    assert.notEqual(result.frame.allow, true);
    assert.ok("problem" in parseInbound(Object.create({ type: "response", allow: true })));
  });

  test("no value whatever makes parsing throw or gives an allow that was not the boolean true", () => {
    fc.assert(
      fc.property(fc.anything({ withNullPrototype: true }), fc.anything(), (type, value) => {
        const frame = { type: "response", id: "1", allow: value, revise: type };
        const result = parseInbound(frame);
        if ("frame" in result && result.frame.type === "response") {
          assert.equal(result.frame.allow === true, value === true);
        }
        parseInbound(value);
        parsePatch(value);
        parseRevise(value);
      }),
    );
  });

  test("a frame that is nested too deeply or holds too much is refused at once", () => {
    let deep: unknown = 1;
    for (let level = 0; level < 100_000; level++) deep = [deep];
    for (const value of [deep, Array(1_000_000).fill(0), Array.from({ length: 300_000 }, () => ({}))]) {
      for (const frame of [
        { type: "response", id: "1", allow: true, revise: { x: value } },
        { type: "capabilities", payload: { commands: value } },
        { type: "update", id: "1", payload: value },
      ]) {
        const result = parseInbound(frame);
        assert.ok("problem" in result);
        assert.match(result.problem, /nested more than|holds more than/);
      }
    }
    assert.ok(
      "problem" in parseInbound({ type: "capabilities", payload: { commands: Array(1001).fill("x") } }),
    );
  });

  test("an empty patch or revise means no change", () => {
    for (const empty of [undefined, null, {}, [], ""]) {
      assert.equal(parsePatch(empty), undefined);
      assert.equal(parseRevise(empty), undefined);
    }
  });

  test("a patch is a text, or an object whose missing members keep their old value", () => {
    assert.deepEqual(parsePatch("new"), { text: "new" });
    assert.deepEqual(parsePatch({ isError: true }), { isError: true });
    assert.deepEqual(parsePatch({ text: "new", isError: false, more: 1 }), { text: "new", isError: false });
    for (const wrong of [5, true, [1], { text: 5 }, { isError: "yes" }]) {
      assert.ok("problem" in (parsePatch(wrong) ?? {}), JSON.stringify(wrong));
    }
  });

  test("a revise is a JSON object", () => {
    assert.deepEqual(parseRevise({ command: "ls" }), { arguments: { command: "ls" } });
    for (const wrong of ["ls", 5, true, ["ls"]])
      assert.ok("problem" in (parseRevise(wrong) ?? {}), String(wrong));
  });
});
