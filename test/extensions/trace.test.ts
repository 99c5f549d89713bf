/** Traces of extensions: everything that passes is in them, and played back they show what has changed. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { addSecret } from "../../src/base/log.ts";
import { DEFAULT_SETTINGS, type ExtensionHostSettings } from "../../src/config/settings.ts";
import type { Channel, ChannelHandlers } from "../../src/extensions/channel.ts";
import { identifyExtensions } from "../../src/extensions/discovery.ts";
import type { Extension } from "../../src/extensions/extension.ts";
import type { HostFrame } from "../../src/extensions/frame.ts";
import { jsonDiff } from "../../src/extensions/json-diff.ts";
import { ExtensionManager, type ManagerOptions } from "../../src/extensions/manager.ts";
import { readRecording } from "../../src/extensions/recording.ts";
import { compareReplay, type ReplayReport } from "../../src/extensions/replay-report.ts";
import { parseTrace, type TraceEntry, traceChannel, traceLine } from "../../src/extensions/trace.ts";
import { TracePlayer } from "../../src/extensions/trace-player.ts";
import { Folder } from "../support/folder.ts";

const EXAMPLES = fileURLToPath(new URL("../../src/docs/examples/", import.meta.url));

async function load(
  path: string,
  wrapChannel: ManagerOptions["wrapChannel"],
  settings: Partial<ExtensionHostSettings> = {},
): Promise<ExtensionManager> {
  return ExtensionManager.load({
    sources: await identifyExtensions(path),
    settings: { ...DEFAULT_SETTINGS.extensionHost, ...settings },
    env: process.env,
    wrapChannel,
    host: { notice: () => {}, notify: () => {}, action: () => {} },
  });
}

/** Loads an extension, lets `drive` ask it, and gives the trace as it is read back from its lines. */
async function record(
  path: string,
  drive: (extension: Extension) => Promise<unknown>,
): Promise<TraceEntry[]> {
  const lines: string[] = [];
  const manager = await load(path, (channel) =>
    traceChannel(channel, (entry) => lines.push(traceLine(entry))),
  );
  await drive(manager.extensions[0]!).catch(() => {});
  await manager.stop();
  return parseTrace(lines.join("\n"), "trace");
}

async function replay(
  entries: readonly TraceEntry[],
  path: string,
  settings: Partial<ExtensionHostSettings> = {},
): Promise<ReplayReport> {
  const recording = readRecording(entries);
  const player = new TracePlayer(recording);
  const manager = await load(path, (channel) => player.attach(channel), settings);
  const failure = manager.failures()[0]?.reason;
  if (failure === undefined) await player.play(manager.extensions[0]!.limits, new AbortController().signal);
  await manager.stop();
  return compareReplay(recording, player.playback(), failure);
}

const ask = (extension: Extension, command: string) =>
  extension.request(
    "tool_call",
    { tool: "bash", arguments: { command }, callId: "c" },
    { timeoutMs: extension.limits.eventTimeoutMs },
  );

async function session(extension: Extension): Promise<void> {
  await extension.request(
    "session_start",
    { cwd: "/w", sessionId: "s", model: "m" },
    { timeoutMs: extension.limits.eventTimeoutMs },
  );
  await ask(extension, "ls");
  await ask(extension, "rm -rf /");
  if (extension.capabilities?.tools.length === 0) return;
  await extension.request(
    "tool_invoke",
    { tool: "hello_extension", arguments: { name: "you" }, callId: "t" },
    { timeoutMs: extension.limits.toolTimeoutMs },
  );
  await extension.request("command", { command: "hello-ext", arguments: "" }, { timeoutMs: 1000 });
}

/** What passed, in a word each. */
function passed(entries: readonly TraceEntry[]): string[] {
  return entries.map((entry) => {
    if ("frame" in entry) {
      const { type, event } = entry.frame as { type: string; event?: string };
      return `${entry.direction === "host→ext" ? ">" : "<"} ${event ?? type}`;
    }
    return Object.keys(entry).at(-1) ?? "";
  });
}

/** A channel whose other side is the test. */
function fakeChannel() {
  const sent: HostFrame[] = [];
  const state: { handlers?: ChannelHandlers; closed: number } = { closed: 0 };
  const channel: Channel = {
    open: (handlers) => {
      state.handlers = handlers;
    },
    send: (frame) => void sent.push(frame),
    close: async () => void state.closed++,
    kill: async () => void state.closed++,
  };
  return { channel, sent, state };
}

