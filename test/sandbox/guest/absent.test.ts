/** What no sandbox can offer can be imported, as packages do, and throws when it is used. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { parsePatch } from "../../../src/extensions/frame.ts";
import { loadExtensions } from "../../support/extensions.ts";
import { Folder } from "../../support/folder.ts";

/** What `said` is in a package with this text, which sets it. */
async function said(folder: Folder, text: string): Promise<unknown> {
  folder.file("ext/node_modules/subject/package.json", '{ "name": "subject", "main": "index.js" }');
  folder.file("ext/node_modules/subject/index.js", `${text}\nexport { said };`);
  const path = folder.file(
    "ext/index.ts",
    `import { said } from "subject";
     export default (pi) => pi.registerCommand("say", { handler: () => JSON.stringify(said) });`,
  );
  folder.file("ext/package.json", '{ "name": "x", "pi": { "extensions": ["./index.ts"] } }');
  await using loaded = await loadExtensions([path]);
  const [extension] = loaded.manager.extensions;
  assert.equal(extension?.state, "ready", String(extension?.reason));
  const command = loaded.manager.findCommand("/say")!;
  const answer = await command.extension.request(
    "command",
    { command: "say", arguments: "" },
    { timeoutMs: 20_000 },
  );
  const patch = parsePatch(answer.patch);
  assert.ok(patch && !("problem" in patch) && patch.text !== undefined, JSON.stringify(answer));
  return JSON.parse(patch.text);
}

describe("a package that imports what no sandbox has", () => {
  test("learns where it is, and is told why when it uses it", async () => {
    using folder = new Folder();
    assert.deepEqual(
      await said(
        folder,
        `import { isMainThread, parentPort, Worker } from "node:worker_threads";
         import * as vm from "vm";
         import http2 from "http2";
         const { DatabaseSync } = require("node:sqlite");
         const code = (use) => { try { use(); return "none"; } catch (error) { return error.code + ": " + error.message; } };
         const said = [isMainThread, parentPort, code(() => new Worker("x")), code(() => vm.runInThisContext("1")),
           code(() => http2.connect("x")), code(() => new DatabaseSync("x"))];`,
      ),
      [
        true,
        null,
        "ERR_FEATURE_UNAVAILABLE: worker_threads.Worker: an extension has one thread",
        "ERR_FEATURE_UNAVAILABLE: vm.runInThisContext: an extension has one realm: eval and new Function work in it",
        "ERR_FEATURE_UNAVAILABLE: http2.connect: use fetch, http or https",
        "ERR_FEATURE_UNAVAILABLE: sqlite.DatabaseSync: databases of the runtime are not available to extensions",
      ],
    );
  });

  test("loads without a name that its module does not have, and is told when it uses that", async () => {
    using folder = new Folder();
    const lacks = (module: string, name: string) =>
      `"${module}" has no export "${name}" in this version of xdev`;
    assert.deepEqual(
      await said(
        folder,
        `import { createHash, Nope } from "node:crypto";
         import { nope } from "@earendil-works/pi-coding-agent";
         class Mine extends Nope {}
         const why = (use) => { try { return use(); } catch (error) { return error.message; } };
         const said = [typeof createHash, why(() => new Mine()), why(() => nope())];`,
      ),
      ["function", lacks("node:crypto", "Nope"), lacks("@earendil-works/pi-coding-agent", "nope")],
    );
  });

  test("goes on without its native addons, and without what it requires that is not there", async () => {
    using folder = new Folder();
    folder.file("ext/node_modules/dep/index.js", `exports.open = () => require("bindings")("x.node");`);
    folder.file("ext/node_modules/bindings/index.js", `module.exports = () => "native";`);
    folder.file("ext/a.node", "");
    folder.file("ext/node_modules/dep/package.json", '{ "name": "dep", "exports": { ".": "./index.js" } }');
    assert.deepEqual(
      await said(
        folder,
        `import { open } from "dep";
         const why = (use) => { try { return use(); } catch (error) { return error.message; } };
         const said = [why(open), why(() => require("./a.node")), why(() => require("./none.node")),
           why(() => require("./none.js")), why(() => require("dep/package.json"))];`,
      ),
      [
        ...["bindings", "./a.node", "./none.node"].map(
          (name) =>
            `"${name}": native addons can't run in the sandbox; use a pure JavaScript package instead`,
        ),
        `"./none.js": there is no such file in the extension's bundle`,
        `package "dep/package.json" was not found: it must be in the node_modules folder of the extension itself`,
      ],
    );
  });
});
