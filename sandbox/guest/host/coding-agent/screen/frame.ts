/** The frame of questions: a line, the title, what is asked, which keys, a line. */

import { own } from "xdev:system";
import { type Component, type Container, Spacer, Text, type TUI } from "@earendil-works/pi-tui";

export interface Styles {
  fg(color: string, text: string): string;
  bg(color: string, text: string): string;
  bold(text: string): string;
  italic(text: string): string;
}
interface ThemeModule {
  theme: Styles;
  DynamicBorder: new (color?: (text: string) => string) => Component;
  getMarkdownTheme(): never;
}
/** Colours, by the session's theme as it is when something is drawn. */
export const themes = (): ThemeModule => own("internal/agent-theme") as unknown as ThemeModule;

export interface Confirming {
  tui?: TUI;
  /** In ms; then it counts as cancelled. */
  timeout?: number;
  description?: string;
}

export function framed(
  container: Container,
  title: Component,
  description: string | undefined,
  body: Component,
  hint: string,
): void {
  const { DynamicBorder, theme } = themes();
  for (const child of [
    new DynamicBorder(),
    new Spacer(1),
    title,
    ...(description ? [new Text(theme.fg("muted", description), 1, 0)] : []),
    new Spacer(1),
    body,
    new Spacer(1),
    new Text(theme.fg("dim", hint), 1, 0),
    new Spacer(1),
    new DynamicBorder(),
  ]) {
    container.addChild(child);
  }
}

/** Shows the title, with the seconds that are left if there is a time-out. Gives what ends the clock. */
export function countdown(
  title: string,
  target: Text,
  { tui, timeout }: Confirming,
  onCancel: () => void,
): () => void {
  const { theme } = themes();
  const show = (rest: string) => target.setText(theme.fg("accent", theme.bold(title + rest)));
  if (!timeout || timeout <= 0) {
    show("");
    return () => {};
  }
  let seconds = Math.ceil(timeout / 1000);
  show(` (${seconds}s)`);
  const timer = setInterval(() => {
    seconds--;
    if (seconds <= 0) {
      clearInterval(timer);
      return onCancel();
    }
    show(` (${seconds}s)`);
    tui?.requestRender();
  }, 1000);
  return () => clearInterval(timer);
}
