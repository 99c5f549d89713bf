/** Flags, completions, shortcuts and the end of a program by an extension, in the compiled program. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { describe, test } from "node:test";
import { Folder } from "../support/folder.ts";
import { XDEV, xdev } from "../support/xdev.ts";

const FLAGS = `export default (pi) => {
  pi.registerFlag("plan", { description: "plans first", type: "boolean", default: false });
  pi.registerFlag("preset", { description: "a preset", type: "string", default: "none" });
  const early = pi.getFlag("plan");
  pi.registerCommand("flags", {
    handler: async (args) => JSON.stringify([early, pi.getFlag("plan"), pi.getFlag("preset"), pi.getFlag("other") ?? null, args]),
  });
};`;

describe("a flag of an extension", () => {
  const cases: [string[], unknown][] = [
    [[], [false, false, "none", null, "x"]],
    [["--plan"], [true, true, "none", null, "x"]],
    [
      ["--preset", "fast", "--plan"],
      [true, true, "fast", null, "x"],
    ],
    [
      ["--plan=false", "--preset=a b"],
      [false, false, "a b", null, "x"],
    ],
    [
      ["--no-plan", "--preset", "1", "--preset", "2"],
      [false, false, "2", null, "x"],
    ],
  ];
  for (const [options, said] of cases) {
    test(`is an option: ${options.join(" ") || "none"}`, async () => {
      using folder = new Folder();
      folder.file("data/extensions/f.ts", FLAGS);
      const { stdout, stderr, status } = await xdev([...options, "-p", "/flags x"], {
        env: { XDEV_DATA_DIR: `${folder.path}/data` },
      });
      assert.equal(status, 0, stderr);
      assert.deepEqual(JSON.parse(stdout), said);
    });
  }

  test("is in the help, with -e as well", async () => {
    using folder = new Folder();
    const path = folder.file("f.ts", FLAGS);
    const { stdout, status } = await xdev(["--help", "-e", path], {
      env: { XDEV_DATA_DIR: `${folder.path}/data` },
    });
    assert.equal(status, 0);
    assert.match(
      stdout,
      /Options of extensions:\n {2}--plan +plans first \(f\)\n {2}--preset <text> +a preset \(f\)\n$/,
    );
  });

  const wrong: [string[], RegExp][] = [
    [["--prest", "x"], /unknown option '--prest'\n.*Did you mean --preset\?/],
    [["--nothing-like-it"], /unknown option '--nothing-like-it'\n.*extensions have --plan, --preset/],
    [["-z"], /unknown option '-z'/],
    [["--preset"], /there is no prompt|--preset takes a text/],
    [["--preset", "--plan"], /--preset takes a text/],
  ];
  for (const [options, reason] of wrong) {
    test(`${options.join(" ")} is wrong use, and the message names the option`, async () => {
      using folder = new Folder();
      folder.file("data/extensions/f.ts", FLAGS);
      const outcome = await xdev([...options, "/flags"], { env: { XDEV_DATA_DIR: `${folder.path}/data` } });
      assert.equal(outcome.status, 2);
      assert.match(outcome.stderr, reason);
      assert.equal(outcome.stdout, "");
    });
  }

  test("may be a process's, which asks for its value", async () => {
    using folder = new Folder();
    const program = folder.program(
      "flagged",
      `#!/usr/bin/env python3
import json, sys
def send(frame):
    print(json.dumps(frame), flush=True)
send({"type": "capabilities", "payload": {"features": ["call"], "commands": ["flags"],
    "flags": [{"name": "depth", "type": "string", "default": "1"}, "quick"]}})
asked, values = None, []
for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "event":
        asked = frame["id"]
        for name in ("depth", "quick"):
            send({"type": "call", "id": name, "method": "flags.get", "params": {"name": name}})
    elif frame["type"] == "return":
        values.append(frame.get("result"))
        if len(values) == 2:
            send({"type": "response", "id": asked, "patch": json.dumps(values)})
`,
    );
    const env = { XDEV_DATA_DIR: `${folder.path}/data` };
    for (const [options, said] of [
      [[], ["1", null]],
      [
        ["--depth=3", "--quick"],
        ["3", true],
      ],
    ] as const) {
      const { stdout, stderr } = await xdev([...options, "-e", program, "-p", "/ext:flagged:flags"], { env });
      assert.deepEqual(JSON.parse(stdout || "null"), said, stderr);
    }
  });

  test("of a name that xdev has is told and is none", async () => {
    using folder = new Folder();
    folder.file("data/extensions/f.ts", FLAGS.replaceAll('"plan"', '"verbose"'));
    const { stdout, stderr } = await xdev(["-p", "/flags x"], {
      env: { XDEV_DATA_DIR: `${folder.path}/data` },
    });
    assert.match(stderr, /extension f: its flag --verbose is skipped, xdev has an option of that name/);
    assert.deepEqual(JSON.parse(stdout), [false, false, "none", null, "x"]);
  });

  test("words behind -- are the prompt, whatever they look like", async () => {
    using folder = new Folder();
    folder.file("data/extensions/f.ts", FLAGS);
    const replay = folder.file("r.yml", '- expect: { role: user, contains: "--plan it" }\n  text: ok\n');
    const { stdout, stderr } = await xdev(
      ["--preset", "x", "-p", "--model", `replay:${replay}`, "--", "--plan", "it"],
      {
        env: { XDEV_DATA_DIR: `${folder.path}/data` },
      },
    );
    assert.equal(stdout.trim(), "ok", stderr);
  });
});

const RPC = `export default (pi) => {
  pi.registerCommand("go", { description: "goes", handler() {}, getArgumentCompletions: (prefix) => ["north", "south"].filter((x) => x.startsWith(prefix)) });
  pi.registerShortcut("ctrl+x", { description: "greets", handler: (ctx) => ctx.ui.notify("pressed in " + ctx.mode) });
  pi.registerShortcut("ctrl+c", { handler() {} });
  pi.registerCommand("quit", { handler: async (args, ctx) => ctx.shutdown() });
  pi.registerCommand("fresh", { handler: async (args, ctx) => {
    const before = ctx.sessionManager.getSessionId();
    let refused;
    await ctx.newSession({
      setup: async (sm) => {
        await sm.appendCustomEntry("kept", { before });
        try { sm.appendMessage({ role: "user", content: "x" }); } catch (error) { refused = error.message; }
      },
      withSession: async (next) => {
        await next.sendMessage({ customType: "note", content: "carried over", display: true });
        next.ui.notify(JSON.stringify([
          next.sessionManager.getSessionId() !== before, refused.includes("appendCustomMessageEntry"),
          next.sessionManager.getEntries().filter(({ type }) => type.startsWith("custom")).map(({ customType }) => customType),
        ]));
      },
    });
  } });
  pi.registerCommand("label", { handler: async (args, ctx) => {
    pi.setLabel(ctx.sessionManager.getLeafId(), "here");
  } });
  pi.registerCommand("look", { handler: async (args, ctx) => JSON.stringify({
    label: ctx.sessionManager.getLabel(ctx.sessionManager.getEntries().find(({ type }) => type === "message").id) ?? null,
    model: ctx.model, level: ctx.thinkingLevel, trusted: ctx.isProjectTrusted(), scoped: ctx.scopedModels,
    tools: pi.getAllTools().map(({ name, parameters, sourceInfo }) => [name, parameters.type, sourceInfo.source]),
    commands: pi.getCommands().map(({ name, source, sourceInfo }) => [name, source, sourceInfo.path.endsWith("r.ts")]),
    settings: typeof pi.getSettings().retry, sections: Object.keys(ctx.getSystemPromptOptions().sections),
    absent: [
      ctx.ui.setWorkingIndicator(), ctx.ui.setHiddenThinkingLabel("x"), ctx.ui.setWorkingVisible(false), ctx.ui.setWorkingMessage("x"),
      ctx.ui.addAutocompleteProvider(() => {}), ctx.ui.getEditorComponent(), pi.registerMcpServer("x", {}),
    ].every((value) => value === undefined) && pi.getMcpServers().length === 0 && ctx.ui.theme.fg("accent", "x").includes("x"),
  }) });
  pi.on("agent_settled", (event, ctx) => ctx.ui.notify("settled " + event.aborted));
  pi.on("session_info_changed", (event, ctx) => ctx.ui.notify("named " + event.name));
};`;

/** A client by hand: sends lines, and keeps what comes. */
function rpc(folder: Folder, ...args: string[]) {
  const child = spawn(XDEV, ["--mode", "rpc", ...args], {
    cwd: folder.path,
    env: { PATH: process.env.PATH, HOME: folder.path, XDEV_DATA_DIR: `${folder.path}/data` },
    stdio: ["pipe", "pipe", "inherit"],
  });
  const records: Record<string, unknown>[] = [];
  let wake = Promise.withResolvers<void>();
  createInterface({ input: child.stdout }).on("line", (line) => {
    records.push(JSON.parse(line) as Record<string, unknown>);
    wake.resolve();
    wake = Promise.withResolvers();
  });
  const ended = new Promise<number | null>((resolve) => child.on("exit", resolve));
  const until = async (wanted: (record: Record<string, unknown>) => boolean) => {
    for (;;) {
      const found = records.find(wanted);
      if (found) return found;
      await Promise.race([
        wake.promise,
        ended.then(() => {
          throw new Error(`it ended: ${JSON.stringify(records)}`);
        }),
      ]);
    }
  };
  let last = 0;
  return {
    records,
    until,
    ended,
    // biome-ignore lint/suspicious/noExplicitAny: data of a response, looked at by the test
    async ask(type: string, params: object = {}): Promise<any> {
      const id = String(++last);
      child.stdin.write(`${JSON.stringify({ id, type, ...params })}\n`);
      return until((record) => record.type === "response" && record.id === id);
    },
    async [Symbol.asyncDispose]() {
      child.kill();
      await ended;
    },
  };
}

