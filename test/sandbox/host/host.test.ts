/** Extensions in an extension host, a real one: what its end means, and that nothing is left of it. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { withTimeout } from "../../../src/base/time.ts";
import { decideToolCall } from "../../../src/extensions/chain.ts";
import type { Extension } from "../../../src/extensions/extension.ts";
import { type Loaded, loadExtensions } from "../../support/extensions.ts";
import { Folder } from "../../support/folder.ts";
import { extensionHosts, gone, isRunning } from "../../support/processes.ts";

/** Under Deno each extension has a host of its own from the start. */
const eachAlone = "Deno" in globalThis;
const POLICY = `export default (pi) => { pi.on("tool_call", (event) => {
  if (event.input.command === "loop") for (;;);
  if (event.input.command === "no") return { block: true, reason: "no" };
}); }`;

const FLOOD_OF_CALLS = `const fs = await import("node:fs");
  for (;;) { fs.promises.readFile("/etc/hostname").catch(() => {}); try { fs.readFileSync("/etc/hostname"); } catch {} }`;

function decide(loaded: Loaded, command = "ls") {
  return decideToolCall(
    loaded.manager.interceptors(),
    { tool: "bash", arguments: { command }, callId: "c1" },
    (args) => args,
  );
}

async function load(folder: Folder, names: string[], settings: Parameters<typeof loadExtensions>[1] = {}) {
  const paths = names.map((name) => folder.file(`${name}.ts`, POLICY));
  return loadExtensions(paths, { isolation: "host", ...settings });
}

/** Looks again until it is so; a test that waits in vain says what it waited for. */
async function until(what: string, condition: () => boolean): Promise<void> {
  const looking = async () => {
    while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5));
  };
  await withTimeout(looking(), 20_000, what);
}

const states = (loaded: Loaded) => loaded.manager.extensions.map(({ name, state }) => `${name} ${state}`);