describe("a traced channel", () => {
  test("passes everything on as it is, and reports it with direction and time", () => {
    const { channel, sent, state } = fakeChannel();
    const entries: TraceEntry[] = [];
    const traced = traceChannel(channel, (entry) => entries.push(entry));
    const got: unknown[] = [];
    traced.open({
      onMessage: (value) => got.push(value),
      onProblem: (problem) => got.push(problem),
      onLog: (line) => got.push(line),
      onClose: (end) => got.push(end),
    });
    const frame: HostFrame = { type: "cancel", id: "1" };
    traced.send(frame);
    assert.equal(sent[0], frame, "the very same frame");
    const message = { type: "response", id: "1", allow: true };
    const end = { reason: "exited with status 3", exitCode: 3 };
    state.handlers?.onMessage(message);
    state.handlers?.onMessage("no frame at all");
    state.handlers?.onLog("a line");
    state.handlers?.onProblem("sent a line that is not JSON");
    state.handlers?.onClose(end);
    assert.equal(got[0], message, "the very same message");
    assert.deepEqual(got.slice(1), ["no frame at all", "a line", "sent a line that is not JSON", end]);
    assert.deepEqual(
      entries.map(({ time: _time, ...rest }) => rest),
      [
        { direction: "host→ext", frame },
        { direction: "ext→host", frame: message },
        { direction: "ext→host", frame: "no frame at all" },
        { direction: "ext→host", log: "a line" },
        { direction: "ext→host", problem: "sent a line that is not JSON" },
        { direction: "ext→host", close: end },
      ],
    );
    const times = entries.map(({ time }) => time);
    assert.deepEqual(
      times,
      times.toSorted((a, b) => a - b),
    );
    for (const time of times) assert.equal(time, Number(time.toFixed(3)));
  });

  test("reports one end only, also when the host ends it", async () => {
    const { channel, state } = fakeChannel();
    const entries: TraceEntry[] = [];
    const traced = traceChannel(channel, (entry) => entries.push(entry));
    traced.open({ onMessage() {}, onProblem() {}, onLog() {}, onClose() {} });
    await traced.kill();
    await traced.close(0);
    state.handlers?.onClose({ reason: "late" });
    assert.equal(state.closed, 2);
    assert.deepEqual(
      entries.map(({ time: _time, ...rest }) => rest),
      [{ direction: "host→ext", close: { reason: "was killed by the host" } }],
    );
  });

  test("is not disturbed by a sink that throws", () => {
    const { channel, sent } = fakeChannel();
    const traced = traceChannel(channel, () => {
      throw new Error("the disk is full");
    });
    traced.send({ type: "cancel", id: "1" });
    assert.equal(sent.length, 1);
  });

  test("shows a process extension from hello to its end", async () => {
    const entries = await record(`${EXAMPLES}deny-rm.py`, session);
    assert.deepEqual(passed(entries), [
      "> hello",
      "< capabilities",
      "> session_start",
      "< response",
      "> tool_call",
      "< response",
      "> tool_call",
      "< response",
      "close",
    ]);
  });

  test("shows a worker extension from hello to its end", async () => {
    const entries = await record(`${EXAMPLES}quick-start.ts`, session);
    const seen = passed(entries);
    assert.deepEqual(seen.slice(0, 4), ["> hello", "< capabilities", "> session_start", "< call"]);
    assert.equal(seen.at(-1), "close");
    assert.equal(seen.filter((entry) => entry === "< response").length, 5);
    assert.equal(seen.filter((entry) => entry === "> return").length, 3);
  });

  test("shows what an extension breaks: its log, the problem and how it ended", async () => {
    using folder = new Folder();
    const path = folder.program(
      "bad.sh",
      `#!/bin/sh\necho why >&2\nsleep 0.1\necho '{"type":"capabilities","payload":{}}'\necho nonsense\ncat >/dev/null\n`,
    );
    const entries = await record(path, () => new Promise((resolve) => setTimeout(resolve, 200)));
    const log = entries.find((entry) => "log" in entry);
    assert.equal(log && "log" in log && log.log, "why");
    assert.deepEqual(passed(entries).slice(-2), ["problem", "close"]);
  });

  test("traces a frame of several megabytes whole", async () => {
    using folder = new Folder();
    const path = folder.program(
      "big.py",
      `#!/usr/bin/env python3
import json, sys
for line in sys.stdin:
    f = json.loads(line)
    if f["type"] == "hello": print(json.dumps({"type": "capabilities", "payload": {"events": ["tool_call"]}}), flush=True)
    else: print(json.dumps({"type": "response", "id": f["id"], "allow": True, "reason": "x" * 6000000}), flush=True)
`,
    );
    const entries = await record(path, (extension) => ask(extension, "ls"));
    const answer = entries.find(
      (entry) => "frame" in entry && (entry.frame as HostFrame).type.startsWith("resp"),
    );
    assert.equal((answer as { frame: { reason: string } }).frame.reason.length, 6_000_000);
  });
});

