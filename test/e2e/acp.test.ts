/** The compiled program in acp mode, driven by the client side of the protocol's own SDK. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Readable, Writable } from "node:stream";
import { describe, test } from "node:test";
import {
  type ClientCapabilities,
  type ClientContext,
  type CreateElicitationRequest,
  client,
  ndJsonStream,
  type RequestPermissionRequest,
  type SessionUpdate,
} from "@agentclientprotocol/sdk";
import { fencesOf, page } from "../docs/pages.ts";
import { fits } from "../support/fits.ts";
import { Folder } from "../support/folder.ts";
import { gone } from "../support/processes.ts";
import { XDEV } from "../support/xdev.ts";

/** An editor with one connection to the program. `await using` ends both. */
class Editor implements AsyncDisposable {
  readonly folder = new Folder();
  readonly updates: { sessionId: string; update: SessionUpdate }[] = [];
  readonly permissions: RequestPermissionRequest[] = [];
  readonly forms: CreateElicitationRequest[] = [];
  /** What is filled in, form after form; then they are cancelled. */
  answers: (string | boolean)[] = [];
  /** The option that is chosen when permission is asked for; undefined: the question is cancelled. */
  choice: string | undefined;
  stderr = "";
  child!: ChildProcess;
  agent!: ClientContext;
  #over!: () => void;
  #done!: Promise<void>;
  #wake: () => void = () => {};
  #held: ((form: { signal: AbortSignal }) => void) | undefined;

  static async start(
    script: unknown,
    files: Record<string, string> = {},
    clientCapabilities: ClientCapabilities = {},
    ...options: string[]
  ): Promise<Editor> {
    const editor = new Editor();
    const { folder } = editor;
    for (const [name, text] of Object.entries(files)) folder.file(name, text);
    folder.file("work/readme.txt", "one\ntwo\n");
    folder.file("other/readme.txt", "elsewhere\n");
    const replay = folder.file("replay.json", JSON.stringify(script));
    editor.child = spawn(
      XDEV,
      ["--mode", "acp", "--model", `replay:${replay}`, "--data-dir", join(folder.path, "data"), ...options],
      {
        cwd: folder.path,
        env: {
          PATH: process.env.PATH,
          HOME: join(folder.path, "home"),
          TMPDIR: process.env.TMPDIR ?? "/tmp",
        },
        stdio: ["pipe", "pipe", "pipe"],
      },
    );
    editor.child.stderr!.setEncoding("utf8").on("data", (text: string) => {
      editor.stderr += text;
    });
    const over = Promise.withResolvers<void>();
    const ready = Promise.withResolvers<ClientContext>();
    editor.#over = over.resolve;
    const stream = ndJsonStream(
      Writable.toWeb(editor.child.stdin!) as WritableStream<Uint8Array>,
      Readable.toWeb(editor.child.stdout!) as unknown as ReadableStream<Uint8Array>,
    );
    editor.#done = client({ name: "test" })
      .onNotification("session/update", ({ params }) => {
        editor.updates.push(params);
        editor.#wake();
      })
      .onRequest("elicitation/create", ({ params, signal }) => {
        editor.forms.push(params);
        if (editor.#held) {
          editor.#held({ signal });
          return new Promise((resolve) =>
            signal.addEventListener("abort", () => resolve({ action: "cancel" as const })),
          );
        }
        const [value] = editor.answers.splice(0, 1);
        return value === undefined ? { action: "cancel" } : { action: "accept", content: { value } };
      })
      .onRequest("session/request_permission", ({ params }) => {
        editor.permissions.push(params);
        const { choice } = editor;
        return {
          outcome:
            choice === undefined ? { outcome: "cancelled" } : { outcome: "selected", optionId: choice },
        };
      })
      .connectWith(stream, async (agent) => {
        ready.resolve(agent);
        await over.promise;
      });
    editor.agent = await ready.promise;
    const answer = await editor.agent.request("initialize", { protocolVersion: 1, clientCapabilities });
    assert.equal(answer.protocolVersion, 1);
    assert.equal(answer.agentInfo?.name, "xdev");
    return editor;
  }

