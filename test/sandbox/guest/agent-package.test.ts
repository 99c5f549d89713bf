/**
 * The agent's package as extensions import it: every name that the real package has is there, and what extensions use of it does what
 * it does there. The real package is imported by this test alone.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import * as real from "@earendil-works/pi-coding-agent";
import { createModules } from "../../../sandbox/guest/api/modules.ts";
import { loadPlatform } from "../../../src/platform/index.ts";
import { FakeRights } from "../../support/broker.ts";
import { type Guest, guestOf, type Scenario } from "./run-guest.ts";

type Loose = Parameters<Scenario>[0];

/** The same text runs in the guest with our module, and here with the real one; both give the same. */
const SAME: Readonly<Record<string, Scenario>> = {
  "guards look at the tool's name": ({ agent }) =>
    ["bash", "read", "edit", "write", "grep", "find", "ls", "powershell"].map((toolName) => [
      agent.isToolCallEventType(toolName, { type: "tool_call", toolName, input: {} }),
      agent.isBashToolResult({ toolName }),
      agent.isReadToolResult({ toolName }),
      agent.isEditToolResult({ toolName }),
      agent.isWriteToolResult({ toolName }),
      agent.isGrepToolResult({ toolName }),
      agent.isFindToolResult({ toolName }),
      agent.isLsToolResult({ toolName }),
      agent.isPowerShellToolResult({ toolName }),
    ]),
  "defineTool gives the definition": ({ agent }) => {
    const tool = { name: "a" };
    return agent.defineTool(tool) === tool;
  },
  "texts are cut at the head and at the tail, by lines and bytes": ({ agent }) => {
    const texts = [
      "",
      "a\n",
      "a\nb",
      "ééé\nüü\n",
      "long long line\nx",
      "x\nlong long line",
      "😀😀😀",
      "\n\n",
      "a\n\nb\n\n",
    ];
    const limits = [
      {},
      { maxLines: 1 },
      { maxBytes: 3 },
      { maxBytes: 5, maxLines: 2 },
      { maxLines: 0 },
      { maxBytes: 0 },
    ];
    return texts.flatMap((text) =>
      limits.flatMap((limit) => [agent.truncateHead(text, limit), agent.truncateTail(text, limit)]),
    );
  },
  "a long line and a size are written as usual": ({ agent }) => [
    agent.truncateLine("abcdef", 3),
    agent.truncateLine("abc", 3),
    [0, 1023, 1024, 1500, 1048576, 5e6].map(agent.formatSize),
    [agent.DEFAULT_MAX_BYTES, agent.DEFAULT_MAX_LINES],
  ],
  "front matter is taken apart, plain or not": ({ agent }) =>
    [
      "---\nname: a\ndescription: b c\n---\n\nbody\n",
      "---\na: 1\nb: [x, y]\nc:\n  d: true\n---\nbody",
      "no head\n",
      "---\nopen: 1",
    ].map((text) => [agent.parseFrontmatter(text), agent.stripFrontmatter(text)]),
  "a conversation becomes one text": ({ agent }) =>
    agent.serializeConversation(
      agent.convertToLlm([
        { role: "user", content: "hi", timestamp: 1 },
        {
          role: "assistant",
          content: [
            { type: "thinking", thinking: "hidden" },
            { type: "text", text: "yes" },
            { type: "toolCall", id: "1", name: "bash", arguments: { command: "ls", timeout: 2 } },
          ],
          timestamp: 2,
        },
        {
          role: "toolResult",
          toolCallId: "1",
          content: [{ type: "text", text: "x".repeat(2100) }],
          timestamp: 3,
        },
        { role: "custom", customType: "c", content: "from an extension", display: true, timestamp: 4 },
      ]),
    ),
  "tokens are counted and guessed": ({ agent }) => [
    agent.calculateContextTokens({ input: 1, output: 2, cacheRead: 3, cacheWrite: 4 }),
    agent.calculateContextTokens({ input: 1, output: 2, cacheRead: 3, cacheWrite: 4, totalTokens: 9 }),
    agent.estimateTokens({ role: "user", content: "12345678" }),
    agent.estimateTokens({ role: "toolResult", content: [{ type: "text", text: "123" }, { type: "image" }] }),
    agent.shouldCompact(90, 100, { enabled: true, reserveTokens: 20, keepRecentTokens: 1 }),
    agent.DEFAULT_COMPACTION_SETTINGS,
  ],
  "texts are compared by lines": ({ agent }) => {
    const old = Array.from({ length: 30 }, (_, at) => `line ${at}\n`).join("");
    const now = old.replace("line 0\n", "").replace("line 15", "LINE 15").concat("more\n");
    return [
      agent.generateDiffString(old, now),
      agent.generateUnifiedPatch("f.txt", old, now),
      agent.generateDiffString("", "x\ny\n"),
      agent.generateDiffString("a\n", "a\n"),
      agent.generateUnifiedPatch("f", "a\nb", "a\nc\n"),
    ];
  },
  "a bus tells its listeners until they leave": async ({ agent }) => {
    const heard: unknown[] = [];
    const bus = agent.createEventBus();
    const leave = bus.on("a", (data: unknown) => heard.push(["one", data]));
    bus.on("a", (data: unknown) => heard.push(["two", data]));
    bus.emit("a", 1);
    leave();
    bus.emit("a", 2);
    bus.emit("b", 3);
    bus.clear();
    bus.emit("a", 4);
    return heard;
  },
  "lines of read, skills in messages and sources are written as usual": ({ agent }) => [
    agent.formatReadLineRange(3, 5),
    agent.formatReadLineRange(undefined, 5),
    agent.formatReadLineRange(3, undefined),
    agent.formatReadLineRange(undefined, undefined),
    agent.parseSkillBlock('<skill name="n" location="/l">\ntext\n</skill>\n\nmore'),
    agent.parseSkillBlock("text"),
    agent.createSyntheticSourceInfo("p", { source: "s" }),
    agent.getLanguageFromPath("a/b.ts"),
    agent.getLanguageFromPath("x.unknown"),
  ],
  "entries of a session are read, and make its context": ({ agent }) => {
    const text = [
      { type: "session", version: 3, id: "s", timestamp: "2026-01-01T00:00:00.000Z", cwd: "/w" },
      {
        type: "message",
        id: "a",
        parentId: null,
        timestamp: "2026-01-01T00:00:01.000Z",
        message: { role: "user", content: "one", timestamp: 1 },
      },
      {
        type: "custom",
        id: "b",
        parentId: "a",
        timestamp: "2026-01-01T00:00:02.000Z",
        customType: "x",
        data: 1,
      },
      {
        type: "message",
        id: "c",
        parentId: "b",
        timestamp: "2026-01-01T00:00:03.000Z",
        message: { role: "user", content: "two", timestamp: 2 },
      },
      {
        type: "compaction",
        id: "d",
        parentId: "c",
        timestamp: "2026-01-01T00:00:04.000Z",
        summary: "S",
        firstKeptEntryId: "c",
        tokensBefore: 5,
      },
      {
        type: "message",
        id: "e",
        parentId: "d",
        timestamp: "2026-01-01T00:00:05.000Z",
        message: { role: "user", content: "three", timestamp: 3 },
      },
    ]
      .map((entry) => JSON.stringify(entry))
      .join("\n");
    const entries = agent.parseSessionEntries(`${text}\nno entry\n`);
    agent.migrateSessionEntries(entries);
    const rest = entries.slice(1);
    return [
      entries.length,
      agent.CURRENT_SESSION_VERSION,
      agent.getLatestCompactionEntry(rest),
      agent.buildSessionContext(rest),
      agent.buildSessionContext(rest, "b"),
      agent.buildContextEntries(rest).map(({ id }: { id: string }) => id),
      agent.sessionEntryToContextMessages(rest[0]),
    ];
  },
  "a session in memory grows, branches and is named": ({ agent }) => {
    const session = agent.SessionManager.inMemory("/w");
    const first = session.appendMessage({ role: "user", content: "one", timestamp: 1 });
    const second = session.appendMessage({ role: "user", content: "two", timestamp: 2 });
    session.appendCustomEntry("mine", { a: 1 });
    session.appendSessionInfo(" name ");
    session.branch(first);
    session.appendMessage({ role: "user", content: "three", timestamp: 3 });
    session.appendLabelChange(second, "mark");
    return [
      session.getBranch().map(({ type }: { type: string }) => type),
      session.getEntries().length,
      session.getSessionName() ?? null,
      session.getLabel(second),
      session.getTree()[0].children.length,
      session.getChildren(first).length,
      session.buildSessionContext().messages.map(({ content }: { content: string }) => content),
      session.getCwd(),
      session.isPersisted(),
      session.getSessionFile() ?? null,
    ];
  },
  "where to cut is found": ({ agent }) => {
    const user = (at: number) => ({
      type: "message",
      id: `u${at}`,
      message: { role: "user", content: "x".repeat(400), timestamp: at },
    });
    const entries = [0, 1, 2, 3, 4].map(user);
    return [
      agent.findCutPoint(entries, 0, 5, 150),
      agent.findCutPoint(entries, 0, 5, 100000),
      agent.findTurnStartIndex(entries, 3, 0),
      agent.getLastAssistantUsage(entries) ?? null,
    ];
  },
};

