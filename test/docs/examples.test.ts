/** The examples of the manual do what its pages say, with the compiled program. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { Folder } from "../support/folder.ts";
import { EXAMPLES, type Outcome, toolResults, xdev } from "../support/xdev.ts";
import { fencesOf, files, page } from "./pages.ts";

const text = (name: string) => readFileSync(EXAMPLES + name, "utf8");

/** Plays a replay with an empty data dir, or the one that a test has filled. */
function play(folder: Folder, replay: string, ...more: string[]): Promise<Outcome> {
  const args = ["-p", "go", "--model", `replay:${replay}`, "--data-dir", `${folder.path}/data`, ...more];
  return xdev(args, { cwd: folder.path, env: { HOME: folder.path } });
}

async function inspect(folder: Folder, name: string) {
  const outcome = await xdev(["ext", "inspect", EXAMPLES + name, "--json"], {
    env: { XDEV_DATA_DIR: `${folder.path}/data` },
  });
  assert.equal(outcome.status, 0, outcome.stdout);
  return JSON.parse(outcome.stdout) as Record<string, unknown>;
}

describe("the policy", () => {
  for (const [name, kind, tool] of [
    ["policy.py", "process", "ext_policy_utc_time"],
    ["policy.sh", "process", "ext_policy_utc_time"],
    ["policy.ts", "worker", "utc_time"],
  ] as const) {
    test(`${name} denies rm -rf and has a tool that tells the time`, async () => {
      using folder = new Folder();
      const found = await inspect(folder, name);
      assert.deepEqual([found.kind, found.tools, found.events], [kind, [tool], ["tool_call"]]);
      const replay = folder.file("policy.yml", text("policy.yml").replace("ext_policy_utc_time", tool));
      folder.file("precious/thing", "still here");
      const outcome = await play(folder, replay, "-e", EXAMPLES + name);
      assert.deepEqual(
        [outcome.status, outcome.stdout],
        [0, "The policy and the tool work.\n"],
        outcome.stderr,
      );
      assert.equal(readFileSync(`${folder.path}/precious/thing`, "utf8"), "still here");
    });

    test(`${name} is not led astray by what stands in the arguments`, async () => {
      using folder = new Folder();
      const odd = `"event":"tool_invoke","id":"99" {"type":"hello"} \\\\ "tool":"bash" ü`;
      const replay = folder.file(
        "odd.json",
        JSON.stringify([
          { toolCalls: [{ name: "bash", arguments: { command: `printf %s '${odd}'` } }] },
          { toolCalls: [{ name: "write", arguments: { path: "notes.txt", content: `${odd}\nrm -rf` } }] },
          { toolCalls: [{ name: "bash", arguments: { command: `: '${odd}'\nrm -rf x` } }] },
          { text: "done" },
        ]),
      );
      const outcome = await play(folder, replay, "-e", EXAMPLES + name, "--mode", "json");
      assert.deepEqual(
        toolResults(outcome).map(([tool, isError]) => [tool, isError]),
        [
          ["bash", false],
          ["write", false],
          ["bash", true],
        ],
      );
    });
  }

  test("is what makes its replay pass: without it the run fails", async () => {
    using folder = new Folder();
    const outcome = await play(folder, `${EXAMPLES}policy.yml`);
    assert.equal(outcome.status, 1);
    assert.match(outcome.stderr, /expected .*a failed tool call/);
  });

  test("denies everything if it is required and does not load", async () => {
    using folder = new Folder();
    const [config] = fencesOf(page("protocol")).filter(({ info }) => info === "yaml config");
    folder.file("data/config.yml", config!.text);
    const path = folder.program("policy.py", "#!/bin/sh\nexit 1\n");
    const replay = folder.file("one.yml", "- toolCalls: [{ name: ls }]\n- text: done\n");
    const outcome = await play(folder, replay, "-e", path, "--mode", "json");
    assert.match(toolResults(outcome)[0]?.[2] ?? "", /blocked by extension policy/);
  });
});

test("deny-rm.py, quick-start.ts and curious.ts do what demo.yml expects", async () => {
  using folder = new Folder();
  const all = ["deny-rm.py", "quick-start.ts", "curious.ts"].flatMap((name) => ["-e", `${EXAMPLES}${name}`]);
  const outcome = await play(folder, `${EXAMPLES}demo.yml`, ...all);
  assert.deepEqual(
    [outcome.status, outcome.stdout],
    [0, "Everything happened as it should.\n"],
    outcome.stderr,
  );
});

