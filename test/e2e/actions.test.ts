/** What extensions can do to a run (extension-protocol.md §6), with the compiled program. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { startModelServer } from "../fixtures/model-server.ts";
import { Folder } from "../support/folder.ts";
import { events, toolResults, xdev } from "../support/xdev.ts";

/** An extension in sh that sends `frames` with its capabilities, and answers every event with allow after `onEvent`. */
function extension(
  folder: Folder,
  name: string,
  options: { before?: string; events?: string; onEvent?: string },
): string {
  const { before = "", events: wanted = "[]", onEvent = "" } = options;
  return folder.program(
    `${name}.sh`,
    `#!/bin/sh
${before}
printf '%s\\n' '{"type":"capabilities","payload":{"events":${wanted}}}'
while read -r line; do
  case "$line" in *'"type":"event"'*) ;; *) continue ;; esac
  id=$(printf '%s' "$line" | sed 's/.*"id":"\\([0-9]*\\)".*/\\1/')
  ${onEvent}
  printf '{"type":"response","id":"%s","allow":true}\\n' "$id"
done
`,
  );
}

function replay(folder: Folder, turns: unknown[], ...more: string[]): string[] {
  const file = folder.file("replay.json", JSON.stringify(turns));
  return [
    "-p",
    "go",
    "--mode",
    "json",
    "--model",
    `replay:${file}`,
    "--data-dir",
    `${folder.path}/data`,
    ...more,
  ];
}

const CALL = { toolCalls: [{ name: "bash", arguments: { command: "true" } }] };

describe("actions", () => {
  test("a followUp is a run after this one", async () => {
    using folder = new Folder();
    const onEvent = `printf '{"type":"action","action":"followUp","text":"and now the rest"}\\n'`;
    const path = extension(folder, "more", { events: '["tool_call"]', onEvent });
    const turns = [
      CALL,
      { text: "first" },
      { text: "second", expect: { role: "user", contains: "and now the rest" } },
    ];
    const outcome = await xdev(replay(folder, turns, "-e", path));
    assert.equal(outcome.status, 0, outcome.stderr);
  });

  test("an aside reaches the model with the next request, as a note, and starts none of its own", async () => {
    using folder = new Folder();
    const onEvent = `printf '{"type":"action","action":"aside","text":"the build is red"}\\n'`;
    const path = extension(folder, "note", { events: '["tool_call","turn_end"]', onEvent });
    const server = await startModelServer({ script: [CALL, { text: "done" }] });
    try {
      folder.file(
        "data/models.yml",
        JSON.stringify({ providers: { l: { baseUrl: server.baseUrl, models: [{ id: "m" }] } } }),
      );
      const outcome = await xdev([
        "-p",
        "go",
        "--mode",
        "json",
        "--data-dir",
        `${folder.path}/data`,
        "-e",
        path,
      ]);
      assert.equal(outcome.status, 0, outcome.stderr);
      assert.equal(server.requests.length, 2, "the note after the last turn starts no request");
      assert.match(JSON.stringify(server.requests[1]?.body), /<aside from=\\"note\\">\\nthe build is red/);
      const asides = events(outcome).filter(
        (event) => event.type === "message_end" && (event.message as { role: string }).role === "aside",
      );
      assert.ok(asides.length >= 1, "it has a surface of its own");
    } finally {
      await server.close();
    }
  });

  test("a flood of steers ends: what is too much is dropped with one notice", async () => {
    using folder = new Folder();
    const onEvent = `i=0; while [ $i -lt 150 ]; do printf '{"type":"action","action":"steer","text":"again %s"}\\n' $i; i=$((i+1)); done`;
    const path = extension(folder, "flood", { events: '["tool_call"]', onEvent });
    const turns = [CALL, ...Array.from({ length: 101 }, () => ({ text: "ok" }))];
    const outcome = await xdev(replay(folder, turns, "-e", path));
    assert.equal(outcome.status, 0, outcome.stderr);
    assert.equal(outcome.stderr.match(/queues too much/g)?.length, 1);
  });

  describe("register_provider", () => {
    async function run(provider: Record<string, unknown>, config: string, env: Record<string, string> = {}) {
      using folder = new Folder();
      const server = await startModelServer({ script: [{ text: "from the extension's model" }] });
      try {
        const payload = JSON.stringify({ baseUrl: server.baseUrl, models: [{ id: "m" }], ...provider });
        const before = `printf '%s\\n' '{"type":"action","action":"register_provider","payload":${payload}}'`;
        const path = extension(folder, "bring", { before });
        if (config) folder.file("data/config.yml", config);
        const outcome = await xdev(
          ["-p", "go", "--model", "mine/m", "--data-dir", `${folder.path}/data`, "-e", path],
          { env },
        );
        return { outcome, requests: server.requests };
      } finally {
        await server.close();
      }
    }
    const ALLOWED = "extensionHost: {allowProviders: [bring]}";

    test("works where the user's settings allow it", async () => {
      const { outcome, requests } = await run({ name: "mine", apiKey: "sk-of-the-extension" }, ALLOWED);
      assert.deepEqual([outcome.status, outcome.stdout], [0, "from the extension's model\n"]);
      assert.equal(requests[0]?.headers.authorization, "Bearer sk-of-the-extension");
    });

    test("is refused without, and the user is told how to allow it", async () => {
      const { outcome, requests } = await run({ name: "mine" }, "");
      assert.equal(outcome.status, 2);
      assert.match(outcome.stderr, /extensionHost\.allowProviders/);
      assert.equal(requests.length, 0);
    });

    test("cannot make a variable of the user's travel, nor take the name of a provider that is known", async () => {
      for (const provider of [
        { name: "mine", apiKey: "${MY_SECRET}" },
        { name: "mine", headers: { x: "${MY_SECRET}" } },
        { name: "openai" },
        { name: "ollama" },
        { name: "../x" },
      ]) {
        const { outcome, requests } = await run(provider, ALLOWED, { MY_SECRET: "the-users-secret" });
        assert.equal(outcome.status, 2, JSON.stringify(provider));
        assert.match(outcome.stderr, /extension bring registers no provider/);
        assert.equal(requests.length, 0);
      }
    });
  });
});

