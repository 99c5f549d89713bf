/** Sessions, skills, instructions and settings of the agent's package in a guest: files by the extension's own rights, and no secret. */
import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { FakeRights } from "../../support/broker.ts";
import { type Guest, guestOf, type Scenario } from "./run-guest.ts";

type Loose = Parameters<Scenario>[0];

const SCENARIOS: Readonly<Record<string, Scenario>> = {
  write: async ({ agent, process }) => {
    const { SessionManager } = agent;
    const session = SessionManager.create("/some/project");
    session.appendModelChange("p", "m");
    const isEmpty = (await SessionManager.list("/some/project")).length === 0;
    session.appendMessage({ role: "user", content: "first words", timestamp: 1 });
    session.appendCustomEntry("mine", { at: 1 });
    session.appendSessionInfo("named");
    const file = session.getSessionFile();
    const again = SessionManager.open(file);
    again.appendMessage({ role: "user", content: "more", timestamp: 2 });
    const fork = SessionManager.forkFrom(file, "/other");
    const listed = await SessionManager.list("/some/project");
    return {
      isEmpty,
      file,
      entries: SessionManager.open(file)
        .getEntries()
        .map(({ type }: Loose) => type),
      found: SessionManager.findById("/some/project", session.getSessionId()) === file,
      recent: SessionManager.continueRecent("/some/project").getSessionId() === session.getSessionId(),
      listed: listed.map(({ name, messageCount, firstMessage, cwd }: Loose) => ({
        name,
        messageCount,
        firstMessage,
        cwd,
      })),
      all: (await SessionManager.listAll()).length,
      fork: [fork.getHeader().parentSession === file, fork.getEntries().length, fork.getCwd()],
      cwd: process.cwd(),
    };
  },
  old: ({ agent }) => {
    const session = agent.SessionManager.open("old.jsonl");
    return [
      session.getBranch().map(({ parentId }: Loose) => parentId !== null),
      session.buildSessionContext().messages.map(({ role }: Loose) => role),
      session.getHeader().version,
    ];
  },
  refused: async ({ agent }) => {
    const said: unknown[] = [];
    try {
      agent.SessionManager.open("old.jsonl");
    } catch (error) {
      said.push((error as Loose).code);
    }
    said.push(await agent.SessionManager.list("/some/project"), await agent.SessionManager.listAll());
    said.push(agent.loadSkills({ cwd: "/", skillPaths: ["skills"] }).skills, agent.loadProjectContextFiles());
    return said;
  },
  skills: ({ agent, process }) => {
    const { skills, diagnostics } = agent.loadSkillsFromDir({ dir: "skills", source: "test" });
    const all = agent.loadSkills({ cwd: process.cwd(), skillPaths: ["skills"], includeDefaults: false });
    return {
      skills: skills.map(({ name, description, disableModelInvocation }: Loose) => [
        name,
        description,
        disableModelInvocation,
      ]),
      diagnostics: diagnostics.map(({ message }: Loose) => message),
      all: all.skills.length,
      prompt: agent.formatSkillsForPrompt(skills),
      none: agent.formatSkillsForPrompt([]),
    };
  },
  context: async ({ agent, process }) => {
    const loader = new agent.DefaultResourceLoader({ cwd: process.cwd() });
    await loader.reload();
    return [
      agent.loadProjectContextFiles({ cwd: process.cwd() }).map(({ content }: Loose) => content),
      loader.getAgentsFiles().agentsFiles.length,
      agent.hasTrustRequiringProjectResources(process.cwd()),
    ];
  },
  secrets: async ({ agent }) => {
    const settings = agent.SettingsManager.inMemory({ defaultModel: "m" });
    settings.setTheme("mine");
    const auth = agent.AuthStorage.create();
    auth.setRuntimeApiKey("p", "own");
    const registry = agent.ModelRegistry.create(auth);
    const failing = async (run: () => unknown) => {
      try {
        return await run();
      } catch (error) {
        return (error as Error).message;
      }
    };
    return [
      [
        settings.getDefaultModel(),
        settings.getTheme(),
        settings.getRetryEnabled(),
        settings.getShellPath() ?? null,
      ],
      agent.SettingsManager.create("/").getCompactionSettings(),
      [
        await auth.getApiKey("p"),
        (await auth.getApiKey("anthropic")) ?? null,
        agent.readStoredCredential("anthropic") ?? null,
      ],
      [registry.getAvailable(), await failing(() => registry.getApiKey({}))],
      await failing(() => auth.login("anthropic")),
      await failing(() => new agent.ProjectTrustStore("/").set("/", true)),
      await failing(() => agent.copyToClipboard("text")),
    ];
  },
  compaction: async ({ agent }) => {
    const session = agent.SessionManager.inMemory("/");
    const first = session.appendMessage({ role: "user", content: "a".repeat(4000), timestamp: 1 });
    session.appendMessage({
      role: "assistant",
      content: [
        { type: "toolCall", id: "1", name: "read", arguments: { path: "r.ts" } },
        { type: "toolCall", id: "2", name: "edit", arguments: { path: "e.ts" } },
      ],
      timestamp: 2,
    });
    const kept = session.appendMessage({ role: "user", content: "b".repeat(4000), timestamp: 3 });
    const branch = session.getBranch();
    const prepared = agent.prepareCompaction(branch, {
      enabled: true,
      reserveTokens: 0,
      keepRecentTokens: 900,
    });
    const left = agent.collectEntriesForBranchSummary(session, kept, first);
    return {
      isKept: prepared.firstKeptEntryId === kept,
      messages: prepared.messagesToSummarize.length,
      files: [[...prepared.fileOps.read], [...prepared.fileOps.edited]],
      left: [left.entries.length, left.commonAncestorId === first],
      branch: agent.prepareBranchEntries(branch, 1100).messages.length,
    };
  },
  images: async ({ agent }) => {
    // One white pixel.
    const png =
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGP4DwABAQEAsTj2nwAAAABJRU5ErkJggg==";
    return [
      await agent.resizeImage({ data: png, mimeType: "image/png" }),
      await agent.resizeImage(Buffer.from(png, "base64"), "image/png", { maxWidth: 0 }),
      (await agent.convertToPng(png, "image/png"))?.mimeType,
      await agent.convertToPng(png, "image/gif"),
      agent.formatDimensionNote({
        wasResized: true,
        originalWidth: 100,
        originalHeight: 50,
        width: 50,
        height: 25,
      }),
      await agent.detectSupportedImageMimeTypeFromFile("pixel.png"),
      await agent.detectSupportedImageMimeTypeFromFile("old.jsonl"),
    ];
  },
};

