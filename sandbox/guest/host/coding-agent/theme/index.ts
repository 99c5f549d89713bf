/** Colours of the agent's package, without pi-tui: a text of its own (`internal/agent-theme`). */

export { DynamicBorder } from "./border.ts";
export { getLanguageFromPath, highlightCode } from "./highlight.ts";
export { appKeyHint, keyHint, keyText, rawKeyHint } from "./keys.ts";
export { renderDiff } from "./render_diff.ts";
export {
  getEditorTheme,
  getMarkdownTheme,
  getSelectListTheme,
  getSettingsListTheme,
  initTheme,
  Theme,
  theme,
} from "./themes.ts";
