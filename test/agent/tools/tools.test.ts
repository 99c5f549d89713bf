import assert from "node:assert/strict";
import { mkdir, readFile, symlink } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { BUILTIN_TOOL_NAMES, createBuiltinTools } from "../../../src/agent/tools/index.ts";
import { MAX_SPILL_BYTES, Spill } from "../../../src/agent/tools/spill.ts";
import { inFolder, spillPath, textOf } from "./support.ts";

const context = { cwd: "/", env: {}, scratch: async () => "/" };

describe("the built-in tools", () => {
  test("are these seven, all or by name, always in the same order", () => {
    const names = (tools: { name: string }[]) => tools.map((tool) => tool.name);
    assert.deepEqual(names(createBuiltinTools(context)), [
      "read",
      "write",
      "edit",
      "bash",
      "grep",
      "find",
      "ls",
    ]);
    assert.deepEqual([...BUILTIN_TOOL_NAMES], names(createBuiltinTools(context)));
    assert.deepEqual(names(createBuiltinTools(context, ["ls", "read"])), ["read", "ls"]);
    assert.deepEqual(createBuiltinTools(context, []), []);
    assert.throws(() => createBuiltinTools(context, ["toString"]), { code: "unknown-tool" });
  });

  test("take less than 550 tokens of the prompt", () => {
    const declared = createBuiltinTools(context).map(({ name, description, parameters }) => ({
      name,
      description,
      parameters,
    }));
    const size = declared.reduce((sum, tool) => sum + JSON.stringify(tool).length, 0);
    assert.ok(size < 550 * 3.5, `${size} characters`);
  });
});

describe("ls", () => {
  test("lists one folder, sorted, with a slash behind folders and links to folders", () =>
    inFolder(async ({ call, put, cwd }) => {
      await put("b/inner", "");
      await put("a.txt", "");
      await put(".hidden", "");
      await symlink("b", join(cwd, "link"));
      await symlink("nowhere", join(cwd, "broken"));
      assert.equal(textOf(await call("ls", {})), ".hidden\na.txt\nb/\nbroken\nlink/");
      assert.equal(textOf(await call("ls", { path: "b" })), "inner");
    }));

  test("says that a folder is empty, missing, or a file", () =>
    inFolder(async ({ call, put, cwd }) => {
      await mkdir(join(cwd, "empty"));
      await put("file", "");
      assert.equal(textOf(await call("ls", { path: "empty" })), "empty is empty");
      await assert.rejects(call("ls", { path: "emty" }), /Similar: empty/);
      await assert.rejects(call("ls", { path: "file" }), /is a file, not a folder/);
    }));

  test("shows 500 entries and puts all into a file", () =>
    inFolder(async ({ call }) => {
      await call("bash", { command: "touch $(seq 1000 1600)" });
      const result = await call("ls", {});
      assert.match(textOf(result), /1499\n\n\[Showing 500 of 601 lines\. Full output: /);
      assert.equal((await readFile(spillPath(result), "utf8")).trim().split("\n").length, 601);
    }));
});

describe("a file of overflow output", () => {
  test("stops at its limit and says so", () =>
    inFolder(async ({ cwd }) => {
      assert.equal(MAX_SPILL_BYTES, 104857600);
      const spill = new Spill(cwd, "bash", 10);
      spill.write("12345678");
      spill.write("9abc");
      spill.write("never");
      spill.close();
      assert.equal(await readFile(spill.path, "utf8"), "123456789a");
      assert.match(spill.describe(), /only its first 10 B were kept/);
    }));
});
