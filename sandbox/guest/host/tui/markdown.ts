/** Markdown and formulas as pi-tui draws them. */
export * from "@earendil-works/pi-tui/dist/components/markdown.js";
export * from "@earendil-works/pi-tui/dist/latex.js";
export { Marked } from "marked";
