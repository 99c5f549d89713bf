/** `xdev ext test` of the compiled program. */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { describe, test } from "node:test";
import { Folder } from "../support/folder.ts";
import { EXAMPLES, type Outcome, start, xdev } from "../support/xdev.ts";

const EXTENSION = `
import { existsSync, readFileSync } from "node:fs";
export default (pi) => {
  pi.on("session_start", (event, ctx) => ctx.ui.notify("it has begun", "info"));
  pi.on("before_agent_start", (event) => ({ systemPrompt: event.systemPrompt + " Talk like a pirate." }));
  pi.on("tool_call", (event) => {
    if (event.toolName === "bash" && event.input.command.includes("rm -rf")) return { block: true, reason: "not here" };
  });
  pi.registerTool({
    name: "greet", label: "Greet", description: "greets", parameters: { type: "object", properties: { name: { type: "string" } } },
    async execute(id, { name }) { return { content: [{ type: "text", text: "Hello, " + name }], details: { greeted: name } }; },
  });
  pi.registerTool({
    name: "secret", label: "Secret", description: "reads", parameters: { type: "object", properties: { path: { type: "string" } } },
    async execute(id, { path }) { return readFileSync(path, "utf8"); },
  });
  pi.registerTool({
    name: "hang", label: "Hang", description: "hangs", parameters: { type: "object", properties: {} },
    execute: () => new Promise(() => {}),
  });
  pi.registerCommand("ask", {
    description: "asks",
    async handler(args, ctx) {
      const sure = await ctx.ui.confirm("Sure?", "It can't be undone");
      const color = await ctx.ui.select("Which?", ["red", "blue"]);
      const name = await ctx.ui.input("Name?");
      pi.appendEntry("asked", { sure, color, name });
      return [sure, color, name].join(" ");
    },
  });
};`;

const PASSING = `
allow: { session: [write] }
tools: real
files: { notes/todo.txt: "buy milk\\n" }
registers: { tools: [greet], commands: [ask], events: [tool_call] }
steps:
  - expect:
      - notify: { contains: it has begun, level: info }
  - prompt: go
    model:
      - text: I greet.
        toolCalls:
          - { name: greet, arguments: { name: world } }
          - { name: bash, arguments: { command: "rm -rf notes" } }
          - { name: write, arguments: { path: notes/new.txt, content: fresh } }
      - expect: { isError: false, toolName: write }
        text: Done.
    expect:
      - toolResult: { tool: greet, isError: false, matches: "^Hello, w", details: { greeted: world } }
      - blocked: { tool: bash, contains: not here }
      - request: { systemPrompt: pirate, tools: [greet], contains: go }
      - message: { role: assistant, contains: Done }
      - file: { path: notes/todo.txt, contains: milk }
      - file: { path: notes/new.txt, contains: fresh }
      - file: { path: notes/old.txt, exists: false }
      - not: { notify: it has begun }
      - not: { file: { path: elsewhere.txt } }
  - prompt: /ask
    answers: [true, { title: Which, answer: blue }, null]
    expect:
      - dialog: { method: confirm, contains: undone }
      - output: true blue
      - entry: { customType: asked, data: { sure: true, color: blue } }
  - rpc: { type: set_session_name, name: tested }
  - rpc: { type: set_model, provider: nobody, modelId: none }
    expect: [{ response: { success: false, contains: nobody } }]
  - rpc: { type: get_state }
    expect: [{ response: tested }, { record: { type: response, data: { isStreaming: false } } }]
`;

function scene() {
  const folder = new Folder();
  const extension = folder.file("ext/greeter.ts", EXTENSION);
  for (const name of ["home", "data", "tmp", "work"]) mkdirSync(`${folder.path}/${name}`);
  const options = {
    cwd: `${folder.path}/work`,
    env: {
      HOME: `${folder.path}/home`,
      XDEV_DATA_DIR: `${folder.path}/data`,
      TMPDIR: `${folder.path}/tmp`,
    },
  };
  return {
    folder,
    extension,
    options,
    run: (script: string | undefined, ...more: string[]) => {
      const words = script === undefined ? [] : ["--script", folder.file("script.yml", script)];
      return xdev(["ext", "test", extension, ...words, ...more], options);
    },
    /** What is left in the user's places. */
    left: () => ["home", "data", "tmp", "work"].flatMap((name) => readdirSync(`${folder.path}/${name}`)),
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  };
}

