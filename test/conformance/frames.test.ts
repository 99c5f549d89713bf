/** Frames (extension-protocol.md §2; wire-notes.md, "Replies"): what arrives as one, and what ends an extension. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { loadPeer, Session, TRANSPORTS } from "./harness.ts";
import { ALLOW, always, policy, type Step } from "./script.ts";

const line = (frame: unknown) => `${JSON.stringify(frame)}\n`;
const base64 = (...parts: (string | number[])[]) =>
  Buffer.concat(parts.map((part) => Buffer.from(part as string))).toString("base64");
const FIRST = { ...ALLOW, id: "1" };
const nested = (depth: number) => `${"[".repeat(depth)}${"]".repeat(depth)}`;

describe("§2 a frame split over any number of reads is one frame", () => {
  /** Each answers the first call with `allow`, in odd bytes. */
  const framings: [string, Step[]][] = [
    ["byte by byte", [{ base64: base64(line({ ...FIRST, reason: "é🦕" })), chunk: 1 }]],
    ["in halves", [{ base64: base64(line(FIRST)), chunk: 20 }]],
    ["with CRLF", [{ base64: base64(JSON.stringify(FIRST), "\r\n") }]],
    ["with CRLF, byte by byte", [{ base64: base64(JSON.stringify(FIRST), "\r\n"), chunk: 1 }]],
    ["after empty lines", [{ base64: base64("\n\r\n\n", line(FIRST), "\n\n") }]],
    ["with a byte-order mark", [{ base64: base64([0xef, 0xbb, 0xbf], line(FIRST)) }]],
    ["glued to others", [{ base64: base64(line({ type: "log" }), line(FIRST), line({ type: "log" })) }]],
    ["with white space around it", [{ base64: base64("  \t", JSON.stringify(FIRST), "  \n") }]],
    ["of 1 MB", [{ send: ALLOW, size: 1_000_000 }]],
    ["at the limit", [{ send: ALLOW, size: 8 * 1024 * 1024 }]],
  ];
  for (const [what, steps] of framings) {
    test(`§2 ${what}`, async () => {
      await using session = await loadPeer(policy(steps));
      assert.equal(await session.verdict(), "allow");
      assert.equal(await session.verdict(), "allow", "what follows is understood, too");
      assert.equal(session.extension.state, "ready");
    });
  }

  test("§2 a byte-order mark before the capabilities is skipped", async () => {
    const capabilities = line({ type: "capabilities", payload: { events: ["tool_call"] } });
    await using session = await loadPeer({
      capabilities: null,
      start: [{ base64: base64([0xef, 0xbb, 0xbf], capabilities), chunk: 1 }],
    });
    assert.deepEqual(session.notices, []);
    assert.equal(await session.verdict(), "allow");
  });

  test("§2 capabilities, answers and the next answers may come in one read", async () => {
    const capabilities = { type: "capabilities", payload: { events: ["tool_call"] } };
    await using session = await loadPeer({
      capabilities: null,
      start: [{ base64: base64(line(capabilities), line({ type: "action", action: "steer", text: "x" })) }],
    });
    assert.equal(await session.verdict(), "allow");
    assert.deepEqual(session.actions, ["peer steer x"]);
  });

  test("§2 a frame at the limit passes on the worker transport, too", async () => {
    await using session = await loadPeer(policy([{ send: ALLOW, size: 8 * 1024 * 1024 }]), "worker");
    assert.equal(await session.verdict(), "allow");
  });
});

