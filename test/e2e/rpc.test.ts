/** `xdev --mode rpc`, driven by the family's own client and by hand. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { createInterface } from "node:readline";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { RpcClient, SessionManager } from "@earendil-works/pi-coding-agent";
import { startModelServer } from "../fixtures/model-server.ts";
import { Folder } from "../support/folder.ts";
import type { Rec } from "../support/rpc.ts";
import { EXAMPLES, XDEV, xdev } from "../support/xdev.ts";

const launcher = fileURLToPath(new URL("../fixtures/rpc-launcher.mjs", import.meta.url));

async function connect(
  folder: Folder,
  replay: string,
  ...args: string[]
): Promise<RpcClient & AsyncDisposable> {
  const client = new RpcClient({
    cliPath: launcher,
    cwd: folder.path,
    env: { RPC_PROGRAM: JSON.stringify([XDEV]), HOME: folder.path, XDEV_DATA_DIR: `${folder.path}/data` },
    model: `replay:${folder.file("replay.yml", replay)}`,
    args,
  });
  await client.start();
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.stop() });
}

describe("the program", () => {
  test("is driven by RpcClient: prompts, tools, sessions", async () => {
    using folder = new Folder();
    folder.file("a.txt", "what is in it");
    await using client = await connect(
      folder,
      `- toolCalls: [{ name: read, arguments: { path: a.txt } }]
- expect: { isError: false, contains: what is in it }
  text: I read it.
- text: And again.
`,
    );
    const events = await client.promptAndWait("read a.txt");
    assert.equal(await client.getLastAssistantText(), "I read it.");
    assert.ok(events.some(({ type }) => type === "tool_execution_end"));
    const { sessionFile } = await client.getState();
    assert.equal((await client.bash("cat a.txt")).output, "what is in it");
    const [message] = await client.getForkMessages();
    assert.deepEqual(await client.fork(message!.entryId), { text: "read a.txt", cancelled: false });
    assert.deepEqual(await client.newSession(), { cancelled: false });
    await client.promptAndWait("again");
    assert.equal(await client.getLastAssistantText(), "And again.");
    assert.deepEqual(await client.switchSession(sessionFile!), { cancelled: false });
    assert.equal(await client.getLastAssistantText(), "I read it.");
    await client.stop();
    assert.ok(!existsSync(`${sessionFile}.lock`));
    assert.ok(SessionManager.open(sessionFile!).buildSessionContext().messages.length >= 4);
  });

  for (const confirmed of [true, false]) {
    test(`lets an extension ask the client's user, who says ${confirmed ? "yes" : "no"}`, async () => {
      using folder = new Folder();
      const outcome = confirmed
        ? "isError: false, contains: pushed"
        : "isError: true, contains: has not agreed";
      const replay = folder.file(
        "push.yml",
        `- toolCalls: [{ name: bash, arguments: { command: "echo pushed # git push" } }]
- expect: { ${outcome} }
  text: as it should
`,
      );
      const args = ["--mode", "rpc", "--model", `replay:${replay}`, "-e", `${EXAMPLES}dialog.py`];
      const child = spawn(XDEV, [...args, "--data-dir", `${folder.path}/data`], {
        cwd: folder.path,
        env: { PATH: process.env.PATH ?? "", HOME: folder.path },
        stdio: ["pipe", "pipe", "inherit"],
      });
      const send = (command: unknown) => child.stdin.write(`${JSON.stringify(command)}\n`);
      let rest = "";
      const records: Rec[] = [];
      child.stdout.setEncoding("utf8").on("data", (text: string) => {
        const lines = (rest + text).split("\n");
        rest = lines.pop()!;
        for (const record of lines.map((line) => JSON.parse(line) as Rec)) {
          records.push(record);
          if (record.type === "extension_ui_request" && record.method === "confirm") {
            send({ type: "extension_ui_response", id: record.id, confirmed });
          }
          if (record.type === "agent_settled") child.stdin.end();
        }
      });
      send({ id: "1", type: "prompt", message: "push" });
      const [status] = await once(child, "close");
      assert.equal(status, 0);
      const asked = records.find(({ type }) => type === "extension_ui_request");
      assert.deepEqual([asked?.title, asked?.extension], ["Push?", "dialog"]);
      assert.match(JSON.stringify(records.findLast(({ type }) => type === "message_end")), /as it should/);
    });
  }

  test("asks the client's user what a module asks, and shows what it shows; time-outs and aborts end a question", async () => {
    using folder = new Folder();
    folder.file(
      "data/extensions/asker.ts",
      `export default (pi) => pi.registerTool({
        name: "ask", label: "ask", description: "", parameters: { type: "object", properties: {} },
        async execute(id, params, signal, onUpdate, { ui, hasUI, mode }) {
          ui.setStatus("s", "busy");
          ui.setWidget("w", ["one", "two"], { placement: "belowEditor" });
          ui.setWidget("drawn", () => ({ render: () => [] }));
          ui.setTitle("a title");
          ui.setEditorText("a draft");
          const answers = [hasUI, mode];
          answers.push(await ui.select("Which?", ["a", { label: "b" }]));
          answers.push(await ui.confirm("Sure?", "Really."));
          answers.push(await ui.input("Name", "a name"));
          answers.push(await ui.editor("Text", "draft"));
          answers.push(await ui.input("late", undefined, { timeout: 20, onTimeout: () => answers.push("timed out") }) ?? "none");
          const abort = new AbortController();
          setTimeout(() => abort.abort(), 20);
          answers.push(await ui.confirm("unwanted", "", { signal: abort.signal }));
          answers.push(await ui.select("before", ["a"], { signal: abort.signal }) ?? "none");
          return { content: [{ type: "text", text: JSON.stringify(answers) }] };
        },
      });`,
    );
    const replay = folder.file(
      "replay.json",
      '[{"toolCalls":[{"name":"ask","arguments":{}}]},{"text":"done"}]',
    );
    const args = ["--mode", "rpc", "--model", `replay:${replay}`, "--data-dir", `${folder.path}/data`];
    const child = spawn(XDEV, args, {
      cwd: folder.path,
      env: { PATH: process.env.PATH ?? "", HOME: folder.path },
      stdio: ["pipe", "pipe", "inherit"],
    });
    const send = (command: unknown) => child.stdin.write(`${JSON.stringify(command)}\n`);
    const answers: Record<string, unknown> = {
      "Which?": { value: "b" },
      "Sure?": { confirmed: true },
      Name: { value: "me" },
      Text: { value: "text" },
    };
    const shown: unknown[] = [];
    let result = "";
    send({ id: "1", type: "prompt", message: "ask" });
    for await (const line of createInterface({ input: child.stdout })) {
      const { type, id, method, extension, ...rest } = JSON.parse(line) as Rec;
      if (type === "extension_ui_request") {
        assert.equal(extension, "asker");
        shown.push([method, rest]);
        const answer = answers[String(rest.title)];
        if (answer && method !== "setTitle") send({ type: "extension_ui_response", id, ...answer });
      }
      if (type === "tool_execution_end") result = JSON.stringify(rest.result);
      if (type === "agent_settled") child.stdin.end();
    }
    assert.match(
      result,
      /\[true,\\"rpc\\",\\"b\\",true,\\"me\\",\\"text\\",\\"timed out\\",\\"none\\",false,\\"none\\"\]/,
    );
    assert.deepEqual(shown, [
      ["setStatus", { statusKey: "s", statusText: "busy" }],
      ["setWidget", { widgetKey: "w", widgetLines: ["one", "two"], widgetPlacement: "belowEditor" }],
      ["setTitle", { title: "a title" }],
      ["set_editor_text", { text: "a draft" }],
      ["select", { title: "Which?", options: ["a", "b"] }],
      ["confirm", { title: "Sure?", message: "Really." }],
      ["input", { title: "Name", placeholder: "a name" }],
      ["editor", { title: "Text", prefill: "draft" }],
      ["input", { title: "late", timeout: 20 }],
      ["confirm", { title: "unwanted", message: "" }],
    ]);
  });

  test("an abort right behind a prompt is about that prompt", async () => {
    using folder = new Folder();
    const replay = folder.file(
      "replay.json",
      '[{"toolCalls":[{"name":"bash","arguments":{"command":"touch ran"}}]},{"text":"done"}]',
    );
    const args = ["--mode", "rpc", "--model", `replay:${replay}`, "--data-dir", `${folder.path}/data`];
    const { status, stdout } = await xdev(args, {
      cwd: folder.path,
      input: '{"id":"1","type":"prompt","message":"go"}\n{"id":"2","type":"abort"}\n',
    });
    assert.equal(status, 0);
    assert.match(
      stdout,
      /"id":"1","type":"response","command":"prompt","success":false,"error":"the prompt was cancelled/,
    );
    assert.ok(!existsSync(`${folder.path}/ran`));
  });

  for (const mode of ["rpc", "json"]) {
    test(`what looks like a key is no reason for a line that is no JSON (${mode} mode)`, async () => {
      using folder = new Folder();
      const server = await startModelServer({
        script: [
          {
            toolCalls: [{ name: "grep", arguments: { pattern: "key 1234567890123", limit: 1234567890123 } }],
          },
          { text: "message and 1234567890123" },
        ],
      });
      folder.file(
        "data/models.yml",
        `providers: {loop: {api: openai-completions, baseUrl: "${server.baseUrl}", apiKey: "1234567890123", models: [{id: m}]}}`,
      );
      const common = ["--mode", mode, "--model", "loop/m", "--data-dir", `${folder.path}/data`];
      const { stdout } = await xdev(mode === "json" ? ["-p", "go", ...common] : common, {
        cwd: folder.path,
        ...(mode === "rpc" ? { input: '{"type":"prompt","message":"go"}\n{"type":"get_messages"}\n' } : {}),
      });
      const lines = stdout.trimEnd().split("\n");
      for (const line of lines) {
        // Numbers stay what they are; no text has the key.
        JSON.parse(line, (_, value) => {
          assert.ok(typeof value !== "string" || !value.includes("1234567890123"), line);
          return value;
        });
      }
      assert.ok(lines.length > 1);
      if (mode === "json") assert.match(stdout, /"limit":1234567890123/);
      await server.close();
    });
  }

  test("carries out what was piped in, answers it, and ends with status 0", async () => {
    using folder = new Folder();
    const replay = folder.file("replay.yml", "- text: never said\n");
    const args = ["--mode", "rpc", "--model", `replay:${replay}`, "--no-session"];
    const { status, stdout, stderr } = await xdev([...args, "--data-dir", `${folder.path}/data`], {
      cwd: folder.path,
      input:
        '{"id":"1","type":"set_session_name","name":"a\u2028b"}\nnonsense\n{"id":"2","type":"get_state"}',
    });
    assert.deepEqual([status, stderr], [0, ""]);
    const answers = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Rec)
      .filter(({ type }) => type === "response");
    assert.deepEqual(
      answers.map(({ id, success }) => [id, success]).sort(),
      [
        ["1", true],
        ["2", true],
        [undefined, false],
      ].sort(),
    );
  });

  test("does not outlive its client, whatever goes on", async () => {
    using folder = new Folder();
    const replay = folder.file(
      "slow.yml",
      '- toolCalls: [{ name: bash, arguments: { command: "sleep 600" } }]\n- text: never said\n',
    );
    const args = ["--mode", "rpc", "--model", `replay:${replay}`, "--data-dir", `${folder.path}/data`];
    const child = spawn(XDEV, args, {
      cwd: folder.path,
      env: { PATH: process.env.PATH ?? "", HOME: folder.path },
      stdio: ["pipe", "pipe", "inherit"],
    });
    const ended = once(child, "close");
    child.stdin.write('{"type":"prompt","message":"sleep"}\n');
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      if (!text.includes("tool_execution_start")) return;
      child.stdin.destroy();
      child.stdout.destroy();
    });
    const [status, signal] = await ended;
    assert.equal(signal, null);
    assert.ok(status === 0 || status === 1);
  });

  test("refuses a prompt on its command line", async () => {
    using folder = new Folder();
    const { status, stderr } = await xdev(["--mode", "rpc", "hello", "--data-dir", folder.path]);
    assert.equal(status, 2);
    assert.match(stderr, /no prompt on the command line/);
  });
});