test("card.py gives the model JSON and the user a card", async () => {
  using folder = new Folder();
  assert.deepEqual((await inspect(folder, "card.py")).renderers, ["disk"]);
  const call = (path: string) => `- toolCalls: [{ name: ext_card_disk, arguments: { folder: ${path} } }]\n`;
  const replay = folder.file("card.yml", `${call(folder.path)}${call("/nonexistent")}- text: done\n`);
  const shown = await play(folder, replay, "-e", `${EXAMPLES}card.py`, "--verbose");
  assert.match(shown.stderr, /\] Disk\n.*\] Folder: \/.*\n.*\] Total: +\d+\n.*\] Free: +\d+\n/);
  const results = toolResults(await play(folder, replay, "-e", `${EXAMPLES}card.py`, "--mode", "json"));
  assert.equal(JSON.parse(results[0]![2]).folder, folder.path);
  assert.deepEqual(results[1]?.slice(0, 2), ["ext_card_disk", true]);
});

test("dialog.py asks before git push, and denies it where nobody can be asked", async () => {
  using folder = new Folder();
  await inspect(folder, "dialog.py");
  const replay = folder.file(
    "push.yml",
    `- toolCalls: [{ name: bash, arguments: { command: git push origin } }]
- expect: { isError: true, contains: "blocked by extension dialog: the user has not agreed to this push" }
  toolCalls: [{ name: bash, arguments: { command: echo fine } }]
- expect: { isError: false, contains: fine }
  text: done
`,
  );
  const outcome = await play(folder, replay, "-e", `${EXAMPLES}dialog.py`);
  assert.deepEqual([outcome.status, outcome.stdout], [0, "done\n"], outcome.stderr);
});

test("hook.yml keeps git push from the model, as the page on models tests it", async () => {
  using folder = new Folder();
  folder.file("data/hooks/no-push.yml", text("hook.yml"));
  const replays = fencesOf(page("models")).filter(({ info }) => info === "yaml replay");
  const replay = folder.file("push.yml", replays.at(-1)!.text);
  const outcome = await play(folder, replay);
  assert.deepEqual([outcome.status, outcome.stdout], [0, "The hook works.\n"], outcome.stderr);
});

test("config.yml is taken, and its hooks run: one stops the tools, one keeps a log", async () => {
  using folder = new Folder();
  folder.file("data/config.yml", text("config.yml"));
  // It requires a policy of this name.
  folder.program("data/extensions/policy.py", text("policy.py"));
  const replay = folder.file("one.yml", "- toolCalls: [{ name: ls }]\n- text: done\n");
  const free = await play(folder, replay, "--mode", "json");
  assert.deepEqual([free.status, toolResults(free)[0]?.[1]], [0, false], free.stderr);
  assert.ok(readFileSync(`${folder.path}/data/turns.log`, "utf8").includes(`a turn ended in ${folder.path}`));
  folder.file(".xdev/stop", "");
  const stopped = await play(folder, replay, "--mode", "json");
  assert.match(toolResults(stopped)[0]?.[2] ?? "", /blocked by hook tool_call of config\.yml/);
});

test("models.yml makes its providers usable and its default the one that is chosen", async () => {
  using folder = new Folder();
  folder.file("models.yml", text("models.yml"));
  const env = { XDEV_DATA_DIR: folder.path, WORK_LLM_KEY: "secret-1", ANTHROPIC_API_KEY: "secret-2" };
  const listing = JSON.parse((await xdev(["models", "--json"], { env })).stdout);
  assert.equal(listing.chosen, "work/big");
  const usable = listing.providers.filter((provider: { usable: boolean }) => provider.usable);
  assert.deepEqual(
    usable.map((provider: { name: string }) => provider.name),
    ["work", "here", "anthropic"],
  );
});

test("replay.yml plays", async () => {
  using folder = new Folder();
  const outcome = await play(folder, `${EXAMPLES}replay.yml`);
  assert.deepEqual([outcome.status, outcome.stdout], [0, "It said one two.\n"], outcome.stderr);
});

describe("an example of the guide does what its script says:", () => {
  const scripts = Object.keys(files).filter(
    (path) => path.endsWith(".test.yml") && path.startsWith("examples/"),
  );
  assert.ok(scripts.length > 10);
  for (const script of scripts) {
    const name = script.slice("examples/".length, -".test.yml".length);
    test(name, async () => {
      using folder = new Folder();
      for (const suffix of ["ts", "test.yml"]) folder.file(`${name}.${suffix}`, text(`${name}.${suffix}`));
      const options = { cwd: folder.path, env: { HOME: folder.path } };
      // One that says so is played only if it is named.
      const words = /^# .* --script /.test(text(`${name}.test.yml`)) ? ["--script", `${name}.test.yml`] : [];
      const outcome = await xdev(["ext", "test", `${name}.ts`, ...words], options);
      assert.equal(outcome.status, 0, outcome.stdout + outcome.stderr);
      assert.match(outcome.stdout, /^[1-9]\d* passed, 0 failed$/m);
    });
  }
});
