/** Names that earlier versions of pi-tui had: what hooks and extensions of their time import. */
import {
  getKeybindings,
  KeybindingsManager,
  matchesKey,
  setKeybindings,
  TUI_KEYBINDINGS,
} from "@earendil-works/pi-tui";

/** Each function, and the key that it asks about. */
const KEYS = {
  isAltBackspace: "alt+backspace",
  isAltEnter: "alt+enter",
  isAltLeft: "alt+left",
  isAltRight: "alt+right",
  isArrowDown: "down",
  isArrowLeft: "left",
  isArrowRight: "right",
  isArrowUp: "up",
  isBackspace: "backspace",
  isCtrlLeft: "ctrl+left",
  isCtrlRight: "ctrl+right",
  isDelete: "delete",
  isEnd: "end",
  isEnter: "enter",
  isEscape: "escape",
  isHome: "home",
  isShiftCtrlP: "ctrl+shift+p",
  isShiftEnter: "shift+enter",
  isShiftTab: "shift+tab",
  isTab: "tab",
} as const;

const asks = Object.fromEntries(
  [
    ...Object.entries(KEYS),
    ..."ACDEGKLOPTUWZ".split("").map((letter) => [`isCtrl${letter}`, `ctrl+${letter.toLowerCase()}`]),
  ].map(([name, key]) => [name, (data: string) => matchesKey(data, key as (typeof KEYS)["isEnter"])]),
);

export const all: Record<string, unknown> = {
  ...asks,
  DEFAULT_EDITOR_KEYBINDINGS: TUI_KEYBINDINGS,
  EditorKeybindingsManager: KeybindingsManager,
  getEditorKeybindings: getKeybindings,
  setEditorKeybindings: setKeybindings,
};
