/** A reload exchanges what has changed and nothing else, and no policy goes missing by it. */
import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { decideToolCall } from "../../src/extensions/chain.ts";
import { Folder } from "../support/folder.ts";
import { type Kept, loadKept, reloaded } from "../support/manager.ts";

/** Says which start of it this is, and which version. */
const NAMED = (name: string, version: string, more = "") => `
const id = String(Math.random());
export default (pi) => {
  pi.registerCommand("${name}", { handler: () => "${version} " + id });
  pi.on("turn_end", () => {});
  ${more}
};`;
const POLICY = (reason: string) => `export default (pi) => {
  pi.on("tool_call", () => ({ block: true, reason: "${reason}" }));
};`;

async function verdict({ manager }: Kept): Promise<string> {
  const call = { tool: "bash", arguments: {}, callId: "c1" };
  const decided = await decideToolCall(await manager.chain(), call, (args) => args);
  return decided.allow ? "allow" : decided.reason;
}

describe("a reload", () => {
  test("starts anew what has changed; the others keep their workers", async () => {
    using folder = new Folder();
    for (const name of ["a", "b", "c"]) folder.file(`extensions/${name}.ts`, NAMED(name, "1"));
    await using loaded = await loadKept(folder);
    const ids = await Promise.all(["/a", "/b", "/c"].map((word) => loaded.command(word)));
    folder.file("extensions/b.ts", NAMED("b", "2"));
    rmSync(join(folder.path, "extensions/c.ts"));
    folder.file("extensions/d.ts", NAMED("d", "1"));
    assert.deepEqual(await reloaded(loaded.manager), { added: ["d"], changed: ["b"], removed: ["c"] });
    assert.deepEqual(loaded.guests.started.slice(3).sort(), ["b", "d"]);
    assert.equal(await loaded.command("/a"), ids[0]);
    assert.match(await loaded.command("/b"), /^2 /);
    assert.match(await loaded.command("/d"), /^1 /);
    assert.deepEqual(
      loaded.manager.commands().map(({ word }) => word),
      ["/ext:a:a", "/ext:b:b", "/ext:d:d"],
    );
    assert.deepEqual(loaded.actions, ["b left", "c left"]);
    assert.deepEqual(loaded.notices, []);
  });

  test("of what is the same does nothing, also when a file was only written again", async () => {
    using folder = new Folder();
    folder.file("extensions/a.ts", NAMED("a", "1"));
    folder.program(
      "extensions/p",
      '#!/bin/sh\nread hello\necho \'{"type":"capabilities","payload":{}}\'\ncat >/dev/null\n',
    );
    await using loaded = await loadKept(folder);
    const id = await loaded.command("/a");
    folder.file("extensions/a.ts", NAMED("a", "1"));
    assert.deepEqual(await reloaded(loaded.manager), { added: [], changed: [], removed: [] });
    assert.equal(await loaded.command("/a"), id);
    folder.program(
      "extensions/p",
      '#!/bin/sh\nread hello\necho \'{"type":"capabilities","payload":{"commands":["new"]}}\'\ncat >/dev/null\n',
    );
    assert.deepEqual((await reloaded(loaded.manager)).changed, ["p"]);
    assert.ok(loaded.manager.findCommand("/ext:p:new"));
  });

  test("sees a change in any file that went into a module, in its settings and in its permissions", async () => {
    using folder = new Folder();
    folder.file("extensions/a/index.ts", `import "./part.ts"; ${NAMED("a", "1")}`);
    folder.file("extensions/a/part.ts", "globalThis.x = 1;");
    let granted = "none";
    const settings = { overrides: {} as Record<string, { eventTimeoutMs: number }> };
    await using loaded = await loadKept(folder, { circumstances: () => granted, settings });
    folder.file("extensions/a/part.ts", "globalThis.x = 2;");
    assert.deepEqual((await reloaded(loaded.manager)).changed, ["a"]);
    granted = "more";
    assert.deepEqual((await reloaded(loaded.manager)).changed, ["a"]);
    settings.overrides.b = { eventTimeoutMs: 1234 };
    assert.deepEqual((await reloaded(loaded.manager)).changed, []);
    settings.overrides.a = { eventTimeoutMs: 1234 };
    assert.deepEqual((await reloaded(loaded.manager)).changed, ["a"]);
    assert.deepEqual((await reloaded(loaded.manager)).changed, []);
  });

  test("leaves no call unchecked: it waits for the policy's new version", async () => {
    using folder = new Folder();
    folder.file("extensions/p.ts", POLICY("by the first"));
    await using loaded = await loadKept(folder);
    assert.match(await verdict(loaded), /by the first/);
    folder.file("extensions/p.ts", POLICY("by the second"));
    const plan = await loaded.manager.plan();
    const reloading = loaded.manager.reload(plan);
    const during = verdict(loaded);
    await reloading;
    assert.match(await during, /by the second/);
  });

  for (const [what, text] of [
    ["can't be bundled", "export default (pi) => { pi.on("],
    ["throws", `export default () => { throw new Error("broken"); };`],
    ["has no default export", "export const x = 1;"],
  ] as const) {
    test(`to a policy that ${what} denies every call until it loads or is gone`, async () => {
      using folder = new Folder();
      folder.file("extensions/p.ts", POLICY("by the first"));
      await using loaded = await loadKept(folder);
      folder.file("extensions/p.ts", text);
      await reloaded(loaded.manager);
      assert.deepEqual(loaded.states(), ["p failed"]);
      assert.match(loaded.notices.join("\n"), /every tool call is denied until it loads/);
      assert.match(await verdict(loaded), /blocked by extension p: /);
      // Still, when that is loaded again.
      await reloaded(loaded.manager);
      assert.match(await verdict(loaded), /blocked by extension p: /);
      folder.file("extensions/p.ts", POLICY("by the third"));
      await reloaded(loaded.manager);
      assert.match(await verdict(loaded), /by the third/);
      folder.file("extensions/p.ts", text);
      await reloaded(loaded.manager);
      rmSync(join(folder.path, "extensions/p.ts"));
      assert.deepEqual((await reloaded(loaded.manager)).removed, ["p"]);
      assert.equal(await verdict(loaded), "allow");
    });
  }

  test("while the package.json of a policy can't be read takes no policy away: it denies until it is well, or gone", async () => {
    using folder = new Folder();
    const manifest = (text: string) => folder.file("extensions/p/package.json", text);
    manifest('{ "xdev": { "extensions": ["./main.ts"] } }');
    folder.file("extensions/p/main.ts", POLICY("first"));
    folder.file("extensions/q/package.json", '{ "xdev": { "extensions": ["./main.ts"] } }');
    folder.file("extensions/q/main.ts", NAMED("q", "1"));
    await using loaded = await loadKept(folder);
    assert.match(await verdict(loaded), /first/);
    manifest('{ "xdev": { "extens');
    folder.file("extensions/q/package.json", "{");
    assert.deepEqual((await reloaded(loaded.manager)).removed, ["q"]);
    assert.match(await verdict(loaded), /blocked by extension p/);
    manifest('{ "xdev": { "extensions": ["./main.ts"] } }');
    await reloaded(loaded.manager);
    assert.match(await verdict(loaded), /first/);
    rmSync(join(folder.path, "extensions/p"), { recursive: true });
    assert.deepEqual((await reloaded(loaded.manager)).removed, ["p"]);
    assert.equal(await verdict(loaded), "allow");
  });

  test("to an extension that checks nothing and fails denies nothing", async () => {
    using folder = new Folder();
    folder.file("extensions/a.ts", NAMED("a", "1"));
    await using loaded = await loadKept(folder);
    folder.file("extensions/a.ts", "export default (");
    await reloaded(loaded.manager);
    assert.equal(await verdict(loaded), "allow");
    assert.match(loaded.notices.join("\n"), /it is not loaded and checks no tool call/);
  });

  test("denies everything once a required extension is gone", async () => {
    using folder = new Folder();
    folder.file("extensions/a.ts", NAMED("a", "1"));
    await using loaded = await loadKept(folder, { settings: { overrides: { a: { required: true } } } });
    assert.equal(await verdict(loaded), "allow");
    rmSync(join(folder.path, "extensions/a.ts"));
    await reloaded(loaded.manager);
    assert.match(await verdict(loaded), /it is required \(config\.yml\) and is not there/);
  });

  test("of a project that is not trusted as it is now leaves what runs, and loads nothing new", async () => {
    using folder = new Folder();
    const source = (name: string) => ({
      name,
      path: folder.file(`repo/${name}.ts`, POLICY(`by ${name}`)),
      kind: "worker" as const,
      origin: "project" as const,
    });
    const sources = [source("p")];
    let keeps = true;
    await using loaded = await loadKept(folder, { sources, keepsProjects: () => keeps });
    folder.file("repo/p.ts", "export default () => {};");
    sources.push(source("evil"));
    assert.deepEqual(await reloaded(loaded.manager), { added: [], changed: [], removed: [] });
    assert.match(await verdict(loaded), /by p/);
    // Not even when it is started anew: what runs is what was trusted.
    await loaded.manager.extensions[0]!.restart();
    assert.match(await verdict(loaded), /by p/);
    keeps = false;
    assert.deepEqual(await reloaded(loaded.manager), { added: ["evil"], changed: ["p"], removed: [] });
    assert.match(await verdict(loaded), /by evil/);
  });

  test("ends the command that asks for it, and well, though its extension is another then", async () => {
    using folder = new Folder();
    const text = (version: string) =>
      NAMED("a", version, `pi.registerCommand("wait", { handler: () => new Promise(() => {}) });`);
    folder.file("extensions/a.ts", text("1"));
    await using loaded = await loadKept(folder);
    const waiting = loaded.command("/wait");
    folder.file("extensions/a.ts", text("2"));
    await reloaded(loaded.manager);
    assert.equal(await waiting, "");
    assert.match(await loaded.command("/a"), /^2 /);
  });

  test("that the end of the session overtakes starts nothing, and nothing is left", async () => {
    using folder = new Folder();
    folder.file("extensions/a.ts", NAMED("a", "1"));
    await using loaded = await loadKept(folder);
    folder.file("extensions/a.ts", NAMED("a", "2"));
    folder.file("extensions/b.ts", NAMED("b", "1"));
    const plan = await loaded.manager.plan();
    const reloading = loaded.manager.reload(plan);
    await loaded.manager.abort();
    await reloading;
    assert.deepEqual(loaded.guests.started, ["a"]);
    assert.deepEqual(loaded.states(), ["a stopped"]);
  });

  test("of one that sleeps starts nothing, unless it has changed into one that must run", async () => {
    using folder = new Folder();
    const sleeper = (version: string) =>
      `export default (pi) => pi.registerCommand("a", { handler: () => "${version}" });`;
    folder.file("extensions/a.ts", sleeper("1"));
    await (await loadKept(folder))[Symbol.asyncDispose]();
    await using loaded = await loadKept(folder);
    assert.deepEqual(await reloaded(loaded.manager), { added: [], changed: [], removed: [] });
    assert.deepEqual(loaded.states(), ["a asleep"]);
    folder.file("extensions/a.ts", POLICY("by a"));
    await reloaded(loaded.manager);
    assert.match(await verdict(loaded), /by a/);
  });
});
