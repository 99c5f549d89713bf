/**
 * The theme that components of extensions are drawn with (`ctx.ui.theme`, and the argument of renderers): names of colours, made
 * control sequences for a terminal. The table comes from the host as data; without one it is the table below.
 */

export interface ThemeTable {
  name?: string;
  /** From a colour's name to `#rrggbb`, a number of the 256 colours, or an empty text for the terminal's own. */
  fg: Record<string, string | number>;
  bg: Record<string, string | number>;
}

type Colors = Readonly<Record<string, string | number>>;
export type ColorMode = "truecolor" | "256color";

export class Theme {
  readonly name: string | undefined;
  readonly sourcePath: string | undefined;
  readonly appearance: string = "dark";
  readonly #fg: Colors;
  readonly #bg: Colors;
  readonly #mode: ColorMode;

  constructor(
    fgColors: Colors,
    bgColors: Colors,
    mode: ColorMode = "truecolor",
    options: { name?: string; sourcePath?: string } = {},
  ) {
    this.#fg = fgColors;
    this.#bg = bgColors;
    this.#mode = mode === "256color" ? mode : "truecolor";
    this.name = options.name;
    this.sourcePath = options.sourcePath;
  }

  /** The same theme with more members. */
  joined(members: Record<string, unknown>): Theme {
    const { name, sourcePath } = this;
    const options = {
      ...(name === undefined ? {} : { name }),
      ...(sourcePath === undefined ? {} : { sourcePath }),
    };
    return Object.assign(new Theme(this.#fg, this.#bg, this.#mode, options), members);
  }

  /** Every colour by its name. */
  get colors(): Record<string, string | number> {
    return { ...this.#fg, ...this.#bg };
  }

  fg(color: string, text: string): string {
    return `${this.getFgAnsi(color)}${text}\u001b[39m`;
  }

  bg(color: string, text: string): string {
    return `${this.getBgAnsi(color)}${text}\u001b[49m`;
  }

  bold(text: string): string {
    return `\u001b[1m${text}\u001b[22m`;
  }

  dim(text: string): string {
    return `\u001b[2m${text}\u001b[22m`;
  }

  italic(text: string): string {
    return `\u001b[3m${text}\u001b[23m`;
  }

  underline(text: string): string {
    return `\u001b[4m${text}\u001b[24m`;
  }

  inverse(text: string): string {
    return `\u001b[7m${text}\u001b[27m`;
  }

  strikethrough(text: string): string {
    return `\u001b[9m${text}\u001b[29m`;
  }

  style(text: string, options: Record<string, unknown> = {}): string {
    let styled = text;
    const { fg, bg } = options;
    if (fg !== undefined) styled = this.fg(String(fg), styled);
    if (bg !== undefined) styled = this.bg(String(bg), styled);
    if (options.bold) styled = this.bold(styled);
    if (options.dim || options.faint) styled = this.dim(styled);
    if (options.italic) styled = this.italic(styled);
    if (options.underline) styled = this.underline(styled);
    if (options.inverse) styled = this.inverse(styled);
    if (options.strikethrough) styled = this.strikethrough(styled);
    return styled;
  }

  /** What begins a colour; a name that the theme has not begins the terminal's own. */
  getFgAnsi(color: string): string {
    return sequence(38, own(this.#fg, color) ?? own(this.#bg, color) ?? color, this.#mode);
  }

  getBgAnsi(color: string): string {
    return sequence(48, own(this.#bg, color) ?? own(this.#fg, color) ?? color, this.#mode);
  }

  getColorMode(): ColorMode {
    return this.#mode;
  }

  getThinkingBorderColor(level: string): (text: string) => string {
    const name = `thinking${level.charAt(0).toUpperCase()}${level.slice(1)}`;
    return (text) => this.fg(own(this.#fg, name) === undefined ? "thinkingOff" : name, text);
  }

  getBashModeBorderColor(): (text: string) => string {
    return (text) => this.fg("bashMode", text);
  }
}

/** The theme of a table; without one, xdev's own. */
export function themeOf(table: ThemeTable | null | undefined): Theme {
  const { name = "dark", fg, bg } = table ?? { name: "dark", fg: FG, bg: BG };
  return new Theme({ ...FG, ...fg }, { ...BG, ...bg }, "truecolor", { name });
}

function own(colors: Colors, name: string): string | number | undefined {
  return Object.hasOwn(colors, name) ? colors[name] : undefined;
}

function sequence(kind: 38 | 48, color: string | number, mode: ColorMode): string {
  if (typeof color === "number") return `\u001b[${kind};5;${color}m`;
  const hex = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/i.exec(color);
  if (!hex) return `\u001b[${kind + 1}m`;
  const [r, g, b] = hex.slice(1).map((part) => Number.parseInt(part, 16)) as [number, number, number];
  if (mode === "truecolor") return `\u001b[${kind};2;${r};${g};${b}m`;
  const step = (value: number) => Math.round((value / 255) * 5);
  return `\u001b[${kind};5;${16 + 36 * step(r) + 6 * step(g) + step(b)}m`;
}

const BLUE = "#7aa7e0";
const GREEN = "#7fc08a";
const RED = "#e07a76";
const YELLOW = "#d9b36a";
const VIOLET = "#b294e0";
const GREY = "#9aa0a8";
const DARK_GREY = "#767c84";
const TEXT = "#dfe1e5";

const FG: Colors = {
  accent: VIOLET,
  border: BLUE,
  borderAccent: VIOLET,
  borderMuted: DARK_GREY,
  success: GREEN,
  error: RED,
  warning: YELLOW,
  muted: GREY,
  dim: DARK_GREY,
  text: TEXT,
  thinkingText: GREY,
  scrollbarTrack: "#4a4e54",
  scrollbarThumb: GREY,
  searchMatchText: TEXT,
  userMessageText: TEXT,
  customMessageText: GREY,
  customMessageLabel: VIOLET,
  toolTitle: TEXT,
  toolOutput: GREY,
  mdHeading: YELLOW,
  mdLink: BLUE,
  mdLinkUrl: GREY,
  mdCode: VIOLET,
  mdCodeBlock: GREEN,
  mdCodeBlockBorder: GREY,
  mdQuote: GREY,
  mdQuoteBorder: GREY,
  mdHr: GREY,
  mdListBullet: VIOLET,
  toolDiffAdded: GREEN,
  toolDiffRemoved: RED,
  toolDiffContext: GREY,
  syntaxComment: GREY,
  syntaxKeyword: BLUE,
  syntaxFunction: YELLOW,
  syntaxVariable: "#79bcd0",
  syntaxString: "#d0a37a",
  syntaxNumber: GREEN,
  syntaxType: VIOLET,
  syntaxOperator: GREY,
  syntaxPunctuation: GREY,
  thinkingOff: DARK_GREY,
  thinkingMinimal: "#6f86a8",
  thinkingLow: BLUE,
  thinkingMedium: "#8f8ae0",
  thinkingHigh: VIOLET,
  thinkingXhigh: "#d184c0",
  thinkingMax: RED,
  bashMode: GREEN,
};

const BG: Colors = {
  selectedBg: "#2c3a52",
  searchMatchBg: "#4d4326",
  userMessageBg: "#2a3244",
  customMessageBg: "#3a3048",
  toolPendingBg: "#33363b",
  toolSuccessBg: "#26392c",
  toolErrorBg: "#452c2b",
};
