/** Which extensions a session loads: where they may lie, in which order, and what is left out. */
import assert from "node:assert/strict";
import { mkdirSync, symlinkSync } from "node:fs";
import { homedir } from "node:os";
import { join, relative } from "node:path";
import { describe, test } from "node:test";
import { extensionSources } from "../../src/cli/ext-sources.ts";
import type { TrustedWorkspace } from "../../src/cli/workspace.ts";
import { identifyExtensions } from "../../src/extensions/discovery.ts";
import { Folder } from "../support/folder.ts";

interface Wanted {
  extensions?: string[];
  named?: string[];
  disabled?: string[];
  discover?: boolean;
  trusted?: boolean;
}

/** The names that are found; `-` before those that are turned off. */
async function found(folder: Folder, wanted: Wanted = {}): Promise<string[]> {
  const { extensions = [], named = [], disabled = [], discover = true, trusted = false } = wanted;
  const workspace = { folder: join(folder.path, "repo/.xdev") } as TrustedWorkspace;
  const { sources, disabled: off } = await extensionSources(
    { extensions: named, discover },
    join(folder.path, "data"),
    folder.path,
    { extensions, disabledExtensions: disabled },
    trusted ? workspace : undefined,
  );
  return [...sources.map(({ name }) => name), ...off.map(({ name }) => `-${name}`)];
}

describe("the extensions of a session", () => {
  test("are the data dir's, a trusted workspace's, the settings' and those of -e, in this order", async () => {
    using folder = new Folder();
    folder.file("data/extensions/d.ts", "");
    folder.file("repo/.xdev/extensions/a.ts", "");
    folder.file("else/c.ts", "");
    folder.file("e.ts", "");
    const wanted = { extensions: ["../else/c.ts"], named: ["e.ts"] };
    assert.deepEqual(await found(folder, { ...wanted, trusted: true }), ["d", "a", "c", "e"]);
    assert.deepEqual(await found(folder, wanted), ["d", "c", "e"]);
    assert.deepEqual(await found(folder, { ...wanted, trusted: true, discover: false }), ["e"]);
  });

  test("are loaded once for each path, whatever it is called: the first wins", async () => {
    using folder = new Folder();
    folder.file("data/extensions/a.ts", "");
    symlinkSync(join(folder.path, "data/extensions/a.ts"), join(folder.path, "b.ts"));
    folder.file("c/index.ts", "");
    const wanted = { extensions: ["extensions/a.ts", "../c"], named: ["b.ts", "c/index.ts", "c"] };
    assert.deepEqual(await found(folder, wanted), ["a", "c"]);
  });

  test("are the user's if the user names them, whatever a repository calls the same file", async () => {
    using folder = new Folder();
    folder.file("repo/.xdev/extensions/noise/policy.ts", "");
    folder.file("repo/.xdev/extensions/noise/package.json", '{ "xdev": { "extensions": ["./policy.ts"] } }');
    const path = "repo/.xdev/extensions/noise/policy.ts";
    const wanted = { trusted: true, disabled: ["extension-module:noise"] };
    assert.deepEqual(await found(folder, wanted), ["-noise"]);
    assert.deepEqual(await found(folder, { ...wanted, named: [path] }), ["policy"]);
    assert.deepEqual(await found(folder, { ...wanted, extensions: [join(folder.path, path)] }), ["policy"]);
  });

  test("may be named in config.yml from the home folder, and as a folder with several", async () => {
    using folder = new Folder();
    folder.file("many/x.ts", "");
    folder.file("many/y/index.js", "");
    folder.file("many/deep/er/index.ts", "");
    const home = `~/${relative(homedir(), join(folder.path, "many/x.ts"))}`;
    assert.deepEqual(await found(folder, { extensions: [home] }), ["x"]);
    assert.deepEqual(await found(folder, { extensions: ["../many"] }), ["x", "y"]);
    assert.deepEqual(await found(folder, { named: ["many"] }), ["x", "y"]);
  });

  test("that config.yml names and that are gone keep no session from its start; one of -e does", async () => {
    using folder = new Folder();
    folder.file("data/extensions/a.ts", "");
    assert.deepEqual(await found(folder, { extensions: ["../gone.ts"] }), ["a"]);
    await assert.rejects(found(folder, { named: ["gone.ts"] }), /cannot load extension .*gone\.ts/);
  });

  test("that disabledExtensions names are left out, and known", async () => {
    using folder = new Folder();
    folder.file("data/extensions/a.ts", "");
    folder.file("data/extensions/b/index.ts", "");
    folder.file("data/extensions/c.ts", "");
    const disabled = ["extension-module:b", "extension-module:c", "extension-module:none", "c", "skill:a"];
    assert.deepEqual(await found(folder, { disabled }), ["a", "-b", "-c"]);
    assert.deepEqual(await found(folder, { disabled: ["a"] }), ["a", "b", "c"]);
  });
});

describe("a package", () => {
  test("is read under the first key of the family that names extensions", async () => {
    using folder = new Folder();
    const package_ = (name: string, keys: Record<string, unknown>) => {
      for (const file of ["xdev", "xcsh", "omp", "pi"]) folder.file(`${name}/${file}.ts`, "");
      folder.file(`${name}/package.json`, JSON.stringify({ name, ...keys }));
      return identifyExtensions(join(folder.path, name)).then((list) =>
        list.map(({ path }) => path.slice(-8)),
      );
    };
    const key = (name: string) => ({ [name]: { extensions: [`./${name}.ts`] } });
    assert.deepEqual(await package_("a", { ...key("pi"), ...key("omp"), ...key("xcsh"), ...key("xdev") }), [
      "/xdev.ts",
    ]);
    assert.deepEqual(await package_("b", { ...key("pi"), ...key("xcsh") }), ["/xcsh.ts"]);
    assert.deepEqual(await package_("c", { ...key("pi"), ...key("omp") }), ["c/omp.ts"]);
    assert.deepEqual(await package_("d", { ...key("pi"), xdev: { permissions: { env: ["A"] } } }), [
      "/d/pi.ts",
    ]);
  });

  test("may name folders: their index module, or each module in them", async () => {
    using folder = new Folder();
    folder.file("p/package.json", '{"pi":{"extensions":["./one","./many","./many/a.ts"]}}');
    folder.file("p/one/index.ts", "");
    folder.file("p/many/a.ts", "");
    folder.file("p/many/b/index.ts", "");
    const names = (await identifyExtensions(join(folder.path, "p"))).map(({ name }) => name);
    assert.deepEqual(names, ["p_one", "p_a", "p_b"]);
    folder.file("outside.ts", "");
    mkdirSync(join(folder.path, "q/many"), { recursive: true });
    folder.file("q/package.json", '{"pi":{"extensions":["./many"]}}');
    symlinkSync("../../outside.ts", join(folder.path, "q/many/link.ts"));
    await assert.rejects(identifyExtensions(join(folder.path, "q")), /is not inside/);
  });
});
