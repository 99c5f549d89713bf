/** Print and json mode of the compiled program, with the replay model. */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, closeSync, existsSync, openSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, test } from "node:test";
import { startModelServer } from "../fixtures/model-server.ts";
import { Folder } from "../support/folder.ts";
import { gone, isRunning } from "../support/processes.ts";
import { EXAMPLES, events, start, toolResults, XDEV, xdev } from "../support/xdev.ts";

/** Writes a replay and gives the arguments that play it. */
function replay(folder: Folder, turns: unknown[], ...more: string[]): string[] {
  const file = folder.file("replay.json", JSON.stringify(turns));
  return ["-p", "go", "--model", `replay:${file}`, "--data-dir", join(folder.path, "data"), ...more];
}

function call(name: string, args: Record<string, unknown>) {
  return { toolCalls: [{ name, arguments: args }] };
}

describe("print mode", () => {
  test("prints the last answer alone on standard output, with status 0", async () => {
    using folder = new Folder();
    const outcome = await xdev(
      replay(folder, [{ text: "first", ...call("bash", { command: "echo hi" }) }, { text: "done" }]),
    );
    assert.deepEqual(outcome, { status: 0, signal: null, stdout: "done\n", stderr: "" });
  });

  test("a prompt without -p runs, too, when standard output is no terminal", async () => {
    using folder = new Folder();
    const [, ...args] = replay(folder, [{ text: "done", expect: { role: "user", contains: "go" } }]);
    assert.equal((await xdev(args)).stdout, "done\n");
  });

  test("piped standard input joins the prompt, and is the prompt if there is no other", async () => {
    using folder = new Folder();
    const turns = [{ text: "ok", expect: { role: "user", matches: "^go\nfrom the pipe$" } }];
    assert.equal((await xdev(replay(folder, turns), { input: "from the pipe" })).stdout, "ok\n");
    const alone = [{ text: "ok", expect: { role: "user", matches: "^from the pipe$" } }];
    const args = replay(folder, alone).filter((word) => word !== "go");
    assert.equal((await xdev(args, { input: "from the pipe" })).stdout, "ok\n");
  });

  test("@file attaches a text file with its name, and an image as an image", async () => {
    using folder = new Folder();
    folder.file("a.txt", "the text");
    folder.file("b.png", Buffer.from("89504e470d0a1a0a0000000d49484452", "hex"));
    const outcome = await xdev(replay(folder, [{ text: "ok" }], "@a.txt", "@b.png", "--mode", "json"), {
      cwd: folder.path,
    });
    const message = events(outcome).find(
      (event) => event.type === "message_end" && (event.message as { role: string }).role === "user",
    )?.message as { content: { type: string; text?: string; mimeType?: string }[] };
    assert.match(message.content[0]?.text ?? "", /<file name="a\.txt">\nthe text\n<\/file>[\s\S]*go/);
    assert.equal(message.content[1]?.mimeType, "image/png");
  });

  test("a failing run has status 1, says why on standard error, and prints nothing else", async () => {
    using folder = new Folder();
    const outcome = await xdev(replay(folder, [{ error: "the model is out" }]));
    assert.deepEqual([outcome.status, outcome.stdout], [1, ""]);
    assert.match(outcome.stderr, /^xdev: .*the model is out/);
  });

  test("--max-turns ends the run with status 1 and says so", async () => {
    using folder = new Folder();
    const turn = call("bash", { command: "true" });
    const outcome = await xdev(replay(folder, [turn, turn, turn, { text: "done" }], "--max-turns", "2"));
    assert.equal(outcome.status, 1);
    assert.match(outcome.stderr, /stopped after 2 turns \(--max-turns\)/);
    const enough = await xdev(replay(folder, [turn, { text: "done" }], "--max-turns", "2"));
    assert.deepEqual([enough.status, enough.stdout], [0, "done\n"]);
  });

  test("--tools allows only those named, --no-tools none, and an unknown name is wrong use", async () => {
    using folder = new Folder();
    const turns = [call("bash", { command: "echo hi" }), { text: "ok" }];
    const only = await xdev(replay(folder, turns, "--tools", "read,ls", "--mode", "json"));
    assert.deepEqual(toolResults(only)[0]?.slice(0, 2), ["bash", true]);
    const none = await xdev(replay(folder, turns, "--no-tools", "--mode", "json"));
    assert.deepEqual(toolResults(none)[0]?.slice(0, 2), ["bash", true]);
    const unknown = await xdev(replay(folder, turns, "--tools", "read,write_all"));
    assert.equal(unknown.status, 2);
    assert.match(unknown.stderr, /there is no tool write_all[\s\S]*read, write/);
  });

  test("turns of a replay that were not played are told", async () => {
    using folder = new Folder();
    const outcome = await xdev(replay(folder, [{ text: "one" }, { text: "two" }]));
    assert.deepEqual([outcome.status, outcome.stdout], [0, "one\n"]);
    assert.match(outcome.stderr, /1 of 2 turns were not played/);
  });

  test("what an extension said before it failed to load is told with it", async () => {
    using folder = new Folder();
    const path = folder.program("bad.sh", "#!/bin/sh\necho 'the reason is this' >&2\nexit 3\n");
    const outcome = await xdev(replay(folder, [{ text: "ok" }], "-e", path));
    assert.match(
      outcome.stderr,
      /exited with status 3 \(it said: the reason is this\); it is not loaded and checks no tool call/,
    );
  });

  test("an attached file has the name that the tools know it by", async () => {
    using folder = new Folder();
    folder.file("here/a.txt", "the text");
    folder.file("there/x", "");
    const args = replay(folder, [
      { text: "ok", expect: { role: "user", contains: `<file name="${folder.path}/here/a.txt">` } },
    ]);
    const outcome = await xdev([...args, "@a.txt", "--cwd", `${folder.path}/there`], {
      cwd: `${folder.path}/here`,
    });
    assert.equal(outcome.stdout, "ok\n", outcome.stderr);
  });

  test("text of the model cannot write to the terminal", async () => {
    using folder = new Folder();
    const outcome = await xdev(replay(folder, [{ text: "a\u001b]52;c;aGk=\u0007b\u001b[2J" }]));
    assert.equal(outcome.stdout, "ab\n");
  });

  test("a reader that goes away ends the run quietly", async () => {
    using folder = new Folder();
    const turns = [{ text: "x".repeat(1000), ...call("bash", { command: "sleep 0.2" }) }, { text: "y" }];
    const { child, ended } = start(replay(folder, turns, "--mode", "json"));
    child.stdout?.destroy();
    assert.notEqual((await ended).status, 0);
  });

  if (!existsSync("/proc/self/status")) console.log("not tried: memory of a flood (no /proc)");
  else {
    test("a command that floods its output costs bounded memory", async () => {
      using folder = new Folder();
      const turns = [
        call("bash", { command: "yes 0123456789012345678901234567890", timeout: 3 }),
        // The shell's parent is the program: the most that it ever held.
        call("bash", { command: "grep -E '^(Name|VmHWM)' /proc/$PPID/status" }),
        { text: "ok" },
      ];
      const [flood, peak] = toolResults(await xdev(replay(folder, turns, "--mode", "json")));
      assert.match(flood![2], /timed out after 3 s/);
      const [, kB] = /^Name:\s+xdev\nVmHWM:\s+(\d+) kB/.exec(peak![2]) ?? assert.fail(peak![2]);
      assert.ok(Number(kB) < 300 * 1024, `${kB} kB`);
    });
  }

  test("a reader that never reads does not keep a program that is told to end", {
    timeout: 60_000,
  }, async () => {
    using folder = new Folder();
    const turns = [{ text: "word ".repeat(200_000) }];
    const child = spawn(XDEV, replay(folder, turns, "--mode", "json"), {
      stdio: ["ignore", "pipe", "ignore"],
    });
    child.stdout.pause();
    // Something has come: the pipe fills up, and nobody empties it.
    await once(child.stdout, "readable");
    child.kill("SIGTERM");
    const [status] = await once(child, "exit");
    assert.equal(status, 143);
    child.stdout.destroy();
  });

  const full = "/dev/full";
  if (!existsSync(full)) console.log(`not tried: a full disk under standard output (no ${full})`);
  else {
    test("standard output that cannot be written is a failure, in each mode, and said", async () => {
      for (const mode of ["print", "json"]) {
        using folder = new Folder();
        const output = openSync(full, "w");
        const args = replay(folder, [{ text: "done" }], ...(mode === "json" ? ["--mode", "json"] : []));
        const { status, stderr } = spawnSync(XDEV, args, {
          stdio: ["ignore", output, "pipe"],
          encoding: "utf8",
        });
        closeSync(output);
        assert.equal(status, 1, mode);
        assert.match(
          stderr,
          /^xdev: standard output cannot be written \(ENOSPC\): what it holds is not whole$/m,
        );
      }
    });
  }
});

