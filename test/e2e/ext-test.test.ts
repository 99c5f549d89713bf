/** `xdev ext test` of the compiled program. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { describe, test } from "node:test";
import { EXTENSION, failuresOf, reportOf, scene } from "../support/ext-test.ts";
import { EXAMPLES, start, xdev } from "../support/xdev.ts";

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
      ["files: { a: x, a/b: y }\n", /the script's file "a\/b" can't be made/],
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
