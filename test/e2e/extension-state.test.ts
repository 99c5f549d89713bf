/**
 * What an extension rebuilds from `getBranch()` (extensions-guide.fr.md, "Modèles de session et d'état") is right wherever the session goes, in
 * the compiled program.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { RpcClient } from "@earendil-works/pi-coding-agent";
import { Folder } from "../support/folder.ts";
import { XDEV, xdev } from "../support/xdev.ts";

/** The state is how often `count` ran on the way to where the session is; `/state` tells it, and when it was rebuilt. */
const COUNTER = `export default (pi) => {
  let state = 0;
  let log = [];
  const rebuild = (event, ctx) => {
    state = 0;
    for (const entry of ctx.sessionManager.getBranch()) {
      if (entry.type === "custom" && entry.customType === "count") state = entry.data.state;
    }
    log.push([event.type, event.reason, state].filter((one) => one !== undefined).join(" "));
  };
  for (const name of ["session_start", "session_switch", "session_branch", "session_tree", "session_compact"]) pi.on(name, rebuild);
  pi.registerTool({
    name: "count", label: "count", description: "counts", parameters: { type: "object", properties: {} },
    async execute() {
      state++;
      pi.appendEntry("count", { state });
      return String(state);
    },
  });
  pi.registerCommand("state", {
    async handler() {
      const told = JSON.stringify({ state, log });
      log = [];
      return told;
    },
  });
  pi.registerCommand("back", {
    async handler(args, ctx) {
      const users = ctx.sessionManager.getBranch().filter((entry) => entry.type === "message" && entry.message.role === "user");
      const { cancelled } = await ctx.navigateTree(users.at(-1).id);
      return JSON.stringify([cancelled, state]);
    },
  });
  pi.registerCommand("again", { handler: (args, ctx) => ctx.reload() });
};`;

test("the state of an extension follows start, branch, tree, switch, compaction and reload", async () => {
  using folder = new Folder();
  folder.file("data/extensions/counter.ts", COUNTER);
  const data = `${folder.path}/data`;
  const settings = "session:\n  compaction: { keepRecentTokens: 1 }\n";
  folder.file("data/config.yml", settings);
  const env = { PATH: process.env.PATH ?? "", HOME: folder.path, XDEV_DATA_DIR: data };
  assert.equal((await xdev(["ext", "grant", "counter", "--session=write"], { env })).status, 0);
  const counts = { toolCalls: [{ name: "count", arguments: {} }] };
  const turns = [
    counts,
    { text: "one" },
    counts,
    { text: "two" },
    counts,
    { text: "also two" },
    { text: "so far" },
  ];
  const connect = async (turns: unknown[], ...more: string[]) => {
    const client = new RpcClient({
      cliPath: fileURLToPath(new URL("../fixtures/rpc-launcher.mjs", import.meta.url)),
      cwd: folder.path,
      env: { RPC_PROGRAM: JSON.stringify([XDEV]), HOME: folder.path, XDEV_DATA_DIR: data },
      model: `replay:${folder.file("replay.json", JSON.stringify(turns))}`,
      args: more,
    });
    await client.start();
    /** What a command of the extension says. */
    const command = async (text: string): Promise<unknown> => {
      const said = Promise.withResolvers<string>();
      const off = client.onEvent((event) => {
        if ((event.type as string) === "command_output")
          said.resolve((event as unknown as { text: string }).text);
      });
      await client.prompt(text);
      const told = await said.promise;
      off();
      return JSON.parse(told);
    };
    return { client, command, [Symbol.asyncDispose]: () => client.stop() };
  };
  let first: string | undefined;
  {
    await using run = await connect(turns);
    const { client, command } = run;
    await client.promptAndWait("count one");
    await client.promptAndWait("count two");
    assert.deepEqual(await command("/state"), { state: 2, log: ["session_start startup 0"] });
    first = (await client.getState()).sessionFile;

    assert.deepEqual(await command("/back"), [false, 1]);
    assert.deepEqual(await command("/state"), { state: 1, log: ["session_tree 1"] });
    await client.promptAndWait("count two anew");
    assert.deepEqual(await command("/state"), { state: 2, log: [] });

    const messages = await client.getForkMessages();
    await client.fork(messages.find(({ text }) => text.startsWith("count two"))!.entryId);
    const forked = (await command("/state")) as { state: number; log: string[] };
    assert.equal(forked.state, 1);
    assert.ok(forked.log.includes("session_branch 1"), String(forked.log));

    await client.newSession();
    assert.deepEqual(((await command("/state")) as { state: number }).state, 0);
    await client.switchSession(first!);
    const back = (await command("/state")) as { state: number; log: string[] };
    assert.equal(back.state, 2);
    assert.ok(
      back.log.some((line) => line.startsWith("session_switch")),
      String(back.log),
    );

    await client.compact();
    assert.deepEqual(await command("/state"), { state: 2, log: ["session_compact manual 2"] });
    await client.prompt("/again");
    assert.equal(((await command("/state")) as { state: number }).state, 2);
  }
  await using run = await connect([], "--session", first!);
  assert.deepEqual(await run.command("/state"), { state: 2, log: ["session_start resume 2"] });
});
