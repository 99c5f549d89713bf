/** Every example extension of pi's npm package runs unchanged in the sandbox: what it registers, and what it does in a session. */
import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { type Example, examplesOf, VERSIONS, type Version } from "./examples.ts";
import { expectations, registrationsOf, scenarioOf } from "./expectations.ts";
import { type LoadResult, loadAll } from "./load.ts";
import { ScriptedModels } from "./model.ts";
import { Places } from "./place.ts";
import { pool } from "./pool.ts";
import { playScene } from "./scene.ts";

/** Limits what is tried while one works on it: names, with commas between them. */
const only = process.env.XDEV_COMPAT_ONLY?.split(",");
const places = new Places();
let models: Promise<ScriptedModels> | undefined;
after(async () => {
  places[Symbol.dispose]();
  await (await models)?.[Symbol.asyncDispose]();
});

const versions = Object.keys(VERSIONS) as Version[];
const expected = expectations("examples");
const all = versions.flatMap(examplesOf);
const examples = all.filter(({ name }) => only?.includes(name) ?? true);
/** Those that are not the same file in a newer version: what holds for that one need not be tried again. */
const distinct = examples.filter((one) => newerTwin(one) === undefined);

function newerTwin(example: Example): Example | undefined {
  const newer = versions.slice(0, versions.indexOf(example.version));
  return all.find(
    (one) => newer.includes(one.version) && one.name === example.name && one.digest === example.digest,
  );
}

const BATCH = 8;
const batches = Array.from({ length: Math.ceil(distinct.length / BATCH) }, (_, index) =>
  distinct.slice(index * BATCH, (index + 1) * BATCH),
);
const loadBatch = pool(batches, 1, (batch) => loadAll(batch.map((one) => places.of(one))));

async function loaded(example: Example): Promise<LoadResult> {
  const batch = batches.find((one) => one.includes(example))!;
  return (await loadBatch(batch)).get(places.of(example))!;
}

describe("the examples", () => {
  for (const version of only ? [] : versions) {
    test(`of pi ${version} are all expected, and nothing else is`, () => {
      const names = all.filter((one) => one.version === version).map(({ name }) => name);
      const meant = [...expected].filter(([, { versions: own }]) => own?.includes(version) ?? true);
      assert.deepEqual(meant.map(([name]) => name).sort(), names);
    });
  }

  for (const example of distinct) {
    const one = expected.get(example.name);
    if (one?.never !== undefined) continue;
    test(`${example.name} of pi ${example.version} loads, and registers what it should`, async () => {
      assert.ok(one, `${example.name} is not in test/compat/expect`);
      const [module, ...others] = (await loaded(example)).modules;
      assert.equal(module?.error, undefined);
      assert.equal(others.length, 0);
      assert.deepEqual(module?.registers, registrationsOf(one, example.version));
    });
  }
});

const played = distinct.filter(({ name }) => (expected.get(name)?.checked ?? undefined) !== undefined);
const play = pool(played, 3, async (example) => {
  models ??= ScriptedModels.start();
  const one = expected.get(example.name)!;
  const scenario = scenarioOf(one, example.version);
  await playScene({ path: places.of(example), needs: one.needs, scenario, models: await models });
});

describe("in a session", () => {
  for (const example of played) {
    test(`${example.name} of pi ${example.version}: ${expected.get(example.name)!.checked}`, () =>
      play(example));
  }
});