  async open(folder = "work"): Promise<string> {
    const cwd = join(this.folder.path, folder);
    return (await this.agent.request("session/new", { cwd, mcpServers: [] })).sessionId;
  }

  prompt(sessionId: string, text = "go") {
    return this.agent.request("session/prompt", { sessionId, prompt: [{ type: "text", text }] });
  }

  /** Of one session, in order, without what comes of itself. */
  told(sessionId: string): SessionUpdate[] {
    const own = ["available_commands_update", "session_info_update", "usage_update"];
    return this.updates
      .filter((one) => one.sessionId === sessionId && !own.includes(one.update.sessionUpdate))
      .map(({ update }) => update);
  }

  /** From now on forms stand until they are withdrawn; resolves with the first. */
  holdForms(): Promise<{ signal: AbortSignal }> {
    return new Promise((resolve) => {
      this.#held = resolve;
    });
  }

  async until(holds: (update: SessionUpdate) => boolean): Promise<void> {
    while (!this.updates.some(({ update }) => holds(update))) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#over();
    await this.#done.catch(() => {});
    this.child.stdin!.end();
    if (this.child.exitCode === null && this.child.signalCode === null) await once(this.child, "exit");
    this.folder[Symbol.dispose]();
  }
}

const textOf = (update: SessionUpdate | undefined): string | undefined =>
  update && "content" in update && update.content && !Array.isArray(update.content)
    ? update.content.type === "text"
      ? update.content.text
      : undefined
    : undefined;

const EDIT = {
  text: "I change it.",
  toolCalls: [{ name: "edit", arguments: { path: "readme.txt", edits: [{ oldText: "two", newText: "2" }] } }],
};

