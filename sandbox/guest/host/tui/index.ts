/**
 * `pi-tui` as a guest module: the package's own code, in parts that are evaluated when a name of theirs is asked for. All of it takes
 * longer than a small extension's whole start.
 */
import { own } from "xdev:system";
import { withParts } from "../../in-parts.ts";
import * as core from "./core.ts";

const words = (text: string): string[] => text.trim().split(/\s+/);

const CORE = words(`
  Box CURSOR_MARKER CancellableLoader Container Key KeybindingsManager Loader MouseRegion SelectList Spacer TUI_KEYBINDINGS Text
  TruncatedText allocateImageId calculateImageRows compositeTuiLine decodeKittyPrintable deleteAllKittyImages deleteKittyImage
  detectCapabilities encodeITerm2 encodeKitty fuzzyFilter fuzzyMatch getCapabilities getCellDimensions getGifDimensions
  getImageDimensions getJpegDimensions getKeybindings getOsc8LinkAtColumn getPngDimensions getSelectPageIndex
  getTerminalColorMode getWebpDimensions hyperlink imageFallback isFocusable isKeyRelease isKeyRepeat isKittyProtocolActive
  isViewportTUI matchesKey parseKey parseTerminalColorSchemeReport renderFakeCursor renderImage replaceControlCharacters
  resetCapabilitiesCache setCapabilities setCapabilityOverrides setCellDimensions setKeybindings setKittyProtocolActive
  sliceByColumn stripTerminalSequences truncateToWidth visibleWidth wrapTextWithAnsi`);

const PARTS = {
  "internal/pi-tui-components": words(`
    Editor HStack Image Input ScrollView SettingsList VStack backgroundAnsi colorToHex colorToOkhsl colorToOklch colorToRgb
    foregroundAnsi indexedColor mixColors okhslColor oklabToOkhslLightness oklchColor parseColor rgbColor setImageTranscoder
    styleText styleTextWithAnsi`),
  "internal/pi-tui-markdown": words("Markdown Marked renderLatex"),
  "internal/pi-tui-screens": words(`
    CombinedAutocompleteProvider ProcessTerminal StdinBuffer TuiAltScreen TuiMainScreen formatProgramStatus getNativeClipboard
    isAppleTerminalSession`),
};

const exports: Record<string, unknown> = core;
const early = Object.fromEntries(CORE.map((name) => [name, exports[name]]));

const OLDER = words(`
  DEFAULT_EDITOR_KEYBINDINGS EditorKeybindingsManager getEditorKeybindings isAltBackspace isAltEnter isAltLeft isAltRight
  isArrowDown isArrowLeft isArrowRight isArrowUp isBackspace isCtrlA isCtrlC isCtrlD isCtrlE isCtrlG isCtrlK isCtrlL isCtrlLeft
  isCtrlO isCtrlP isCtrlRight isCtrlT isCtrlU isCtrlW isCtrlZ isDelete isEnd isEnter isEscape isHome isShiftCtrlP isShiftEnter
  isShiftTab isTab setEditorKeybindings`);

export const all = withParts(early, [
  ...Object.entries(PARTS).map(([part, names]) => ({ names, load: () => own(part) })),
  { names: OLDER, load: () => own("internal/pi-tui-older") },
  { names: ["TUI"], load: () => ({ TUI: own("internal/pi-tui-screens").TuiMainScreen }) },
]);
