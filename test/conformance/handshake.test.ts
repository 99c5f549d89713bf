/** Discovery, lifecycle and handshake (extension-protocol.md §1; wire-notes.md, "Handshake"). */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { describe, test } from "node:test";
import { VERSION } from "../../src/base/version.ts";
import { discoverExtensions } from "../../src/extensions/discovery.ts";
import { Folder } from "../support/folder.ts";
import { gone, isRunning } from "../support/processes.ts";
import { loadPeer, Session, TRANSPORTS } from "./harness.ts";
import { ALLOW, always, POLICY, type Script, type Step } from "./script.ts";

const CAPABILITIES = { type: "capabilities", payload: POLICY };

describe("§1 discovery", () => {
  test("§1 every executable regular file is started, in lexical order; others are skipped", async () => {
    using folder = new Folder();
    for (const name of ["b.sh", "a.py", "Z.sh", "ä.sh"]) folder.program(`extensions/${name}`, "#!/bin/sh\n");
    folder.file("extensions/notes.txt", "not executable");
    folder.file("extensions/folder/readme", "");
    const found = await discoverExtensions(folder.path);
    assert.deepEqual(
      found.map(({ path }) => path.slice(folder.path.length)),
      ["/extensions/Z.sh", "/extensions/a.py", "/extensions/b.sh", "/extensions/ä.sh"],
    );
  });

  test("§1 the directory is optional: absent means zero extensions", async () => {
    using folder = new Folder();
    assert.deepEqual(await discoverExtensions(folder.path), []);
    await using session = await new Session().load();
    assert.deepEqual(session.manager.extensions, []);
    assert.equal(await session.verdict(), "allow");
  });
});

describe("§1 on shutdown", () => {
  test("§1 the manager closes stdin, and an extension may finish what it does", async () => {
    await using session = await loadPeer({ ...always([{ send: ALLOW }]), end: [{ log: "my input ended" }] });
    await session.manager.stop();
    await session.until(() => session.logs.includes("peer info my input ended"));
    assert.deepEqual(session.notices, [], "a shutdown is no failure");
  });

  test("§1 the manager kills any process that outlives it, with all that it started", async () => {
    const start: Step[] = [{ ignore: "SIGTERM" }, { fork: "group" }];
    await using session = await loadPeer({ start, end: [{ hang: true }] });
    await session.until(() => session.forkedPid() > 0);
    const pid = session.forkedPid();
    assert.ok(isRunning(pid));
    await session.manager.stop();
    await gone(pid);
    assert.deepEqual(session.notices, []);
  });
});

