/** Components, themes and hints of the agent's package in a guest: drawn without a terminal. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { FakeRights } from "../../support/broker.ts";
import { type Guest, guestOf, type Scenario } from "./run-guest.ts";

/** What the guest gives is of no type that is known here. */
type Loose = Parameters<Scenario>[0];

const SCENARIOS: Readonly<Record<string, Scenario>> = {
  themes: ({ agent }) => {
    const markdown = agent.getMarkdownTheme();
    const settings = agent.getSettingsListTheme();
    return {
      markdown: Object.keys(markdown).sort(),
      select: Object.keys(agent.getSelectListTheme()).sort(),
      settings: Object.keys(settings).sort(),
      heading: markdown.heading("x"),
      chosen: [settings.label("x", true), settings.label("x", false)],
      code: agent.highlightCode('const a = "b"; // c\nreturn f(12)', "ts"),
      plain: agent.highlightCode("a\nb"),
      diff: agent.renderDiff("-1 a\n+1 b\n 2 c"),
      theme: new agent.Theme({ accent: 4 }, { selectedBg: 5 }, "256color", { name: "mine" }).fg(
        "accent",
        "x",
      ),
      init: agent.initTheme("dark", true) ?? "nothing",
      hints: [
        agent.keyHint("tui.select.confirm", "to confirm"),
        agent.rawKeyHint("x", "y"),
        agent.keyText("app.tools.expand"),
      ],
      older: [agent.keyHint("expandTools", "to expand"), agent.appKeyHint({}, "externalEditor", "to edit")],
    };
  },
  borders: ({ agent }) => [
    new agent.DynamicBorder((text: string) => `<${text}>`).render(5),
    new agent.DynamicBorder().render(3)[0].length > 3,
  ],
  loader: ({ agent, tui, theme }) => {
    const loader = new agent.BorderedLoader(tui, theme, "Thinking hard");
    let aborted = 0;
    loader.onAbort = () => aborted++;
    const lines = loader.render(40);
    loader.handleInput("\u001b");
    loader.dispose();
    const quiet = new agent.BorderedLoader(tui, theme, "Quiet", { cancellable: false });
    quiet.dispose();
    return { lines, aborted, isAborted: loader.signal.aborted, isQuiet: quiet.signal.aborted === false };
  },
  selector: ({ agent, tui }) => {
    const said: string[] = [];
    const make = () =>
      new agent.ExtensionSelectorComponent(
        "Which?",
        ["one", "two", "three"],
        (option: string) => said.push(option),
        () => said.push("cancelled"),
        { tui },
      );
    const first = make();
    const lines = first.render(40);
    first.handleInput("\u001b[B");
    first.handleInput("j");
    first.handleInput("k");
    first.handleInput("\r");
    make().handleInput("\u001b");
    const thinking = new agent.ThinkingSelectorComponent(
      "low",
      ["off", "low"],
      (level: string) => said.push(level),
      () => {},
    );
    thinking.handleInput("\r");
    return { lines, said };
  },
  late: ({ agent, tui }) =>
    new Promise((resolve) => {
      const input = new agent.ExtensionInputComponent(
        "Name?",
        "",
        () => {},
        () => resolve("cancelled"),
        { tui, timeout: 900 },
      );
      input.render(40);
    }),
  input: ({ agent }) => {
    const said: string[] = [];
    const input = new agent.ExtensionInputComponent(
      "Name?",
      "hint",
      (value: string) => said.push(value),
      () => said.push("cancelled"),
    );
    input.focused = true;
    const lines = input.render(40);
    for (const key of ["h", "i", "\r", "\u001b"]) input.handleInput(key);
    input.dispose();
    return { lines, said };
  },
  editor: ({ agent, tui }) => {
    const said: string[] = [];
    const keybindings = {
      matches: (data: string, binding: string) =>
        (data === "\u001b" && binding === "app.interrupt") ||
        (data === "\u000f" && binding === "app.tools.expand"),
    };
    const theme = { borderColor: (text: string) => text, selectList: agent.getSelectListTheme() };
    // What an extension does: an editor of its own that takes some keys and leaves the others.
    class Mine extends agent.CustomEditor {
      handleInput(data: string) {
        if (data === "X") said.push("mine");
        else super.handleInput(data);
      }
    }
    const editor: Loose = new (Mine as Loose)(tui, theme, keybindings);
    editor.onEscape = () => said.push("escape");
    editor.onAction("app.tools.expand", () => said.push("expand"));
    editor.onExtensionShortcut = (data: string) => data === "S" && said.push("shortcut") > 0;
    for (const key of ["a", "X", "b", "\u001b", "\u000f", "S"]) editor.handleInput(key);
    editor.onSubmit = (text: string) => said.push(text);
    const lines = editor.render(20).length;
    editor.handleInput("\r");
    return { said, hasLines: lines > 1 };
  },
  longInput: ({ agent, tui }) => {
    const said: string[] = [];
    const editor = new agent.ExtensionEditorComponent(
      tui,
      {},
      "Text?",
      "before",
      (text: string) => said.push(text),
      () => said.push("cancelled"),
    );
    const lines = editor.render(60);
    editor.handleInput("!");
    editor.handleInput("\r");
    editor.handleInput("\u001b");
    return { lines, said };
  },
  messages: ({ agent, tui }) => {
    const components: Record<string, Loose> = {
      user: new agent.UserMessageComponent("**hello**"),
      assistant: new agent.AssistantMessageComponent({
        role: "assistant",
        content: [
          { type: "thinking", thinking: "hm" },
          { type: "text", text: "answer" },
        ],
        stopReason: "error",
        errorMessage: "no key",
      }),
      custom: new agent.CustomMessageComponent({ customType: "mine", content: "text", display: true }),
      drawn: new agent.CustomMessageComponent({ customType: "mine", content: "text" }, (message: Loose) => ({
        render: () => [`drawn ${message.content}`],
        invalidate() {},
      })),
      branch: new agent.BranchSummaryMessageComponent({ summary: "what was" }),
      compaction: new agent.CompactionSummaryMessageComponent({ summary: "in short", tokensBefore: 5 }),
      skill: new agent.SkillInvocationMessageComponent({ name: "pdf", location: "/", content: "how to" }),
      tool: new agent.ToolExecutionComponent("read", "1", { path: "a" }, {}, undefined, tui, "/"),
      drawnTool: new agent.ToolExecutionComponent(
        "read",
        "1",
        { path: "a" },
        {},
        agent.createReadTool("/"),
        tui,
        "/",
      ),
      bash: new agent.BashExecutionComponent("ls", tui),
    };
    components.tool.updateResult({
      content: [{ type: "text", text: "result" }, { type: "image" }],
      isError: true,
    });
    components.drawnTool.updateResult({ content: [{ type: "text", text: "1\tline" }], isError: false });
    components.bash.appendOutput("a\nb\n");
    components.bash.setComplete(2, false);
    for (const name of ["branch", "compaction", "skill"]) components[name].setExpanded(true);
    return Object.fromEntries(Object.entries(components).map(([name, one]) => [name, one.render(60)]));
  },
  visual: ({ agent }) => [
    agent.truncateToVisualLines("a\nb\nc", 2, 10),
    agent.truncateToVisualLines("a\nb\nc", 2, 10, 0, "start"),
    agent.truncateToVisualLines("", 2, 10),
  ],
};

