/** `util.styleText`. Bundled into `util`. */
import { codedError, requireString } from "./errors.ts";

const COLORS = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];

/** Codes that begin and end a style, by its name. */
const styles: Record<string, readonly [number, number]> = {
  reset: [0, 0],
  bold: [1, 22],
  dim: [2, 22],
  faint: [2, 22],
  italic: [3, 23],
  underline: [4, 24],
  blink: [5, 25],
  inverse: [7, 27],
  swapcolors: [7, 27],
  swapColors: [7, 27],
  hidden: [8, 28],
  conceal: [8, 28],
  strikethrough: [9, 29],
  strikeThrough: [9, 29],
  crossedout: [9, 29],
  crossedOut: [9, 29],
  doubleunderline: [21, 24],
  doubleUnderline: [21, 24],
  framed: [51, 54],
  overlined: [53, 55],
  gray: [90, 39],
  grey: [90, 39],
  bgGray: [100, 49],
  bgGrey: [100, 49],
};
COLORS.forEach((color, i) => {
  const capital = `${color[0]?.toUpperCase()}${color.slice(1)}`;
  styles[color] = [30 + i, 39];
  styles[`${color}Bright`] = [90 + i, 39];
  styles[`bg${capital}`] = [40 + i, 49];
  styles[`bg${capital}Bright`] = [100 + i, 49];
});

/** The styles are always written: what shows them is not known here. Throws ERR_INVALID_ARG_VALUE for an unknown one. */
export function styleText(style: string | string[], text: string): string {
  requireString("text", text);
  let result = text;
  for (const name of (Array.isArray(style) ? style : [style]).slice().reverse()) {
    if (name === "none") continue;
    const codes = Object.hasOwn(styles, name) ? styles[name] : undefined;
    if (!codes) {
      const names = Object.keys(styles).map((one) => `'${one}'`);
      throw codedError(
        TypeError,
        "ERR_INVALID_ARG_VALUE",
        `The argument 'format' must be one of: ${names.join(", ")}. Received '${name}'`,
      );
    }
    const [open, close] = codes;
    // What ends within it begins again.
    const inner = result.replaceAll(`\u001b[${close}m`, `\u001b[${open}m`);
    result = `\u001b[${open}m${inner}\u001b[${close}m`;
  }
  return result;
}