describe("the agent's package in a guest does what the real one does", () => {
  let guest: Guest;
  before(async () => {
    guest = await guestOf(SAME, new FakeRights(() => false), { agent: "@earendil-works/pi-coding-agent" });
  });
  after(() => guest?.[Symbol.asyncDispose]());

  for (const [name, scenario] of Object.entries(SAME)) {
    test(name, async () => {
      const outside = JSON.parse(JSON.stringify((await scenario({ agent: real })) ?? null));
      assert.deepEqual(await guest.run(name), outside);
    });
  }
});

/** What a sandboxed extension can't have: each is there, and says so when it is used. */
const REFUSED = `
  AgentSession AgentSessionRuntime ArminComponent DefaultPackageManager ExtensionRunner FooterComponent InteractiveMode
  LoginDialogComponent ModelRuntime ModelSelectorComponent OAuthSelectorComponent RpcClient SessionSelectorComponent
  SettingsSelectorComponent TreeSelectorComponent createAgentSession createAgentSessionFromServices createAgentSessionRuntime
  createAgentSessionServices createCodemodeExtension createExtensionRuntime createLocalPowerShellOperations createMcpExtension
  createPowerShellTool createPowerShellToolDefinition createToolSearchExtension discoverAndLoadExtensions getPowerShellConfig main
  parseArgs resolveCliModel resolveModelScopeWithDiagnostics runPrintMode runRpcMode wrapRegisteredTool wrapRegisteredTools`
  .trim()
  .split(/\s+/);