interface Report {
  passed: boolean;
  extension: { state: string; error?: string; tools: string[] };
  permissions: { source: string; asked: string[]; used: string[]; denied: string[] };
  diagnostics: string[];
  steps: { line: number; title: string; failures: { line: number; message: string }[] }[];
  notPlayed: number;
  log: string[];
}

function reportOf({ stdout, stderr }: Outcome): Report {
  assert.ok(stdout.startsWith("{"), stdout + stderr);
  return JSON.parse(stdout);
}

/** `line: message` of every failure. */
function failuresOf(report: Report): string[] {
  return report.steps.flatMap(({ failures }) => failures.map(({ line, message }) => `${line}: ${message}`));
}

describe("xdev ext test", () => {
  test("plays prompts, commands, answers and rpc commands, and finds everything as the script says", async () => {
    using all = scene();
    const outcome = await all.run(PASSING);
    assert.equal(outcome.status, 0, outcome.stdout + outcome.stderr);
    assert.match(outcome.stdout, /^greeter {2}worker {2}ready$/m);
    assert.match(outcome.stdout, /^ {2}tools: greet, hang, secret$/m);
    assert.match(outcome.stdout, /^ok {4}script\.yml:9 {2}prompt "go"$/m);
    assert.match(outcome.stdout, /^6 passed, 0 failed$/m);
    assert.deepEqual(all.left(), [], "nothing of the user's is touched, nothing temporary is left");
  });

  test("names the line of everything that is not as the script says, and fails", async () => {
    using all = scene();
    const outcome = await all.run(
      `registers:
  tools:
    - greet
    - missing
steps:
  - prompt: go
    model:
      - toolCalls: [{ name: greet, arguments: { name: world } }]
      - expect: Hello, moon
        text: x
      - text: never asked for
    expect:
      - notify: { contains: begun }
      - notify: nothing like it
      - not: { toolResult: Hello }
  - prompt: /ask
    answers:
      - perhaps
      - green
  - prompt: /ask
    answers: [true, { title: Who, answer: red }, me, more]
  - prompt: go on
`,
      "--json",
    );
    assert.equal(outcome.status, 1, outcome.stderr);
    const report = reportOf(outcome);
    assert.equal(report.passed, false);
    const expected: [number, RegExp][] = [
      [4, /expected missing among the tools, got greet, hang, secret/],
      [9, /expected text that contains "Hello, moon", got .*Hello, world/],
      [14, /expected a notification that contains "nothing like it", got "it has begun"/],
      [
        15,
        /did not expect a tool's result that contains "Hello", got "Hello, world" \(tool greet, not failed\)/,
      ],
      [11, /not asked for this: 1 turn is left/],
      [18, /"perhaps" does not answer "Sure\?.*it takes true or false/],
      [19, /"green" does not answer "Which\?.*it takes one of \["red","blue"\]/],
      [16, /asked "Name\?", and the step has no answer/],
      [21, /the user was asked "Which/],
      [21, /was not asked that much/],
      [22, /asked once more than the step has turns/],
    ];
    const failures = report.steps.flatMap(({ failures }) => failures);
    assert.deepEqual(
      failures.map(({ line }) => line),
      expected.map(([line]) => line),
      failuresOf(report).join("\n"),
    );
    for (const [index, [, message]] of expected.entries()) assert.match(failures[index]!.message, message);
    assert.match(outcome.stderr, /^$/);
  });

  test("gives no permission that the script, or --allow, does not give; and says what was used and denied", async () => {
    using all = scene();
    const path = all.folder.file("private.txt", "the secret");
    const script = (contains: string, isError: boolean, allow = "") => `${allow}
steps:
  - prompt: go
    model:
      - toolCalls: [{ name: secret, arguments: { path: ${JSON.stringify(path)} } }]
      - text: done
    expect: [{ toolResult: { tool: secret, isError: ${isError}, contains: ${contains} } }]
`;
    const denied = reportOf(await all.run(script("EACCES", true), "--json"));
    assert.deepEqual(failuresOf(denied), []);
    assert.deepEqual(denied.permissions.denied, [`read ${path}`]);
    const byScript = reportOf(
      await all.run(script("the secret", false, `allow: { read: [${JSON.stringify(path)}] }`), "--json"),
    );
    assert.deepEqual(failuresOf(byScript), []);
    assert.deepEqual(byScript.permissions.used, [`read ${path}`]);
    const byOption = await all.run(script("the secret", false), "--allow", `read=${path}`);
    assert.equal(byOption.status, 0, byOption.stdout);
    const all_ = await all.run(script("the secret", false), "--allow", "all");
    assert.equal(all_.status, 0, all_.stdout);
    const other = await all.run(script("the secret", false, "allow: all"), "--allow", "session=write");
    assert.equal(other.status, 1, "the option goes before the script");
  });

  test("plays a script that it was not told of only as far as that stays inside: no tool, program, file or host of the user's", async () => {
    using all = scene();
    const secret = all.folder.file("private.txt", "the secret");
    const call = (name: string, args: object) =>
      `steps: [{ prompt: go, model: [{ toolCalls: [${JSON.stringify({ name, arguments: args })}] }, { text: done }] }]\n`;
    for (const [script, why] of [
      [`tools: real\n${call("bash", { command: "touch ../../../ran" })}`, "has the agent's own tools"],
      [`allow: { run: [sh] }\n${call("greet", { name: "x" })}`, "lets the extension run"],
      [`allow: { read: ["${secret}"] }\n${call("secret", { path: secret })}`, "lets the extension read"],
      [`allow: all\n${call("greet", { name: "x" })}`, "lets the extension do everything"],
      ["steps: [{ rpc: { type: bash, command: touch ../../../ran } }]\n", "has the command bash"],
    ] as const) {
      const path = all.folder.file("ext/greeter.test.yml", script);
      const outcome = await xdev(["ext", "test", all.extension], all.options);
      assert.equal(outcome.status, 2, script);
      assert.match(outcome.stderr, new RegExp(why.replace("has the agent", "uses the agent")));
      assert.match(outcome.stderr, new RegExp(`if you have read it .*--script ${path}$`, "m"));
      const named = await xdev(["ext", "test", all.extension, "--script", path], all.options);
      assert.equal(named.status, 0, named.stdout);
    }
    // Without that the agent's tools are not run: the script says what they give.
    all.folder.file(
      "ext/greeter.test.yml",
      `tools: { read: "what it says", grep: { text: broken, isError: true } }
steps:
  - prompt: go
    model:
      - toolCalls: [{ name: bash, arguments: { command: "touch ../../../ran2" } }, { name: write, arguments: { path: "${all.folder.path}/ran2", content: x } }]
      - toolCalls: [{ name: read, arguments: { path: "${secret}" } }, { name: grep, arguments: { pattern: x } }]
      - text: done
    expect:
      - toolResult: { tool: bash, isError: false, contains: bash is not run in a test }
      - toolResult: { tool: write, contains: write is not run in a test }
      - toolResult: { tool: read, contains: what it says }
      - toolResult: { tool: grep, isError: true, contains: broken }
`,
    );
    const outcome = await xdev(["ext", "test", all.extension], all.options);
    assert.equal(outcome.status, 0, outcome.stdout + outcome.stderr);
    assert.equal(existsSync(`${all.folder.path}/ran2`), false);
  });

  test("grants what a declaration asks for beyond the test's own folders only if the user says so", async () => {
    using all = scene();
    all.folder.file("declaring/index.ts", EXTENSION);
    const path = all.folder.file("private.txt", "the secret");
    all.folder.file(
      "declaring/package.json",
      JSON.stringify({ name: "declaring", xdev: { permissions: { read: [path], session: ["write"] } } }),
    );
    const script = all.folder.file(
      "declaring/test.yml",
      `allow: declared
steps:
  - prompt: go
    model: [{ toolCalls: [{ name: secret, arguments: { path: ${path} } }] }, { text: done }]
    expect: [{ toolResult: the secret }]
`,
    );
    const found = reportOf(
      await xdev(["ext", "test", `${all.folder.path}/declaring`, "--json"], all.options),
    );
    assert.equal(found.passed, false);
    assert.deepEqual(found.permissions.denied, [`read ${path}`]);
    assert.match(found.diagnostics.join(), /not granted, since the script was not named with --script: read/);
    for (const more of [
      ["--script", script],
      ["--allow", "declared"],
    ]) {
      const outcome = await xdev(["ext", "test", `${all.folder.path}/declaring`, ...more], all.options);
      assert.equal(outcome.status, 0, outcome.stdout);
    }
  });

  test("has no other model, whatever keys the user has, and a home that is none of his", async () => {
    using all = scene();
    all.folder.file("home/mine", "x");
    all.folder.file(
      "ext/greeter.ts",
      `import { readdirSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
export default (pi) => pi.registerCommand("look", { async handler(args, ctx) {
  writeFileSync(homedir() + "/theirs", "x");
  return JSON.stringify([readdirSync(homedir()), ctx.modelRegistry.getAvailable().map(({ id }) => id).join()]);
} });`,
    );
    const script = all.folder.file(
      "home.yml",
      `allow: { read: [$HOME], write: [$HOME], model: true }
steps:
  - prompt: /look
    expect: [{ output: '[["theirs"],"script"]' }]
  - rpc: { type: set_model, provider: anthropic, modelId: claude-sonnet-4-5 }
    expect: [{ response: { success: false } }]
  - rpc: { type: get_available_models }
    expect: [{ response: '"id":"script"' }, { not: { response: claude } }]
`,
    );
    const env = { ...all.options.env, ANTHROPIC_API_KEY: "sk-real" };
    const outcome = await xdev(["ext", "test", all.extension, "--script", script], { ...all.options, env });
    assert.equal(outcome.status, 0, outcome.stdout + outcome.stderr);
    assert.deepEqual(all.left(), ["mine"]);
  });

  test("reaches the models of the extension itself, which answer in the sandbox", async () => {
    using all = scene();
    all.folder.file(
      "ext/greeter.ts",
      `export default (pi) => pi.registerProvider("echo", {
  api: "echo", models: [{ id: "one", name: "One", contextWindow: 1000, maxTokens: 100 }],
  async *streamSimple(model, context) {
    const text = "you said " + context.messages.filter(({ role }) => role === "user").map(({ content }) => typeof content === "string" ? content : content[0].text).at(-1);
    yield { type: "start" };
    yield { type: "text_start", contentIndex: 0 };
    yield { type: "text_delta", contentIndex: 0, delta: text };
    yield { type: "text_end", contentIndex: 0, content: text };
    yield { type: "done", reason: "stop", message: { role: "assistant", model: model.id, content: [{ type: "text", text }] } };
  },
});`,
    );
    const outcome = await all.run(`allow: { provider: true }
registers: { providers: [echo] }
steps:
  - rpc: { type: set_model, provider: echo, modelId: one }
  - prompt: hello
    expect: [{ message: { role: assistant, contains: you said hello } }, { not: { request: {} } }]
`);
    assert.equal(outcome.status, 0, outcome.stdout + outcome.stderr);
  });

  test("grants what a package declares if --allow says so", async () => {
    using all = scene();
    all.folder.file("declaring/index.ts", EXTENSION);
    const path = all.folder.file("private.txt", "the secret");
    all.folder.file(
      "declaring/package.json",
      JSON.stringify({ name: "declaring", xdev: { permissions: { read: [path] } } }),
    );
    all.folder.file(
      "declaring/test.yml",
      `steps:
  - prompt: go
    model: [{ toolCalls: [{ name: secret, arguments: { path: ${path} } }] }, { text: done }]
    expect: [{ toolResult: the secret }]
`,
    );
    const outcome = await xdev(
      ["ext", "test", `${all.folder.path}/declaring`, "--allow", "declared", "--json"],
      all.options,
    );
    const report = reportOf(outcome);
    assert.deepEqual([outcome.status, failuresOf(report)], [0, []]);
    assert.equal(report.permissions.source, "declared");
    assert.equal(report.permissions.asked.length, 1);
  });

  test("tests executables, too", async () => {
    using all = scene();
    const script = all.folder.file(
      "policy.yml",
      `steps:
  - prompt: go
    model:
      - toolCalls: [{ name: bash, arguments: { command: rm -rf x } }, { name: ext_policy_utc_time }]
      - text: done
    expect:
      - blocked: rm -rf is not allowed here
      - toolResult: { tool: ext_policy_utc_time, isError: false }
`,
    );
    const outcome = await xdev(["ext", "test", `${EXAMPLES}policy.sh`, "--script", script], all.options);
    assert.equal(outcome.status, 0, outcome.stdout + outcome.stderr);
    assert.match(outcome.stdout, /permissions: none, it is an executable/);
  });

  test("sees all that an extension shows, tells and fails at", async () => {
    using all = scene();
    all.folder.file(
      "ext/greeter.ts",
      `export default (pi) => {
  pi.registerMessageRenderer("card", (message, { expanded }) => ({ render: (width) => ["[" + message.content + "]", String(expanded), "-".repeat(width)] }));
  pi.on("turn_start", () => { throw new Error("on purpose"); });
  pi.registerCommand("show", { async handler(args, ctx) {
    ctx.ui.setStatus("s", "busy"); ctx.ui.setWidget("w", ["one", "two"]); ctx.ui.setTitle("a title"); ctx.ui.setEditorText("typed");
    ctx.ui.notify("careful", "warning");
  } });
}`,
    );
    const outcome = await all.run(`steps:
  - prompt: /show
    expect:
      - status: { key: s, contains: busy }
      - widget: { key: w, contains: "one\\ntwo" }
      - title: a title
      - editorText: typed
      - notify: { level: warning, contains: careful }
      - not: { status: { key: other } }
  - prompt: go
    model: [{ text: done }]
    expect: [{ error: { event: turn_start, contains: on purpose } }]
  - draw: { what: message, name: card, value: { content: hi }, width: 10 }
    expect: [{ drawn: "[hi]\\nfalse\\n----------" }]
  - draw: { what: message, name: card, value: { content: hi }, expanded: true }
    expect: [{ drawn: "true" }]
  - draw: { what: message, name: other }
`);
    assert.match(outcome.stdout, /^4 passed, 1 failed$/m, outcome.stdout + outcome.stderr);
    assert.match(outcome.stdout, /the extension drew nothing of message other/);
    assert.match(outcome.stdout, /^ {2}told: a handler of turn_start failed: .*on purpose/m);
  });

  test("without a script loads and inspects", async () => {
    using all = scene();
    const outcome = await all.run(undefined);
    assert.deepEqual([outcome.status, outcome.stderr], [0, ""]);
    assert.match(outcome.stdout, /no script: nothing was played/);
  });

  test("fails for an extension that does not load, and says why", async () => {
    using all = scene();
    all.folder.file("ext/greeter.ts", "throw new Error('no way');");
    const outcome = await all.run(PASSING);
    assert.equal(outcome.status, 1);
    assert.match(outcome.stdout, /error: it .*no way/);
    assert.match(outcome.stdout, /it did not load/);
    assert.deepEqual(all.left(), []);
  });

  test("names the line of an error in the script, and what is not there", async () => {
    using all = scene();
    for (const [script, complaint] of [
      ["steps:\n  - promt: x\n", /script\.yml:2: steps\[0\]\.promt: unknown key\. Did you mean "prompt"\?/],
      ["steps:\n  - expect:\n      - {}\n", /script\.yml:3: .*exactly one of toolResult/],
      ["steps:\n  - { prompt: a, rpc: { type: x } }\n", /script\.yml:2: .*one of prompt, rpc and draw/],
      ["files: { ../x: y }\n", /script\.yml:1: .*below the working folder/],
      ["allow: { read: [relative] }\n", /script\.yml:1: allow/],
      ["steps: [\n", /script\.yml:\d/],
    ] as const) {
      const outcome = await all.run(script);
      assert.equal(outcome.status, 2, script);
      assert.match(outcome.stderr, complaint);
    }
    const missing = await all.run(undefined, "--script", "nowhere.yml");
    assert.equal(missing.status, 2);
    assert.match(missing.stderr, /nowhere\.yml/);
    assert.equal((await xdev(["ext", "test", "/nowhere"], all.options)).status, 2);
    assert.equal((await all.run(undefined, "--allow", "reed=/x")).status, 2);
  });

  test("ends a step that takes longer than its limit, plays no more, and leaves nothing", async () => {
    using all = scene();
    const outcome = await all.run(
      `steps:
  - prompt: go
    model: [{ toolCalls: [{ name: hang }] }]
    limitMs: 300
  - prompt: more
`,
      "--json",
    );
    assert.equal(outcome.status, 1);
    const report = reportOf(outcome);
    assert.deepEqual(failuresOf(report), ["2: the step took longer than 300 ms"]);
    assert.equal(report.notPlayed, 1);
    assert.deepEqual(all.left(), []);
  });

  test("that is interrupted leaves nothing behind", async () => {
    using all = scene();
    const script = all.folder.file(
      "hang.yml",
      "tools: real\nsteps:\n  - prompt: go\n    model: [{ toolCalls: [{ name: bash, arguments: { command: 'touch ../../../started; sleep 60' } }] }]\n",
    );
    const { child, ended } = start(["ext", "test", all.extension, "--script", script], all.options);
    while (!existsSync(`${all.folder.path}/started`)) await new Promise((resolve) => setTimeout(resolve, 10));
    child.kill("SIGINT");
    assert.equal((await ended).status, 130);
    assert.deepEqual(all.left(), []);
  });
});