describe("§1 handshake", () => {
  for (const transport of TRANSPORTS) {
    test(`§1 the host says hello first: protocol 1, its version, and its features (${transport})`, async () => {
      await using session = await loadPeer(always([{ send: ALLOW }]), transport);
      assert.deepEqual(session.passed[0]?.sent, {
        type: "hello",
        protocol: 1,
        xdevVersion: VERSION,
        features: ["call", "cancel", "update", "result", "concurrent", "register"],
      });
      assert.equal(session.sent("hello").length, 1);
    });

    test(`§1 an extension may print capabilities before it reads anything (${transport})`, async () => {
      const early: Script = { capabilities: null, start: [{ send: CAPABILITIES }] };
      await using session = await loadPeer(early, transport);
      assert.deepEqual(session.notices, []);
      assert.equal(await session.verdict(), "allow");
    });

    test(`§1 before capabilities, action and log frames are accepted (${transport})`, async () => {
      const start: Step[] = [
        { send: { type: "log", text: "starting", level: "debug" } },
        { send: { type: "action", action: "steer", text: "early" } },
      ];
      await using session = await loadPeer({ start, capabilities: POLICY }, transport);
      assert.deepEqual(session.notices, []);
      assert.deepEqual(session.logs, ["peer debug starting"]);
      assert.deepEqual(session.actions, ["peer steer early"]);
    });

    /** What comes before the capabilities, which then come too late. */
    const early: [unknown, RegExp][] = [
      [{ type: "response", id: "1", allow: true }, /^sent a response frame before its capabilities$/],
      [{ type: "update", id: "1" }, /^sent a update frame before its capabilities$/],
      [{ type: "call", id: "1", method: "ui.notify" }, /^sent a call frame before its capabilities$/],
      [{ type: "hello", protocol: 1 }, /^sent a frame of unknown type "hello"$/],
      [{ type: "event", id: "1", event: "tool_call" }, /^sent a frame of unknown type "event"$/],
      [["capabilities"], /^sent a frame that is not a JSON object$/],
      [{ type: "log", text: 5 }, /^sent a malformed log frame: text/],
    ];
    for (const [frame, reason] of early) {
      test(`§1 any other frame is a load failure: ${JSON.stringify(frame)} (${transport})`, async () => {
        await using session = await loadPeer({ capabilities: POLICY, start: [{ send: frame }] }, transport);
        assert.match(failure(session), reason);
      });
    }

    test(`§1 a top-level protocol of 1, or of null, is accepted (${transport})`, async () => {
      for (const protocol of [1, null]) {
        const start: Step[] = [{ send: { ...CAPABILITIES, protocol } }];
        await using session = await loadPeer({ capabilities: null, start }, transport);
        assert.deepEqual(session.notices, []);
      }
    });

    test(`§1 any other protocol is a load failure (${transport})`, async () => {
      for (const protocol of [0, 2, 1.5, -1, "1", true, [1], {}]) {
        const start: Step[] = [{ send: { ...CAPABILITIES, protocol } }];
        await using session = await loadPeer({ capabilities: null, start }, transport);
        assert.equal(failure(session), `speaks protocol ${JSON.stringify(protocol)}; this host speaks 1`);
        assert.equal(await session.verdict(), "allow", "the session goes on without it");
      }
    });

    test(`§1 missing capabilities are a load failure, after the handshake's limit (${transport})`, async () => {
      await using session = await loadPeer({ capabilities: null }, transport, {
        settings: { handshakeTimeoutMs: 150 },
      });
      assert.equal(failure(session), "sent no capabilities within 150 ms (is its output flushed?)");
      assert.equal(session.manager.failures()[0]?.exitCode, undefined);
    });

    test(`§1 the limit can be set for one extension alone (${transport})`, async () => {
      await using session = await loadPeer({ capabilities: null }, transport, {
        settings: { overrides: { peer: { handshakeTimeoutMs: 120 } } },
      });
      assert.equal(failure(session), "sent no capabilities within 120 ms (is its output flushed?)");
    });
  }

  test("§1 all extensions start at once; the order of the chain stays lexical", async () => {
    await using session = new Session();
    const started = `${session.folder.path}/started`;
    // The first one is not ready before the last one runs.
    session.peer("a", { ...always([{ send: ALLOW }]), start: [{ waitFor: started }] });
    session.peer("b", always([{ send: ALLOW }]));
    session.program(
      "c.sh",
      `#!/bin/sh\n: > ${started}\necho '${JSON.stringify(CAPABILITIES)}'\ncat >/dev/null\n`,
    );
    await session.load();
    assert.deepEqual(session.notices, []);
    assert.deepEqual(
      session.manager.interceptors().map(({ name }) => name),
      ["extension a", "extension b", "extension c"],
    );
  });

  test("§1 one that needs long does not delay the others' handshakes", async () => {
    await using session = new Session();
    const gate = `${session.folder.path}/gate`;
    session.peer("a", { capabilities: POLICY, start: [{ waitFor: gate }] });
    for (const name of ["b", "c"]) session.peer(name, { capabilities: POLICY });
    const loading = session.load();
    await session.until(() => session.passed.filter(({ received }) => received).length === 2);
    writeFileSync(gate, "");
    await loading;
    assert.deepEqual(
      session.passed
        .filter(({ received }) => received)
        .map(({ extension }) => extension)
        .at(-1),
      "a",
    );
    assert.deepEqual(session.notices, []);
  });
});

