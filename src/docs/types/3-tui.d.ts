declare module "xdev:tui" {
  /** Something that is drawn as lines of text. */
  export interface Component {
    /** Lines of at most `width` columns; they may have styles in them. */
    render(width: number): readonly string[];
    handleInput?(data: string): void;
    /** Forget what was drawn: the theme or the state has changed. */
    invalidate?(): void;
    dispose?(): void;
    wantsKeyRelease?: boolean;
    capturesViewportInput?: boolean;
  }

  export interface Focusable {
    focused: boolean;
  }

  export type Style = (text: string) => string;

  export class Text implements Component {
    constructor(text?: string, paddingX?: number, paddingY?: number, background?: Style);
    setText(text: string): void;
    setCustomBgFn(background?: Style): void;
    render(width: number): readonly string[];
    invalidate(): void;
  }

  export class TruncatedText implements Component {
    constructor(text: string, paddingX?: number, paddingY?: number);
    render(width: number): readonly string[];
    invalidate(): void;
  }

  export class Spacer implements Component {
    constructor(lines?: number);
    setLines(lines: number): void;
    render(width: number): readonly string[];
    invalidate(): void;
  }

  export class Container implements Component {
    children: Component[];
    addChild(component: Component): void;
    removeChild(component: Component): void;
    clear(): void;
    render(width: number): readonly string[];
    invalidate(): void;
  }

  export class Box extends Container {
    constructor(paddingX?: number, paddingY?: number, background?: Style);
    setBgFn(background?: Style): void;
  }

  export interface MarkdownTheme {
    [part: string]: any;
  }

  export class Markdown implements Component {
    constructor(
      text: string,
      paddingX: number,
      paddingY: number,
      theme: MarkdownTheme,
      defaultStyle?: Record<string, any>,
      options?: Record<string, any>,
    );
    setText(text: string): void;
    render(width: number): readonly string[];
    invalidate(): void;
  }

  export interface SelectItem {
    value: string;
    label: string;
    description?: string;
  }

  export interface SelectListTheme {
    selectedPrefix: Style;
    selectedText: Style;
    description: Style;
    scrollInfo: Style;
    noMatch: Style;
  }

  export class SelectList implements Component {
    constructor(items: SelectItem[], maxVisible: number, theme: SelectListTheme, layout?: Record<string, any>);
    onSelect?: (item: SelectItem) => void;
    onCancel?: () => void;
    onSelectionChange?: (item: SelectItem) => void;
    setFilter(filter: string): void;
    setSelectedIndex(index: number): void;
    getSelectedItem(): SelectItem | null;
    capturesViewportInput?: boolean;
    handleInput(data: string): void;
    render(width: number): readonly string[];
    invalidate(): void;
  }

  export interface SettingItem {
    id: string;
    label: string;
    description?: string;
    currentValue: string;
    values?: string[];
    submenu?: (currentValue: string, done: (selected?: string) => void) => Component;
  }

  export interface SettingsListTheme {
    [part: string]: any;
  }

  export class SettingsList implements Component {
    constructor(
      items: SettingItem[],
      maxVisible: number,
      theme: SettingsListTheme,
      onChange: (id: string, value: string) => void,
      onCancel: () => void,
      options?: { enableSearch?: boolean },
    );
    updateValue(id: string, value: string): void;
    capturesViewportInput?: boolean;
    handleInput(data: string): void;
    render(width: number): readonly string[];
    invalidate(): void;
  }

  export class Input implements Component, Focusable {
    focused: boolean;
    onSubmit?: (value: string) => void;
    onEscape?: () => void;
    getValue(): string;
    setValue(value: string): void;
    handleInput(data: string): void;
    render(width: number): readonly string[];
    invalidate(): void;
  }

  export interface EditorTheme {
    borderColor: Style;
    selectList: SelectListTheme;
  }

  export interface EditorComponent extends Component {
    getText(): string;
    setText(text: string): void;
    handleInput(data: string): void;
    onSubmit?: (text: string) => void;
    onChange?: (text: string) => void;
    [more: string]: any;
  }

  export class Editor implements EditorComponent, Focusable {
    constructor(tui: TUI, theme: EditorTheme, options?: Record<string, any>);
    focused: boolean;
    disableSubmit: boolean;
    borderColor: Style;
    onSubmit?: (text: string) => void;
    onChange?: (text: string) => void;
    getText(): string;
    getLines(): string[];
    setText(text: string): void;
    insertTextAtCursor(text: string): void;
    handleInput(data: string): void;
    render(width: number): string[];
    invalidate(): void;
    [more: string]: any;
  }

  export class Loader extends Text {
    constructor(tui: TUI, spinnerColor: Style, messageColor: Style, message?: string, indicator?: Record<string, any>);
    start(): void;
    stop(): void;
    setMessage(message: string): void;
  }

  export class CancellableLoader extends Loader {
    readonly signal: AbortSignal;
    readonly aborted: boolean;
    onAbort?: () => void;
    handleInput(data: string): void;
    dispose(): void;
  }

  export class Image implements Component {
    constructor(
      base64: string,
      mimeType: string,
      theme: { fallbackColor: Style },
      options?: Record<string, any>,
      dimensions?: { widthPx: number; heightPx: number },
    );
    render(width: number): readonly string[];
    invalidate(): void;
  }

  export type OverlayAnchor =
    | "center"
    | "top-left"
    | "top-right"
    | "bottom-left"
    | "bottom-right"
    | "top-center"
    | "bottom-center"
    | "left-center"
    | "right-center";

  export interface OverlayOptions {
    visible?: (columns: number, rows: number) => boolean;
    width?: number | `${number}%`;
    minWidth?: number;
    maxHeight?: number | `${number}%`;
    anchor?: OverlayAnchor;
    row?: number | `${number}%`;
    col?: number | `${number}%`;
    [more: string]: any;
  }

  export interface OverlayHandle {
    hide(): void;
    setHidden(hidden: boolean): void;
    isHidden(): boolean;
    [more: string]: any;
  }

  /** The screen. A component gets one, and asks it to draw. */
  export interface TUI {
    requestRender(force?: boolean): void;
    setFocus(component: Component | null): void;
    terminal: { columns: number; rows: number; [more: string]: any };
    [more: string]: any;
  }

  export type KeyId = string;
  export type Keybinding = string;

  export interface KeybindingsManager {
    matches(data: string, keybinding: string): boolean;
    [more: string]: any;
  }

  /** Names of keys: `Key.enter`, `Key.ctrl("c")`. */
  export const Key: {
    readonly enter: "enter";
    readonly escape: "escape";
    readonly tab: "tab";
    readonly space: "space";
    readonly backspace: "backspace";
    readonly delete: "delete";
    readonly up: "up";
    readonly down: "down";
    readonly left: "left";
    readonly right: "right";
    readonly home: "home";
    readonly end: "end";
    readonly pageUp: "pageUp";
    readonly pageDown: "pageDown";
    ctrl(key: string): KeyId;
    shift(key: string): KeyId;
    alt(key: string): KeyId;
    ctrlShift(key: string): KeyId;
    ctrlAlt(key: string): KeyId;
    [name: string]: any;
  };

  /** Whether what came from the terminal is this key. */
  export function matchesKey(data: string, key: KeyId): boolean;
  export function parseKey(data: string): string | undefined;
  export function isKeyRelease(data: string): boolean;
  export function isKeyRepeat(data: string): boolean;
  export function isFocusable(component: Component | null): component is Component & Focusable;
  /** Columns that a text takes on a terminal. */
  export function visibleWidth(text: string): number;
  export function truncateToWidth(text: string, width: number, ellipsis?: string, pad?: boolean): string;
  export function wrapTextWithAnsi(text: string, width: number): string[];
  export function sliceByColumn(line: string, start: number, length: number, strict?: boolean): string;
  export function hyperlink(text: string, url: string): string;
  export function fuzzyMatch(query: string, text: string): { matches: boolean; score: number };
  export function fuzzyFilter<T>(items: T[], query: string, getText: (item: T) => string): T[];
  /** Where the cursor is, in a line that a component gives. */
  export const CURSOR_MARKER: string;

  export interface AutocompleteItem {
    value: string;
    label: string;
    description?: string;
  }

  export interface AutocompleteSuggestions {
    items: AutocompleteItem[];
    /** What of the text before the cursor they complete. */
    prefix: string;
  }

  export interface AutocompleteProvider {
    triggerCharacters?: string[];
    getSuggestions(
      lines: string[],
      cursorLine: number,
      cursorColumn: number,
      options: { signal: AbortSignal; force?: boolean },
    ): Promise<AutocompleteSuggestions | null>;
    applyCompletion(
      lines: string[],
      cursorLine: number,
      cursorColumn: number,
      item: AutocompleteItem,
      prefix: string,
    ): { lines: string[]; cursorLine: number; cursorCol: number };
    shouldTriggerFileCompletion?(lines: string[], cursorLine: number, cursorColumn: number): boolean;
  }

  export function renderFakeCursor(text: string): string;
}
