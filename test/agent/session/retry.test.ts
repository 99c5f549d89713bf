import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ask, said, startSession } from "../../support/agent-session.ts";
import { Folder } from "../../support/folder.ts";

const PASSING = 'provider "test": overloaded';

describe("a failure that may pass", () => {
  test("is tried again, with a wait that doubles; what failed is no part of the next request", async () => {
    using folder = new Folder();
    await using t = await startSession(folder, [
      { text: "half", error: PASSING },
      { error: 'provider "test" closed the connection before its answer was complete: x' },
      { text: "whole" },
    ]);
    await ask(t.session, "go");
    assert.deepEqual(
      t.of("auto_retry_start").map(({ attempt, maxAttempts, delayMs }) => [attempt, maxAttempts, delayMs]),
      [
        [1, 3, 1],
        [2, 3, 2],
      ],
    );
    assert.equal(t.of("auto_retry_start")[0]?.errorMessage, PASSING);
    assert.deepEqual(t.of("auto_retry_end"), [{ type: "auto_retry_end", success: true, attempt: 2 }]);
    assert.deepEqual(said(t.model.requests[2]), ["user: go"]);
    assert.deepEqual(
      t.of("agent_end").map(({ willRetry }) => willRetry),
      [true, true, false],
    );
    assert.equal(t.of("agent_settled").length, 1);
  });

  test("ends the run when it does not pass, and says so", async () => {
    using folder = new Folder();
    const failing = { error: PASSING };
    await using t = await startSession(folder, [failing, failing, failing, failing, failing]);
    await ask(t.session, "go");
    assert.equal(t.model.requests.length, 4);
    assert.deepEqual(t.of("auto_retry_end"), [
      { type: "auto_retry_end", success: false, attempt: 3, finalError: PASSING },
    ]);
  });

  test("is not tried again where that is switched off", async () => {
    using folder = new Folder();
    await using t = await startSession(folder, [{ error: PASSING }]);
    t.session.setAutoRetry(false);
    await ask(t.session, "go");
    assert.equal(t.model.requests.length, 1);
    assert.equal(t.of("auto_retry_start").length, 0);
  });

  test("is not waited for any longer when the user has enough", async () => {
    using folder = new Folder();
    await using t = await startSession(folder, [{ error: PASSING }], {
      settings: { retry: { baseDelayMs: 60_000 } },
    });
    const waiting = t.next("auto_retry_start");
    await t.session.prompt("go");
    await waiting;
    t.session.abortRetry();
    await t.session.waitForIdle();
    assert.equal(t.of("auto_retry_end")[0]?.success, false);
    assert.equal(t.model.requests.length, 1);
  });

  test("is left alone by an abort", async () => {
    using folder = new Folder();
    await using t = await startSession(folder, [{ error: PASSING }], {
      settings: { retry: { baseDelayMs: 60_000 } },
    });
    const waiting = t.next("auto_retry_start");
    await t.session.prompt("go");
    await waiting;
    await t.session.abort();
    assert.deepEqual(t.of("agent_settled"), [{ type: "agent_settled", aborted: true }]);
  });
});

test("what was tried again as often as it may be, or is the user's to repair, is not", async () => {
  using folder = new Folder();
  for (const error of [
    'provider "test" answered 500 Internal Server Error after 3 retries',
    'provider "test" answered 401 Unauthorized\nCheck the key: KEY.',
    'provider "test": insufficient_quota',
    "replay file: expected a timeout",
  ]) {
    await using t = await startSession(folder, [{ error }]);
    await ask(t.session, "go");
    assert.equal(t.model.requests.length, 1, error);
  }
});

test("a server that can't be reached is waited for only if it was there before", async () => {
  using folder = new Folder();
  const error = 'provider "test": connection refused at http://127.0.0.1:1. Is the server running?';
  await using t = await startSession(folder, [{ error }, { text: "hello" }, { error }, { text: "again" }]);
  await ask(t.session, "first");
  assert.equal(t.model.requests.length, 1);
  await ask(t.session, "second");
  await ask(t.session, "third");
  assert.equal(t.of("auto_retry_start").length, 1);
  assert.equal(t.session.lastAssistantText(), "again");
});

test("a session that goes on does not show the model what failed", async () => {
  using folder = new Folder();
  await using t = await startSession(folder, [{ text: "half", error: PASSING }, { text: "whole" }]);
  await ask(t.session, "go");
  const { entries } = t.session.entries();
  assert.equal(entries.filter(({ type }) => type === "message").length, 3, "it stays in the file");
  assert.equal(entries.filter(({ type }) => type === "context_edit").length, 1);
});
