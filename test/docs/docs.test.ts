/** The manual says what is so: its pages against the code that they are about. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { describe, test } from "node:test";
import type { z } from "zod";
import { KINDS } from "../../sandbox/permissions/permissions.ts";
import { SYS_VALUES } from "../../sandbox/permissions/values.ts";
import { QUEUE_ACTIONS } from "../../src/agent/message-queue.ts";
import { EXIT } from "../../src/cli/process-guard.ts";
import { jsonSchemas } from "../../src/config/json-schemas.ts";
import { parseFile } from "../../src/config/parse.ts";
import { settingsSchema } from "../../src/config/schema.ts";
import { DEFAULT_SETTINGS } from "../../src/config/settings.ts";
import { includesOf } from "../../src/docs/manual.ts";
import { forTerminal } from "../../src/docs/terminal.ts";
import { CALL_METHODS } from "../../src/extensions/calls.ts";
import { EVENT_NAMES, HOST_FEATURES, parseInbound } from "../../src/extensions/frame.ts";
import { MANIFEST_KEYS, manifestSchema } from "../../src/extensions/manifest.ts";
import { extensionEnvironment } from "../../src/extensions/process.ts";
import { STYLES } from "../../src/extensions/renderers.ts";
import { HOOK_EVENTS } from "../../src/hooks/events.ts";
import { hookFileSchema } from "../../src/hooks/schema.ts";
import { API_ALIASES, API_NAMES } from "../../src/models/api.ts";
import { BUILTIN_NAMES, keyVariables } from "../../src/models/builtin.ts";
import { LOCAL_SERVERS } from "../../src/models/local.ts";
import { replaySchema } from "../../src/models/replay-schema.ts";
import { modelsFileSchema } from "../../src/models/schema.ts";
import { testScriptSchema } from "../../src/testing/script.ts";
import { xdev } from "../support/xdev.ts";
import { commandsOf, fencesOf, files, linksOf, mentionsOf, PAGE_NAMES, page, parseQuietly } from "./pages.ts";

const README = await readFile(new URL("../../README.md", import.meta.url), "utf8");
const TEXTS = [...PAGE_NAMES.map((name) => [name, page(name)] as const), ["README", README] as const];
const SCHEMAS: Record<string, z.ZodType> = {
  "yaml config": settingsSchema,
  "yaml models": modelsFileSchema,
  "yaml replay": replaySchema,
  "yaml hook": hookFileSchema,
  "json manifest": manifestSchema,
  "yaml test": testScriptSchema,
};

/** Fails with the words that stand nowhere as code on the page. */
function assertNamed(name: (typeof PAGE_NAMES)[number], words: Iterable<string>): void {
  const codes = new Set([...page(name).matchAll(/`([^`\n]+)`/g)].map((match) => match[1]));
  assert.deepEqual(
    [...words].filter((word) => !codes.has(word)),
    [],
    `not on the page ${name}`,
  );
}

/** All names of members in a JSON Schema. */
function memberNames(schema: unknown): Set<string> {
  const found = new Set<string>();
  const visit = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    for (const [key, inner] of Object.entries(value)) {
      if (key === "properties") for (const name of Object.keys(inner as object)) found.add(name);
      visit(inner);
    }
  };
  visit(schema);
  return found;
}

async function assertUnderstood(words: readonly string[]): Promise<void> {
  const { invocation, complaint } = await parseQuietly(words);
  assert.ok(
    invocation.command !== "none" || invocation.status === 0,
    `xdev ${words.join(" ")}: ${complaint}`,
  );
}

describe("the pages", () => {
  test("are the files in src/docs, and what they include is there", () => {
    const pages = Object.keys(files).filter((path) => /^[^/]+\.md$/.test(path));
    assert.deepEqual(pages.sort(), PAGE_NAMES.map((name) => `${name}.md`).sort());
    for (const name of PAGE_NAMES) {
      for (const path of includesOf(files[`${name}.md`]!)) assert.ok(path in files, `${name}: ${path}`);
      assert.doesNotMatch(page(name), /<!--/, `${name}: nothing is left to include`);
    }
  });

  test("show every example, or link to it, and name its script", () => {
    const shown = PAGE_NAMES.flatMap((name) => {
      const text = files[`${name}.md`]!;
      return [...includesOf(text), ...linksOf(page(name))];
    });
    const examples = Object.keys(files).filter((path) => path.startsWith("examples/"));
    const isShown = (path: string) =>
      shown.includes(path) ||
      // The guide says that each has one.
      (path.endsWith(".test.yml") && shown.includes(path.replace(/test\.yml$/, "ts")));
    const missing = examples.filter((path) => !isShown(path) && path !== "examples/deny-rm.py");
    assert.deepEqual(missing, []);
  });

  test("link to pages and examples that exist, and so does the README", () => {
    for (const name of PAGE_NAMES) {
      for (const link of linksOf(page(name))) assert.ok(link in files, `${name} links to ${link}`);
    }
    for (const link of linksOf(README)) {
      const isThere = link.startsWith("https:") || existsSync(new URL(`../../${link}`, import.meta.url));
      assert.ok(isThere, `the README links to ${link}`);
    }
  });

  test("have examples of files that their schemas accept", async () => {
    let checked = 0;
    for (const [name, markdown] of TEXTS) {
      for (const { info, text } of fencesOf(markdown)) {
        const schema = SCHEMAS[info];
        assert.ok(schema || !/^(yaml|json)$/.test(info), `${name}: a block of ${info} says what it is`);
        if (!schema) continue;
        await parseFile(text, schema, `${name}, ${info}`, "bad-example");
        checked++;
      }
    }
    assert.ok(checked > 8, `${checked} were checked`);
  });

  test("show frames of an extension that xdev takes", () => {
    const lines = fencesOf(page("protocol"))
      .filter(({ info }) => info === "json frames")
      .flatMap(({ text }) => text.trimEnd().split("\n"));
    const frames = lines.map((line) => JSON.parse(line) as { type: string });
    const sent = frames.filter(({ type }) => !["hello", "event", "return"].includes(type));
    assert.ok(sent.length >= 4);
    for (const frame of sent) assert.ok("frame" in parseInbound(frame), JSON.stringify(frame));
    const hello = frames.find(({ type }) => type === "hello") as { features?: unknown } | undefined;
    assert.deepEqual(hello?.features, HOST_FEATURES);
  });

  for (const [name, text] of TEXTS) {
    test(`have command lines that xdev understands: ${name}`, async () => {
      for (const words of commandsOf(text)) await assertUnderstood(words);
      for (const words of mentionsOf(text)) {
        const { complaint } = await parseQuietly(words);
        if (!/missing required|required option/.test(complaint)) await assertUnderstood(words);
      }
    });
  }
});

describe("the pages name", () => {
  test("every event, call, feature, action and style of the protocol", () => {
    assertNamed("protocol", [...EVENT_NAMES, ...CALL_METHODS, ...HOST_FEATURES, ...STYLES]);
    assertNamed("protocol", [...QUEUE_ACTIONS, "register_provider"]);
  });

  test("the environment that an extension gets", () => {
    const [, list = ""] =
      /Of the environment it gets ([\s\S]*?) and everything that/.exec(page("protocol")) ?? [];
    const names = [...list.matchAll(/`(\w+)`/g)].map((match) => match[1]!);
    assert.ok(names.length > 5);
    const environment = Object.fromEntries([...names, "ANTHROPIC_API_KEY"].map((name) => [name, "x"]));
    assert.deepEqual(Object.keys(extensionEnvironment(environment)).sort(), names.sort());
  });

  test("every event of hooks, and every member of a definition", async () => {
    assertNamed("hooks", HOOK_EVENTS);
    assertNamed("hooks", memberNames((await jsonSchemas()).hook));
  });

  test("every setting, with its default", async () => {
    const { extensionHost } = (await jsonSchemas()).config!.properties as Record<string, unknown>;
    for (const name of memberNames(extensionHost)) {
      assert.match(page("settings"), new RegExp(`^\\| \`extensionHost\\.[\\w.]*${name}\``, "m"), name);
    }
    assert.match(page("settings"), /^\| `hooks\.EVENT`/m);
    for (const [name, value] of Object.entries(DEFAULT_SETTINGS.extensionHost)) {
      const [, given] =
        new RegExp(`^\\| \`extensionHost\\.${name}\` \\| (\\S+) \\|`, "m").exec(page("settings")) ?? [];
      assert.equal(given, typeof value === "object" ? "none" : String(value), name);
    }
  });

  test("every member of models.yml and of a replay, every provider, protocol and local server", async () => {
    const { models, replay } = await jsonSchemas();
    const documented = new Set(
      [...page("models").matchAll(/`(?:[\w.[\]]+\.)?(\w+)`/g)].map((match) => match[1]),
    );
    for (const name of [...memberNames(models), ...memberNames(replay)]) {
      const isShown = name === "providers" || name === "turns" || documented.has(name);
      assert.ok(isShown, name);
    }
    assertNamed("models", [...BUILTIN_NAMES, ...BUILTIN_NAMES.flatMap((name) => keyVariables(name))]);
    assertNamed("models", [...API_NAMES, ...API_ALIASES, ...LOCAL_SERVERS.map((server) => server.name)]);
    for (const { name, port } of LOCAL_SERVERS)
      assert.ok(page("models").includes(`| \`${name}\` | ${port} |`));
  });

  test("every permission, with the members of its declaration", async () => {
    const { permissions } = (await jsonSchemas()).manifest!.properties as Record<string, unknown>;
    assertNamed("permissions", [...KINDS, ...SYS_VALUES, ...memberNames(permissions)]);
  });

  test("every member of a test script", async () => {
    const { test: schema } = await jsonSchemas();
    const { allow: _, ...own } = (schema as { properties: Record<string, unknown> }).properties;
    const { steps } = own as { steps: { items: { properties: Record<string, unknown> } } };
    const { model: __, ...members } = steps.items.properties;
    assertNamed("testing", [
      "allow",
      "model",
      ...memberNames({ properties: { ...own, steps: { properties: members } } }),
    ]);
  });

  test("the keys of a manifest", () => assertNamed("extensions", MANIFEST_KEYS));

  test("every option and command of --help, and every exit status", async () => {
    const { stdout } = await xdev(["--help"]);
    for (const option of new Set(stdout.match(/(?<![\w-])--[a-z-]+/g))) {
      assert.ok(page("cli").includes(`\`${option}`), option);
    }
    const [, commands = ""] = /^Commands:\n([\s\S]*?)\n\n/m.exec(stdout) ?? [];
    for (const [, command = ""] of commands.matchAll(/^ {2}(\w+)/gm)) {
      assert.match(page("cli"), new RegExp(`xdev ${command}\\b`), command);
    }
    for (const status of Object.values(EXIT)) {
      assert.match(page("cli"), new RegExp(`^\\| ${status} \\|`, "m"));
    }
  });
});