test("what is added to the system prompt is a text, or the file of that name", async () => {
  using folder = new Folder();
  const server = await startModelServer({ script: [{ text: "one" }, { text: "two" }] });
  try {
    const models = { local: { baseUrl: server.baseUrl, api: "openai-completions", models: [{ id: "m" }] } };
    folder.file("data/models.yml", JSON.stringify({ providers: models }));
    folder.file("more.md", "Speak in rhymes.");
    for (const added of ["more.md", "more words"]) {
      const args = ["-p", "hi", "--data-dir", "data", "--append-system-prompt", added];
      assert.equal((await xdev(args, { cwd: folder.path })).status, 0);
    }
    const systems = server.requests.map(({ body }) =>
      JSON.stringify((body as { messages: unknown[] }).messages[0]),
    );
    assert.match(systems[0]!, /Speak in rhymes\./);
    assert.match(systems[1]!, /more words/);
  } finally {
    await server.close();
  }
});

describe("an unprivileged user's run", () => {
  const root = process.getuid?.() === 0;
  test("write and edit refuse a file that is read-only, and say so", async () => {
    using folder = new Folder();
    chmodSync(folder.path, 0o777);
    const fixed = folder.file("fixed.txt", "old", 0o444);
    const turns = [
      call("write", { path: fixed, content: "new" }),
      call("edit", { path: fixed, edits: [{ oldText: "old", newText: "new" }] }),
      { text: "ok" },
    ];
    const outcome = await xdev(
      replay(folder, turns, "--mode", "json"),
      root ? { uid: 65534, gid: 65534 } : {},
    );
    for (const [tool, isError, text] of toolResults(outcome)) {
      assert.ok(isError, tool);
      assert.match(text, /read-only/);
    }
    assert.equal(readFileSync(fixed, "utf8"), "old");
  });
});