describe("an editor", () => {
  test("follows a prompt: text as it comes, calls with their diffs, and how it ended", async () => {
    const write = { toolCalls: [{ name: "write", arguments: { path: "new.txt", content: "fresh" } }] };
    const bash = { toolCalls: [{ name: "bash", arguments: { command: "cat readme.txt" } }] };
    const single = {
      toolCalls: [{ name: "edit", arguments: { path: "new.txt", oldText: "fresh", newText: "stale" } }],
    };
    await using editor = await Editor.start([EDIT, write, bash, single, { text: "done" }]);
    const id = await editor.open();
    assert.deepEqual(await editor.prompt(id), { stopReason: "end_turn" });
    const told = editor.told(id);
    assert.equal(textOf(told[0]), "I change it.");
    const calls = told.filter((update) => update.sessionUpdate === "tool_call");
    assert.deepEqual(
      calls.map(({ title, kind }) => [title, kind]),
      [
        ["edit: readme.txt", "edit"],
        ["write: new.txt", "edit"],
        ["bash: cat readme.txt", "execute"],
        ["edit: new.txt", "edit"],
      ],
    );
    const path = (name: string) => join(editor.folder.path, "work", name);
    assert.deepEqual(calls[0]!.content, [
      { type: "diff", path: path("readme.txt"), oldText: "two", newText: "2" },
    ]);
    assert.deepEqual(calls[1]!.content, [
      { type: "diff", path: path("new.txt"), oldText: null, newText: "fresh" },
    ]);
    assert.deepEqual(calls[3]!.content, [
      { type: "diff", path: path("new.txt"), oldText: "fresh", newText: "stale" },
    ]);
    assert.deepEqual(calls[0]!.locations, [{ path: path("readme.txt") }]);
    const ends = told.filter(
      (update) => update.sessionUpdate === "tool_call_update" && update.status === "completed",
    );
    assert.equal(ends.length, 4);
    assert.match(JSON.stringify(ends.at(-2)), /one\\n2/);
    assert.equal(textOf(told.at(-1)), "done");
    assert.equal(readFileSync(path("readme.txt"), "utf8"), "one\n2\n");
  });

  test("has several sessions at a time, each in its own folder", async () => {
    const look = { toolCalls: [{ name: "bash", arguments: { command: "cat readme.txt" } }] };
    await using editor = await Editor.start([look, { text: "seen" }]);
    const ids = await Promise.all([editor.open("work"), editor.open("other")]);
    await Promise.all(ids.map((id) => editor.prompt(id)));
    assert.match(JSON.stringify(editor.told(ids[0]!)), /one\\ntwo/);
    assert.doesNotMatch(JSON.stringify(editor.told(ids[0]!)), /elsewhere/);
    assert.match(JSON.stringify(editor.told(ids[1]!)), /elsewhere/);
  });

  test("tells the commands anew behind a reload", async () => {
    await using editor = await Editor.start([{ text: "hi" }]);
    const id = await editor.open();
    const has = (name: string) => (update: SessionUpdate) =>
      update.sessionUpdate === "available_commands_update" &&
      update.availableCommands.some((command) => command.name === name);
    editor.folder.file(
      "data/extensions/late.ts",
      `export default (pi) => pi.registerCommand("late", { handler: () => "done" });`,
    );
    await editor.prompt(id, "/reload");
    await editor.until(has("late"));
  });

  test("cancels a prompt: what runs is ended, and the session goes on", async () => {
    const sleep = { toolCalls: [{ name: "bash", arguments: { command: "echo $$ > pid; exec sleep 600" } }] };
    await using editor = await Editor.start([sleep, { text: "after" }]);
    const id = await editor.open();
    const going = editor.prompt(id);
    await editor.until((update) => update.sessionUpdate === "tool_call");
    await assert.rejects(editor.prompt(id), /at work/);
    const pid = join(editor.folder.path, "work", "pid");
    let written = "";
    while (written === "") {
      await new Promise((resolve) => setTimeout(resolve, 10));
      try {
        written = readFileSync(pid, "utf8").trim();
      } catch {
        // Not yet.
      }
    }
    await editor.agent.notify("session/cancel", { sessionId: id });
    assert.deepEqual(await going, { stopReason: "cancelled" });
    await gone(Number(written));
    assert.deepEqual(await editor.prompt(id), { stopReason: "end_turn" });
    assert.equal(textOf(editor.told(id).at(-1)), "after");
  });

  test("loads a session: the conversation is told again, and goes on; resumes it without; lists and deletes it", async () => {
    await using editor = await Editor.start([EDIT, { text: "done" }, { text: "again" }]);
    const id = await editor.open();
    await editor.prompt(id, "please");
    const cwd = join(editor.folder.path, "work");
    const { sessions } = await editor.agent.request("session/list", { cwd });
    assert.deepEqual(
      sessions.map(({ sessionId, title }) => [sessionId, title]),
      [[id, "please"]],
    );
    await editor.agent.request("session/close", { sessionId: id });
    await assert.rejects(editor.prompt(id), /not found/i);
    editor.updates.length = 0;
    await editor.agent.request("session/load", { sessionId: id, cwd, mcpServers: [] });
    const told = editor.told(id);
    assert.deepEqual(
      told.map(({ sessionUpdate }) => sessionUpdate),
      ["user_message_chunk", "agent_message_chunk", "tool_call", "agent_message_chunk"],
    );
    assert.deepEqual(told.filter((one) => "content" in one).map(textOf), [
      "please",
      "I change it.",
      undefined,
      "done",
    ]);
    assert.match(
      JSON.stringify(told[2]),
      /"status":"completed".*"newText":"2"|"newText":"2".*"status":"completed"/,
    );
    editor.updates.length = 0;
    await editor.agent.request("session/resume", { sessionId: id, cwd });
    assert.deepEqual(editor.told(id), []);
    await editor.agent.request("session/delete", { sessionId: id });
    assert.deepEqual((await editor.agent.request("session/list", { cwd })).sessions, []);
    await assert.rejects(
      editor.agent.request("session/load", { sessionId: id, cwd, mcpServers: [] }),
      /no session/,
    );
  });

  test("changes the mode: in `ask` the model has no tool that changes anything", async () => {
    await using editor = await Editor.start([EDIT, { text: "refused" }, EDIT, { text: "changed" }]);
    const id = await editor.open();
    const path = join(editor.folder.path, "work", "readme.txt");
    await editor.agent.request("session/set_mode", { sessionId: id, modeId: "ask" });
    await editor.prompt(id);
    assert.equal(readFileSync(path, "utf8"), "one\ntwo\n");
    await editor.agent.request("session/set_mode", { sessionId: id, modeId: "code" });
    await editor.prompt(id);
    assert.equal(readFileSync(path, "utf8"), "one\n2\n");
    await editor.agent.request("session/set_mode", { sessionId: id, modeId: "ask" });
    await editor.agent.request("session/close", { sessionId: id });
    const cwd = join(editor.folder.path, "work");
    const loaded = await editor.agent.request("session/load", { sessionId: id, cwd, mcpServers: [] });
    assert.equal(loaded.modes?.currentModeId, "ask");
    await assert.rejects(
      editor.agent.request("session/set_mode", { sessionId: id, modeId: "yolo" }),
      /no mode|invalid/i,
    );
  });

  const SLOW_INPUT = {
    "data/extensions/slow.ts": `export default (pi) => {
      pi.on("input", () => new Promise((resolve) => setTimeout(resolve, 300)));
      pi.registerCommand("ask", { handler: async (args, ctx) => String(await ctx.ui.confirm("Sure?", "")) });
    };`,
  };
  const RUNS = { toolCalls: [{ name: "bash", arguments: { command: "touch ran" } }] };

  test("that cancels before the run has begun starts none", async () => {
    await using editor = await Editor.start([RUNS, { text: "after" }], SLOW_INPUT);
    const id = await editor.open();
    const going = editor.prompt(id);
    await editor.agent.notify("session/cancel", { sessionId: id });
    assert.deepEqual(await going, { stopReason: "cancelled" });
    assert.ok(!existsSync(join(editor.folder.path, "work", "ran")));
    assert.deepEqual(editor.told(id), []);
  });

  test("cancels a command of an extension whose question stands, and the form is withdrawn", async () => {
    await using editor = await Editor.start([{ text: "next" }], SLOW_INPUT, { elicitation: { form: {} } });
    const asked = editor.holdForms();
    const id = await editor.open();
    const going = editor.prompt(id, "/ask");
    const { signal } = await asked;
    await editor.agent.notify("session/cancel", { sessionId: id });
    assert.deepEqual(await going, { stopReason: "cancelled" });
    if (!signal.aborted) await once(signal, "abort");
    assert.deepEqual(await editor.prompt(id), { stopReason: "end_turn" });
  });

  test("whose load fails has the session that was open as before", async () => {
    await using editor = await Editor.start([{ text: "one" }, { text: "two" }]);
    const id = await editor.open();
    for (const cwd of ["work", join(editor.folder.path, "nowhere")]) {
      await assert.rejects(
        editor.agent.request("session/load", { sessionId: id, cwd, mcpServers: [] }),
        /absolute|not a folder/,
      );
    }
    const cwd = join(editor.folder.path, "work");
    // It has no file before there is an answer.
    await assert.rejects(editor.agent.request("session/load", { sessionId: id, cwd, mcpServers: [] }));
    assert.deepEqual(await editor.prompt(id), { stopReason: "end_turn" });
    // Nor does the beginning of an id name one.
    const short = { sessionId: id.slice(0, 13), cwd, mcpServers: [] };
    await assert.rejects(editor.agent.request("session/load", short), /not found/i);
    await editor.agent.request("session/delete", short);
    assert.equal((await editor.agent.request("session/list", { cwd })).sessions.length, 1);
    assert.deepEqual(await editor.prompt(id), { stopReason: "end_turn" });
  });

  test("has only the reading tools of xdev itself in `ask`, whatever an extension makes active or calls so", async () => {
    const call = (name: string) => ({ toolCalls: [{ name, arguments: { command: "touch ran" } }] });
    await using editor = await Editor.start([call("bash"), call("peek"), { text: "done" }], {
      "data/extensions/eager.ts": `export default (pi) => {
        pi.on("before_agent_start", () => pi.setActiveTools(["bash", "read", "peek"]));
        pi.registerTool({ name: "peek", label: "peek", description: "", parameters: { type: "object", properties: {} },
          execute: async () => "peeked" });
      };`,
    });
    const id = await editor.open();
    await editor.agent.request("session/set_mode", { sessionId: id, modeId: "ask" });
    await editor.prompt(id);
    assert.ok(!existsSync(join(editor.folder.path, "work", "ran")));
    assert.doesNotMatch(JSON.stringify(editor.told(id)), /peeked/);
  });

  test("keeps no session with --no-session, and has its files where --session-dir says", async () => {
    {
      await using editor = await Editor.start([{ text: "one" }], {}, {}, "--no-session");
      await editor.prompt(await editor.open());
      assert.ok(!existsSync(join(editor.folder.path, "data", "sessions")));
    }
    const kept = new Folder();
    await using editor = await Editor.start([{ text: "one" }], {}, {}, "--session-dir", kept.path);
    const id = await editor.open();
    await editor.prompt(id);
    assert.ok(readdirSync(kept.path).some((name) => name.includes(id)));
    assert.equal((await editor.agent.request("session/list", {})).sessions.length, 1);
    kept[Symbol.dispose]();
  });

  const PEEK = `import { readFileSync } from "node:fs";
    export default (pi) => pi.registerTool({
      name: "peek", label: "peek", description: "", parameters: { type: "object", properties: {} },
      execute: async () => ({ content: [{ type: "text", text: readFileSync("/etc/hostname", "utf8") }] }),
    });`;
  const PEEKING = {
    "data/extensions/peek/package.json": '{"name":"peek","xdev":{"permissions":{}}}',
    "data/extensions/peek/index.ts": PEEK,
  };
  const CALL = { toolCalls: [{ name: "peek", arguments: {} }] };

  for (const [choice, allowed] of [
    ["once", true],
    ["deny", false],
    ["never", false],
    [undefined, false],
    ["something else", false],
  ] as const) {
    test(`is asked for a permission, and answers ${choice ?? "nothing"}: ${allowed ? "allowed" : "denied"}`, async () => {
      await using editor = await Editor.start([CALL, { text: "done" }], PEEKING);
      editor.choice = choice;
      const id = await editor.open();
      await editor.prompt(id);
      assert.equal(editor.permissions.length, 1);
      const [{ sessionId, toolCall, options }] = editor.permissions as [RequestPermissionRequest];
      assert.equal(sessionId, id);
      assert.match(toolCall.title ?? "", /^Extension peek wants to read \/etc\/hostname/);
      assert.deepEqual(
        options.map(({ optionId, kind }) => [optionId, kind]),
        [
          ["once", "allow_once"],
          ["session", "allow_always"],
          ["always", "allow_always"],
          ["deny", "reject_once"],
          ["never", "reject_always"],
        ],
      );
      const end = editor
        .told(id)
        .find((update) => update.sessionUpdate === "tool_call_update" && update.status !== "in_progress");
      assert.equal(end?.sessionUpdate === "tool_call_update" && end.status, allowed ? "completed" : "failed");
    });
  }

  for (const elicitation of [{ form: {} }, undefined]) {
    test(`${elicitation ? "with" : "without"} forms: what an extension asks has ${elicitation ? "an answer" : "its default"}`, async () => {
      await using editor = await Editor.start(
        [{ toolCalls: [{ name: "ask", arguments: {} }] }, { text: "done" }],
        {
          "data/extensions/ask.ts": `export default (pi) => pi.registerTool({
            name: "ask", label: "ask", description: "", parameters: { type: "object", properties: {} },
            execute: async (id, params, signal, onUpdate, { ui, hasUI }) => JSON.stringify([
              hasUI, await ui.select("Which?", ["a", "b"]), await ui.confirm("Sure?", "Really."), await ui.input("Name"), await ui.select("Odd?", ["a"]),
            ]),
          });`,
        },
        elicitation ? { elicitation } : {},
      );
      editor.answers = ["b", true, "me", "not offered"];
      const id = await editor.open();
      await editor.prompt(id);
      const expected = elicitation ? [true, "b", true, "me", null] : [false, null, false, null, null];
      const [end] = editor
        .told(id)
        .filter((update) => update.sessionUpdate === "tool_call_update" && update.status === "completed");
      assert.ok(JSON.stringify(end).includes(JSON.stringify(JSON.stringify(expected)).slice(1, -1)));
      assert.equal(editor.forms.length, elicitation ? 4 : 0);
      if (elicitation) assert.match(JSON.stringify(editor.forms[0]), /"message":"ask: Which\?"/);
    });
  }

  test("is asked when an extension is loaded, before the session is there", async () => {
    const declared = '{"name":"peek","xdev":{"permissions":{"read":["/etc/hostname"]}}}';
    await using editor = await Editor.start([CALL, { text: "done" }], {
      ...PEEKING,
      "data/extensions/peek/package.json": declared,
    });
    editor.choice = "allow";
    const id = await editor.open();
    await editor.prompt(id);
    assert.match(JSON.stringify(editor.permissions[0]), /Extension peek asks for/);
    assert.match(JSON.stringify(editor.told(id)), /"status":"completed"/);
  });

  test("is told what it did wrong, and nothing comes of it", async () => {
    await using editor = await Editor.start([{ text: "hello" }]);
    await assert.rejects(
      editor.agent.request("session/new", { cwd: "work", mcpServers: [] }),
      /cwd|invalid params/i,
    );
    const cwd = join(editor.folder.path, "nowhere");
    await assert.rejects(editor.agent.request("session/new", { cwd, mcpServers: [] }), /not a folder/);
    await assert.rejects(editor.prompt("no-such-session"), /not found/i);
    const id = await editor.open();
    await assert.rejects(
      editor.agent.request("session/prompt", { sessionId: id, prompt: [] }),
      /empty|invalid/i,
    );
    assert.deepEqual(await editor.prompt(id), { stopReason: "end_turn" });
  });

  test("that is gone leaves no process behind, whatever was going on", async () => {
    const sleep = { toolCalls: [{ name: "bash", arguments: { command: "echo $$ > pid; exec sleep 600" } }] };
    const editor = await Editor.start([sleep, { text: "after" }]);
    const id = await editor.open();
    editor.prompt(id).catch(() => {});
    await editor.until((update) => update.sessionUpdate === "tool_call");
    const { pid } = editor.child;
    await editor[Symbol.asyncDispose]();
    await gone(pid!);
  });
});

