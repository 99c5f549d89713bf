/** Ways from one session to another, and the end, when they come at once or late: extensions ask for them whenever they like. */
import assert from "node:assert/strict";
import { closeSync, openSync, readdirSync, renameSync, symlinkSync } from "node:fs";
import { describe, test } from "node:test";
import { sessionActions } from "../../../src/cli/session-actions.ts";
import { ask, type Harness, said, startSession } from "../../support/agent-session.ts";
import { Folder } from "../../support/folder.ts";

const locks = (folder: Folder): string[] =>
  readdirSync(folder.path, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".lock"));

/** Two sessions of one answer each; the second is open. Gives the file of the first. */
async function twoSessions(harness: Harness): Promise<string> {
  const { session } = harness;
  await session.start("startup");
  await ask(session, "first");
  const file = session.state.sessionFile!;
  await session.newSession();
  await ask(session, "second");
  return file;
}

const texts = ({ session }: Harness) => session.messages.map((message) => JSON.stringify(message));

describe("of several ways to another session that are asked for at once", () => {
  test("one is gone, and nothing of one conversation goes on in another's file", async () => {
    using folder = new Folder();
    await using t = await startSession(folder, [{ text: "one" }, { text: "two" }, { text: "three" }]);
    const first = await twoSessions(t);
    const outcomes = await Promise.allSettled([
      t.session.switchSession(first),
      t.session.newSession(),
      t.session.clone(),
    ]);
    const done = outcomes.filter(({ status }) => status === "fulfilled");
    assert.equal(done.length, 1);
    for (const outcome of outcomes)
      if (outcome.status === "rejected") assert.equal(outcome.reason.code, "busy");
    assert.equal(t.session.state.sessionFile, first);
    await ask(t.session, "third");
    assert.deepEqual(said(t.model.requests[2]).slice(0, 2), ["user: first", "assistant: one"]);
    assert.doesNotMatch(texts(t).join(), /second/);
    assert.equal(locks(folder).length, 1);
  });

  test("and nothing is begun, nor queued, while what goes on is ended for it", async () => {
    using folder = new Folder();
    await using t = await startSession(folder, [
      { text: "one" },
      ({ signal }) =>
        new Promise((resolve) => signal?.addEventListener("abort", () => resolve({ error: "aborted" }))),
      { text: "never asked" },
    ]);
    await t.session.start("startup");
    await ask(t.session, "first");
    await t.session.prompt("second");
    await t.model.request(1);
    const late: Promise<unknown>[] = [];
    t.session.subscribe((event) => {
      if (event.type !== "agent_end") return;
      const message = { customType: "late", content: "late", display: true };
      late.push(t.session.sendCustomMessage(message, { triggerTurn: true }).catch(({ code }) => code));
      late.push(t.session.prompt("late", { streamingBehavior: "followUp" }).catch(({ code }) => code));
    });
    await t.session.newSession();
    assert.deepEqual(await Promise.all(late), ["busy", "busy"]);
    await t.session.waitForIdle();
    assert.deepEqual(texts(t), []);
    assert.equal(t.model.requests.length, 2);
  });
});

test("a walk in the tree gets in the way of no summary that is being made", async () => {
  using folder = new Folder();
  const refused = Promise.withResolvers<void>();
  const summary = () => refused.promise.then(() => ({ text: "summary" }));
  await using t = await startSession(folder, [{ text: "one" }, { text: "two" }, summary]);
  await t.session.start("startup");
  await ask(t.session, "first");
  await ask(t.session, "second");
  const [from, to] = t.session.forkMessages().map(({ entryId }) => entryId);
  const walk = t.session.navigateTree(from!, { summarize: true });
  await t.model.request(2);
  await assert.rejects(t.session.navigateTree(to!), { code: "busy" });
  refused.resolve();
  assert.equal((await walk).cancelled, false);
  assert.equal(t.session.state.isCompacting, false);
});