describe("§1 a load failure", () => {
  const stderr: Step[] = Array.from({ length: 25 }, (_, number) => ({ log: `line ${number + 1}` }));

  test("§1 is recorded with name, path, reason, exit code and the last 20 lines of stderr", async () => {
    await using session = new Session();
    const path = session.peer("crash", { start: [...stderr, { exit: 7 }] });
    await session.load();
    assert.deepEqual(session.manager.failures(), [
      {
        name: "crash",
        path,
        kind: "process",
        reason: "exited with status 7",
        exitCode: 7,
        log: Array.from({ length: 20 }, (_, number) => `line ${number + 6}`),
      },
    ]);
  });

  test("§1 is recorded with the signal", async () => {
    await using session = await loadPeer({ start: [{ signal: "SIGSEGV" }] });
    const [{ signal, exitCode, reason } = assert.fail()] = session.manager.failures();
    assert.deepEqual([signal, exitCode, reason], ["SIGSEGV", undefined, "was ended by signal SIGSEGV"]);
  });

  test("§1 names a program that cannot be started, and why", async () => {
    await using session = new Session();
    session.program("lost.sh", "#!/no/such/interpreter\n");
    session.program("text", "no program at all\n");
    await session.load();
    const reasons = session.manager.failures().map(({ reason }) => reason);
    assert.equal(reasons.length, 2);
    assert.match(
      reasons[0] ?? "",
      /^could not be started: .*lost\.sh, or the program named in its first line/,
    );
  });

  /** Ten ways to fail. */
  const failing: [string, string, RegExp][] = [
    ["exits", "exit 4", /^exited with status 4$/],
    ["exits-well", "exit 0", /^exited with status 0$/],
    ["killed", "kill -9 $$", /^was ended by signal SIGKILL$/],
    ["silent", "cat >/dev/null", /^sent no capabilities within 300 ms \(is its output flushed\?\)$/],
    ["chatty", "echo starting up", /^sent a line that is not JSON/],
    ["list", "echo '[]'; cat", /^sent a frame that is not a JSON object$/],
    ["newer", `echo '{"type":"capabilities","protocol":2,"payload":{}}'; cat`, /^speaks protocol 2/],
    ["eager", `echo '{"type":"response","id":"1"}'; cat`, /^sent a response frame before its capabilities$/],
    [
      "wrong",
      `echo '{"type":"capabilities","payload":{"events":"all"}}'; cat`,
      /^sent a malformed capabilities/,
    ],
    ["huge", "head -c 9000000 /dev/zero | tr '\\0' x; echo; cat", /^sent a line longer than 8388608 bytes$/],
  ];

  test("§1 never blocks the session: of 50 extensions 10 fail in different ways, and each is named", async () => {
    await using session = new Session({
      settings: { overrides: { silent: { handshakeTimeoutMs: 300 } } },
    });
    const good = `echo '${JSON.stringify(CAPABILITIES)}'
while read -r line; do
  case "$line" in *'"type":"event"'*) ;; *) continue ;; esac
  id=\${line#*'"id":"'}; echo '{"type":"response","id":"'"\${id%%'"'*}"'","allow":true}'
done`;
    for (let number = 0; number < 40; number++) {
      session.program(`good-${number}.sh`, `#!/bin/sh\n${good}\n`);
    }
    for (const [name, body] of failing) session.program(`${name}.sh`, `#!/bin/sh\n${body}\n`);
    await session.load();
    const failures = session.manager.failures();
    assert.deepEqual(failures.map(({ name }) => name).sort(), failing.map(([name]) => name).sort());
    for (const [name, , reason] of failing) {
      assert.match(failures.find((failure) => failure.name === name)?.reason ?? "", reason, name);
      assert.ok(
        session.notices.some((notice) => notice.startsWith(`extension ${name} (`)),
        name,
      );
    }
    assert.equal(session.notices.length, 10);
    assert.equal(await session.verdict(), "allow", "the other 40 are asked, and answer");
    assert.equal(session.sent("event").length, 40);
  });

  test("§1 of a module names the reason, and the session goes on", async () => {
    await using session = new Session();
    const bad = session.module("bad.ts", 'export default () => { throw new Error("not today"); };');
    session.module(
      "good.ts",
      'export default (pi) => pi.on("tool_call", () => ({ block: true, reason: "good" }));',
    );
    await session.load();
    assert.deepEqual(
      session.manager.failures().map(({ name, reason, kind }) => [name, reason, kind]),
      [["bad", `threw while it loaded: not today (at ${bad}:1)`, "worker"]],
    );
    assert.equal(await session.verdict(), "blocked by extension good: good");
  });
});

function failure(session: Session): string {
  assert.equal(session.notices.length, 1);
  return session.manager.failures()[0]?.reason ?? "(it loaded)";
}