describe("a line of a trace", () => {
  const entry = (frame: unknown): TraceEntry => ({ time: 1.5, direction: "ext→host", frame });

  test("is one line of valid JSON that is harmless for a terminal and reads back as it was", () => {
    const hostile = [
      "a\nb\r\u2028c",
      "\u001b[2J\u009b31m\u007f\u0007",
      "\u202eturned",
      "\ud800 half a character",
      { __proto__: null, toJSON: 1, "k\n": [null, true, 1e300] },
      null,
      7,
    ];
    for (const frame of hostile) {
      const line = traceLine(entry(frame));
      assert.doesNotMatch(line, /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e]/);
      assert.deepEqual(JSON.parse(line).frame, JSON.parse(JSON.stringify(frame)));
    }
  });

  test("of a frame that is nested too deep to be written says so", () => {
    let deep: unknown = 0;
    for (let depth = 0; depth < 500_000; depth++) deep = [deep];
    const read = JSON.parse(traceLine(entry(deep)));
    assert.match(read.problem, /not shown/);
    assert.equal(parseTrace(traceLine(entry(deep)), "t").length, 1);
  });

  test("holds no secret, and stays valid if the secret is a number", () => {
    addSecret("1234567890");
    const line = traceLine(entry({ key: "is 1234567890", time: 1234567890 }));
    assert.deepEqual(JSON.parse(line).frame, { key: "is [secret]", time: 1234567890 });
  });

  test("that is none is named with its number", () => {
    const good = traceLine(entry({ type: "log" }));
    const bad = [
      "nonsense",
      "[]",
      "{}",
      '{"time":1,"direction":"up","frame":{}}',
      '{"time":"1","direction":"ext→host","frame":{}}',
      '{"time":1,"direction":"host→ext","frame":"text"}',
      '{"time":1,"direction":"ext→host"}',
    ];
    for (const line of bad) {
      assert.throws(
        () => parseTrace(`${good}\r\n\n${line}\n`, "my.ndjson"),
        (error: { code: string; message: string }) =>
          error.code === "bad-trace" && error.message.startsWith("my.ndjson:3: "),
        line,
      );
    }
    assert.throws(() => parseTrace("\n", "my.ndjson"), /my\.ndjson:1: .*empty/);
    assert.equal(parseTrace(`\uFEFF${good}\r\n`, "my.ndjson").length, 1);
  });
});

describe("a difference of two JSON values", () => {
  const cases: [string, unknown, unknown, unknown[]][] = [
    ["none, whatever the order of members", { a: 1, b: [1, { c: 2 }] }, { b: [1, { c: 2 }], a: 1 }, []],
    ["another value", { a: { b: 1 } }, { a: { b: "1" } }, [{ path: "a.b", recorded: 1, replayed: "1" }]],
    ["a member less", { a: 1, b: 2 }, { b: 2 }, [{ path: "a", recorded: 1 }]],
    ["a member more", {}, { "odd name": null }, [{ path: '["odd name"]', replayed: null }]],
    ["one item more at the front", ["b", "c"], ["a", "b", "c"], [{ path: "[0]", replayed: "a" }]],
    ["one item less in the middle", { l: [1, 2, 3] }, { l: [1, 3] }, [{ path: "l[1]", recorded: 2 }]],
    ["an item", [{ n: 1 }, { n: 2 }], [{ n: 1 }, { n: 3 }], [{ path: "[1].n", recorded: 2, replayed: 3 }]],
    ["another type", [], {}, [{ path: "", recorded: [], replayed: {} }]],
  ];
  for (const [what, one, other, expected] of cases) {
    test(`is ${what}`, () => assert.deepEqual(jsonDiff(one, other), expected));
  }

  test("is found in reasonable time in deeply nested lists", () => {
    const nest = (value: unknown) => {
      let result = value;
      for (let depth = 0; depth < 500; depth++) result = [1, result, 2];
      return result;
    };
    const start = performance.now();
    assert.equal(jsonDiff(nest("a"), nest("b")).length, 1);
    assert.ok(performance.now() - start < 1000);
  });
});

