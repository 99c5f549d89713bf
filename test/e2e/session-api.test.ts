/** What a sandboxed module sees of the session and does with it, in the compiled program. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { Folder } from "../support/folder.ts";
import { toolResults, xdev } from "../support/xdev.ts";

const PROBE = `
let early;
export default (pi) => {
  try { pi.getSessionName(); } catch (error) { early = error.name; }
  pi.registerTool({
    name: "probe", label: "probe", description: "", parameters: { type: "object", properties: {} },
    async execute(id, params, signal, onUpdate, ctx) {
      const m = ctx.sessionManager;
      const seen = {
        early,
        isIdle: ctx.isIdle(),
        pending: ctx.hasPendingMessages(),
        branch: m.getBranch().map(({ type }) => type).filter((type) => type === "message").length,
        leaf: m.getLeafEntry()?.id === m.getLeafId() && m.getEntry(m.getLeafId())?.type,
        entries: m.getEntries().length >= m.getBranch().length,
        roots: m.getTree().length,
        id: m.getSessionId() === m.getHeader().id,
        cwd: m.getCwd() === ctx.cwd,
        usage: ctx.getContextUsage()?.contextWindow > 0,
        prompt: ctx.getSystemPrompt().length > 100,
        active: pi.getActiveTools().includes("probe"),
        all: pi.getAllTools().some(({ name }) => name === "bash"),
        thinking: pi.getThinkingLevel(),
        commands: pi.getCommands().map(({ name }) => name),
      };
      pi.setSessionName("named by it");
      pi.setActiveTools(pi.getActiveTools().filter((name) => name !== "write"));
      seen.write = pi.getActiveTools().includes("write");
      seen.changed = await pi.setModel({ provider: "nobody", id: "none" });
      seen.name = pi.getSessionName();
      seen.exec = await pi.exec("echo", ["hi"]).then(({ stdout, stderr, code }) => stdout.trim() + stderr + code);
      pi.sendMessage({ customType: "note", content: "slipped in", display: true }, { deliverAs: "followUp" });
      pi.sendUserMessage("as if typed", { deliverAs: "followUp" });
      return JSON.stringify(seen);
    },
  });
  pi.registerCommand("fresh", {
    description: "begins anew",
    async handler(args, ctx) {
      const before = ctx.sessionManager.getSessionId();
      await ctx.waitForIdle();
      const { cancelled } = await ctx.newSession();
      return JSON.stringify([cancelled, before !== ctx.sessionManager.getSessionId(), typeof ctx.navigateTree]);
    },
  });
  pi.registerCommand("travel", {
    description: "switches to sessions",
    async handler(args, ctx) {
      const outcomes = [];
      for (const path of args.split(" ")) {
        outcomes.push(await ctx.switchSession(path).then(({ cancelled }) => String(cancelled), ({ message }) => message));
      }
      return JSON.stringify(outcomes);
    },
  });
};`;

const REPLAY = [
  { toolCalls: [{ name: "probe", arguments: {} }] },
  { text: "first" },
  { text: "second" },
  { text: "third" },
];

function scene(folder: Folder) {
  folder.file("data/extensions/probe.ts", PROBE);
  folder.file("work/x", "");
  const replay = folder.file("replay.json", JSON.stringify(REPLAY));
  const env = {
    PATH: process.env.PATH ?? "",
    HOME: `${folder.path}/home`,
    XDEV_DATA_DIR: `${folder.path}/data`,
  };
  return {
    grant: (...permissions: string[]) => xdev(["ext", "grant", "probe", ...permissions], { env }),
    run: (...words: string[]) =>
      xdev([...words, "--model", `replay:${replay}`, "--cwd", `${folder.path}/work`], { env }),
  };
}

describe("a module", () => {
  test("reads the session at once, and changes it with the permission session: write", async () => {
    using folder = new Folder();
    const { grant, run } = scene(folder);
    assert.equal((await grant("--session=write", "--run=echo")).status, 0);
    const outcome = await run("-p", "go", "--mode", "json");
    assert.equal(outcome.status, 0, outcome.stderr);
    const seen = JSON.parse(toolResults(outcome)[0]![2]);
    assert.deepEqual(seen, {
      early: "ExtensionRuntimeNotInitializedError",
      isIdle: false,
      pending: false,
      branch: 2,
      leaf: "message",
      entries: true,
      roots: 1,
      id: true,
      cwd: true,
      usage: true,
      prompt: true,
      active: true,
      all: true,
      thinking: "off",
      commands: ["fresh", "travel"],
      write: false,
      changed: false,
      name: "named by it",
      exec: "hi0",
    });
    const records = outcome.stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    const said = records
      .filter(({ type }) => type === "message_end")
      .map(({ message }) => `${message.role}: ${JSON.stringify(message.content)}`);
    const at = (text: string) => said.findIndex((line) => line.includes(text));
    // Behind the answer that they had to wait for, in their order.
    assert.ok(at("first") < at("slipped in") && at("slipped in") < at("as if typed"), said.join("\n"));
    assert.ok(records.some(({ type, name }) => type === "session_info_changed" && name === "named by it"));
  });

  test("without it reads all the same, and changes nothing", async () => {
    using folder = new Folder();
    const outcome = await scene(folder).run("-p", "go", "--mode", "json", "--allow-run=echo");
    // What changes the model rejects: that is the tool's error.
    assert.match(toolResults(outcome)[0]![2], /session: ?write|session=write|may not/);
    assert.doesNotMatch(outcome.stdout, /slipped in|as if typed|named by it/);
  });

  test("begins a session anew from a command", async () => {
    using folder = new Folder();
    const { grant, run } = scene(folder);
    await grant("--session=write");
    const { stdout, stderr, status } = await run("-p", "/fresh");
    assert.equal(status, 0, stderr);
    assert.equal(stdout.trim(), '[false,true,"function"]');
  });

  test("switches to a session beside the one that is open, and learns nothing of any other path", async () => {
    using folder = new Folder();
    const { grant, run } = scene(folder);
    await grant("--session=write", "--run=echo");
    assert.equal((await run("-p", "go")).status, 0);
    const sessions = join(folder.path, "data/sessions");
    const here = join(sessions, readdirSync(sessions).find((name) => name.startsWith("--"))!);
    const own = join(here, readdirSync(here).find((name) => name.endsWith(".jsonl"))!);
    const other = folder.file("data/sessions/--other--/a.jsonl", readFileSync(own, "utf8"));
    const link = join(here, "link.jsonl");
    symlinkSync(other, link);
    const paths = [
      other,
      link,
      folder.file("plain.txt", "x"),
      join(here, "none.jsonl"),
      join(here, "../--other--/a.jsonl"),
      own,
    ];
    const { stdout, stderr } = await run("-p", `/travel ${paths.join(" ")}`);
    const outcomes: string[] = JSON.parse(stdout.trim() || JSON.stringify([stderr]));
    assert.equal(outcomes.pop(), "false");
    assert.equal(outcomes.length, paths.length - 1);
    assert.equal(new Set(outcomes).size, 1, outcomes.join("\n"));
    assert.match(outcomes[0]!, /only to a session in the folder/);
  });
});
