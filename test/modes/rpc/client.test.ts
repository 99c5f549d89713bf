/** The family's own client, unchanged, drives a process in rpc mode. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { RpcClient, SessionManager } from "@earendil-works/pi-coding-agent";
import { Folder } from "../../support/folder.ts";

const fixture = (name: string) => fileURLToPath(new URL(`../../fixtures/${name}`, import.meta.url));

/** A client of an agent whose model says these things. */
async function connect(folder: Folder, steps: readonly unknown[]): Promise<RpcClient & AsyncDisposable> {
  const program = [
    fixture("../../node_modules/.bin/bun"),
    fixture("rpc-agent.ts"),
    folder.path,
    folder.file("steps.json", JSON.stringify(steps)),
  ];
  const client = new RpcClient({
    cliPath: fixture("rpc-launcher.mjs"),
    cwd: folder.path,
    env: { RPC_PROGRAM: JSON.stringify(program) },
  });
  await client.start();
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.stop() });
}

describe("RpcClient", () => {
  test("prompts, follows the events and reads what there is", async () => {
    using folder = new Folder();
    await using client = await connect(folder, [{ text: "Hello." }, { text: "Again." }]);
    const events = await client.promptAndWait("Hi");
    assert.equal(events.at(-1)?.type, "agent_settled");
    assert.ok(events.some(({ type }) => type === "message_update"));
    assert.equal(await client.getLastAssistantText(), "Hello.");
    const state = await client.getState();
    assert.deepEqual(
      [
        state.isStreaming,
        state.messageCount,
        state.pendingMessageCount,
        state.model?.id,
        state.thinkingLevel,
      ],
      [false, 2, 0, "scripted", "off"],
    );
    assert.deepEqual(
      (await client.getMessages()).map(({ role }) => role),
      ["user", "assistant"],
    );
    const stats = await client.getSessionStats();
    assert.deepEqual([stats.userMessages, stats.assistantMessages, stats.toolCalls], [1, 1, 0]);
    const { entries, leafId } = await client.getEntries();
    assert.equal(entries.at(-1)?.id, leafId);
    assert.deepEqual((await client.getEntries(leafId!)).entries, []);
    assert.equal((await client.getTree()).leafId, leafId);
    assert.deepEqual(await client.getCommands(), []);
    await client.promptAndWait("Hi again");
    assert.equal(await client.getLastAssistantText(), "Again.");
    // The file is the family's, too.
    assert.equal(SessionManager.open(state.sessionFile!).buildSessionContext().messages.length, 4);
  });

  test("chooses the model, the level and how things are queued", async () => {
    using folder = new Folder();
    await using client = await connect(folder, []);
    assert.deepEqual(
      (await client.getAvailableModels()).map(({ id }) => id),
      ["scripted", "other"],
    );
    assert.deepEqual(await client.getAvailableThinkingLevels(), ["off"]);
    assert.equal(await client.cycleThinkingLevel(), null);
    assert.equal((await client.setModel("test", "other")).id, "other");
    await client.setThinkingLevel("high");
    assert.equal((await client.getState()).thinkingLevel, "high");
    assert.ok((await client.cycleThinkingLevel())?.level);
    assert.equal((await client.cycleModel())?.model.id, "scripted");
    await assert.rejects(client.setModel("test", "none"), /Model not found: none/);
    await client.setSteeringMode("all");
    await client.setFollowUpMode("all");
    await client.setAutoCompaction(false);
    await client.setAutoRetry(false);
    await client.abortRetry();
    await client.setSessionName("my name");
    const state = await client.getState();
    assert.deepEqual(
      [state.steeringMode, state.followUpMode, state.autoCompactionEnabled, state.sessionName],
      ["all", "all", false, "my name"],
    );
  });

  test("steers, queues, ends a run, and runs commands", async () => {
    using folder = new Folder();
    await using client = await connect(folder, ["wait", { text: "after" }]);
    const begun = new Promise<void>((resolve) =>
      client.onEvent(({ type }) => {
        if (type === "turn_start") resolve();
      }),
    );
    assert.equal(await client.prompt("go"), "started");
    await begun;
    await assert.rejects(client.prompt("and"));
    assert.equal(await client.steer("turn"), "queued");
    assert.equal(await client.followUp("follow"), "queued");
    assert.equal(await client.prompt("more", undefined, "steer"), "queued");
    assert.deepEqual(await client.clearQueue(), { steering: ["turn", "more"], followUp: ["follow"] });
    await client.abort();
    assert.equal((await client.getState()).isStreaming, false);
    const ran = await client.bash("echo $((6 * 7))");
    assert.deepEqual([ran.output.trim(), ran.exitCode], ["42", 0]);
    await client.abortBash();
  });

  test("begins, forks, clones and switches sessions", async () => {
    using folder = new Folder();
    await using client = await connect(folder, [{ text: "one" }, { text: "two" }]);
    await client.promptAndWait("first");
    await client.promptAndWait("second");
    const { sessionFile: first } = await client.getState();
    const messages = await client.getForkMessages();
    assert.deepEqual(
      messages.map(({ text }) => text),
      ["first", "second"],
    );
    assert.deepEqual(await client.fork(messages[1]!.entryId), { text: "second", cancelled: false });
    assert.equal((await client.getMessages()).length, 2);
    assert.deepEqual(await client.clone(), { cancelled: false });
    assert.deepEqual(await client.newSession(first), { cancelled: false });
    assert.equal((await client.getMessages()).length, 0);
    assert.deepEqual(await client.switchSession(first!), { cancelled: false });
    assert.equal((await client.getMessages()).length, 4);
    const { path } = await client.exportHtml();
    assert.match(readFileSync(path, "utf8"), /second/);
  });

  test("compacts", async () => {
    using folder = new Folder();
    const long = "word ".repeat(30_000);
    await using client = await connect(folder, [{ text: long }, { text: "short" }, { text: "a summary" }]);
    await client.promptAndWait("first");
    await client.promptAndWait("second");
    const result = await client.compact("be short");
    assert.match(result.summary, /a summary/);
    assert.ok(result.firstKeptEntryId && result.tokensBefore > 0);
  });

  test("ends the program in order by stop, and the session is whole", async () => {
    using folder = new Folder();
    const client = await connect(folder, [{ text: "kept" }]);
    await client.promptAndWait("keep this");
    const { sessionFile } = await client.getState();
    await client.stop();
    assert.ok(!existsSync(`${sessionFile}.lock`));
    assert.equal(SessionManager.open(sessionFile!).buildSessionContext().messages.length, 2);
  });
});
