/** Extension packages of the npm registry run unchanged in the sandbox, with what they depend on. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { Folder } from "../support/folder.ts";
import { expectations, registrationsOf, scenarioOf } from "./expectations.ts";
import { installPackages, layOut, manifestOf, PINNED } from "./install.ts";
import { ScriptedModels } from "./model.ts";
import { pool } from "./pool.ts";
import { playScene } from "./scene.ts";

/** Limits what is tried while one works on it: names, with commas between them. */
const only = process.env.XDEV_COMPAT_ONLY?.split(",");
const expected = expectations("packages");
const names = [...expected.keys()].filter((name) => only?.includes(name) ?? true);
const folder = new Folder();
let models: Promise<ScriptedModels> | undefined;

after(async () => {
  folder[Symbol.dispose]();
  await (await models)?.[Symbol.asyncDispose]();
});

const play = pool(
  names.filter((name) => expected.get(name)!.never === undefined),
  2,
  async (name) => {
    models ??= ScriptedModels.start();
    const one = expected.get(name)!;
    // Where a package manager would put it.
    const path = join(folder.path, "node_modules", name);
    layOut(name, path);
    await playScene({
      path: one.entry === undefined ? path : join(path, one.entry),
      needs: one.needs,
      scenario: scenarioOf(one),
      models: await models,
      registers: registrationsOf(one),
    });
  },
);

describe("extension packages", () => {
  test("are pinned by version, and at least fifteen", () => {
    const pinned = Object.entries(PINNED);
    for (const [name, version] of pinned) assert.match(version, /^\d+\.\d+\.\d+$/, name);
    assert.ok(expected.size >= 15);
    for (const name of expected.keys()) assert.ok(name in PINNED, name);
  });

  test("and examples that can't work in a sandbox are at most four", () => {
    const all = [...expectations("examples").values(), ...expected.values()];
    assert.ok(all.filter(({ never }) => never !== undefined).length <= 4);
  });

  for (const name of names) {
    if (expected.get(name)!.entry === undefined)
      test(`${name} ${PINNED[name]} says in its package.json which its extensions are`, () => {
        const { pi, omp } = manifestOf(join(installPackages(), "node_modules", name));
        assert.ok((pi?.extensions ?? omp?.extensions ?? []).length > 0);
      });
    if (expected.get(name)!.never !== undefined) continue;
    test(`${name} ${PINNED[name]} loads and runs: ${expected.get(name)!.checked}`, { timeout: 120_000 }, () =>
      play(name),
    );
  }
});