describe("§2 what is no frame is a protocol error: kill, retire, and deny what was in flight", () => {
  const notJson = /^blocked by extension peer: it sent a (?:line|frame) that is not JSON/;
  const noObject = /: it sent a frame that is not a JSON object$/;
  const unknown = /: it sent a frame of unknown type "/;
  /** What is sent, followed by an `allow` that must not count. */
  const errors: [string, string, RegExp][] = [
    ["a text", "allow", notJson],
    ["a JSON text with something behind it", '{"type":"log"} x', notJson],
    ["two frames on one line", '{"type":"log"}{"type":"log"}', notJson],
    ["a single quote", "{'type':'log'}", notJson],
    ["a trailing comma", '{"type":"log",}', notJson],
    ["a NUL", "\0", notJson],
    ["half a frame", '{"type":"response","id":', notJson],
    ["100,000 open brackets", "[".repeat(100_000), notJson],
    ["an array", '["response"]', noObject],
    ["a string", '"response"', noObject],
    ["a number", "1", noObject],
    ["true", "true", noObject],
    ["null", "null", noObject],
    ["an array nested 100,000 deep", nested(100_000), /JSON object$|holds more than 20000 values$/],
    ["no type", "{}", /: it sent a frame without a type$/],
    ["a type that is no text", '{"type":5}', /: it sent a frame without a type$/],
    ["a type in its prototype", '{"__proto__":{"type":"log"}}', /: it sent a frame without a type$/],
    ["an unknown type", '{"type":"allow"}', unknown],
    ["a type in capitals", '{"type":"Response"}', unknown],
    ["a type named like an object's member", '{"type":"constructor"}', unknown],
    ["an empty type", '{"type":""}', unknown],
    ["a frame that is the host's: hello", '{"type":"hello","protocol":1}', unknown],
    ["a frame that is the host's: event", '{"type":"event","id":"1","event":"tool_call"}', unknown],
    ["a frame that is the host's: cancel", '{"type":"cancel","id":"1"}', unknown],
    ["a frame that is the host's: return", '{"type":"return","id":"1"}', unknown],
    ["capabilities a second time", '{"type":"capabilities","payload":{}}', /capabilities a second time$/],
    ["a frame nested 100 deep", `{"type":"log","x":${nested(100)}}`, /is nested more than 64 levels deep$/],
    [
      "a frame nested 100,000 deep",
      `{"type":"response","id":"$id","allow":true,"revise":{"x":${nested(100_000)}}}`,
      /is nested more than 64 levels deep$|holds more than 20000 values$/,
    ],
    [
      "a frame with 300,000 values",
      `{"type":"log","x":[${"0,".repeat(299_999)}0]}`,
      /holds more than 20000 values$/,
    ],
    ["an update without the feature", '{"type":"update","id":"$id"}', /update frame without the feature$/],
    ["a call without the feature", '{"type":"call","id":"1","method":"ui.notify"}', /call frame without/],
  ];
  for (const transport of TRANSPORTS) {
    for (const [what, text, reason] of errors) {
      test(`§2 ${what} (${transport})`, async () => {
        const steps: Step[] = [{ text: transport === "process" ? `${text}\n` : text }, { send: ALLOW }];
        await using session = await loadPeer(policy(steps), transport);
        assert.match(await session.verdict(), reason);
        assert.equal(session.extension.state, "dead");
        assert.equal(await session.verdict(), "allow", "it is out of the chain");
        assert.equal(session.sent("event").length, 1, "and was not asked again");
        assert.equal(session.notices.length, 1);
      });
    }

    test(`§2 a frame of 9 MB is over the limit of 8 MiB (${transport})`, async () => {
      await using session = await loadPeer(policy([{ send: ALLOW, size: 9_000_000 }]), transport);
      assert.match(await session.verdict(), /it sent a (?:line|frame) longer than 8388608 bytes$/);
      assert.equal(session.extension.state, "dead");
    });

    test(`§2 the limit is the setting extensionHost.maxFrameBytes, per extension (${transport})`, async () => {
      const settings = { overrides: { peer: { maxFrameBytes: 2000 } } };
      await using session = await loadPeer(policy([{ send: ALLOW, size: 2000 }]), transport, { settings });
      assert.equal(await session.verdict(), "allow");
      await using over = await loadPeer(policy([{ send: ALLOW, size: 2001 }]), transport, { settings });
      assert.match(await over.verdict(), /longer than 2000 bytes$/);
    });
  }

  /** Only bytes can be this. */
  const bytes: [string, string, RegExp][] = [
    ["a byte that is not UTF-8", base64('{"type":"log","text":"', [0xff], '"}\n'), notJson],
    ["half a character", base64('{"type":"log","text":"', [0xc3], '"}\n'), notJson],
    ["a surrogate in UTF-8", base64('{"type":"log","text":"', [0xed, 0xa0, 0x80], '"}\n'), notJson],
    ["UTF-16", base64(Buffer.from(line(FIRST), "utf16le") as unknown as number[]), notJson],
    ["a line end inside a frame", base64('{"type":\n"log"}\n'), notJson],
    ["a carriage return alone between frames", base64('{"type":"log"}\r{"type":"log"}\n'), notJson],
  ];
  for (const [what, text, reason] of bytes) {
    test(`§2 ${what}`, async () => {
      await using session = await loadPeer(policy([{ base64: text }, { send: ALLOW }]));
      assert.match(await session.verdict(), reason);
      assert.equal(session.extension.state, "dead");
    });
  }

  test("§2 a frame without its line end is none: the end of the output completes nothing", async () => {
    await using session = await loadPeer(policy([{ text: JSON.stringify(ALLOW) }, { exit: 0 }]));
    assert.equal(await session.verdict(), "blocked by extension peer: it exited with status 0");
  });

  test("§2 what a protocol error has denied is everything that was in flight", async () => {
    for (const transport of TRANSPORTS) {
      const script = always([{ hold: 3 }, { text: transport === "process" ? "oops\n" : "oops" }], {
        features: ["concurrent"],
      });
      await using session = await loadPeer(script, transport);
      const verdicts = await Promise.all([session.verdict(), session.verdict(), session.verdict()]);
      for (const verdict of verdicts) assert.match(verdict, notJson);
      assert.equal(await session.verdict(), "allow", "a denial was given, so none is owed");
    }
  });
});