describe("extensions in an extension host", () => {
  test("they load, decide and end as in a worker, and nothing is left of the host", async () => {
    using folder = new Folder();
    const loaded = await load(folder, ["a", "b", "c"]);
    assert.deepEqual(states(loaded), ["a ready", "b ready", "c ready"]);
    assert.deepEqual(
      loaded.manager.extensions.map(({ level }) => level),
      ["host", "host", "host"],
    );
    const hosts = extensionHosts();
    if (process.platform === "linux") assert.equal(hosts.length, eachAlone ? 3 : 1);
    assert.equal((await decide(loaded)).allow, true);
    assert.deepEqual(await decide(loaded, "no"), { allow: false, reason: "blocked by extension a: no" });
    await loaded.manager.stop();
    await Promise.all(hosts.map(gone));
  });

  test("the end of one leaves the others in it alone", async () => {
    using folder = new Folder();
    await using loaded = await load(folder, ["a", "b"], { eventTimeoutMs: 300 });
    const reply = await loaded.manager.extensions[1]!.request(
      "tool_call",
      { tool: "bash", arguments: { command: "loop" }, callId: "c" },
      { timeoutMs: 200 },
    ).catch((error: unknown) => String(error));
    assert.match(String(reply), /did not answer tool_call within 200 ms/);
    assert.deepEqual(states(loaded), ["a ready", "b dead"]);
    assert.equal((await decide(loaded, "no")).allow, false);
    await until("the end of its worker", () => extensionHosts().length <= 1);
    assert.deepEqual(states(loaded), ["a ready", "b dead"]);
  });

  const misdeeds: [string, string, RegExp][] = [
    ["floods it with messages", 'for (;;) console.log("x");', /^sent more than 1000 frames/],
    [
      "fills its memory",
      "const all = []; for (;;) all.push(new Array(1000).fill(1));",
      /^used more than 64 MB/,
    ],
    ["waits in a call and floods it with others", FLOOD_OF_CALLS, /^did not answer|^used more than/],
  ];
  for (const [what, body, reason] of misdeeds) {
    test(`one that ${what} is ended alone: the others in the host answer meanwhile`, async () => {
      using folder = new Folder();
      const bad = folder.file(
        "bad.ts",
        `export default (pi) => { pi.on("tool_call", async () => {\n${body}\n}); };`,
      );
      const good = folder.file("good.ts", POLICY);
      await using loaded = await loadExtensions([bad, good], { isolation: "host", eventTimeoutMs: 3000 });
      const payload = { tool: "bash", arguments: { command: "no" }, callId: "c" };
      const [first, second] = loaded.manager.extensions as [Extension, Extension];
      const asked = first.request("tool_call", payload, { timeoutMs: 3000 }).catch((error: unknown) => error);
      let answers = 0;
      while (first.state === "ready") {
        const reply = await second.request("tool_call", payload, { timeoutMs: 3000 });
        assert.equal(reply.allow, false);
        answers++;
      }
      await asked;
      assert.match(first.reason!, reason);
      assert.ok(answers > 0);
      assert.deepEqual(states(loaded), ["bad dead", "good ready"]);
    });
  }

  if (process.platform !== "linux") return;

  test("the death of the host is theirs: calls are denied until they are back, each in a host of its own", async () => {
    using folder = new Folder();
    await using loaded = await load(folder, ["a", "b"]);
    const before = extensionHosts();
    for (const host of before) process.kill(host, "SIGKILL");
    await until("their end", () => loaded.manager.extensions.every(({ state }) => state !== "ready"));
    const verdict = await decide(loaded);
    assert.match(
      (verdict as { reason: string }).reason,
      /^blocked by extension a: it lost its extension host, which was ended by SIGKILL/,
    );
    await until("their return", () => loaded.manager.extensions.every(({ state }) => state === "ready"));
    assert.equal((await decide(loaded)).allow, true);
    const after = extensionHosts();
    assert.equal(after.length, 2);
    assert.ok(after.every((host) => !before.includes(host)));
    assert.ok(
      loaded.notices.every((text) => text.endsWith("; it is being restarted")),
      String(loaded.notices),
    );
    await Promise.all(before.map(gone));
  });

  test("the one that is there at a second crash is left out and named; the others go on", async () => {
    using folder = new Folder();
    await using loaded = await load(folder, ["a", "b"]);
    const [a, b] = loaded.manager.extensions as [Extension, Extension];
    for (const host of extensionHosts()) process.kill(host, "SIGKILL");
    await until("their end", () => a.state !== "ready" && b.state !== "ready");
    await until("their return", () => a.state === "ready" && b.state === "ready");
    // The host of the one that is asked is the one that is busy.
    const asked = b.request(
      "tool_call",
      { tool: "bash", arguments: { command: "loop" }, callId: "c" },
      { timeoutMs: 20_000 },
    );
    asked.catch(() => {});
    const busy = await busiest(extensionHosts());
    process.kill(busy, "SIGKILL");
    await assert.rejects(asked, /extension b has now lost two extension hosts/);
    assert.deepEqual(states(loaded), ["a ready", "b dead"]);
    assert.match(loaded.notices.at(-1)!, /^extension b has now lost two extension hosts, .*it is off now$/);
    assert.equal((await decide(loaded, "no")).allow, false);
    assert.equal(extensionHosts().length, 1);
    // The user may try again.
    await b.restart();
    assert.equal(b.state, "ready");
  });

  test("one whose host dies while it loads is tried again", async () => {
    using folder = new Folder();
    const path = folder.file(
      "slow.ts",
      `${POLICY}\nawait new Promise((resolve) => setTimeout(resolve, 400));`,
    );
    const loading = loadExtensions([path], { isolation: "host" });
    await until("a host", () => extensionHosts().length === 1);
    const [first] = extensionHosts();
    process.kill(first!, "SIGKILL");
    await using loaded = await loading;
    assert.deepEqual(states(loaded), ["slow ready"]);
    assert.notDeepEqual(extensionHosts(), [first]);
  });

  for (const signal of ["SIGKILL", "SIGTERM"] as const) {
    test(`an agent that is ended by ${signal} leaves no host behind, also one that is busy`, async () => {
      using folder = new Folder();
      const path = folder.file("busy.ts", `${POLICY}\nsetTimeout(() => { for (;;); }, 50);`);
      const program = fileURLToPath(new URL("../../fixtures/agent-with-host.ts", import.meta.url));
      const args = eachAlone
        ? ["run", "--allow-all", "--no-check", "--quiet", program, path]
        : [program, path];
      const agent = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
      const host = await new Promise<number>((resolve) => {
        agent.stdout.once("data", (chunk) => resolve(Number(String(chunk))));
      });
      assert.equal(isRunning(host), true);
      agent.kill(signal);
      await new Promise((resolve) => agent.once("exit", resolve));
      await gone(host);
    });
  }
});

/** Of several processes, the one that uses a processor. */
async function busiest(pids: readonly number[]): Promise<number> {
  const { readFileSync } = await import("node:fs");
  const ticks = (pid: number) =>
    Number(readFileSync(`/proc/${pid}/stat`, "latin1").split(") ")[1]!.split(" ")[11]);
  const before = pids.map(ticks);
  let found: number | undefined;
  await until("a busy host", () => {
    found = pids.find((pid, index) => ticks(pid) - before[index]! > 20);
    return found !== undefined;
  });
  return found!;
}
