/** Keys in hints: which ones a binding has, and what they do. */
import { own } from "xdev:system";
import { current } from "./themes.ts";

/** The agent's own bindings that hints name most; pi-tui knows those of lists and editors. */
const APP_KEYS: Readonly<Record<string, string>> = {
  "app.interrupt": "escape",
  "app.clear": "ctrl+c",
  "app.exit": "ctrl+d",
  "app.suspend": "ctrl+z",
  "app.thinking.cycle": "shift+tab",
  "app.model.cycleForward": "ctrl+p",
  "app.model.cycleBackward": "shift+ctrl+p",
  "app.model.select": "ctrl+l",
  "app.tools.expand": "ctrl+o",
  "app.thinking.toggle": "ctrl+t",
  "app.editor.external": "ctrl+g",
  "app.message.followUp": "alt+enter",
};

interface Keybindings {
  getKeys(binding: string): readonly string[];
}

/** The keys of a binding, `ctrl+o` or `up/k`; empty for one that has none. */
export function keyText(binding: string): string {
  // Before 0.60 the agent's bindings had no prefix.
  const app = APP_KEYS[binding] ?? APP_KEYS[`app.${binding}`] ?? OLD_NAMES[binding];
  if (app !== undefined) return app;
  const keybindings = (own("pi-tui").getKeybindings as () => Keybindings)();
  try {
    return (keybindings.getKeys(binding) ?? []).join("/");
  } catch {
    return "";
  }
}

const OLD_NAMES: Readonly<Record<string, string>> = {
  expandTools: "ctrl+o",
  externalEditor: "ctrl+g",
  selectConfirm: "enter",
  selectCancel: "escape",
};

/** `ctrl+o to expand`, with colours: the keys of a binding and what they do. */
export const keyHint = (binding: string, description: string): string =>
  rawKeyHint(keyText(binding), description);

/** The same for keys by their names. */
export const rawKeyHint = (key: string, description: string): string =>
  current().fg("dim", key) + current().fg("muted", ` ${description}`);

/** As older versions have it, with the bindings before the name of one. */
export const appKeyHint = (_keybindings: unknown, action: string, description: string): string =>
  keyHint(action, description);
