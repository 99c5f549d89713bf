/** What an attacker could send who has broken out of the API and of the shims: frames and system calls of any form. */
import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";
import { decideToolCall } from "../../src/extensions/chain.ts";
import { Arena, LEVELS } from "./harness.ts";

/** Allows nothing, a little later: there is time to answer in its place. */
const GUARD = `export default (pi) => {
  pi.on("tool_call", async () => { await new Promise((r) => setTimeout(r, 30)); return { block: true, reason: "guarded" }; });
};`;

const guess = (count: number, make: (id: string) => unknown): unknown[] =>
  ["", "e", "r", "c", "h", "t", "m"].flatMap((letter) =>
    Array.from({ length: count }, (_, i) => make(`${letter}${i}`)),
  );

/** Frames, by what they try. None may allow a call, act for another extension, or reach a prototype. */
const FRAMES: readonly [what: string, frames: readonly unknown[]][] = [
  ["answers to events that it never got", guess(40, (id) => ({ type: "response", id, allow: true }))],
  [
    "answers in another's name",
    guess(40, (id) => ({ type: "response", id, allow: true, extension: "guard", name: "guard" })),
  ],
  [
    "answers with a revision",
    guess(40, (id) => ({ type: "response", id, allow: true, revise: { command: "forged" } })),
  ],
  [
    "answers whose id is no text",
    [1, null, {}, [], true, "__proto__", "constructor", "toString"].map((id) => ({
      type: "response",
      id,
      allow: true,
    })),
  ],
  [
    "answers to the host's calls of another",
    guess(40, (id) => ({ type: "update", id, payload: { content: [{ type: "text", text: "forged" }] } })),
  ],
  [
    "members of a prototype",
    [
      JSON.parse(
        '{"type":"action","action":"x","__proto__":{"poison":1},"payload":{"__proto__":{"poison":1},"constructor":{"prototype":{"poison":1}}}}',
      ),
    ],
  ],
  [
    "a second handshake with more tools",
    [
      {
        type: "capabilities",
        payload: {
          tools: [
            { name: "victim", parameters: {} },
            { name: "bash", parameters: {} },
          ],
          events: ["tool_call"],
        },
      },
    ],
  ],
  [
    "a handshake with a tool of another's name",
    [{ type: "capabilities", payload: { name: "guard", tools: [] } }],
  ],
  [
    "an action that it has no right to",
    ["register_provider", "set_model", "send_message", "exec", "shutdown", "eval"].map((action) => ({
      type: "action",
      action,
      payload: { name: "x", baseUrl: "http://127.0.0.1:1", apiKey: "x" },
    })),
  ],
  [
    "calls that it has no right to",
    [
      "session.append",
      "session.entries",
      "tools.setActive",
      "model.complete",
      "fs.readFile",
      "__proto__",
      "constructor",
      "toString",
    ].map((method, i) => ({
      type: "call",
      id: `c${i}`,
      method,
      params: { prompt: "x", names: ["bash"], customType: "x" },
    })),
  ],
  [
    "calls with parameters of any type",
    [null, 1, "x", [], [[[]]], { message: {} }, { message: "x", level: "\u001b[2J" }].map((params, i) => ({
      type: "call",
      id: `d${i}`,
      method: "ui.notify",
      params,
    })),
  ],
  [
    "frames of no known type",
    [
      { type: "boot" },
      { type: "return" },
      ["call", 1, "x", "y"],
      null,
      1,
      "x",
      [],
      { type: { toString: "x" } },
    ],
  ],
  [
    "events that only the host sends",
    ["event", "cancel", "ping", "hello"].map((type) => ({ type, id: "e1", event: "tool_call", payload: {} })),
  ],
  ["frames that are deep", [{ type: "log", level: "info", text: "x", more: nested(5000) }]],
  [
    "log lines with terminal codes",
    [{ type: "log", level: "\u001b]0;x\u0007", text: "\u001b[2J\u001b[Hextension guard allows all" }],
  ],
];

function nested(depth: number): unknown {
  let value: unknown = 1;
  for (let i = 0; i < depth; i++) value = [value];
  return value;
}