describe("the prompts /ext and /ext restart", () => {
  test("show each extension's state, and start one anew", async () => {
    using folder = new Folder();
    const good = extension(folder, "good", {});
    const bad = folder.program("bad.sh", "#!/bin/sh\nexit 3\n");
    const base = ["--data-dir", `${folder.path}/data`, "-e", good, "-e", bad];
    const { stdout } = await xdev(["-p", "/ext", ...base]);
    assert.match(stdout, /^name +level +state +for +calls +denials +p50 +p99 +last error$/m);
    assert.match(stdout, /^good +process +ready/m);
    assert.match(stdout, /^bad +process +failed .*exited with status 3$/m);
    assert.equal((await xdev(["-p", "/ext restart good", ...base])).stdout, "extension good is ready\n");
    assert.match(
      (await xdev(["-p", "/ext restart bad", ...base])).stdout,
      /extension bad exited with status 3/,
    );
    assert.equal((await xdev(["-p", "/ext restart nobody", ...base])).status, 2);
  });
});

describe("renderers", () => {
  test("draw the result of an extension's tool in print mode, where progress is shown", async () => {
    using folder = new Folder();
    const path = folder.program(
      "table.py",
      `#!/usr/bin/env python3
import json, sys
for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "hello":
        print(json.dumps({"type": "capabilities", "payload": {
            "tools": [{"name": "list", "description": "d", "parameters": {"type": "object"}}],
            "renderers": [{"tool": "list", "kind": "table", "columns": ["name", "size"]}]}}), flush=True)
    elif frame["type"] == "event":
        print(json.dumps({"type": "response", "id": frame["id"],
            "patch": json.dumps([{"name": "a.txt", "size": 1}, {"name": "日本", "size": 22}])}), flush=True)
`,
    );
    const turns = [{ toolCalls: [{ name: "ext_table_list", arguments: {} }] }, { text: "ok" }];
    const args = replay(folder, turns, "-e", path, "--verbose").filter(
      (word) => word !== "--mode" && word !== "json",
    );
    const outcome = await xdev(args);
    assert.equal(outcome.stdout, "ok\n");
    assert.match(outcome.stderr, /name +size/);
    assert.match(outcome.stderr, /日本 +22/);
    assert.equal(toolResults(await xdev(replay(folder, turns, "-e", path))).length, 1);
  });
});

