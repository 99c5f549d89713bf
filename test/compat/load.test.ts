/** A sample of pi's examples loads under each runtime that xdev runs on: what all do is tested with the executable (examples.test.ts). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { examplesOf } from "./examples.ts";
import { expectations, registrationsOf } from "./expectations.ts";
import { loadAll } from "./load.ts";

const SAMPLE =
  "permission-gate protected-paths todo hello tools pirate notify confirm-destructive input-transform event-bus preset plan-mode truncated-tool custom-provider-gitlab-duo".split(
    " ",
  );

test(`${SAMPLE.join(", ")} of pi's examples load, and register what they should`, {
  timeout: 120_000,
}, async () => {
  const expected = expectations("examples");
  const chosen = examplesOf("1.6").filter(({ name }) => SAMPLE.includes(name));
  assert.equal(chosen.length, SAMPLE.length);
  const loaded = await loadAll(chosen.map(({ path }) => path));
  for (const { name, path, version } of chosen) {
    const [module] = loaded.get(path)!.modules;
    assert.equal(module?.error, undefined, name);
    assert.deepEqual(module?.registers, registrationsOf(expected.get(name)!, version), name);
  }
});