describe("in rpc mode", () => {
  test("a client gets completions, lists and runs shortcuts, and hears what extensions make of them", async () => {
    using folder = new Folder();
    folder.file("data/extensions/r.ts", RPC);
    await using client = rpc(folder, "--model", `replay:${folder.file("r.yml", "- text: ok\n")}`);
    const { data } = await client.ask("get_commands");
    assert.equal(data.commands.find(({ name }: { name: string }) => name === "go").completes, true);
    const { data: offered } = await client.ask("get_completions", { command: "go", prefix: "s" });
    assert.deepEqual(offered, { completions: [{ value: "south", label: "south" }] });
    const { data: listed } = await client.ask("get_shortcuts");
    assert.deepEqual(listed, { shortcuts: [{ key: "ctrl+x", description: "greets", extension: "r" }] });
    assert.equal((await client.ask("run_shortcut", { key: "ctrl+x" })).success, true);
    await client.until((record) => record.method === "notify" && record.message === "pressed in rpc");
    const refused = await client.ask("run_shortcut", { key: "ctrl+c" });
    assert.match(refused.error, /no extension has the shortcut ctrl\+c/);
  });

  test("an extension sees the model as data without secrets, and everything else of the family is there", async () => {
    using folder = new Folder();
    folder.file("data/extensions/r.ts", RPC);
    assert.equal(
      (
        await xdev(["ext", "grant", "r", "--session=write"], {
          env: { XDEV_DATA_DIR: `${folder.path}/data` },
        })
      ).status,
      0,
    );
    await using client = rpc(folder, "--model", `replay:${folder.file("r.yml", "- text: ok\n")}`);
    await client.ask("prompt", { message: "hi" });
    await client.until((record) => record.method === "notify" && record.message === "settled false");
    await client.until(
      (record) => record.method === "notify" && String(record.message).startsWith("named hi"),
    );
    await client.ask("prompt", { message: "/label" });
    const looked = await client.ask("prompt", { message: "/look" });
    assert.equal(looked.success, true, looked.error);
    const { text } = await client.until((record) => record.type === "command_output");
    const seen = JSON.parse(String(text));
    assert.deepEqual(
      Object.keys(seen.model).filter((key) => /key|header/i.test(key)),
      [],
    );
    assert.equal(typeof seen.model.provider, "string");
    assert.equal(typeof seen.model.contextWindow, "number");
    assert.equal(seen.level, "off");
    assert.equal(seen.trusted, false);
    assert.deepEqual(seen.scoped, []);
    assert.ok(
      seen.tools.some(
        (tool: unknown[]) => tool[0] === "bash" && tool[1] === "object" && tool[2] === "builtin",
      ),
    );
    assert.ok(
      seen.commands.some(
        (command: unknown[]) => command[0] === "go" && command[1] === "extension" && command[2],
      ),
    );
    assert.equal(seen.settings, "object");
    assert.deepEqual(seen.sections, []);
    assert.equal(seen.absent, true);
    const { data } = await client.ask("get_entries");
    assert.ok(
      data.entries.some(
        (entry: { type: string; label?: string }) => entry.type === "label" && entry.label === "here",
      ),
    );
  });

  test("a command goes on in the session that it has begun", async () => {
    using folder = new Folder();
    folder.file("data/extensions/r.ts", RPC);
    const env = { XDEV_DATA_DIR: `${folder.path}/data` };
    assert.equal((await xdev(["ext", "grant", "r", "--session=write"], { env })).status, 0);
    await using client = rpc(folder, "--model", `replay:${folder.file("r.yml", "- text: ok\n")}`);
    assert.equal((await client.ask("prompt", { message: "/fresh" })).success, true);
    await client.until(
      ({ method, message }) => method === "notify" && message === '[true,true,["kept","note"]]',
    );
  });

  test("an extension ends the program when nothing goes on, with the permission session: write", async () => {
    using folder = new Folder();
    folder.file("data/extensions/r.ts", RPC);
    const env = { XDEV_DATA_DIR: `${folder.path}/data` };
    const replay = folder.file("r.yml", "- text: ok\n");
    {
      await using client = rpc(folder, "--model", `replay:${replay}`, "--no-session");
      await client.ask("prompt", { message: "/quit" });
      assert.equal((await client.ask("get_state")).success, true);
    }
    assert.equal((await xdev(["ext", "grant", "r", "--session=write"], { env })).status, 0);
    await using client = rpc(folder, "--model", `replay:${replay}`, "--no-session");
    assert.equal((await client.ask("prompt", { message: "/quit" })).success, true);
    assert.equal(await client.ended, 0);
  });
});
