/** A loader in a frame, and lists to choose from. */

import { own } from "xdev:system";
import {
  CancellableLoader,
  Container,
  Loader,
  matchesKey,
  type SelectItem,
  SelectList,
  Spacer,
  Text,
  type TUI,
} from "@earendil-works/pi-tui";
import { type Confirming, countdown, framed, type Styles, themes } from "./frame.ts";

/** Says that something is going on, in a frame; escape aborts its `signal`. */
export class BorderedLoader extends Container {
  readonly #loader: CancellableLoader | Loader;
  readonly #controller = new AbortController();

  constructor(
    tui: TUI,
    theme: Styles,
    message: string,
    { cancellable = true }: { cancellable?: boolean } = {},
  ) {
    super();
    const { DynamicBorder } = themes();
    const border = (text: string) => theme.fg("border", text);
    const colors = [
      (text: string) => theme.fg("accent", text),
      (text: string) => theme.fg("muted", text),
    ] as const;
    this.#loader = cancellable
      ? new CancellableLoader(tui, ...colors, message)
      : new Loader(tui, ...colors, message);
    this.addChild(new DynamicBorder(border));
    this.addChild(this.#loader);
    if (cancellable) {
      this.addChild(new Spacer(1));
      this.addChild(new Text(theme.fg("dim", "escape to cancel"), 1, 0));
    }
    this.addChild(new Spacer(1));
    this.addChild(new DynamicBorder(border));
  }

  get signal(): AbortSignal {
    return this.#loader instanceof CancellableLoader ? this.#loader.signal : this.#controller.signal;
  }

  set onAbort(listener: (() => void) | undefined) {
    if (!(this.#loader instanceof CancellableLoader)) return;
    if (listener) this.#loader.onAbort = listener;
    else delete this.#loader.onAbort;
  }

  handleInput(data: string): void {
    if (this.#loader instanceof CancellableLoader) this.#loader.handleInput(data);
  }

  dispose(): void {
    this.#loader.stop();
  }
}

/** A list of texts to choose one from, in a frame. */
export class ExtensionSelectorComponent extends Container {
  readonly #list: SelectList;
  readonly #options: readonly string[];
  readonly #stop: () => void;

  constructor(
    title: string,
    options: readonly string[],
    onSelect: (option: string) => void,
    onCancel: () => void,
    confirming: Confirming = {},
  ) {
    super();
    this.#options = options;
    const titleText = new Text("", 1, 0);
    this.#stop = countdown(title, titleText, confirming, onCancel);
    const items = options.map((option, place) => ({ value: String(place), label: option }));
    this.#list = listOf(items, (place) => onSelect(this.#options[Number(place)]!), onCancel);
    framed(
      this,
      titleText,
      confirming.description,
      this.#list,
      "↑↓ to move, enter to select, escape to cancel",
    );
  }

  handleInput(data: string): void {
    // As in most lists of this family, besides the arrows.
    if (data === "j") this.#list.handleInput("\u001b[B");
    else if (data === "k") this.#list.handleInput("\u001b[A");
    else if (matchesKey(data, "ctrl+c")) this.#list.onCancel?.();
    else this.#list.handleInput(data);
  }

  dispose(): void {
    this.#stop();
  }
}

function listOf(
  items: SelectItem[],
  onSelect: (value: string) => void,
  onCancel: () => void,
  chosen?: string,
) {
  const { getSelectListTheme } = own("internal/agent-theme") as { getSelectListTheme(): never };
  const list = new SelectList(items, Math.min(Math.max(items.length, 1), 10), getSelectListTheme());
  const place = items.findIndex(({ value }) => value === chosen);
  if (place > 0) list.setSelectedIndex(place);
  list.onSelect = ({ value }) => onSelect(value);
  list.onCancel = onCancel;
  return list;
}

class ListScreen extends Container {
  protected readonly list: SelectList;

  constructor(items: SelectItem[], onSelect: (value: string) => void, onCancel: () => void, chosen?: string) {
    super();
    const { DynamicBorder } = themes();
    this.list = listOf(items, onSelect, onCancel, chosen);
    this.addChild(new DynamicBorder());
    this.addChild(this.list);
    this.addChild(new DynamicBorder());
  }

  getSelectList(): SelectList {
    return this.list;
  }

  handleInput(data: string): void {
    this.list.handleInput(data);
  }
}

const named = (value: string) => ({ value, label: value });

export class ThinkingSelectorComponent extends ListScreen {
  constructor(
    level: string,
    levels: readonly string[],
    onSelect: (level: string) => void,
    onCancel: () => void,
  ) {
    super(levels.map(named), onSelect, onCancel, level);
  }
}

/** Of the one theme there is: the user chooses it, and no extension. */
export class ThemeSelectorComponent extends ListScreen {
  constructor(theme: string, onSelect: (name: string) => void, onCancel: () => void) {
    super([named(theme)], onSelect, onCancel, theme);
  }
}

export class ShowImagesSelectorComponent extends ListScreen {
  constructor(show: boolean, onSelect: (show: boolean) => void, onCancel: () => void) {
    const items = [named("yes"), named("no")];
    super(items, (value) => onSelect(value === "yes"), onCancel, show ? "yes" : "no");
  }
}

export class UserMessageSelectorComponent extends ListScreen {
  constructor(
    messages: readonly { id: string; text: string }[],
    onSelect: (id: string) => void,
    onCancel: () => void,
    chosen: string | undefined = messages.at(-1)?.id,
  ) {
    const items = messages.map(({ id, text }) => ({ value: id, label: text.replace(/\s+/g, " ").trim() }));
    super(items, onSelect, onCancel, chosen);
  }

  getMessageList(): SelectList {
    return this.list;
  }
}
