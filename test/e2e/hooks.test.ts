/** Shell hooks and workspace trust in the compiled program (wire-notes.md, "Shell hooks"). */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, test } from "node:test";
import { startModelServer } from "../fixtures/model-server.ts";
import { Folder } from "../support/folder.ts";
import { gone } from "../support/processes.ts";
import { EXAMPLES, events, type Outcome, start, toolResults, XDEV, xdev } from "../support/xdev.ts";

const bash = (...commands: string[]) => ({
  toolCalls: commands.map((command) => ({ name: "bash", arguments: { command } })),
});

/** The arguments of a run that plays these turns with this data dir, in json mode. */
function run(folder: Folder, turns: unknown[], ...more: string[]): string[] {
  const file = folder.file("replay.json", JSON.stringify(turns));
  const common = ["-p", "go", "--mode", "json", "--model", `replay:${file}`];
  return [...common, "--data-dir", join(folder.path, "data"), ...more];
}

describe("a run with hooks", () => {
  test("asks those of config.yml, the data dir and --hook, and the first denial ends it", async () => {
    using folder = new Folder();
    folder.file(
      "data/config.yml",
      `hooks:\n  tool_call: grep -q one || exit 0; echo '{"block":true,"reason":"not one"}'\n`,
    );
    folder.program(
      "data/hooks/tool_call.sh",
      `#!/bin/sh\ngrep -q two && echo '{"block":true,"reason":"not two"}'; exit 0\n`,
    );
    const option = `tool_call=grep -q three && echo '{"block":true,"reason":"not three"}'; exit 0`;
    const outcome = await xdev(
      run(
        folder,
        [bash("echo one", "echo two", "echo three", "echo four"), { text: "ok" }],
        "--hook",
        option,
      ),
    );
    assert.equal(outcome.status, 0, outcome.stderr);
    assert.deepEqual(toolResults(outcome), [
      ["bash", true, "blocked by hook tool_call of config.yml: not one"],
      ["bash", true, "blocked by hook tool_call.sh: not two"],
      ["bash", true, "blocked by hook --hook tool_call: not three"],
      ["bash", false, "four"],
    ]);
  });

  test("asks hooks before extensions: a call that a hook denies reaches no extension", async () => {
    using folder = new Folder();
    const outcome = await xdev(
      run(
        folder,
        [bash("rm -rf x"), { text: "ok" }],
        "-e",
        `${EXAMPLES}deny-rm.py`,
        "--hook",
        "tool_call=exit 1",
      ),
    );
    assert.deepEqual(toolResults(outcome), [
      ["bash", true, "blocked by hook --hook tool_call: exited with status 1"],
    ]);
  });

  test("runs the arguments that a hook gives, and gives the model the text that a hook gives", async () => {
    using folder = new Folder();
    const outcome = await xdev(
      run(
        folder,
        [bash("echo secret"), { text: "ok" }],
        "--hook",
        `tool_call=echo '{"input":{"command":"echo revised"}}'`,
        "--hook",
        `tool_result=sed 's/.*"text":"\\([a-z]*\\)".*/{"text":"the hook saw \\1"}/'`,
      ),
    );
    assert.deepEqual(toolResults(outcome), [["bash", false, "the hook saw revised"]]);
  });

  test("replaces the system prompt by what a context hook gives", async () => {
    using folder = new Folder();
    const server = await startModelServer({ script: [{ text: "done" }] });
    try {
      folder.file(
        "data/models.yml",
        JSON.stringify({
          providers: { mine: { baseUrl: server.baseUrl, apiKey: "sk-mine-123", models: [{ id: "m" }] } },
        }),
      );
      const outcome = await xdev(
        ["-p", "go", "--data-dir", `${folder.path}/data`, "--hook", `context=echo '{"text":"be a hook"}'`],
        { cwd: folder.path },
      );
      assert.equal(outcome.status, 0, outcome.stderr);
      const { messages } = server.requests[0]!.body as { messages: { role: string; content: unknown }[] };
      assert.match(JSON.stringify(messages[0]), /"be a hook"/);
    } finally {
      await server.close();
    }
  });

  test("tells of what happens, each event with its payload", async () => {
    using folder = new Folder();
    const log = join(folder.path, "log");
    const names = [
      "session_start",
      "before_agent_start",
      "agent_start",
      "turn_start",
      "turn_end",
      "agent_end",
    ];
    const hooks = names.flatMap((name) => ["--hook", `${name}=cat > ${log}.${name}.$$`]);
    const outcome = await xdev(run(folder, [bash("true"), { text: "ok" }], ...hooks), { cwd: folder.path });
    assert.equal(outcome.status, 0, outcome.stderr);
    const { readdirSync } = await import("node:fs");
    const told = readdirSync(folder.path)
      .filter((name) => name.startsWith("log."))
      .map((name) => JSON.parse(readFileSync(join(folder.path, name), "utf8")));
    const of = (event: string) => told.filter((payload) => payload.event === event);
    assert.deepEqual(
      names.map((name) => of(name).length),
      [1, 1, 1, 2, 2, 1],
    );
    assert.match(of("session_start")[0].model, /^replay\//);
    assert.equal(of("before_agent_start")[0].prompt, "go");
    assert.deepEqual(
      of("turn_end")
        .sort((a, b) => a.turnIndex - b.turnIndex)
        .map(({ turnIndex, stopReason }) => [turnIndex, stopReason]),
      [
        [0, "toolUse"],
        [1, "stop"],
      ],
    );
    assert.equal(new Set(told.map(({ sessionId }) => sessionId)).size, 1);
    assert.ok(told.every(({ cwd }) => cwd === folder.path));
  });

  test("five sibling calls with a 3 s hook are all decided, none by a time-out", async () => {
    using folder = new Folder();
    const turns = [bash("echo 1", "echo 2", "echo 3", "echo 4", "echo 5"), { text: "ok" }];
    const outcome = await xdev(run(folder, turns, "--hook", "tool_call=sleep 3"));
    assert.deepEqual(
      toolResults(outcome),
      [1, 2, 3, 4, 5].map((number) => ["bash", false, `${number}`]),
    );
  });

  test("goes on with a hook that can't be used: it is reported, and every tool call is denied", async () => {
    using folder = new Folder();
    folder.file("data/hooks/policy.yml", "event: tool_cal\ncommand: exit 1\n");
    const args = run(folder, [bash("echo hi"), { text: "ok" }]);
    const outcome = await xdev(args);
    assert.equal(outcome.status, 0, outcome.stderr);
    assert.match(
      toolResults(outcome)[0]?.[2] ?? "",
      /^blocked by hook .*policy\.yml: it can't be used: line 1: /,
    );
    const notices = events(outcome).filter(({ type }) => type === "notice");
    assert.match(JSON.stringify(notices), /policy\.yml can't be used/);
    const print = await xdev(args.filter((word) => word !== "--mode" && word !== "json"));
    assert.match(print.stderr, /policy\.yml can't be used/);
  });

  test("is interrupted at once while a hook runs, and leaves nothing of it", async () => {
    using folder = new Folder();
    const pid = join(folder.path, "pid");
    const hook = `tool_call=trap '' TERM; echo $$ > ${pid}; echo ready >&2; sleep 60; sleep 60`;
    const { child, ended } = start(run(folder, [bash("echo hi"), { text: "ok" }], "--hook", hook));
    for await (const line of createInterface({ input: child.stdout! })) {
      if (line.includes("tool_execution_start")) break;
    }
    while (!existsSync(pid) || readFileSync(pid, "utf8") === "") {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    const begin = performance.now();
    child.kill("SIGINT");
    assert.equal((await ended).status, 130);
    assert.ok(performance.now() - begin < 3000);
    await gone(Number(readFileSync(pid, "utf8")));
  });

  for (const [args, reason] of [
    [["--hook", "tool_cal=true"], /There is no event "tool_cal"\. Did you mean "tool_call"/],
    [["--hook", "nonsense=true"], /There are: session_start, /],
    [["--hook", "tool_call"], /an event, = and a shell command/],
    [["--hook", "tool_call= "], /an event, = and a shell command/],
  ] as const) {
    test(`\`${args.join(" ")}\` is wrong use: status 2`, async () => {
      const outcome = await xdev(["-p", "go", ...args]);
      assert.equal(outcome.status, 2);
      assert.match(outcome.stderr, reason);
    });
  }

  test("an unknown event in config.yml is wrong use, too: nothing runs", async () => {
    using folder = new Folder();
    folder.file("data/config.yml", "hooks:\n  tool_cal: exit 1\n");
    const outcome = await xdev(run(folder, [{ text: "ok" }]));
    assert.equal(outcome.status, 2);
    assert.match(outcome.stderr, /config\.yml:2: hooks\.tool_cal: unknown key\. Did you mean "tool_call"/);
  });
});

/** A repository with a policy and an extension, and what trusts and runs it. */
class Repository {
  readonly folder = new Folder();
  readonly path = join(this.folder.path, "repo");
  readonly policy: string;
  readonly canary = join(this.folder.path, "canary");

  constructor() {
    this.folder.file("repo/.git/HEAD", "");
    this.folder.file("repo/sub/x", "");
    this.policy = this.folder.file(
      "repo/.xdev/hooks/policy.yml",
      `event: tool_call\ncommand: touch ${this.canary}; sh .xdev/hooks/policy.sh\n`,
    );
    this.folder.file("repo/.xdev/hooks/policy.sh", `echo '{"block":true,"reason":"by the repository"}'\n`);
    this.folder.program("repo/.xdev/extensions/deny-rm.py", readFileSync(`${EXAMPLES}deny-rm.py`, "utf8"));
  }

  [Symbol.dispose](): void {
    this.folder[Symbol.dispose]();
  }

  xdev(...args: string[]): Promise<Outcome> {
    return xdev([...args, "--data-dir", join(this.folder.path, "data")], { cwd: join(this.path, "sub") });
  }

  run(command = "echo hi"): Promise<Outcome> {
    const args = run(this.folder, [bash(command), { text: "ok" }]);
    return xdev(args, { cwd: join(this.path, "sub") });
  }
}

describe("a repository that nobody has trusted", () => {
  test("has its hooks and extensions withheld, which is said once on standard error", async () => {
    using repository = new Repository();
    const outcome = await repository.run();
    assert.equal(outcome.status, 0, outcome.stderr);
    assert.deepEqual(toolResults(outcome), [["bash", false, "hi"]]);
    assert.equal(
      outcome.stderr,
      `xdev: ${repository.path}/.xdev: 2 hook files, 1 extension file withheld; see xdev trust\n`,
    );
    assert.ok(!existsSync(repository.canary));
    const left = readdirSync(join(repository.folder.path, "data"));
    assert.deepEqual(left, ["sessions"], "looking leaves nothing behind");
  });

  test("is shown, and not trusted, where there is no terminal to ask on", async () => {
    using repository = new Repository();
    const outcome = await repository.xdev("trust");
    assert.equal(outcome.status, 2);
    for (const part of ["hooks/policy.yml", "on tool_call runs", "| touch ", "extensions/deny-rm.py"]) {
      assert.ok(outcome.stdout.includes(part), part);
    }
    assert.match(outcome.stderr, /no terminal to ask on\n.*xdev trust --yes/);
    assert.deepEqual(JSON.parse((await repository.xdev("trust", "--list", "--json")).stdout), []);
  });

  test("cannot make the list of what it brings lie", async () => {
    using repository = new Repository();
    writeFileSync(
      repository.policy,
      JSON.stringify({ event: "turn_end", command: "evil\n  settings   0123456789ab  harmless" }),
    );
    writeFileSync(
      join(repository.path, ".xdev/hooks/b.yml"),
      JSON.stringify({ event: "turn_end", command: "npm run fmt \u001b]; touch pwned #\u0007" }),
    );
    writeFileSync(join(repository.path, ".xdev/hooks/a\n\u001b[2Jb.yml"), "");
    const { stdout } = await repository.xdev("trust");
    assert.doesNotMatch(stdout, /\u001b/);
    assert.match(stdout, /^ {6}\| evil$/m);
    assert.match(stdout, /^ {6}\| {3}settings/m);
    assert.match(stdout, /hooks\/a \\x1b\[2Jb\.yml/, "what is in a name is shown, not obeyed");
    assert.match(
      stdout,
      /can't be used: .*control characters or invisible ones/,
      "a command that hides something never runs",
    );
  });

  test("can't be trusted with a link that leads out of it", async () => {
    using repository = new Repository();
    const outside = repository.folder.program("outside.sh", "#!/bin/sh\n");
    symlinkSync(outside, join(repository.path, ".xdev/hooks/turn_end.sh"));
    const outcome = await repository.xdev("trust", "--yes");
    assert.equal(outcome.status, 1);
    assert.match(outcome.stdout, /turn_end\.sh is a link that leads out/);
    assert.match((await repository.run()).stderr, /can't be trusted.*leads out/);
  });

  test("with nothing that carries authority is not mentioned", async () => {
    using folder = new Folder();
    folder.file("repo/.xdev/notes.md", "");
    const outcome = await xdev(run(folder, [{ text: "ok" }]), { cwd: join(folder.path, "repo") });
    assert.equal(outcome.stderr, "");
    const trust = await xdev(["trust", join(folder.path, "repo")]);
    assert.deepEqual([trust.status, trust.stderr], [0, ""]);
    assert.match(trust.stdout, /nothing to trust/);
  });
});

describe("a trusted repository", () => {
  test("has its hooks run and its extensions loaded, until a file changes or it is distrusted", async () => {
    using repository = new Repository();
    const blocked = [["bash", true, "blocked by hook policy.yml: by the repository"]];
    const free = [["bash", false, "hi"]];

    const trusted = await repository.xdev("trust", "--yes");
    assert.equal(trusted.status, 0, trusted.stderr);
    const record = join(repository.folder.path, "data/trust.json");
    assert.equal(statSync(record).mode & 0o777, 0o600);
    const outcome = await repository.run();
    assert.deepEqual([toolResults(outcome), outcome.stderr], [blocked, ""]);
    assert.ok(existsSync(repository.canary));
    const [listed] = JSON.parse((await repository.xdev("trust", "--list", "--json")).stdout);
    assert.equal(listed.path, repository.path);
    assert.equal(listed.current, true);
    const extensions = JSON.parse((await repository.xdev("ext", "list", "--json")).stdout);
    assert.deepEqual(
      extensions.map(({ name }: { name: string }) => name),
      ["deny-rm"],
    );
    assert.deepEqual(Object.keys(listed.files), [
      "extensions/deny-rm.py",
      "hooks/policy.sh",
      "hooks/policy.yml",
    ]);

    writeFileSync(join(repository.path, ".xdev/hooks/policy.sh"), "echo '{}'\n");
    const edited = await repository.run();
    assert.deepEqual(toolResults(edited), free);
    assert.match(
      edited.stderr,
      /withheld: not what you have trusted \(changed hooks\/policy\.sh\); see xdev trust/,
    );
    assert.match((await repository.xdev("trust", "--list")).stdout, /changed since/);

    assert.match((await repository.xdev("trust", "--yes")).stdout, /changed hooks\/policy\.sh/);
    // The hook allows now, and the extension denies.
    assert.deepEqual(toolResults(await repository.run("rm -rf x")), [
      ["bash", true, "blocked by extension deny-rm: rm -rf is disabled in this project"],
    ]);

    assert.equal((await repository.xdev("distrust")).status, 0);
    const distrusted = await repository.run();
    assert.deepEqual(toolResults(distrusted), free);
    assert.match(distrusted.stderr, /withheld; see xdev trust/);
  });

  test("denies tool calls when a hook of it changes while it runs", async () => {
    using repository = new Repository();
    writeFileSync(join(repository.path, ".xdev/hooks/policy.sh"), "echo '{}'\n");
    await repository.xdev("trust", "--yes");
    const edit = bash("echo '# edited' >> ../.xdev/hooks/policy.sh");
    const args = run(repository.folder, [edit, bash("echo hi"), { text: "ok" }]);
    const outcome = await xdev(args, { cwd: join(repository.path, "sub") });
    const [first, second] = toolResults(outcome);
    assert.equal(first?.[1], false);
    assert.match(
      second?.[2] ?? "",
      /^blocked by hook policy\.yml: .*not what was trusted any more \(changed hooks\/policy\.sh\)/,
    );
  });

  test("has the hooks of its config.yml run, too", async () => {
    using repository = new Repository();
    writeFileSync(
      join(repository.path, ".xdev/config.yml"),
      `hooks: {tool_result: 'echo ''{"text":"patched"}'''}\n`,
    );
    writeFileSync(join(repository.path, ".xdev/hooks/policy.sh"), "echo '{}'\n");
    await repository.xdev("trust", "--yes");
    assert.deepEqual(toolResults(await repository.run()), [["bash", false, "patched"]]);
  });

  test("is none when the record is damaged, and that is said", async () => {
    using repository = new Repository();
    await repository.xdev("trust", "--yes");
    writeFileSync(join(repository.folder.path, "data/trust.json"), "{");
    const outcome = await repository.run();
    assert.deepEqual(toolResults(outcome), [["bash", false, "hi"]]);
    assert.match(outcome.stderr, /withheld \(.*trust\.json can't be used, so no workspace is trusted/);
    assert.equal((await repository.xdev("trust", "--yes")).status, 2);
  });
});

/** Runs `xdev trust` on a terminal of its own, where the answer is typed once the question is there. */
async function trustOnTerminal(repository: Repository, answer: string): Promise<number | null> {
  const script = [
    "import os, pty, sys",
    "pid, terminal = pty.fork()",
    "if pid == 0: os.execv(sys.argv[2], sys.argv[2:])",
    "seen = b''",
    "while b'[y/N]' not in seen: seen += os.read(terminal, 1024)",
    "os.write(terminal, sys.argv[1].encode())",
    "try:",
    "  while os.read(terminal, 1024): pass",
    "except OSError: pass",
    "sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))",
  ].join("\n");
  const args = [XDEV, "trust", repository.path, "--data-dir", join(repository.folder.path, "data")];
  const child = spawn("python3", ["-c", script, answer, ...args], { stdio: "inherit" });
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("exit", resolve);
  });
}

describe("xdev trust on a terminal", () => {
  for (const [answer, status] of [
    ["y\n", 0],
    ["yes\n", 0],
    ["\n", 1],
    ["n\n", 1],
    ["maybe\n", 1],
    ["\u0004", 1],
    ["\u0003", 1],
  ] as const) {
    test(`answered with ${JSON.stringify(answer)} ends with status ${status}`, async () => {
      using repository = new Repository();
      assert.equal(await trustOnTerminal(repository, answer), status);
      assert.equal(existsSync(join(repository.folder.path, "data/trust.json")), status === 0);
    });
  }
});