describe("a session that has ended", () => {
  test("begins nothing for whoever still holds it, and nothing of it stays", async () => {
    using folder = new Folder();
    const t = await startSession(folder, [{ text: "one" }, { text: "two" }, { text: "never asked" }]);
    const first = await twoSessions(t);
    const actions = sessionActions(t.session);
    const [message] = t.session.forkMessages();
    await t.session.dispose();
    const closed = { code: "closed" };
    const late = { customType: "late", content: "late", display: true };
    await assert.rejects(actions.sendMessage(late, { triggerTurn: true }), closed);
    await assert.rejects(actions.sendUserMessage("late", "followUp", false), closed);
    await assert.rejects(actions.switchSession(first), closed);
    await assert.rejects(actions.newSession(undefined), closed);
    await assert.rejects(actions.fork(message!.entryId), closed);
    await assert.rejects(actions.navigateTree(message!.entryId, {}), closed);
    await assert.rejects(actions.compact(undefined), closed);
    await assert.rejects(actions.reload(), closed);
    assert.equal(t.model.requests.length, 2);
    assert.equal(t.types().at(-1), "session_shutdown");
    assert.deepEqual(locks(folder), []);
  });

  test("is not gone on from by a switch that was on its way", async () => {
    using folder = new Folder();
    const t = await startSession(folder, [{ text: "one" }, { text: "two" }]);
    const first = await twoSessions(t);
    const switching = t.session.switchSession(first).catch(({ code }) => code);
    await t.session.dispose();
    assert.equal(await switching, "closed");
    assert.equal(t.types().at(-1), "session_shutdown");
    assert.deepEqual(locks(folder), []);
  });

  test("reads no file that has its file's number by now", async () => {
    using folder = new Folder();
    const t = await startSession(folder, [{ text: "one" }, { text: "two" }]);
    const first = await twoSessions(t);
    await t.session.switchSession(first);
    const actions = sessionActions(t.session);
    await t.session.dispose();
    const other = openSync(folder.file("other.txt", "not for extensions ".repeat(1000)), "r");
    try {
      await assert.rejects(async () => actions.read("entries"), { code: "closed" });
      // What is asked for all the time reads none.
      assert.notEqual(actions.state().leafId, null);
    } finally {
      closeSync(other);
    }
  });
});

test("a session that becomes a link while modules are asked is not switched to", async () => {
  using folder = new Folder();
  await using t = await startSession(folder, [{ text: "one" }, { text: "two" }]);
  const first = await twoSessions(t);
  const secret = folder.file("elsewhere/secret.jsonl", "");
  renameSync(first, secret);
  symlinkSync(secret, first);
  // As if it had been the very file when its path was looked at.
  await assert.rejects(t.session.switchSession(first, { isCanonical: true }), { code: "not-a-session" });
  assert.doesNotMatch(texts(t).join(), /first/);
  assert.deepEqual(
    locks(folder).filter((name) => name.includes("secret")),
    [],
  );
});

test("a name and a level that a module gives are a name and a level", async () => {
  using folder = new Folder();
  await using t = await startSession(folder, [], { reasoning: true });
  await t.session.start("startup");
  const actions = sessionActions(t.session);
  actions.setName("a\u001b]0;b\u0007 \u009b2Jname\u202e");
  assert.equal(t.session.state.sessionName, "a name");
  assert.throws(() => actions.setThinkingLevel("constructor"), /no thinking level/);
});

test("reloads that are asked for while one goes on are one", async () => {
  using folder = new Folder();
  await using t = await startSession(folder, []);
  await t.session.start("startup");
  const actions = sessionActions(t.session);
  await Promise.all(Array.from({ length: 100 }, () => actions.reload()));
  assert.equal(t.of("session_start").filter(({ reason }) => reason === "reload").length, 1);
});

test("what extensions say in a run has an end, however it is to be delivered", async () => {
  using folder = new Folder();
  await using t = await startSession(folder, []);
  await t.session.start("startup");
  const actions = sessionActions(t.session, undefined, 1000);
  const message = { customType: "x", content: "y".repeat(300), display: true };
  await actions.sendMessage(message, {});
  await actions.sendMessage(message, { deliverAs: "nextTurn" });
  await assert.rejects(actions.sendMessage({ ...message, content: "y".repeat(600) }, {}), {
    code: "too-much",
  });
  await assert.rejects(actions.sendUserMessage("y".repeat(900), "followUp", false), { code: "too-much" });
});
