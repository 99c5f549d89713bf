/** The names of keys that shortcuts of extensions have (`ctrl+shift+x`), and those that xdev keeps for itself. */

const MODIFIERS = ["ctrl", "shift", "alt", "super"] as const;
const NAMED: ReadonlySet<string> = new Set(
  (
    "escape enter tab space backspace delete insert clear home end pageup pagedown up down left right " +
    "f1 f2 f3 f4 f5 f6 f7 f8 f9 f10 f11 f12"
  ).split(" "),
);
const OTHER_NAMES: Readonly<Record<string, string>> = { esc: "escape", return: "enter", del: "delete" };

/** extension-api.md, "`pi`". */
const RESERVED: ReadonlySet<string> = new Set(
  "ctrl+c ctrl+d ctrl+z ctrl+k ctrl+p ctrl+l ctrl+o ctrl+t ctrl+g shift+tab shift+ctrl+p alt+enter escape enter"
    .split(" ")
    .map((key) => parseKey(key)!),
);

/** A key's name in its one spelling: modifiers in the order ctrl, shift, alt, super, in lower case. Undefined for what is no key. */
export function parseKey(text: string): string | undefined {
  const parts = text.trim().toLowerCase().split("+");
  // `ctrl++` is the key `+`.
  const last = parts.pop() ?? "";
  const written = last === "" && parts.at(-1) === "" ? "+" : last;
  if (written === "+") parts.pop();
  const key = OTHER_NAMES[written] ?? written;
  if (!NAMED.has(key) && !/^[!-~]$/.test(key)) return undefined;
  const given = new Set(parts);
  if (
    given.size !== parts.length ||
    !parts.every((part) => (MODIFIERS as readonly string[]).includes(part))
  ) {
    return undefined;
  }
  return [...MODIFIERS.filter((modifier) => given.has(modifier)), key].join("+");
}

export function isReserved(key: string): boolean {
  return RESERVED.has(key);
}
