import assert from "node:assert/strict";
import { test } from "node:test";
import { ask, startSession } from "../../support/agent-session.ts";
import { Folder } from "../../support/folder.ts";

/** How long a session takes for an answer of so many parts, in ms. */
async function timeOf(parts: number): Promise<number> {
  using folder = new Folder();
  await using t = await startSession(folder, [{ text: "twenty-four characters, ".repeat(parts) }]);
  const start = performance.now();
  await ask(t.session, "go");
  return performance.now() - start;
}

test("a part of an answer costs the same at its end as at its beginning", async () => {
  await timeOf(2000);
  const times = await Promise.all([0, 1, 2].map(() => timeOf(4000)));
  const short = Math.min(...times);
  const long = Math.min(await timeOf(32_000), await timeOf(32_000));
  // Eight times as many; quadratic work would be 64 times as much.
  assert.ok(long < short * 24 + 200, `${Math.round(short)} ms, then ${Math.round(long)} ms`);
});

test("events of a stream are told by reference: nothing is copied for them", async () => {
  using folder = new Folder();
  await using t = await startSession(folder, [{ text: "a b c" }]);
  await ask(t.session, "go");
  const updates = t.events.filter((event) => event.type === "message_update");
  const [first, second] = updates.map(({ message }) => (message as { content: unknown }).content);
  assert.equal(first, second);
});
