/** Reloads and sleeping extensions in the compiled program, driven as a client of rpc mode does. */
import assert from "node:assert/strict";
import { existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { Folder } from "../support/folder.ts";
import { Client } from "../support/rpc-program.ts";
import { xdev } from "../support/xdev.ts";

/** Counts in entries of the session, from what is there when it starts. */
const COUNTER = (version: string) => `
let count = 0;
let reasons = [];
export default (pi) => {
  const rebuild = (event, ctx) => {
    reasons.push(event.reason);
    count = 0;
    for (const entry of ctx.sessionManager.getBranch()) {
      if (entry.type === "custom" && entry.customType === "count") count = entry.data.count;
    }
  };
  pi.on("session_start", rebuild);
  pi.on("session_shutdown", ({ reason }) => void reasons.push("end:" + reason));
  pi.registerCommand("count", {
    handler: () => {
      pi.appendEntry("count", { count: ++count });
      return "${version} " + count + " " + reasons.join(",");
    },
  });
  pi.registerTool({
    name: "tool_${version}", label: "", description: "", parameters: { type: "object", properties: {} },
    execute: async () => "by ${version}",
  });
};`;

const RELOADER = `export default (pi) => {
  pi.on("turn_end", () => {});
  pi.registerCommand("again", {
    handler: async (_args, ctx) => {
      await ctx.reload();
      return "the frame has gone on";
    },
  });
};`;

const WAITS = `export default (pi) => pi.registerCommand("waits", { description: "", handler: () => "done" });`;

function scene(): Folder {
  const folder = new Folder();
  folder.file("work/x", "");
  folder.file("data/extensions/counter.ts", COUNTER("v1"));
  folder.file("data/extensions/reloader.ts", RELOADER);
  return folder;
}

const grant = (folder: Folder) =>
  xdev(["ext", "grant", "counter", "--session=write"], { env: { XDEV_DATA_DIR: join(folder.path, "data") } });

describe("a session", () => {
  test("goes on behind /reload with its entries, and with the new code's tools and commands", async () => {
    using folder = scene();
    assert.equal((await grant(folder)).status, 0);
    await using client = new Client(
      folder,
      "- toolCalls: [{ name: tool_v2, arguments: {} }]\n- expect: { isError: false, contains: by v2 }\n  text: yes\n",
    );
    assert.equal(await client.say("/count"), "v1 1 startup");
    assert.equal(await client.say("/count"), "v1 2 startup");
    folder.file("data/extensions/counter.ts", COUNTER("v2"));
    folder.file("data/extensions/new.ts", WAITS);
    const from = client.records.length;
    await client.say("/reload");
    assert.equal(
      await client.reloaded(from),
      "extensions reloaded (started anew: counter; new: new; unchanged: 1)",
    );
    assert.equal(await client.say("/count"), "v2 3 reload");
    assert.equal(await client.say("/waits"), "done");
    await client.send({ type: "prompt", message: "use it" });
    await client.until(({ type }) => type === "agent_end");
    assert.match(JSON.stringify(client.records), /by v2/);
    // What is the same is told, and is not started again.
    await client.say("/reload");
    assert.equal(await client.say("/count"), "v2 4 reload,end:reload,reload");
  });

  test("is reloaded by ctx.reload(), which ends the frame that asks for it", async () => {
    using folder = scene();
    assert.equal((await grant(folder)).status, 0);
    await using client = new Client(folder, "- text: hi\n");
    assert.equal(await client.say("/count"), "v1 1 startup");
    folder.file("data/extensions/counter.ts", COUNTER("v2"));
    assert.equal(await client.say("/again"), undefined);
    assert.equal(await client.say("/count"), "v2 2 reload");
    // Also where the one that asks is exchanged itself.
    folder.file("data/extensions/reloader.ts", `${RELOADER}// changed\nglobalThis.x = 1;`);
    assert.equal(await client.say("/again"), undefined);
    assert.equal(await client.say("/count"), "v2 3 reload,end:reload,reload");
    assert.doesNotMatch(JSON.stringify(client.records), /frame has gone on/);
  });

  test("stays as it is when the settings can't be read, and says why", async () => {
    using folder = scene();
    await using client = new Client(folder, "- text: hi\n");
    await client.until(({ type }) => type === "session_start").catch(() => {});
    folder.file("data/config.yml", "extensions: 5\n");
    folder.file("data/extensions/counter.ts", COUNTER("v2"));
    await assert.rejects(client.say("/reload"), /config\.yml/);
    assert.match((await client.say("/count")) ?? "", /^v1 /);
    folder.file("data/config.yml", "disabledExtensions: [extension-module:counter]\n");
    const from = client.records.length;
    await client.say("/reload");
    assert.equal(await client.reloaded(from), "extensions reloaded (gone: counter; unchanged: 1)");
  });

  test("with --watch is reloaded when a file changes, one appears and one goes, and leaves nothing", async () => {
    using folder = scene();
    folder.file(
      "data/extensions/dir/index.ts",
      `import { v } from "./part.ts"; export default (pi) => pi.registerCommand("dir", { handler: () => v });`,
    );
    folder.file("data/extensions/dir/part.ts", `export const v = "one";`);
    {
      await using client = new Client(folder, "- text: hi\n", "--watch");
      assert.equal(await client.say("/dir"), "one");
      let from = client.records.length;
      folder.file("data/extensions/dir/part.ts", `export const v = "two";`);
      assert.equal(await client.reloaded(from), "extensions reloaded (started anew: dir; unchanged: 2)");
      assert.equal(await client.say("/dir"), "two");
      from = client.records.length;
      folder.file("data/extensions/new.ts", WAITS);
      assert.match(await client.reloaded(from), /new: new/);
      from = client.records.length;
      rmSync(join(folder.path, "data/extensions/new.ts"));
      assert.match(await client.reloaded(from), /gone: new/);
      // A policy that breaks denies; the session goes on.
      from = client.records.length;
      folder.file("data/extensions/policy.ts", `export default (pi) => { pi.on("tool_call", () => {}); };`);
      assert.match(await client.reloaded(from), /new: policy/);
      from = client.records.length;
      folder.file("data/extensions/policy.ts", "export default (pi) => {");
      const told = await client.until(
        ({ type, text }) => type === "notice" && /policy/.test(String(text)) && /denied/.test(String(text)),
        from,
      );
      assert.match(String(told.text), /every tool call is denied until it loads/);
    }
    assert.deepEqual(
      readdirSync(join(folder.path, "data")).filter(
        (name) => name.endsWith(".lock") || name.endsWith(".tmp"),
      ),
      [],
    );
  });

  test("has the providers and flags of the new code, and none of what is gone", async () => {
    using folder = scene();
    const provider = (model: string) => `export default (pi) => {
      pi.registerFlag("loud", { type: "boolean" });
      pi.registerProvider("acme", {
        baseUrl: "http://127.0.0.1:9/v1", api: "openai-completions", apiKey: "k",
        models: [{ id: "${model}", name: "${model}" }],
      });
      pi.registerCommand("flag", { handler: () => "${model} " + pi.getFlag("loud") });
    };`;
    folder.file("data/config.yml", "extensionHost: { allowProviders: [prov] }\n");
    folder.file("data/extensions/prov.ts", provider("first"));
    await using client = new Client(folder, "- text: hi\n", "--loud");
    const models = async () => JSON.stringify((await client.send({ type: "get_available_models" })).data);
    assert.match(await models(), /"first"/);
    assert.equal(await client.say("/flag"), "first true");
    folder.file("data/extensions/prov.ts", provider("second"));
    await client.say("/reload");
    assert.match(await models(), /"second"/);
    assert.doesNotMatch(await models(), /"first"/);
    assert.equal(await client.say("/flag"), "second true");
    rmSync(join(folder.path, "data/extensions/prov.ts"));
    await client.say("/reload");
    assert.doesNotMatch(await models(), /acme/);
  });

  test("finds skills and prompt templates that came since it began", async () => {
    using folder = scene();
    await using client = new Client(folder, "- text: hi\n");
    folder.file("data/prompts/late.md", "Say something late.");
    await client.say("/reload");
    const { data } = await client.send({ type: "get_commands" });
    assert.match(JSON.stringify(data), /"name":"late"/);
  });

  test("keeps what a trusted repository brought when that has changed, until it is trusted again", async () => {
    using folder = scene();
    const env = { XDEV_DATA_DIR: join(folder.path, "data"), HOME: folder.path };
    const policy = (reason: string) =>
      `export default (pi) => { pi.on("tool_call", () => ({ block: true, reason: "${reason}" })); };`;
    const turn = (text: string) =>
      `- toolCalls: [{ name: ls, arguments: {} }]\n- expect: { isError: true, contains: ${text} }\n  text: told ${text}\n`;
    folder.file("work/.git/HEAD", "");
    folder.file("work/.xdev/extensions/guard.ts", policy("by the first"));
    const trust = () => xdev(["trust", join(folder.path, "work"), "--yes"], { env });
    assert.equal((await trust()).status, 0);
    await using client = new Client(
      folder,
      turn("by the first") + turn("by the first") + turn("by the second"),
    );
    const ask = async (expected: string) => {
      const from = client.records.length;
      await client.send({ type: "prompt", message: "look" });
      await client.until(({ type }) => type === "agent_end", from);
      assert.match(JSON.stringify(client.records.slice(from)), new RegExp(`told ${expected}`));
    };
    await ask("by the first");
    // Whoever writes there, the agent for one, neither takes the policy away nor puts another in its place.
    folder.file("work/.xdev/extensions/guard.ts", policy("by the second"));
    folder.file("work/.xdev/extensions/evil.ts", WAITS.replace("waits", "evil"));
    let from = client.records.length;
    await client.say("/reload");
    assert.equal(await client.reloaded(from), "extensions reloaded (unchanged: 3)");
    await ask("by the first");
    assert.equal((await trust()).status, 0);
    from = client.records.length;
    await client.say("/reload");
    assert.equal(
      await client.reloaded(from),
      "extensions reloaded (started anew: guard; new: evil; unchanged: 2)",
    );
    await ask("by the second");
  });

  test("begins without the workers of extensions that only wait, which xdev ext list calls not started yet", async () => {
    using folder = new Folder();
    folder.file("work/x", "");
    for (const name of ["a", "b"]) folder.file(`data/extensions/${name}.ts`, WAITS.replace("waits", name));
    const env = { XDEV_DATA_DIR: join(folder.path, "data") };
    const list = async () => (await xdev(["ext", "list"], { env })).stdout.replace(/ {2}\S*\/.*$/gm, "");
    assert.match(await list(), /^a {2}worker {2}ready/m);
    assert.match(await list(), /^a {2}worker {2}not started yet {2}0 tools, 1 command/m);
    // What is looked at is started, and lasts.
    assert.match((await xdev(["ext", "inspect", "a"], { env })).stdout, /ready[\s\S]*commands: a/);
    const replay = folder.file("r.yml", "- text: hi\n");
    const run = (prompt: string) =>
      xdev(["-p", prompt, "--model", `replay:${replay}`, "--cwd", join(folder.path, "work")], { env });
    await run("hello");
    const status = await run("/ext");
    assert.match(status.stdout, /^a +worker +not started yet/m);
    assert.ok(existsSync(join(folder.path, "data/cache/no-start")));
    assert.equal((await run("/b")).stdout.trim(), "done");
    assert.ok(!existsSync(join(folder.path, "data/storage")), "nothing was made for what never ran");
  });
});
