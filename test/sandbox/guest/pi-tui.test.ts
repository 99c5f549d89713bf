/**
 * pi-tui in a guest: all of the package, in parts. Each expression is evaluated by an extension in a real worker and outside with
 * the package itself, and what both give is compared.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import * as piTui from "@earendil-works/pi-tui";
import { type Loaded, loadExtensions } from "../../support/extensions.ts";
import { Folder } from "../../support/folder.ts";

const THEME = `
const plain = (text) => text;
const bold = (text) => "<" + text + ">";
const select = { selectedPrefix: bold, selectedText: bold, description: plain, scrollInfo: plain, noMatch: plain };
const settings = { label: plain, value: bold, description: plain, cursor: "> ", hint: plain };
const markdown = Object.fromEntries("heading link linkUrl code codeBlock codeBlockBorder quote quoteBorder hr listBullet bold italic strikethrough underline".split(" ").map((name) => [name, (text) => "{" + name + " " + text + "}"]));
const editor = { borderColor: plain, selectList: select };
const tui = { requestRender() {}, terminal: { rows: 24, columns: 80 } };
`;

const CASES = [
  "'Markdown' in T && 'Text' in T && !('Markdow' in T)",
  "T.visibleWidth('a你\\x1b[31mb\\x1b[0m👩‍👩‍👧')",
  "T.truncateToWidth('hello 你好 world', 9)",
  "T.wrapTextWithAnsi('\\x1b[31mone two three four\\x1b[0m five', 9)",
  "[T.matchesKey('\\x1b[A', T.Key.up), T.matchesKey('\\x03', T.Key.ctrl('c')), T.parseKey('\\x1b[1;5C'), T.isKeyRelease('\\x1b[97;1:3u')]",
  "T.fuzzyFilter(['alpha', 'beta', 'gamma'], 'am', (x) => x)",
  "T.CURSOR_MARKER",
  "new T.Text('hello wide world', 1, 1).render(12)",
  "new T.TruncatedText('a text that is too long', 0, 0).render(10)",
  "(() => { const box = new T.Box(1, 1, bold); box.addChild(new T.Text('in', 0, 0)); box.addChild(new T.Spacer(2)); return box.render(8); })()",
  "(() => { const list = new T.SelectList([{ value: 'a', label: 'A', description: 'first' }, { value: 'b', label: 'B' }], 5, select); let got; list.onSelect = (item) => { got = item.value; }; list.handleInput('\\x1b[B'); list.handleInput('\\r'); return [got, list.render(40)]; })()",
  "(() => { const list = new T.SettingsList([{ id: 'x', label: 'X', currentValue: 'on', values: ['on', 'off'] }], 5, settings, () => {}, () => {}); list.handleInput('\\r'); return list.render(40); })()",
  "new T.Markdown('# Title\\n\\nsome **bold** and `code`\\n\\n- one\\n- two\\n\\n| a | b |\\n|---|---|\\n| 1 | 2 |', 0, 0, markdown).render(40)",
  "(() => { const input = new T.Input(); for (const key of 'abc') input.handleInput(key); input.handleInput('\\x1b[D'); input.handleInput('X'); return [input.getValue(), input.render(20)]; })()",
  "(() => { const one = new T.Editor(tui, editor); one.setText('a\\nb'); one.handleInput('c'); return [one.getText(), one.render(20)]; })()",
  "(() => { const container = new T.Container(); container.addChild(new T.HStack()); return [container instanceof T.Container, new T.ScrollView(new T.Text('x', 0, 0)) instanceof T.Container]; })()",
  "T.renderLatex('x^2')",
  "T.colorToHex(T.rgbColor(1, 2, 3))",
  "T.formatProgramStatus({ state: 'working', app: 'x' })",
  "T.getPngDimensions('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==')",
  "(() => { const keys = new T.KeybindingsManager(T.TUI_KEYBINDINGS, {}); T.setKeybindings(keys); return T.getKeybindings() === keys; })()",
];

describe("pi-tui in a guest", () => {
  let folder: Folder;
  let loaded: Loaded;
  let inside: string[];
  let other: Record<string, unknown>;

  const EVALUATE = `${THEME}
    const show = (value) => JSON.stringify(value, (key, one) => (typeof one === "function" ? "(function)" : one === undefined ? "(undefined)" : one));
    const evaluate = (source, T) => {
      try {
        return show((0, eval)("(T, plain, bold, select, settings, markdown, editor, tui) => (" + source + ")")(T, plain, bold, select, settings, markdown, editor, tui));
      } catch (error) {
        return "throws " + error.name + ": " + error.message;
      }
    };`;

  // From source the texts are built first.
  before(
    async () => {
      folder = new Folder();
      const file = folder.file(
        "extension.js",
        `import * as T from "@mariozechner/pi-tui";
      import { Container, Editor, Text } from "@earendil-works/pi-tui";
      ${EVALUATE}
      export default (pi) => pi.registerTool({
        name: "compare",
        parameters: { type: "object", properties: { cases: { type: "array" } } },
        async execute(id, { cases }) {
          const results = cases.map((source) => evaluate(source, T));
          class Own extends Text {}
          const other = {
            names: Object.keys({ ...T }),
            older: [T.isCtrlC("\\x03"), T.isEscape("\\x1b"), T.isEnter("x"), T.isArrowUp("\\x1b[A"), T.isShiftTab("\\x1b[Z"), T.getEditorKeybindings() === T.getKeybindings(), T.TUI === T.TuiMainScreen],
            named: Container === T.Container && Editor === T.Editor,
            subclass: new Own("x", 0, 0).render(3),
            terminal: evaluate("(process.env.TMUX = '1', T.resetCapabilitiesCache(), T.getCapabilities())", T),
            clipboard: evaluate("T.getNativeClipboard()", T),
            start: evaluate("(new T.ProcessTerminal().start(() => {}, () => {}), 'inert')", T),
          };
          return { content: [], details: { results, other } };
        },
      });`,
      );
      loaded = await loadExtensions([file]);
      assert.deepEqual(
        loaded.manager.failures().map(({ reason }) => reason),
        [],
      );
      const { details } = await loaded.manager.tools([])[0]!.execute("c", { cases: CASES });
      ({ results: inside, other } = details as { results: string[]; other: Record<string, unknown> });
    },
    { timeout: 60_000 },
  );
  after(async () => {
    await loaded.manager.stop();
    folder[Symbol.dispose]();
  });

  const evaluate = new Function(`${EVALUATE} return evaluate;`)() as (source: string, T: unknown) => string;
  for (const [at, source] of CASES.entries()) {
    test(source.slice(0, 80), () => {
      const outside = evaluate(source, piTui);
      assert.doesNotMatch(outside, /^throws/);
      assert.equal(inside[at], outside);
    });
  }

  test("all that the package exports is there, and what earlier versions had", () => {
    const names = other.names as string[];
    assert.deepEqual(
      Object.keys(piTui).filter((name) => !names.includes(name)),
      [],
    );
    assert.deepEqual(other.older, [true, true, false, true, true, true, true]);
  });

  test("what is imported by name is what the namespace has, and can be extended", () => {
    assert.equal(other.named, true);
    assert.deepEqual(other.subclass, new piTui.Text("x", 0, 0).render(3));
  });

  test("asks no program about the terminal, reads no clipboard and draws on no terminal", () => {
    assert.match(String(other.terminal), /"images":null/);
    assert.equal(other.clipboard, JSON.stringify("(undefined)"));
    assert.equal(other.start, JSON.stringify("inert"));
  });
});
