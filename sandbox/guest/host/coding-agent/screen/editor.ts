/** Editors and inputs, which need more of pi-tui than the other components: a text of its own (`internal/agent-editor`). */

import { own } from "xdev:system";
import {
  Container,
  Editor,
  type EditorOptions,
  type EditorTheme,
  Input,
  Spacer,
  Text,
  type TUI,
} from "@earendil-works/pi-tui";
import { type Confirming, countdown, framed } from "./frame.ts";

interface Keybindings {
  matches(data: string, binding: string): boolean;
}

/**
 * The prompt's editor, to be extended: keys of the agent (`app.…`) run what `onAction` was given, and all others edit. An heir gives
 * what it does not want to `super.handleInput`.
 */
export class CustomEditor extends Editor {
  readonly actionHandlers = new Map<string, () => void>();
  onEscape?: () => void;
  onCtrlD?: () => void;
  onPasteImage?: () => void;
  onExtensionShortcut?: (data: string) => boolean;
  readonly embedWorkingStatus: boolean;
  readonly #keybindings: Keybindings | undefined;

  constructor(
    tui: TUI,
    theme: EditorTheme,
    keybindings?: Keybindings,
    options: EditorOptions & { embedWorkingStatus?: boolean } = {},
  ) {
    super(tui, theme, options);
    this.#keybindings = keybindings;
    this.embedWorkingStatus = options.embedWorkingStatus === true;
  }

  onAction(action: string, handler: () => void): void {
    this.actionHandlers.set(action, handler);
  }

  setWorkingStatusIndicator(): void {}

  override handleInput(data: string): void {
    if (this.onExtensionShortcut?.(data)) return;
    const is = (binding: string) => this.#keybindings?.matches(data, binding) === true;
    if (is("app.clipboard.pasteImage") && this.onPasteImage) return this.onPasteImage();
    if (is("app.interrupt")) {
      const leave = this.onEscape ?? this.actionHandlers.get("app.interrupt");
      if (leave && !this.isShowingAutocomplete()) return leave();
    } else if (is("app.exit") && this.getText() === "") {
      const exit = this.onCtrlD ?? this.actionHandlers.get("app.exit");
      if (exit) return exit();
    } else {
      for (const [action, handler] of this.actionHandlers) {
        if (action !== "app.interrupt" && action !== "app.exit" && is(action)) return handler();
      }
    }
    super.handleInput(data);
  }
}

/** A question for one line of text, in a frame. */
export class ExtensionInputComponent extends Container {
  readonly #input = new Input();
  readonly #stop: () => void;

  constructor(
    title: string,
    _placeholder: string | undefined,
    onSubmit: (value: string) => void,
    onCancel: () => void,
    options: Confirming & { initialValue?: string } = {},
  ) {
    super();
    const titleText = new Text("", 1, 0);
    this.#stop = countdown(title, titleText, options, onCancel);
    if (options.initialValue !== undefined) this.#input.setValue(options.initialValue);
    this.#input.onSubmit = onSubmit;
    this.#input.onEscape = onCancel;
    framed(this, titleText, options.description, this.#input, "enter to submit, escape to cancel");
  }

  get focused(): boolean {
    return this.#input.focused;
  }

  set focused(value: boolean) {
    this.#input.focused = value;
  }

  handleInput(data: string): void {
    this.#input.handleInput(data);
  }

  dispose(): void {
    this.#stop();
  }
}

/** A question for a longer text, in a frame. */
export class ExtensionEditorComponent extends Container {
  readonly #editor: Editor;
  readonly #onCancel: () => void;

  constructor(
    tui: TUI,
    _keybindings: unknown,
    title: string,
    prefill: string | undefined,
    onSubmit: (value: string) => void,
    onCancel: () => void,
    options: EditorOptions & { description?: string } = {},
  ) {
    super();
    const { getEditorTheme } = own("internal/agent-theme") as { getEditorTheme(): EditorTheme };
    this.#editor = new Editor(tui, getEditorTheme(), options);
    if (prefill) this.#editor.setText(prefill);
    this.#editor.onSubmit = onSubmit;
    this.#onCancel = onCancel;
    framed(
      this,
      new Text(title, 1, 0),
      options.description,
      this.#editor,
      "enter to submit, shift+enter for a new line, escape to cancel",
    );
    this.addChild(new Spacer(0));
  }

  get focused(): boolean {
    return this.#editor.focused;
  }

  set focused(value: boolean) {
    this.#editor.focused = value;
  }

  handleInput(data: string): void {
    if (data === "\u001b" && !this.#editor.isShowingAutocomplete()) this.#onCancel();
    else this.#editor.handleInput(data);
  }
}

export { ExtensionEditorComponent as HookEditorComponent, ExtensionInputComponent as HookInputComponent };