describe("json mode", () => {
  test("prints the session's header, and each event as a line, in order", async () => {
    using folder = new Folder();
    const outcome = await xdev(
      replay(folder, [call("bash", { command: "echo hi" }), { text: "done" }], "--mode", "json"),
    );
    const types = events(outcome).map(({ type }) => type);
    const wanted = [
      "session",
      "session_start",
      "agent_start",
      "turn_start",
      "tool_execution_start",
      "tool_execution_end",
      "turn_end",
      "turn_start",
      "turn_end",
      "agent_end",
      "agent_settled",
      "session_shutdown",
    ];
    assert.deepEqual(
      types.filter((type) => wanted.includes(type as string)),
      wanted,
    );
    assert.deepEqual([types[0], types.at(-1)], ["session", "session_shutdown"]);
    assert.deepEqual(toolResults(outcome), [["bash", false, "hi"]]);
  });

  test("an error in a handler of an extension is one of the events, and the run goes on", async () => {
    using folder = new Folder();
    const path = folder.file(
      "bad.ts",
      "export default (pi) => pi.on('turn_start', () => { throw new Error('not today'); });",
    );
    const outcome = await xdev(replay(folder, [{ text: "done" }], "--mode", "json", "-e", path));
    assert.equal(outcome.status, 0, outcome.stderr);
    const errors = events(outcome).filter(({ type }) => type === "extension_error");
    assert.deepEqual(
      errors.map(({ extensionPath, event }) => [extensionPath, event]),
      [[path, "turn_start"]],
    );
    assert.match(String(errors[0]!.error), /not today/);
  });

  test("events are written as they happen, not at the end", async () => {
    using folder = new Folder();
    const fifo = join(folder.path, "gate");
    const turns = [
      call("bash", { command: `while [ ! -e ${fifo} ]; do sleep 0.01; done; echo opened` }),
      { text: "ok" },
    ];
    const { child, ended } = start(replay(folder, turns, "--mode", "json"));
    for await (const line of createInterface({ input: child.stdout! })) {
      if (JSON.parse(line).type === "tool_execution_start") folder.file("gate", "");
    }
    assert.equal((await ended).status, 0);
  });

  test("a streamed delta carries the change alone", async () => {
    using folder = new Folder();
    const outcome = await xdev(replay(folder, [{ text: "one two three four five" }], "--mode", "json"));
    const updates = events(outcome).filter(({ type }) => type === "message_update");
    assert.ok(updates.length > 0);
    for (const update of updates) assert.deepEqual(Object.keys(update), ["type", "assistantMessageEvent"]);
    const deltas = updates.map((update) => (update.assistantMessageEvent as { delta?: string }).delta ?? "");
    assert.equal(deltas.join(""), "one two three four five");
  });
});

