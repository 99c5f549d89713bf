/** `xdev docs` of the compiled program. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { describe, test } from "node:test";
import { exampleNames } from "../../src/docs/manual.ts";
import { PAGES } from "../../src/docs/pages.ts";
import { XDEV, xdev } from "../support/xdev.ts";
import { files, PAGE_NAMES, page } from "./pages.ts";

describe("xdev docs", () => {
  test("lists the pages with a line for each", async () => {
    const { status, stdout, stderr } = await xdev(["docs"]);
    assert.deepEqual([status, stderr], [0, ""]);
    for (const [name, summary] of Object.entries(PAGES)) {
      assert.match(stdout, new RegExp(`^${name} +${summary.slice(0, 20)}`, "m"));
    }
  });

  test("prints a page as Markdown, with its examples in it, where there is no terminal", async () => {
    for (const name of PAGE_NAMES) {
      const outcome = await xdev(["docs", name]);
      assert.deepEqual([outcome.status, outcome.stderr], [0, ""]);
      assert.equal(outcome.stdout, page(name));
    }
  });

  test("prints a page wrapped, with bold headings, on a terminal", {
    skip: spawnSync("script", ["--version"]).status === 0 ? false : "needs script(1) of util-linux",
  }, () => {
    const show = (env: Record<string, string>) =>
      spawnSync("script", ["-qec", `stty cols 50 -onlcr && '${XDEV}' docs settings`, "/dev/null"], {
        encoding: "utf8",
        env: { PATH: process.env.PATH, TERM: "xterm", ...env },
      }).stdout;
    const text = show({});
    assert.ok(text.startsWith("\u001b[1mSettings\u001b[22m\n\n"), JSON.stringify(text.slice(0, 80)));
    assert.doesNotMatch(text, /```/);
    assert.ok(show({ NO_COLOR: "1" }).startsWith("Settings\n\n"));
  });

  test("of a page that does not exist is wrong use, and says which there are", async () => {
    const outcome = await xdev(["docs", "protcol"]);
    assert.deepEqual([outcome.status, outcome.stdout], [2, ""]);
    assert.match(outcome.stderr, /there is no page "protcol"\. Did you mean "protocol"\?/);
    for (const name of PAGE_NAMES) assert.match(outcome.stderr, new RegExp(`\\b${name}\\b`));
  });

  test("schema prints the JSON Schema of each file that a user writes", async () => {
    const names = (await xdev(["docs", "schema"])).stdout.match(/^\w+/gm);
    assert.deepEqual(names, ["config", "hook", "manifest", "models", "replay", "test"]);
    for (const name of names ?? []) {
      const schema = JSON.parse((await xdev(["docs", "schema", name])).stdout);
      assert.match(schema.$schema, /^https:\/\/json-schema\.org\//);
    }
    assert.equal((await xdev(["docs", "schema", "settings"])).status, 2);
  });

  test("example prints every file that the pages show, byte for byte", async () => {
    const { stdout } = await xdev(["docs", "example"]);
    assert.deepEqual(stdout.trimEnd().split("\n"), exampleNames(files));
    for (const name of exampleNames(files)) {
      assert.equal((await xdev(["docs", "example", name])).stdout, files[`examples/${name}`]);
    }
    assert.equal((await xdev(["docs", "example", "../settings.md"])).status, 2);
  });
});
