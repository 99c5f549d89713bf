/**
 * Makes text from outside (a repository, an extension, a model server) harmless for a terminal: removes escape
 * sequences (CSI, OSC, DCS, …), C0 and C1 controls except `\n` and `\t`, and the bidirectional overrides
 * that make text read differently from what it says. Printable characters are kept as they are.
 */
export function stripControls(text: string): string {
  return text
    .replace(ESCAPE_SEQUENCES, "")
    .replace(/\r\n?/g, "\n")
    .replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, "");
}

// Strings (OSC, DCS, SOS, PM, APC) end at BEL or ST; an unterminated one ends at the line's end, so that it
// can't swallow the rest of a text. CSI: parameters, intermediates, final byte. The rest: two or three bytes.
const ESCAPE_SEQUENCES =
  /(?:\u001b[\]PX^_]|[\u009d\u0090\u0098\u009e\u009f])[^\u0007\u001b\u009c\n]*(?:\u0007|\u001b\\|\u009c)?|(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]?|\u001b[ -/]*[0-~]?/g;

/**
 * A text from outside with its control characters, bidirectional overrides and invisible characters written out (`\\x1b`):
 * where the reader has to judge the very text, nothing may be left out of it. Line ends and tabs stay.
 */
export function visible(text: string): string {
  return text.replace(HIDDEN, (char) => {
    const code = char.codePointAt(0)!;
    return code < 0x100 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u{${code.toString(16)}}`;
  });
}

/** Whether there is something in a text that `visible` would write out. */
export function hidesSomething(text: string): boolean {
  return text.search(HIDDEN) >= 0;
}

const HIDDEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e007f}]/gu;

/** JSON escapes the controls below U+0020 only; these write to a terminal, or turn its text around, too. */
export function escapeControls(json: string): string {
  return json.replace(
    /[\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** A text from outside as a part of one line: no control characters, no line ends. */
export function oneLine(text: string): string {
  return stripControls(text).replace(/[\n\t\u2028\u2029]+/g, " ");
}

/** Shortens to at most `limit` UTF-16 units, with an ellipsis where something was cut; never splits a surrogate pair. */
export function ellipsis(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const end = /[\ud800-\udbff]/.test(text[limit - 2] ?? "") ? limit - 2 : limit - 1;
  return `${text.slice(0, end)}…`;
}