const NAMES: Readonly<Record<string, Scenario>> = {
  kinds: ({ agent }) => Object.fromEntries(Object.keys(agent).map((name) => [name, typeof agent[name]])),
};

describe("the names of the agent's package in a guest", () => {
  let guest: Guest;
  before(async () => {
    guest = await guestOf(NAMES, new FakeRights(() => false), { agent: "xdev" });
  });
  after(() => guest?.[Symbol.asyncDispose]());

  test("every export of the real package is there, and of its kind", async () => {
    const kinds = (await guest.run("kinds")) as Record<string, string>;
    const expected = Object.fromEntries(Object.entries(real).map(([name, value]) => [name, typeof value]));
    const differing = Object.keys(expected).filter((name) => kinds[name] !== expected[name]);
    assert.deepEqual(differing, []);
  });
});

const REFUSING: Readonly<Record<string, Scenario>> = Object.fromEntries(
  REFUSED.map((name) => [
    name,
    new Function(
      "{ agent }",
      `return [() => agent.${name}(), () => new agent.${name}(), () => agent.${name}.create()].map((use) => {
        try { use(); return "nothing"; } catch (error) { return error.message; }
      })`,
    ) as Scenario,
  ]),
);

describe("what is not possible in the sandbox says so, and what to do instead", () => {
  let guest: Guest;
  before(async () => {
    guest = await guestOf(REFUSING, new FakeRights(() => false), { agent: "xdev" });
  });
  after(() => guest?.[Symbol.asyncDispose]());

  for (const name of REFUSED) {
    test(name, async () => {
      for (const said of (await guest.run(name)) as string[]) {
        assert.match(said, new RegExp(`${name}(?:\\.create)? is not possible here: .{20}`));
      }
    });
  }
});

describe("what an extension imports of the agent's package", () => {
  test("is evaluated when it is used, and not when it is imported, looked for or made ready", async () => {
    const platform = await loadPlatform();
    const evaluated: string[] = [];
    const texts = new Map<string, string>();
    for (const name of [
      "pi-coding-agent",
      "internal/agent-tools",
      "internal/agent-theme",
      "internal/theme",
    ]) {
      texts.set(name, (await platform.guestSource(name)).text);
    }
    const about = { cwd: "/", data: "/data", env: {}, platform: "linux" };
    const agent = { pi: {}, storageFolder: "/data" };
    const system: Record<string, unknown> = { about, agent };
    const modules = createModules(
      {
        evaluateSource(name) {
          const text = texts.get(name);
          assert.ok(text, `${name} is evaluated`);
          evaluated.push(name);
          return new Function(`return ${text}`)();
        },
      },
      system,
    );
    system.own = modules.own;

    const names = Object.keys(real).filter((name) => name !== "default");
    const imported = modules.import("xdev", names) as Record<string, never>;
    for (const name of names) void imported[name];
    assert.deepEqual(evaluated, ["pi-coding-agent"]);

    const { createCodingTools, DynamicBorder } = imported as Record<string, Loose>;
    const [read] = createCodingTools("/");
    assert.equal(read.name, "read");
    assert.deepEqual(evaluated.slice(1), ["internal/agent-tools"]);

    class Mine extends DynamicBorder {}
    const border: Loose = new (Mine as Loose)((text: string) => text);
    assert.deepEqual(border.render(2), ["──"]);
    assert.ok(border instanceof DynamicBorder && border instanceof Mine);
    assert.deepEqual(evaluated.slice(2), ["internal/agent-theme", "internal/theme"]);
  });
});
