import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { assignNames, extensionName, processToolName, workerToolName } from "../../src/extensions/names.ts";

describe("names (wire-notes.md)", () => {
  test("an extension's name is its file name without the last suffix, odd characters replaced", () => {
    assert.equal(extensionName("/x/deny-rm.py"), "deny-rm");
    assert.equal(extensionName("/x/my ext.v2.ts"), "my_ext_v2");
    assert.equal(extensionName("/x/policy"), "policy");
    assert.equal(extensionName("/x/été.sh"), "_t_");
  });

  test("of two files that give one name the later gets _2", () => {
    const wanted = ["p", "p", "q", "p"].map((name) => ({ name }));
    assert.deepEqual(
      assignNames(wanted).map(({ name }) => name),
      ["p", "p_2", "q", "p_3"],
    );
  });

  test("a name is its own extension's, whatever comes before it: a part of a package, or a second of another name", () => {
    const names = assignNames([{ name: "p_2", isPart: true }, { name: "p" }, { name: "p" }, { name: "p_2" }]);
    assert.deepEqual(names, [
      { name: "p_2_2", duplicate: true },
      { name: "p", duplicate: false },
      { name: "p_3", duplicate: true },
      { name: "p_2", duplicate: false },
    ]);
    const brought = assignNames([{ name: "policy", origin: "project" }, { name: "policy" }]);
    assert.deepEqual(
      brought.map(({ name }) => name),
      ["policy_2", "policy"],
    );
  });

  test("a process extension's tool is namespaced", () => {
    assert.equal(processToolName("deny-rm", "check it"), "ext_deny-rm_check_it");
  });

  test("a tool name over 64 characters is cut and told apart by six digits", () => {
    const long = processToolName("extension", "t".repeat(80));
    const other = processToolName("extension", `${"t".repeat(80)}x`);
    assert.equal(long.length, 64);
    assert.match(long, /_\d{6}$/);
    assert.notEqual(long, other);
    assert.equal(workerToolName("t".repeat(64)).length, 64);
  });
});
