/** The theme that the session is drawn with, for components that extensions make. */
import { agent, own } from "xdev:system";
import { highlightCode } from "./highlight.ts";

export interface Styles {
  fg(color: string, text: string): string;
  bg(color: string, text: string): string;
  bold(text: string): string;
  italic(text: string): string;
  underline(text: string): string;
  strikethrough(text: string): string;
  inverse(text: string): string;
}

interface ThemeModule {
  Theme: new (...args: unknown[]) => Styles;
  themeOf(table: null): Styles;
}
const { Theme, themeOf } = own("internal/theme") as unknown as ThemeModule;

export { Theme };

const plain = themeOf(null);
/** The session's theme as it is now: it may change while an extension runs. */
export const current = (): Styles => (agent.theme?.() as Styles | undefined) ?? plain;

/** The session's theme; its members are looked up when they are used. */
export const theme: Styles = new Proxy(plain, {
  get(_, key) {
    const now = current();
    const value: unknown = Reflect.get(now, key, now);
    return typeof value === "function" ? value.bind(now) : value;
  },
});

/** Without effect: the host has a theme, and its user chose it. */
export function initTheme(): void {}

const fg =
  (color: string) =>
  (text: string): string =>
    current().fg(color, text);

export function getMarkdownTheme(): Record<string, unknown> {
  return {
    heading: fg("mdHeading"),
    link: fg("mdLink"),
    linkUrl: fg("mdLinkUrl"),
    code: fg("mdCode"),
    codeBlock: fg("mdCodeBlock"),
    codeBlockBorder: fg("mdCodeBlockBorder"),
    quote: fg("mdQuote"),
    quoteBorder: fg("mdQuoteBorder"),
    hr: fg("mdHr"),
    listBullet: fg("mdListBullet"),
    bold: (text: string) => current().bold(text),
    italic: (text: string) => current().italic(text),
    underline: (text: string) => current().underline(text),
    strikethrough: (text: string) => current().strikethrough(text),
    highlightCode,
  };
}

export function getSelectListTheme(): Record<string, unknown> {
  return {
    selectedPrefix: fg("accent"),
    selectedText: fg("accent"),
    description: fg("muted"),
    scrollInfo: fg("muted"),
    noMatch: fg("muted"),
  };
}

export function getSettingsListTheme(): Record<string, unknown> {
  const chosen = (color: string) => (text: string, selected: boolean) =>
    selected ? current().fg("accent", text) : color === "" ? text : current().fg(color, text);
  return {
    label: chosen(""),
    value: chosen("muted"),
    description: fg("dim"),
    cursor: current().fg("accent", "→ "),
    hint: fg("dim"),
  };
}

export function getEditorTheme(): Record<string, unknown> {
  return { borderColor: fg("borderMuted"), selectList: getSelectListTheme() };
}
