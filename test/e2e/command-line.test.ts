/** The command line of the compiled program. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { describe, test } from "node:test";
import manifest from "../../package.json" with { type: "json" };
import { COMMANDS } from "../../src/cli/args.ts";
import { Folder } from "../support/folder.ts";
import { EXAMPLES, start, xdev } from "../support/xdev.ts";

describe("the command line", () => {
  test("--version prints the version", async () => {
    assert.deepEqual(await xdev(["--version"]), {
      status: 0,
      signal: null,
      stdout: `${manifest.version}\n`,
      stderr: "",
    });
  });

  test("--help is grouped and has examples; help <command> explains one", async () => {
    const help = await xdev(["--help"]);
    assert.equal(help.status, 0);
    for (const part of [
      "Run:",
      "Model:",
      "Tools and extensions:",
      "Commands:",
      "Examples:",
      "Exit status:",
    ]) {
      assert.ok(help.stdout.includes(part), part);
    }
    for (const [command, text] of [
      [["help", "models"], "which models are usable"],
      [["help", "ext"], "inspect"],
      [["ext", "help", "inspect"], "Example:"],
      [["ext", "inspect", "--help"], "Example:"],
    ] as const) {
      const outcome = await xdev(command);
      assert.equal(outcome.status, 0, command.join(" "));
      assert.ok(outcome.stdout.includes(text), command.join(" "));
    }
  });

  test("each command that the help lists is one that the program looks for", async () => {
    const { stdout } = await xdev(["-h"]);
    const list = /\nCommands:\n([\s\S]*?)\n\n/.exec(stdout)?.[1] ?? "";
    const listed = [...list.matchAll(/^ {2}([a-z]+)/gm)].map(([, name]) => name!);
    assert.deepEqual(listed.sort(), [...COMMANDS].sort());
  });

  const wrong: [string[], RegExp][] = [
    [["--nonsense"], /unknown option '--nonsense'/],
    [["--modle", "x", "hi"], /Did you mean .*--model/],
    [["-p", "hi", "--mode", "xml"], /Allowed choices are text, json/],
    [["-p", "hi", "--max-turns", "0"], /whole number from 1/],
    [["-p", "hi", "--thinking", "lots"], /Allowed choices/],
    [["-p", "hi", "--cwd", "/nonexistent"], /--cwd \/nonexistent is not a folder/],
    [["-p", "hi", "-e", "/nonexistent.ts"], /cannot load extension \/nonexistent\.ts/],
    [["-p", "hi", "@/nonexistent.txt"], /cannot attach @\/nonexistent\.txt/],
    [["-p", "hi", "--model", "replay:/nonexistent.yml"], /nonexistent\.yml/],
    [["-p"], /there is no prompt/],
    [["ext"], /Usage: xdev ext/],
    [["ext", "inspect"], /missing required argument 'path'/],
    [["ext", "nonsense"], /unknown command|too many arguments/],
  ];
  for (const [args, reason] of wrong) {
    test(`\`xdev ${args.join(" ")}\` is wrong use: status 2, and it says what is wrong`, async () => {
      using folder = new Folder();
      const outcome = await xdev(args, { env: { XDEV_DATA_DIR: folder.path } });
      assert.equal(outcome.status, 2);
      assert.equal(outcome.stdout, "");
      assert.match(outcome.stderr, reason);
    });
  }

  test("without a model the error names the file, the variables and the servers tried, with status 2", async () => {
    using folder = new Folder();
    const outcome = await xdev(["-p", "hi"], { env: { XDEV_DATA_DIR: folder.path } });
    assert.equal(outcome.status, 2);
    for (const part of [
      `${folder.path}/models.yml`,
      "ANTHROPIC_API_KEY",
      "OPENAI_API_KEY",
      "11434",
      "8080",
      "9931",
      "1234",
      "8000",
    ]) {
      assert.ok(outcome.stderr.includes(part), `${part} in ${outcome.stderr}`);
    }
  });

  test("a bad config.yml is named with its line, with status 2", async () => {
    using folder = new Folder();
    folder.file("config.yml", "extensionHost:\n  eventTimeoutMs: soon\n");
    const outcome = await xdev([
      "-p",
      "hi",
      "--model",
      `replay:${EXAMPLES}demo.yml`,
      "--data-dir",
      folder.path,
    ]);
    assert.equal(outcome.status, 2);
    assert.match(outcome.stderr, /config\.yml:2: extensionHost\.eventTimeoutMs/);
  });

  test("looking makes nothing: --help, models and ext list leave no data dir behind", async () => {
    using folder = new Folder();
    const dataDir = `${folder.path}/data`;
    for (const args of [["--help"], ["models"], ["ext", "list"]]) {
      assert.equal((await xdev(args, { env: { XDEV_DATA_DIR: dataDir } })).status, 0);
    }
    assert.ok(!existsSync(dataDir));
  });
});

describe("options before a command's name", () => {
  test("are the command's, or wrong use", async () => {
    using folder = new Folder();
    folder.file("data/extensions/a.ts", "export default () => {};");
    const env = { HOME: folder.path };
    const listed = await xdev(["--data-dir", `${folder.path}/data`, "ext", "list"], { env });
    assert.match(listed.stdout, /^a +worker +ready/);
    const named = await xdev(["-e", `${EXAMPLES}deny-rm.py`, "ext", "list", "--data-dir", folder.path], {
      env,
    });
    assert.match(named.stdout, /^deny-rm/);
    for (const args of [
      ["--mode", "json", "ext", "list"],
      ["--tools", "read", "models"],
      ["--model", "x/y", "ext", "inspect", "x"],
    ]) {
      const outcome = await xdev(args, { env });
      assert.equal(outcome.status, 2, args.join(" "));
      assert.match(outcome.stderr, /is not one of/);
    }
  });
});

describe("xdev ext", () => {
  test("a script that was clearly meant to be an extension and is not executable is told", async () => {
    using folder = new Folder();
    folder.file("extensions/policy.py", "#!/usr/bin/env python3\n");
    const outcome = await xdev(["ext", "list"], { env: { XDEV_DATA_DIR: folder.path } });
    assert.match(outcome.stderr, /policy\.py is neither executable .*chmod \+x/);
  });

  test("inspect takes a name of the data dir, too, and both typeboxes load", async () => {
    using folder = new Folder();
    for (const [name, from] of [
      ["one", "typebox"],
      ["two", "@sinclair/typebox"],
    ]) {
      folder.file(
        `extensions/${name}.ts`,
        `import { Type } from "${from}";
export default (pi) => pi.registerTool({ name: "${name}", parameters: Type.Object({ a: Type.String() }), execute: () => "" });`,
      );
      const outcome = await xdev(["ext", "inspect", name ?? "", "--json"], {
        env: { XDEV_DATA_DIR: folder.path },
      });
      assert.deepEqual(JSON.parse(outcome.stdout).tools, [name], outcome.stdout);
    }
  });

  test("inspect --json prints what the quick start registers, names only and sorted", async () => {
    using folder = new Folder();
    const path = `${EXAMPLES}quick-start.ts`;
    const outcome = await xdev(["ext", "inspect", path, "--json"], { env: { XDEV_DATA_DIR: folder.path } });
    assert.equal(outcome.status, 0);
    assert.deepEqual(JSON.parse(outcome.stdout), {
      name: "quick-start",
      path,
      kind: "worker",
      level: "worker",
      state: "ready",
      tools: ["hello_extension"],
      commands: ["hello-ext"],
      flags: [],
      shortcuts: [],
      events: ["session_start", "tool_call"],
      renderers: [],
      messageRenderers: [],
      providers: [],
    });
  });

  test("inspect prints a process extension the same way", async () => {
    using folder = new Folder();
    const outcome = await xdev(["ext", "inspect", `${EXAMPLES}deny-rm.py`, "--json"], {
      env: { XDEV_DATA_DIR: folder.path },
    });
    const found = JSON.parse(outcome.stdout);
    assert.deepEqual(
      [found.name, found.kind, found.state, found.events],
      ["deny-rm", "process", "ready", ["session_start", "tool_call"]],
    );
  });

  test("inspect shows flags, shortcuts, renderers and providers of a worker extension", async () => {
    using folder = new Folder();
    const path = folder.file(
      "all.ts",
      `export default (pi: any) => {
        pi.registerFlag("plan", { type: "boolean" });
        pi.registerShortcut("ctrl+x", { handler() {} });
        pi.registerMessageRenderer("note", () => {});
        pi.registerProvider("mine", {});
      };`,
    );
    const found = JSON.parse(
      (await xdev(["ext", "inspect", path, "--json"], { env: { XDEV_DATA_DIR: folder.path } })).stdout,
    );
    assert.deepEqual(
      [found.flags, found.shortcuts, found.messageRenderers, found.providers],
      [["plan"], ["ctrl+x"], ["note"], ["mine"]],
    );
  });

  test("inspect of one that does not load has status 1 and says why", async () => {
    using folder = new Folder();
    const path = folder.file("bad.ts", 'export default () => { throw new Error("not today"); };');
    const json = await xdev(["ext", "inspect", path, "--json"], { env: { XDEV_DATA_DIR: folder.path } });
    assert.equal(json.status, 1);
    const found = JSON.parse(json.stdout);
    assert.deepEqual(
      [found.state, found.error],
      ["failed", `threw while it loaded: not today (at ${path}:1)`],
    );
    assert.deepEqual(found.tools, []);
    const text = await xdev(["ext", "inspect", path], { env: { XDEV_DATA_DIR: folder.path } });
    assert.equal(text.status, 1);
    assert.match(text.stdout, /error: it threw while it loaded: not today/);
  });

  test("list shows the data dir's extensions in lexical order, and those that fail", async () => {
    using folder = new Folder();
    folder.file("extensions/b.ts", "export default () => {};");
    folder.program("extensions/a.sh", "#!/bin/sh\nexit 7\n");
    folder.file("extensions/notes.txt", "no extension");
    folder.file("extensions/c/index.ts", "export default () => {};");
    const outcome = await xdev(["ext", "list", "--json"], { env: { XDEV_DATA_DIR: folder.path } });
    assert.equal(outcome.status, 0);
    assert.deepEqual(
      JSON.parse(outcome.stdout).map((found: { name: string; state: string }) => [found.name, found.state]),
      [
        ["a", "failed"],
        ["b", "ready"],
        ["c", "ready"],
      ],
    );
  });

  test("neither a path nor a name can write to the terminal or forge a line", async () => {
    using folder = new Folder();
    const source = 'export default (pi) => pi.registerCommand("a\\n  error: FORGED", { handler() {} });';
    folder.file("extensions/\u001b]0;owned\u0007x.ts", source);
    const path = `${folder.path}/extensions/\u001b]0;owned\u0007x.ts`;
    for (const args of [
      ["ext", "list"],
      ["ext", "inspect", path],
    ]) {
      const { stdout } = await xdev(args, { env: { XDEV_DATA_DIR: folder.path } });
      assert.doesNotMatch(stdout, /[\u001b\u0007]|^ {2}error: FORGED/m);
      assert.match(stdout, /x {2}worker {2}ready|x\s+worker\s+ready/);
    }
  });

  test("a Ctrl+C ends an inspection at once", async () => {
    using folder = new Folder();
    const path = folder.file("loop.ts", "for (;;) {}");
    const { child, ended } = start(["ext", "inspect", path], { env: { XDEV_DATA_DIR: folder.path } });
    const before = performance.now();
    setTimeout(() => child.kill("SIGINT"), 300);
    assert.equal((await ended).status, 130);
    assert.ok(performance.now() - before < 8000, "it did not wait for the handshake's limit");
  });

  test("a name that tries to write to the terminal is made harmless", async () => {
    using folder = new Folder();
    const path = folder.file(
      "x.ts",
      'export default (pi) => { throw new Error("\\u001b]0;owned\\u0007\\u001b[2Jboo"); };',
    );
    const outcome = await xdev(["ext", "inspect", path], { env: { XDEV_DATA_DIR: folder.path } });
    assert.doesNotMatch(outcome.stdout, /\u001b|\u0007/);
    assert.match(outcome.stdout, /boo/);
  });
});