test("a run that ends with open items of the todo list goes on, and the model is reminded of them", async () => {
  using folder = new Folder();
  const turns = [
    call("todo", { action: "add", items: ["look", "act"] }),
    { text: "that is all" },
    { ...call("todo", { action: "complete", id: 1 }), expect: { role: "user", contains: "2 [ ] act" } },
    call("todo", { action: "complete", id: 2 }),
    { text: "done" },
  ];
  const outcome = await xdev(replay(folder, turns, "--mode", "json"));
  assert.equal(outcome.status, 0, outcome.stderr);
  const reminders = events(outcome).filter(({ type }) => type === "todo_reminder");
  assert.deepEqual(
    reminders.map(({ attempt, todos }) => [attempt, (todos as unknown[]).length]),
    [[1, 2]],
  );
});

describe("an interrupted run", () => {
  for (const [signal, status] of [
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ] as const) {
    test(`${signal} kills the running tool with its whole group, still prints, and has status ${status}`, async () => {
      using folder = new Folder();
      const pidFile = join(folder.path, "pid");
      const command = `sh -c 'echo $$ > ${pidFile}; trap "" TERM INT; while :; do sleep 0.05; done' & wait`;
      const { child, ended } = start(
        replay(folder, [call("bash", { command }), { text: "no" }], "--mode", "json"),
      );
      while (!existsSync(pidFile) || readFileSync(pidFile, "utf8") === "")
        await new Promise((r) => setTimeout(r, 5));
      child.kill(signal);
      const outcome = await ended;
      assert.equal(outcome.status, status);
      assert.equal(outcome.stderr, "xdev: interrupted\n");
      assert.ok(events(outcome).some(({ type }) => type === "agent_end"));
      assert.equal(events(outcome).at(-1)?.type, "session_shutdown");
      await gone(Number(readFileSync(pidFile, "utf8")));
    });
  }

  test("while a model answers, it ends at once with status 130", async () => {
    using folder = new Folder();
    const { child, ended } = start(replay(folder, [{ text: "never", delayMs: 600_000 }], "--mode", "json"));
    for await (const line of createInterface({ input: child.stdout! })) {
      if (JSON.parse(line).type === "turn_start") child.kill("SIGINT");
    }
    assert.equal((await ended).status, 130);
  });

  test("while an extension hangs in tool_call, it ends at once and the call does not run", async () => {
    using folder = new Folder();
    const hang = folder.file("hang.ts", "export default (pi) => pi.on('tool_call', () => { for (;;) {} });");
    const canary = join(folder.path, "ran");
    const turns = [call("bash", { command: `touch ${canary}` }), { text: "no" }];
    const { child, ended } = start(replay(folder, turns, "--mode", "json", "-e", hang));
    for await (const line of createInterface({ input: child.stdout! })) {
      if (JSON.parse(line).type === "tool_execution_start") child.kill("SIGINT");
    }
    assert.equal((await ended).status, 130);
    assert.ok(!existsSync(canary));
  });

  test("killed with SIGKILL it leaves no extension running", async () => {
    using folder = new Folder();
    const pidFile = join(folder.path, "pid");
    const path = folder.program(
      "pid.sh",
      `#!/bin/sh\necho $$ > ${pidFile}\nprintf '%s\\n' '{"type":"capabilities","payload":{}}'\nexec cat >/dev/null\n`,
    );
    const { child, ended } = start(
      replay(folder, [{ text: "x", delayMs: 600_000 }], "--mode", "json", "-e", path),
    );
    for await (const line of createInterface({ input: child.stdout! })) {
      if (JSON.parse(line).type === "turn_start") child.kill("SIGKILL");
    }
    await ended;
    await gone(Number(readFileSync(pidFile, "utf8")));
  });
});