describe("sessions and resources of the agent's package in a guest", () => {
  let guest: Guest;
  before(async () => {
    guest = await guestOf(SCENARIOS, new FakeRights(), { agent: "@oh-my-pi/pi-coding-agent" });
    const { folder } = guest;
    folder.file(
      "old.jsonl",
      [
        { type: "session", id: "o", timestamp: "2025-01-01T00:00:00.000Z", cwd: "/w" },
        {
          type: "message",
          timestamp: "2025-01-01T00:00:01.000Z",
          message: { role: "user", content: "x", timestamp: 1 },
        },
        {
          type: "message",
          timestamp: "2025-01-01T00:00:02.000Z",
          message: { role: "hookMessage", customType: "c", content: "y", display: true, timestamp: 2 },
        },
      ]
        .map((line) => JSON.stringify(line))
        .join("\n"),
    );
    mkdirSync(`${folder.path}/skills/one`, { recursive: true });
    mkdirSync(`${folder.path}/skills/bad`, { recursive: true });
    mkdirSync(`${folder.path}/.xdev`);
    folder.file("skills/one/SKILL.md", "---\nname: one\ndescription: Does one thing\n---\nHow");
    folder.file("skills/two.md", "---\ndescription: Another\ndisable-model-invocation: true\n---\nHow");
    folder.file("skills/bad/SKILL.md", "no head");
    folder.file("AGENTS.md", "be kind");
    writeFileSync(
      `${folder.path}/pixel.png`,
      Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptV", "base64"),
    );
  });
  after(() => guest?.[Symbol.asyncDispose]());

  test("a session of the extension's own is written, found, listed, opened and forked", async () => {
    const found = (await guest.run("write")) as Record<string, unknown>;
    const data = `${guest.folder.path}/data/sessions`;
    assert.equal(found.isEmpty, true);
    assert.ok(String(found.file).startsWith(`${data}/--some-project--/`));
    assert.deepEqual(found.entries, ["model_change", "message", "custom", "session_info", "message"]);
    assert.deepEqual(
      [found.found, found.recent, found.all, found.fork],
      [true, true, 2, [true, 5, "/other"]],
    );
    assert.deepEqual(found.listed, [
      { name: "named", messageCount: 2, firstMessage: "first words", cwd: "/some/project" },
    ]);
    assert.deepEqual(readdirSync(data).sort(), ["--other--", "--some-project--"]);
    assert.equal(readFileSync(String(found.file), "utf8").trim().split("\n").length, 6);
  });

  test("a file of the first version is read as one of today's", async () => {
    assert.deepEqual(await guest.run("old"), [[false, true], ["user", "custom"], 3]);
  });

  test("without the rights there is nothing to be had", async () => {
    guest.rights.decide = () => false;
    try {
      assert.deepEqual(await guest.run("refused"), ["EACCES", [], [], [], []]);
    } finally {
      guest.rights.decide = () => true;
    }
  });

  test("skills are found where they are looked for", async () => {
    const { skills, diagnostics, all, prompt, none } = (await guest.run("skills")) as Record<string, Loose>;
    assert.deepEqual(skills, [
      ["one", "Does one thing", false],
      ["two", "Another", true],
    ]);
    assert.deepEqual(diagnostics, ["description is required"]);
    assert.equal(all, 2);
    assert.match(prompt, /<name>one<\/name>/);
    assert.doesNotMatch(prompt, /two/);
    assert.equal(none, "");
  });

  test("instructions of the project are read", async () => {
    assert.deepEqual(await guest.run("context"), [["be kind"], 1, true]);
  });

  test("no setting, key or model of the user's is there, and what would need one says so", async () => {
    const [settings, compaction, keys, registry, login, trust, clipboard] = (await guest.run(
      "secrets",
    )) as Loose[];
    assert.deepEqual(settings, ["m", "mine", true, null]);
    assert.equal(compaction.reserveTokens, 16384);
    assert.deepEqual(keys, ["own", null, null]);
    assert.deepEqual(registry[0], []);
    for (const said of [registry[1], login]) assert.match(said, /keys are kept by the host/);
    assert.match(trust, /xdev trust/);
    assert.match(clipboard, /clipboard is the user's/);
  });

  test("what is summarised and what stays is told apart", async () => {
    assert.deepEqual(await guest.run("compaction"), {
      isKept: true,
      messages: 2,
      files: [["r.ts"], ["e.ts"]],
      left: [2, true],
      branch: 2,
    });
  });

  test("images are looked at and left as they are", async () => {
    const [image, tooLarge, ...rest] = (await guest.run("images")) as Loose[];
    assert.deepEqual([image.width, image.height, image.wasResized, tooLarge], [1, 1, false, null]);
    assert.deepEqual(rest, [
      "image/png",
      null,
      "[Image: original 100x50, displayed at 50x25. Multiply coordinates by 2.00 to map to original image.]",
      "image/png",
      null,
    ]);
  });
});