test("acp mode takes no prompt on the command line", async () => {
  const child = spawn(XDEV, ["--mode", "acp", "hello"], { stdio: ["ignore", "ignore", "pipe"] });
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  const [status] = await once(child, "close");
  assert.equal(status, 2);
  assert.match(stderr, /with --mode acp there is no prompt/);
});

test("the page on acp mode shows a conversation that goes like that", async () => {
  using folder = new Folder();
  const replay = folder.file("replay.json", JSON.stringify([{ text: "Hello yourself." }]));
  folder.file("work/x", "");
  const args = ["--mode", "acp", "--model", `replay:${replay}`, "--data-dir", join(folder.path, "data")];
  const child = spawn(XDEV, args, { stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const [conversation] = fencesOf(page("acp")).filter(({ info }) => info === "text acp");
  let sessionId = "";
  for (const line of conversation!.text.trimEnd().split("\n")) {
    const text = line.slice(2).replace("/home/me/project", join(folder.path, "work"));
    if (line.startsWith("→ ")) {
      child.stdin.write(`${text.replaceAll("…", sessionId)}\n`);
      continue;
    }
    const shown = JSON.parse(text);
    for (;;) {
      const { value, done } = await lines.next();
      assert.equal(done, false, text);
      const record = JSON.parse(value) as { result?: { sessionId?: string } };
      sessionId ||= record.result?.sessionId ?? "";
      if (fits(shown, record)) break;
    }
  }
  child.stdin.end();
  const [status] = await once(child, "close");
  assert.equal(status, 0);
});