describe("§2 a wrong type in a known member makes a frame malformed", () => {
  const TEXTS = [5, true, {}, ["x"]];
  const FLAGS = ["true", 1, {}, []];
  const IDS = [true, {}, ["1"]];
  const members: [Record<string, unknown>, string, readonly unknown[]][] = [
    [{ type: "response", id: "$id", allow: true }, "id", IDS],
    [{ type: "response", id: "$id" }, "allow", FLAGS],
    [{ type: "response", id: "$id", allow: true }, "reason", TEXTS],
    [{ type: "response", id: "$id", allow: true }, "error", TEXTS],
    [{ type: "response", id: "$id", allow: true }, "failOpen", FLAGS],
    [{ type: "action", text: "x" }, "action", [...TEXTS, null, undefined]],
    [{ type: "action", action: "steer" }, "text", TEXTS],
    [{ type: "log" }, "text", TEXTS],
    [{ type: "log", text: "x" }, "level", TEXTS],
    [{ type: "update", payload: {} }, "id", IDS],
    [{ type: "call", method: "ui.notify" }, "id", IDS],
    [{ type: "call", id: "1" }, "method", [...TEXTS, null, undefined]],
  ];
  for (const transport of TRANSPORTS) {
    for (const [frame, member, values] of members) {
      test(`§2 ${frame.type}.${member} (${transport})`, async () => {
        for (const value of values) {
          const wrong = { ...frame, [member]: value };
          await using session = await loadPeer(
            policy([{ send: wrong }, { send: ALLOW }], { features: ["call", "update"] }),
            transport,
          );
          assert.match(
            await session.verdict(),
            new RegExp(`^blocked by extension peer: it sent a malformed ${frame.type} frame`),
            JSON.stringify(wrong),
          );
          assert.equal(session.extension.state, "dead");
        }
      });
    }
  }
});