describe("a trace that is replayed", () => {
  for (const name of ["deny-rm.py", "quick-start.ts"]) {
    test(`against the same extension shows no difference: ${name}`, async () => {
      const entries = await record(`${EXAMPLES}${name}`, session);
      const report = await replay(entries, `${EXAMPLES}${name}`);
      assert.ok(report.events.length >= 3);
      assert.deepEqual(
        report.events.filter(({ status }) => status !== "same"),
        [],
      );
      assert.deepEqual([report.same, report.missing, report.extra], [true, [], []]);
    });
  }

  test("against a changed process extension shows exactly the change", async () => {
    using folder = new Folder();
    const entries = await record(`${EXAMPLES}deny-rm.py`, session);
    const source = readFileSync(`${EXAMPLES}deny-rm.py`, "utf8");
    const changed = folder.program("deny-rm.py", source.replace("is disabled in this project", "is off"));
    const report = await replay(entries, changed);
    assert.deepEqual(report, {
      same: false,
      capabilities: { status: "same" },
      events: [
        { number: 1, event: "session_start", status: "same" },
        { number: 2, event: "tool_call", about: "bash", status: "same" },
        {
          number: 3,
          event: "tool_call",
          about: "bash",
          status: "differs",
          differences: [
            { path: "reason", recorded: "rm -rf is disabled in this project", replayed: "rm -rf is off" },
          ],
        },
      ],
      missing: [],
      extra: [],
    });
  });

  test("against a changed worker extension shows exactly the changes", async () => {
    using folder = new Folder();
    const entries = await record(`${EXAMPLES}quick-start.ts`, session);
    const source = readFileSync(`${EXAMPLES}quick-start.ts`, "utf8");
    const changed = folder.file(
      "quick-start.ts",
      source
        .replace("Hello, ${", "Hi, ${")
        .replace("Return a greeting", "Greet")
        .replace("pending=", "waiting="),
    );
    const report = await replay(entries, changed);
    assert.deepEqual(report.capabilities, {
      status: "differs",
      differences: [
        { path: "payload.tools[0].description", recorded: "Return a greeting", replayed: "Greet" },
      ],
    });
    assert.deepEqual(
      report.events.filter(({ status }) => status !== "same"),
      [
        {
          number: 4,
          event: "tool_invoke",
          about: "hello_extension",
          status: "differs",
          differences: [{ path: "result.content[0].text", recorded: "Hello, you", replayed: "Hi, you" }],
        },
      ],
    );
    const notify = (message: string) => [
      { type: "call", method: "ui.notify", params: { message, level: "info" } },
    ];
    assert.deepEqual([report.missing, report.extra], [notify("pending=false"), notify("waiting=false")]);
  });

  /** A Python extension that answers each event with what `answer` prints; `f` is the frame. */
  const python = (answer: string, features = "") => `#!/usr/bin/env python3
import json, sys, time, os
def send(**frame): print(json.dumps(frame), flush=True)
held = []
for line in sys.stdin:
    f = json.loads(line)
    if f["type"] == "hello": send(type="capabilities", payload={"events": ["tool_call"], "features": [${features}]})
    elif f["type"] == "return": send(type="action", action="steer", text=str(f.get("result")))
    elif f["type"] == "event":
        n = int(f["id"])
${answer
  .split("\n")
  .map((line) => `        ${line}`)
  .join("\n")}
`;
  const ALLOW = `send(type="response", id=f["id"], allow=True)`;

  /** Each is what the extension does at the second of three questions. */
  const failures: [string, string, RegExp][] = [
    ["dies", "if n == 2: os._exit(3)", /^exited with status 3$/],
    [
      "breaks the protocol",
      `if n == 2: print("nonsense", flush=True)`,
      /^sent a line that is not JSON, where only frames may be: nonsense$/,
    ],
    ["sends its capabilities again", `if n == 2: send(type="capabilities", payload={})`, /a second time/],
    [
      "sends a call without the feature",
      `if n == 2: send(type="call", id=1, method="x")`,
      /without the feature/,
    ],
    ["is too slow", "if n == 2: time.sleep(60)", /^did not answer tool_call within 300 ms$/],
  ];
  for (const [what, body, reason] of failures) {
    test(`against one that ${what} says which answers are missing, and why`, async () => {
      using folder = new Folder();
      const entries = await record(folder.program("good.py", python(ALLOW)), async (extension) => {
        for (const command of ["a", "b", "c"]) await ask(extension, command);
      });
      const report = await replay(entries, folder.program("bad.py", python(`${body}\n${ALLOW}`)), {
        eventTimeoutMs: 300,
      });
      assert.deepEqual(
        report.events.map(({ status }) => status),
        ["same", "missing", "missing"],
      );
      assert.equal(report.same, false);
      for (const event of report.events.slice(1)) assert.match(event.reason ?? "", reason);
    });
  }

  test("against one that does not load says why", async () => {
    using folder = new Folder();
    const entries = await record(`${EXAMPLES}deny-rm.py`, session);
    const report = await replay(entries, folder.program("bad.sh", "#!/bin/sh\nexit 4\n"));
    assert.deepEqual(report.capabilities, { status: "missing", reason: "exited with status 4" });
    assert.ok(
      report.events.every(({ status, reason }) => status === "missing" && reason === "exited with status 4"),
    );
    assert.equal(report.events.length, 3);
  });

  test("of one that failed shows where the repaired one answers", async () => {
    using folder = new Folder();
    const bad = folder.program("bad.py", python(`if n == 2: os._exit(3)\n${ALLOW}`));
    const entries = await record(bad, async (extension) => {
      for (const command of ["a", "b"]) await ask(extension, command);
    });
    assert.equal((await replay(entries, bad)).same, true);
    const report = await replay(entries, folder.program("good.py", python(ALLOW)));
    assert.deepEqual(
      report.events.map(({ status }) => status),
      ["same", "extra"],
    );
    assert.equal(report.same, false);
  });

  test("sends events that overlapped at once, and the others one by one", async () => {
    using folder = new Folder();
    // Answers the first two when both are there, the second one first, and the third alone.
    const path = folder.program(
      "pair.py",
      python(
        `held.append(f)
if n == 2:
    for h in reversed(held): send(type="response", id=h["id"], allow=True, reason=str(len(held)))
if n == 3: send(type="response", id=f["id"], allow=True, reason=f["payload"]["arguments"]["command"])`,
        '"concurrent"',
      ),
    );
    const entries = await record(path, async (extension) => {
      await Promise.all([ask(extension, "a"), ask(extension, "b")]);
      await ask(extension, "c");
    });
    const report = await replay(entries, path, { eventTimeoutMs: 2000 });
    assert.deepEqual([report.same, report.events.length], [true, 3]);
  });

  test("matches answers by the recorded ids, whatever these were", async () => {
    using folder = new Folder();
    const path = folder.program("echo.py", python(ALLOW));
    const entries = (await record(path, (extension) => ask(extension, "a"))).map((entry) =>
      JSON.parse(JSON.stringify(entry).replace('"id":"1"', '"id":"some-id"')),
    );
    assert.equal((await replay(entries, path)).same, true);
  });

  test("answers the extension's calls as they were answered then", async () => {
    using folder = new Folder();
    const path = folder.program(
      "asks.py",
      python(`send(type="call", id=7, method="ui.select", params={"n": n})\n${ALLOW}`, '"call"'),
    );
    const at = (direction: string, frame: object) => ({ time: 1, direction, frame }) as TraceEntry;
    const entries = [
      at("ext→host", {
        type: "capabilities",
        payload: { events: ["tool_call"], features: ["call"] },
      }),
      at("host→ext", { type: "event", id: "1", event: "tool_call", payload: {} }),
      at("ext→host", { type: "call", id: 7, method: "ui.select", params: { n: 1 } }),
      at("host→ext", { type: "return", id: 7, result: "the second one" }),
      at("ext→host", { type: "response", id: "1", allow: true }),
      at("ext→host", { type: "action", action: "steer", text: "the second one" }),
    ];
    const report = await replay(entries, path);
    assert.deepEqual([report.same, report.missing, report.extra], [true, [], []]);
  });

  test("shows frames that came unasked and were not recorded, and the other way round", async () => {
    using folder = new Folder();
    const quiet = folder.program("quiet.py", python(ALLOW));
    const loud = folder.program(
      "loud.py",
      python(`${ALLOW}\nsend(type="action", action="steer", text="go on")`),
    );
    const action = { type: "action", action: "steer", text: "go on" };
    const more = await replay(await record(quiet, (extension) => ask(extension, "a")), loud);
    assert.deepEqual([more.same, more.missing, more.extra], [false, [], [action]]);
    const entries = await record(loud, async (extension) => {
      await ask(extension, "a");
      await new Promise((resolve) => setTimeout(resolve, 50));
    });
    const less = await replay(entries, quiet);
    assert.deepEqual([less.same, less.missing, less.extra], [false, [action], []]);
  });

  test("does not take time, log lines or the order of members for a difference", async () => {
    using folder = new Folder();
    const one = folder.program(
      "one.py",
      python(`print("one", file=sys.stderr)\nsend(type="response", id=f["id"], allow=True, reason="r")`),
    );
    const other = folder.program(
      "other.py",
      python(
        `time.sleep(0.1)\nsend(type="log", text="other")\nsend(reason="r", allow=True, id=f["id"], type="response")`,
      ),
    );
    const report = await replay(await record(one, (extension) => ask(extension, "a")), other);
    assert.equal(report.same, true);
  });
});