describe("extensions in a run", () => {
  test("the demo's policy, sandboxed tool and file round trip all take part", async () => {
    using folder = new Folder();
    const args = [
      "-p",
      "go",
      "--mode",
      "json",
      "--model",
      `replay:${EXAMPLES}demo.yml`,
      "--data-dir",
      folder.path,
    ];
    const names = ["deny-rm.py", "quick-start.ts", "curious.ts"];
    const extensions = names.flatMap((name) => ["-e", `${EXAMPLES}${name}`]);
    const outcome = await xdev([...args, ...extensions], { cwd: folder.path });
    assert.equal(outcome.status, 0);
    assert.deepEqual(toolResults(outcome).slice(0, 3), [
      ["bash", false, "hello from the shell"],
      ["bash", true, "blocked by extension deny-rm: rm -rf is disabled in this project"],
      ["hello_extension", false, "Hello, world"],
    ]);
  });

  test("extensions of the data dir load by themselves, and --no-extensions leaves them out", async () => {
    using folder = new Folder();
    folder.file(
      "data/extensions/deny.ts",
      'export default (pi) => pi.on("tool_call", () => ({ block: true, reason: "no" }));',
    );
    const turns = [call("bash", { command: "echo hi" }), { text: "ok" }];
    const denied = await xdev(replay(folder, turns, "--mode", "json"));
    assert.deepEqual(toolResults(denied), [["bash", true, "blocked by extension deny: no"]]);
    const free = await xdev(replay(folder, turns, "--mode", "json", "--no-extensions"));
    assert.deepEqual(toolResults(free), [["bash", false, "hi"]]);
  });

  test("what a revised call runs is the revision, checked against the tool's schema", async () => {
    using folder = new Folder();
    const good = folder.file(
      "good.ts",
      'export default (pi) => pi.on("tool_call", (e) => { e.input.command = "echo revised"; });',
    );
    const bad = folder.file(
      "bad.ts",
      'export default (pi) => pi.on("tool_call", (e) => { e.input = { wrong: [1] }; });',
    );
    const turns = [call("bash", { command: "echo original" }), { text: "ok" }];
    const play = (path: string, name: string) =>
      xdev(replay(folder, turns, "--mode", "json", "-e", path, `--allow-all=${name}`));
    assert.deepEqual(toolResults(await play(good, "good")), [["bash", false, "revised"]]);
    const [result] = toolResults(await play(bad, "bad"));
    assert.equal(result?.[1], true);
    assert.match(result?.[2] ?? "", /blocked by extension bad: its revised arguments are not valid/);
  });

  test("a promise that nobody handles and an error in a timer end nothing", async () => {
    using folder = new Folder();
    const stray = folder.file(
      "stray.ts",
      `export default (pi) => pi.on("tool_call", async () => {
        Promise.reject(new Error("stray"));
        await new Promise((resolve) => setTimeout(() => { resolve(); throw new Error("stray"); }, 1));
        await new Promise((resolve) => setTimeout(resolve, 20));
      });`,
    );
    const turns = [
      call("bash", { command: "echo hi" }),
      call("bash", { command: "echo ho" }),
      { text: "ok" },
    ];
    assert.deepEqual(toolResults(await xdev(replay(folder, turns, "--mode", "json", "-e", stray))), [
      ["bash", false, "hi"],
      ["bash", false, "ho"],
    ]);
  });

  test("an extension's command answers a prompt, and the model is not asked", async () => {
    using folder = new Folder();
    const path = folder.file(
      "c.ts",
      'export default (pi) => pi.registerCommand("greet", { handler: (args) => `hello ${args}` });',
    );
    for (const prompt of ["/ext:c:greet you", "/ext:greet you", "/greet you"]) {
      const args = ["-p", prompt, "--data-dir", folder.path, "-e", path];
      assert.deepEqual(await xdev(args), { status: 0, signal: null, stdout: "hello you\n", stderr: "" });
    }
  });

  test("steer of an extension reaches the model at the next step", async () => {
    using folder = new Folder();
    const path = folder.program(
      "steer.sh",
      `#!/bin/sh
printf '%s\\n' '{"type":"capabilities","payload":{"events":["tool_call"]}}'
while read -r line; do
  case "$line" in *'"type":"event"'*) ;; *) continue ;; esac
  id=$(printf '%s' "$line" | sed 's/.*"id":"\\([0-9]*\\)".*/\\1/')
  printf '{"type":"action","action":"steer","text":"look left"}\\n{"type":"response","id":"%s","allow":true}\\n' "$id"
done
`,
    );
    const turns = [
      call("bash", { command: "true" }),
      { text: "ok", expect: { role: "user", contains: "look left" } },
    ];
    const outcome = await xdev(replay(folder, turns, "-e", path));
    assert.deepEqual(outcome, { status: 0, signal: null, stdout: "ok\n", stderr: "" });
  });

  test("no temporary file is left in the data dir", async () => {
    using folder = new Folder();
    const turns = [call("bash", { command: "seq 1 5000" }), { text: "ok" }];
    const outcome = await xdev(replay(folder, turns, "--mode", "json"));
    const path = /\S*\/data\/tmp\/\S+/.exec(toolResults(outcome)[0]?.[2] ?? "")?.[0] ?? "";
    assert.notEqual(path, "", "the result names the file with the rest");
    assert.deepEqual(readdirSync(join(folder.path, "data", "tmp")), []);
  });

  test("AGENTS.md files join the system prompt; a link out of the repository does not", async () => {
    using folder = new Folder();
    folder.file("data/AGENTS.md", "from the data dir");
    folder.file("repo/.git/HEAD", "");
    folder.file("repo/AGENTS.md", "from the repository \u001b[31m");
    folder.file("secret.md", "a secret");
    symlinkSync("../../secret.md", join(folder.path, "repo", "AGENTS.md.link"));
    folder.file("repo/sub/x", "");
    symlinkSync("../../secret.md", join(folder.path, "repo/sub/AGENTS.md"));
    const outcome = await xdev(
      replay(folder, [{ text: "ok" }], "--mode", "json", "--cwd", join(folder.path, "repo/sub")),
    );
    const system = events(outcome).find(
      (event) => (event.message as { role?: string } | undefined)?.role === "system",
    ) as { message: { content: string } } | undefined;
    const text = JSON.stringify(system ?? events(outcome));
    assert.doesNotMatch(text, /a secret|\\u001b/);
    assert.match(outcome.stderr, /AGENTS\.md is a link that leads out/);
    assert.ok(isRunning(process.pid));
  });
});