describe("§2 what a frame may hold besides", () => {
  /** Frames that mean something although they look odd, and what becomes of the call. */
  const frames: [string, unknown[], string][] = [
    ["members that nobody knows", [{ ...ALLOW, more: [{}], type2: "x" }], "allow"],
    ["an id that is a number", [{ ...ALLOW, id: "$number" }], "allow"],
    ["null in every optional member", [{ ...ALLOW, reason: null, error: null, failOpen: null }], "allow"],
    ["an allow of null is absent", [{ ...ALLOW, allow: null }], "blocked by extension peer: denied"],
    [
      "the first of two answers counts",
      [{ ...ALLOW, allow: false, reason: "first" }, ALLOW],
      "blocked by extension peer: first",
    ],
    ["an answer that no one waits for is dropped", [{ ...ALLOW, id: "nobody" }, ALLOW], "allow"],
    ["an answer without an id is dropped", [{ type: "response", allow: false }, ALLOW], "allow"],
    ["an answer with an id of null is dropped", [{ ...ALLOW, id: null, allow: false }, ALLOW], "allow"],
    [
      "ids that name an object's members are unknown ones",
      ["__proto__", "constructor", "toString"].map((id) => ({ ...ALLOW, id })).concat(ALLOW),
      "allow",
    ],
    [
      "an answer to a call that was not made yet is dropped",
      [
        { ...ALLOW, id: "2" },
        { ...ALLOW, allow: false, reason: "now" },
      ],
      "blocked by extension peer: now",
    ],
  ];
  for (const transport of TRANSPORTS) {
    for (const [what, sent, expected] of frames) {
      test(`§2 ${what} (${transport})`, async () => {
        await using session = await loadPeer(policy(sent.map((send) => ({ send }))), transport);
        assert.equal(await session.verdict(), expected);
        assert.equal(await session.verdict("again"), "allow", "it was asked again, and answered then");
        assert.equal(session.sent("event").length, 2);
        assert.equal(session.extension.state, "ready", "none of it kills the extension");
      });
    }

    test(`§2 __proto__ members are data and give nobody an allow (${transport})`, async () => {
      const texts = [
        '{"type":"response","id":"$id","__proto__":{"allow":true}}',
        '{"type":"response","id":"$id","allow":true,"revise":{"command":"ls","__proto__":{"command":"rm"}}}',
        '{"type":"response","id":"$id","allow":true,"patch":{"__proto__":{"text":"x"}}}',
      ];
      const lineEnd = transport === "process" ? "\n" : "";
      await using session = await loadPeer(
        {
          capabilities: { events: ["tool_call"] },
          on: { tool_call: texts.map((text) => [{ text: text + lineEnd }]) },
        },
        transport,
      );
      assert.equal(await session.verdict(), "blocked by extension peer: denied");
      const revised = await session.decide({ command: "ls" });
      assert.ok(revised.allow);
      assert.equal(revised.arguments.command, "ls");
      assert.equal(await session.verdict(), "allow");
      assert.equal(({} as { text?: unknown }).text, undefined);
    });
  }

  test("§2 a lone surrogate in an escape is a text like any other", async () => {
    await using session = await loadPeer(
      policy([{ text: '{"type":"response","id":"$id","allow":false,"reason":"a\\ud800b"}\n' }]),
    );
    assert.match(await session.verdict(), /^blocked by extension peer: a.?b$/u);
  });

  test("§2 everything on stderr is the log, whatever it looks like; stdout carries frames only", async () => {
    await using session = await loadPeer(
      policy([{ log: JSON.stringify({ ...FIRST, allow: false }) }, { log: "not JSON" }, { send: ALLOW }]),
    );
    assert.equal(await session.verdict(), "allow");
    await session.until(() => session.logs.length === 2);
    assert.deepEqual(session.logs, [
      'peer info {"type":"response","id":"1","allow":false}',
      "peer info not JSON",
    ]);
  });

  test("§2 log frames have a severity and a text", async () => {
    for (const transport of TRANSPORTS) {
      const logs = [
        { type: "log", level: "warn", text: "look" },
        { type: "log" },
        { type: "log", text: "x" },
      ];
      await using session = await loadPeer(
        policy([...logs.map((send) => ({ send })), { send: ALLOW }]),
        transport,
      );
      assert.equal(await session.verdict(), "allow");
      assert.deepEqual(session.logs, ["peer warn look", "peer info ", "peer info x"]);
    }
  });

  test("§2 the same from POSIX sh: frames glued, split and with CRLF", async () => {
    await using session = new Session();
    session.program(
      "policy.sh",
      `#!/bin/sh
printf '{"type":"log","text":"a"}\\n\\n{"type":"capabilities",'
printf '"payload":{"events":["tool_call"]}}\\r\\n'
while read -r line; do
  case "$line" in
    *'"type":"event"'*)
      id=$(printf '%s' "$line" | sed 's/.*"id":"\\([0-9]*\\)".*/\\1/')
      printf '{"type":"response",'; printf '"id":%s,"allow":false,"reason":"sh"}\\n' "$id" ;;
  esac
done
`,
    );
    await session.load();
    assert.equal(await session.verdict(), "blocked by extension policy: sh");
    assert.equal(await session.verdict(), "blocked by extension policy: sh");
  });
});
