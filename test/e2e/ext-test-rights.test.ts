/** What a test of an extension may reach: `xdev ext test` of the compiled program. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { describe, test } from "node:test";
import { EXTENSION, failuresOf, reportOf, scene } from "../support/ext-test.ts";
import { xdev } from "../support/xdev.ts";

describe("xdev ext test", () => {
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
});
