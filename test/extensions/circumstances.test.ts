/** What may make a module register something else, its code aside: it is started then, and its cached registrations are not used. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { sessionCircumstances } from "../../src/extensions/authority.ts";
import { Folder } from "../support/folder.ts";

const PATH = "/somewhere/a.ts";

function circumstances(folder: Folder, records?: unknown, env: Record<string, string> = {}, more = {}) {
  if (records !== undefined) {
    folder.file("permissions.json", JSON.stringify({ version: 1, extensions: { [PATH]: records } }));
  }
  const options = { dataDir: folder.path, cwd: folder.path, env, ui: undefined, ...more };
  return sessionCircumstances(options)({ name: "a", path: PATH, kind: "worker" });
}

describe("the circumstances of a module", () => {
  test("are the same however what was granted is written, and without a record", async () => {
    using folder = new Folder();
    const none = await circumstances(folder);
    assert.equal(await circumstances(folder, { name: "a", asked: {}, granted: {}, digest: "1" }), none);
    const some = await circumstances(folder, { granted: { read: ["/b", "/a"], net: ["x"] }, digest: "1" });
    assert.notEqual(some, none);
    assert.equal(
      await circumstances(folder, { digest: "2", granted: { net: ["x"], read: ["/a", "/b"] } }),
      some,
    );
    assert.notEqual(await circumstances(folder, { granted: { net: ["x"], read: ["/a"] } }), some);
    assert.notEqual(await circumstances(folder, { added: { net: ["x"], read: ["/a", "/b"] } }), some);
  });

  test("have those variables of the environment that it may see, and no others", async () => {
    using folder = new Folder();
    const granted = { granted: { env: ["KEY", "MY_*"] } };
    const before = await circumstances(folder, granted, { KEY: "1", MY_X: "1", OTHER: "1" });
    assert.equal(await circumstances(folder, granted, { OTHER: "2", MY_X: "1", KEY: "1" }), before);
    assert.notEqual(await circumstances(folder, granted, { KEY: "2", MY_X: "1" }), before);
    assert.notEqual(await circumstances(folder, granted, { KEY: "1", MY_X: "1", MY_Y: "1" }), before);
  });

  test("are others in another folder, another mode, and with other options of the command line", async () => {
    using folder = new Folder();
    const before = await circumstances(folder);
    const ui = { mode: "rpc", hasUI: true };
    const given = { fast: { value: null, next: null } };
    const flags = { permissions: { net: ["x"] }, all: [] };
    for (const more of [{ cwd: "/" }, { ui }, { given }, { flags }]) {
      assert.notEqual(await circumstances(folder, undefined, {}, more), before, JSON.stringify(more));
    }
  });

  test("can't be told of a file that can't be read", async () => {
    using folder = new Folder();
    folder.file("permissions.json", "not JSON");
    await assert.rejects(circumstances(folder));
  });
});
