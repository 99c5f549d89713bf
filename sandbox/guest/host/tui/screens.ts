/** What of pi-tui is about a terminal of its own, and the completion of paths: it works as far as Node's modules do in the sandbox. */
export * from "@earendil-works/pi-tui/dist/autocomplete.js";
export * from "@earendil-works/pi-tui/dist/program-status.js";
export * from "@earendil-works/pi-tui/dist/stdin-buffer.js";
export * from "@earendil-works/pi-tui/dist/terminal.js";
export * from "@earendil-works/pi-tui/dist/tui-alt-screen.js";
export * from "@earendil-works/pi-tui/dist/tui-main-screen.js";
export * from "./native.ts";