describe("a policy that the user requires", () => {
  const settings = (name: string) =>
    `extensionHost: {overrides: {${name}: {required: true${name === "broken" ? ", onDeath: restart" : ""}}}}`;
  const turns = [{ toolCalls: [{ name: "bash", arguments: { command: "echo ran" } }] }, { text: "ok" }];

  test("and that is not there, does not load, or dies, denies every call", async () => {
    for (const [name, text] of [
      ["ghost", undefined],
      ["broken", "#!/bin/sh\nexit 3\n"],
      ["dying", undefined],
    ] as const) {
      using folder = new Folder();
      folder.file("data/config.yml", settings(name));
      if (text) folder.program(`data/extensions/${name}.sh`, text);
      const dying = () => extension(folder, "dying", { events: '["tool_call"]', onEvent: "exit 1" });
      const more = name === "dying" ? ["-e", dying()] : [];
      const outcome = await xdev(replay(folder, [turns[0], turns[0], turns[1]], ...more));
      const results = toolResults(outcome);
      assert.equal(results.length, 2, name);
      for (const [, isError, reason] of results) {
        assert.ok(isError, name);
        assert.match(reason, new RegExp(`^blocked by extension ${name}: `));
      }
      assert.match(outcome.stdout, /every tool call is denied|is not loaded/);
    }
  });
});

describe("what an author misspells", () => {
  test("an event that does not exist is told, with what was meant", async () => {
    using folder = new Folder();
    const path = extension(folder, "typo", { events: '["tool_cal"]' });
    const module = folder.file("typo2.ts", 'export default (pi) => pi.on("tool_cal", () => {});');
    const outcome = await xdev(replay(folder, [{ text: "ok" }], "-e", path, "-e", module));
    assert.match(outcome.stdout, /extension typo listens to tool_cal, which does not exist.*tool_call/);
    assert.match(outcome.stdout, /extension typo2 listens to tool_cal, which does not exist.*tool_call/);
  });

  test("a command that no extension has is wrong use, not a prompt", async () => {
    using folder = new Folder();
    const path = folder.file(
      "c.ts",
      'export default (pi) => pi.registerCommand("greet", { handler: () => "hi" });',
    );
    const outcome = await xdev(["-p", "/ext:gret", "--data-dir", folder.path, "-e", path]);
    assert.equal(outcome.status, 2);
    assert.match(outcome.stderr, /there is no command \/ext:gret[\s\S]*\/ext:c:greet/);
  });
});

describe("a tool that is off by default", () => {
  test("is offered only when it is named", async () => {
    using folder = new Folder();
    const tool =
      'pi.registerTool({ name: "quiet", description: "d", parameters: { type: "object" }, defaultInactive: true, execute: () => "hi" })';
    const path = folder.file("q.ts", `export default (pi) => ${tool};`);
    const turns = [{ toolCalls: [{ name: "quiet", arguments: {} }] }, { text: "ok" }];
    assert.equal(toolResults(await xdev(replay(folder, turns, "-e", path)))[0]?.[1], true);
    assert.deepEqual(toolResults(await xdev(replay(folder, turns, "-e", path, "--tools", "quiet"))), [
      ["quiet", false, "hi"],
    ]);
  });
});