const FAKES = `const tui = { requestRender() {}, terminal: { rows: 24, columns: 80 } };
  const theme = new agent.Theme({ accent: 1, border: 2, muted: 3, dim: 4 }, {});`;

const plain = (lines: unknown): string =>
  (lines as string[])
    .join("\n")
    .replace(/\u001b\[[0-9;]*m|\u001b[\]_][^\u0007\u001b]*(?:\u0007|\u001b\\)/g, "");

describe("components of the agent's package in a guest", () => {
  let guest: Guest;
  before(async () => {
    const given = Object.fromEntries(
      Object.entries(SCENARIOS).map(([name, scenario]) => [
        name,
        new Function(
          "modules",
          `const { agent } = modules; ${FAKES} return (${scenario})({ ...modules, tui, theme });`,
        ) as Scenario,
      ]),
    );
    guest = await guestOf(given, new FakeRights(() => false), { agent: "xdev" });
  });
  after(() => guest?.[Symbol.asyncDispose]());
  const run = async <T = Record<string, unknown>>(name: string): Promise<T> => (await guest.run(name)) as T;

  test("themes have what lists, Markdown and settings ask for, in colours", async () => {
    const found = await run("themes");
    assert.deepEqual(
      found.markdown,
      "bold code codeBlock codeBlockBorder heading highlightCode hr italic link linkUrl listBullet quote quoteBorder strikethrough underline".split(
        " ",
      ),
    );
    assert.deepEqual(found.select, [
      "description",
      "noMatch",
      "scrollInfo",
      "selectedPrefix",
      "selectedText",
    ]);
    assert.deepEqual(found.settings, ["cursor", "description", "hint", "label", "value"]);
    assert.match(String(found.heading), /^\u001b\[[0-9;]+mx\u001b\[39m$/);
    assert.deepEqual(
      (found.chosen as string[]).map((text) => text === "x"),
      [false, true],
    );
    assert.equal(plain(found.code), 'const a = "b"; // c\nreturn f(12)');
    assert.notEqual((found.code as string[])[0], 'const a = "b"; // c');
    assert.equal(plain(found.plain), "a\nb");
    assert.equal(plain([found.diff]), "-1 a\n+1 b\n 2 c");
    assert.equal(
      new Set(
        String(found.diff)
          .split("\n")
          .map((line) => line.slice(0, 18)),
      ).size,
      3,
    );
    assert.equal(found.theme, "\u001b[38;5;4mx\u001b[39m");
    assert.equal(plain(found.hints), "enter to confirm\nx y\nctrl+o");
    assert.equal(plain(found.older), "ctrl+o to expand\nctrl+g to edit");
  });

  test("a border is as wide as the screen", async () => {
    assert.deepEqual(await run("borders"), [["<─────>"], true]);
  });

  test("a loader says what goes on, and escape aborts it", async () => {
    const { lines, ...rest } = await run("loader");
    assert.match(plain(lines), /─{40}[\s\S]*Thinking hard[\s\S]*escape to cancel[\s\S]*─{40}/);
    assert.deepEqual(rest, { aborted: 1, isAborted: true, isQuiet: true });
  });

  test("a selector gives the option that was chosen, or is cancelled", async () => {
    const { lines, said } = await run("selector");
    assert.match(plain(lines), /Which\?[\s\S]*one[\s\S]*two[\s\S]*three/);
    assert.deepEqual(said, ["two", "cancelled", "low"]);
  });

  test("a question with a time-out is cancelled in the end", async () => {
    assert.equal(await run<string>("late"), "cancelled");
  });

  test("an input gives its text", async () => {
    const { lines, said } = await run("input");
    assert.match(plain(lines), /Name\?/);
    assert.deepEqual(said, ["hi", "cancelled"]);
  });

  test("an editor that extends CustomEditor takes its keys and leaves the agent's and the editor's", async () => {
    assert.deepEqual(await run("editor"), {
      said: ["mine", "escape", "expand", "shortcut", "ab"],
      hasLines: true,
    });
  });

  test("a longer text is edited in a frame", async () => {
    const { lines, said } = await run("longInput");
    assert.match(plain(lines), /Text\?[\s\S]*before/);
    assert.deepEqual(said, ["before!", "cancelled"]);
  });

  test("messages and runs of tools are drawn", async () => {
    const drawn = await run("messages");
    const expected: Record<string, RegExp> = {
      user: /hello/,
      assistant: /hm[\s\S]*answer[\s\S]*Error: no key/,
      custom: /\[mine\][\s\S]*text/,
      drawn: /drawn text/,
      branch: /\[branch\][\s\S]*what was/,
      compaction: /5 tokens[\s\S]*in short/,
      skill: /pdf[\s\S]*how to/,
      tool: /read[\s\S]*"path":"a"[\s\S]*result\s*\n?\s*\[image\]/,
      drawnTool: /read a[\s\S]*line/,
      bash: /\$ ls[\s\S]*a[\s\S]*b[\s\S]*\(exit 2\)/,
    };
    for (const [name, pattern] of Object.entries(expected)) assert.match(plain(drawn[name]), pattern, name);
  });

  test("a text is cut to lines of the screen", async () => {
    const lines = (texts: string[]) => texts.map((text) => text.padEnd(10));
    assert.deepEqual(await run("visual"), [
      { visualLines: lines(["b", "c"]), skippedCount: 1 },
      { visualLines: lines(["a", "b"]), skippedCount: 1 },
      { visualLines: [], skippedCount: 0 },
    ]);
  });
});