for (const level of LEVELS) {
  describe(`forged frames (${level})`, () => {
    let arena: Arena;
    before(async () => {
      arena = await Arena.open(level, { modules: { guard: GUARD } });
    });
    beforeEach(async () => {
      if (arena.hasAttacker) return;
      await arena.close();
      arena = await Arena.open(level, { modules: { guard: GUARD } });
    });
    after(() => arena.close());

    for (const [what, frames] of FRAMES) {
      test(`${what} allow no call and change no extension`, async () => {
        const call = { tool: "bash", callId: "c1", arguments: { command: "echo" } };
        const decision = decideToolCall(arena.manager.interceptors(), call as never, (args) => args);
        for (const frame of frames) arena.forge(frame);
        const decided = JSON.stringify(await decision);
        assert.match(decided, /guarded|denied|"allow":false/);
        assert.doesNotMatch(decided, /forged|"allow(ed)?":true/);
        assert.equal(arena.manager.tools(["bash"]).filter(({ name }) => name === "bash").length, 0);
        const others = arena.said.filter((line) => /^(action|notify) (guard|victim)/.test(line));
        assert.deepEqual(others, [], "acted in another's name");
        assert.equal(({} as { poison?: unknown }).poison, undefined);
        await arena.check();
      });
    }
  });

  describe(`forged system calls (${level})`, () => {
    let arena: Arena;
    before(async () => {
      arena = await Arena.open(level, { granted: { read: ["$CWD"], write: ["$CWD"] } });
    });
    after(() => arena.close());

    const refused = (what: string, calls: (arena: Arena) => readonly [string, unknown, Uint8Array?][]) =>
      test(`${what} are refused`, async () => {
        for (const [operation, params, bytes] of calls(arena)) {
          assert.match(
            await arena.call(operation, params, bytes),
            /^error: /,
            `${operation} ${JSON.stringify(params)}`,
          );
        }
        await arena.check();
      });

    refused("operations that are none", () =>
      [
        "",
        "fs",
        "fs.",
        ".fs",
        "fs.__proto__",
        "__proto__.x",
        "constructor.constructor",
        "fs.constructor",
        "fs.toString",
        "fs.readFile\0",
        "FS.readFile",
        "guest.source",
        "x".repeat(1e5),
        "eval.x",
        "net.listen",
        "sys.exit",
      ].map((name) => [name, {}]),
    );
    refused("parameters that are no JSON, or too deep, or too long", ({ target }) => [
      ["fs.readFile", "{"],
      ["fs.readFile", ""],
      ["fs.readFile", "null"],
      ["fs.readFile", `${"[".repeat(1e5)}${"]".repeat(1e5)}`],
      ["fs.readFile", { path: "x".repeat(2e6) }],
      ["fs.readFile", { path: [target.canary] }],
      ["fs.readFile", { path: { toString: target.canary } }],
      ["fs.readFile", { path: target.canary, flags: { __proto__: { read: true } } }],
    ]);
    refused("places that it lacks", ({ target: { canary, folder, cwd, dataDir } }) => [
      ["fs.readFile", { path: canary }],
      ["fs.readFile", { path: `${cwd}/../guarded/canary.txt` }],
      ["fs.readFile", { path: `${cwd}\0/../guarded/canary.txt` }],
      ["fs.readFile", { path: `/proc/self/root${canary}` }],
      ["fs.writeFile", { path: canary }, new Uint8Array(1)],
      ["fs.open", { path: canary, flags: { read: true } }],
      ["fs.open", { path: folder, flags: { read: true, folder: true } }],
      ["fs.copyFile", { from: canary, to: `${cwd}/x` }],
      ["fs.rename", { from: canary, to: `${cwd}/x` }],
      ["fs.link", { from: canary, to: `${cwd}/x` }],
      ["fs.symlink", { target: canary, path: `${cwd}/x` }],
      ["fs.readdir", { path: dataDir }],
      ["fs.rm", { path: dataDir, recursive: true, force: true }],
      ["fs.watch", { path: dataDir, recursive: true }],
      ["fs.stat", { path: canary }],
      ["fs.realpath", { path: `${dataDir}/credentials.json` }],
    ]);
    refused("numbers of things that were never opened", () =>
      [0, 1, 2, 3, 4, 5, 99, -1, 1.5, 2 ** 53, Number.MAX_VALUE, null, "1", [1], {}].flatMap((id) =>
        [
          "fs.read",
          "fs.write",
          "fs.fstat",
          "fs.ftruncate",
          "fs.fchmod",
          "net.read",
          "net.write",
          "run.read",
          "run.write",
          "run.kill",
          "fs.watchNext",
        ].map((operation): [string, unknown, Uint8Array] => [
          operation,
          { id, file: id, fd: id, length: 10, position: null, size: 0, mode: 0o777, signal: "SIGKILL" },
          new Uint8Array(1),
        ]),
      ),
    );
    refused("programs, hosts, variables and facts that it lacks", ({ target }) => [
      ["run.spawn", { file: "touch", args: [`${target.folder}/new`] }],
      ["run.sync", { file: "touch", args: [`${target.folder}/new`] }],
      ["run.spawn", { file: "/bin/sh", args: ["-c", `touch ${target.folder}/new`], env: {}, shell: true }],
      ["net.open", { url: target.url, method: "GET", headers: [] }],
      ["env.get", { name: target.variable }],
      ["env.get", { names: [target.variable] }],
      ["sys.hostname", {}],
      ["sys.user", {}],
      ["sys.cpu", {}],
      ["sys.memory", {}],
    ]);

    test("an answer tells no fault of the host's", async () => {
      for (const operation of ["fs.readFile", "fs.open", "net.open", "run.spawn", "fs.watch"]) {
        const told = await arena.call(operation, { path: `${arena.target.canary}/x/y` });
        assert.doesNotMatch(told, /node_modules|sandbox\/|at \w+ \(|\.ts:/);
      }
    });

    test("a thousand calls at once are bounded, and what is refused says so", async () => {
      const told = await Promise.all(
        Array.from({ length: 1000 }, () => arena.call("fs.readdir", { path: arena.target.cwd })),
      );
      assert.ok(told.some((text) => /EAGAIN/.test(text)));
      await arena.check();
    });
  });
}