describe("a page on a terminal", () => {
  /** Sorted: side by side in a table, words come in another order. */
  const lettersOf = (text: string) =>
    text
      .match(/[\p{L}\p{N}]/gu)
      ?.sort()
      .join("");
  /** What is left of a page's Markdown when it is drawn. */
  const expectedText = (markdown: string) =>
    markdown
      .replace(/^```.*$/gm, "")
      .replace(/\]\(examples\/([^)]+)\)/g, "] xdev docs example $1")
      .replace(/\]\((\w+)\.md\)/g, "] xdev docs $1");
  const ESCAPES = /\u001b\[\d+m/g;

  for (const width of [40, 80, 100]) {
    test(`fits ${width} columns, its code aside, and loses no word`, () => {
      for (const name of PAGE_NAMES) {
        const drawn = forTerminal(page(name), { width, bold: true });
        const lines = drawn.replace(ESCAPES, "").split("\n");
        const tooLong = lines.filter((line) => line.length > width && !line.startsWith("    "));
        // A table of many columns is as narrow as it gets.
        if (width >= 80) assert.deepEqual(tooLong, [], name);
        assert.equal(lettersOf(lines.join("\n")), lettersOf(expectedText(page(name))), name);
      }
    });
  }

  test("has bold headings, indented code, wrapped lists and tables, and links as commands", () => {
    const markdown = `# A title

A text that
goes on, with a [link](models.md).

- one item that is longer than the line

\`\`\`sh
xdev docs
\`\`\`

| name | meaning |
| --- | --- |
| \`a\` | several words in here |
`;
    assert.equal(
      forTerminal(markdown, { width: 24, bold: true }),
      `\u001b[1mA title\u001b[22m

A text that goes on,
with a link (xdev docs
models).

- one item that is
  longer than the line

    xdev docs

name  meaning
----  ------------------
\`a\`   several words in
      here
`,
    );
  });
});
