import { current } from "./themes.ts";

/** A line over the whole width. */
export class DynamicBorder {
  readonly #color: (text: string) => string;

  constructor(color: (text: string) => string = (text) => current().fg("border", text)) {
    this.#color = color;
  }

  invalidate(): void {}

  render(width: number): string[] {
    return [this.#color("─".repeat(Math.max(1, width)))];
  }
}
