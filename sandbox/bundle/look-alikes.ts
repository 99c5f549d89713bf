/**
 * The texts that SES refuses wherever they stand, in code, strings or comments (`ses/src/transforms.js`): what may be a
 * dynamic import, an HTML comment, a direct eval. And how each is written differently inside a literal with the same value.
 */

import { findImport } from "../guest/source-words.ts";

/** As in SES. A text that none of these finds passes there. */
const REFUSED_BY_SES = [/(?:<!--|-->)/, /(^|[^.]|\.\.\.)\bimport(\s*(?:\(|\/[/*]))/, /(^|[^.])\beval(\s*\()/];

/** The position of the first text that SES would refuse, -1 if there is none. */
export function findLookAlike(source: string): number {
  const found = REFUSED_BY_SES.map((pattern) => source.search(pattern)).filter((at) => at >= 0);
  return found.length === 0 ? -1 : Math.min(...found);
}

/** Somewhat more than SES and the source check refuse: what stands in front of the word does not count. */
const IN_LITERAL = /<!--|-->|import(?![\w$])|eval\s*\(/;

export function hasLookAlike(text: string): boolean {
  return IN_LITERAL.test(text);
}

/**
 * The raw text of a string or an untagged template with each look-alike broken up by an escape; the value stays the same.
 * The character that is escaped is never the first, so a backslash in front of the look-alike keeps its meaning.
 */
export function escapeLookAlikes(raw: string): string {
  return (
    raw
      .replace(/import(?![\w$])/g, "i\\x6dport")
      .replace(/eval(?=\s*\()/g, "e\\x76al")
      // One after the other: in `<!-->` they share their dashes.
      .replace(/<!--/g, "<\\x21--")
      .replace(/-->/g, "--\\x3e")
  );
}

/** A string literal for `value` that holds no look-alike. */
export function quote(value: string): string {
  return escapeLookAlikes(JSON.stringify(value));
}

/**
 * An identifier in which the source check or SES would see the word `import`, or SES `eval`: they take `$`, `#` or letters
 * outside of ASCII for the end of a word. Undefined for all others. `raw` is as written, the result means the same.
 */
export function escapeIdentifier(raw: string): string | undefined {
  if (findImport(raw) >= 0 || /[^\w]import$/.test(raw)) return raw.replaceAll("import", "i\\u006dport");
  return /[^\w]eval$/.test(raw) ? `${raw.slice(0, -4)}e\\u0076al` : undefined;
}
