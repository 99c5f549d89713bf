/** What nearly every extension that draws needs of pi-tui. Exports of its files that are not the package's are for the other parts. */
export * from "@earendil-works/pi-tui/dist/components/box.js";
export * from "@earendil-works/pi-tui/dist/components/cancellable-loader.js";
export * from "@earendil-works/pi-tui/dist/components/loader.js";
export * from "@earendil-works/pi-tui/dist/components/mouse-region.js";
export * from "@earendil-works/pi-tui/dist/components/select-list.js";
export * from "@earendil-works/pi-tui/dist/components/spacer.js";
export * from "@earendil-works/pi-tui/dist/components/text.js";
export * from "@earendil-works/pi-tui/dist/components/truncated-text.js";
export * from "@earendil-works/pi-tui/dist/fuzzy.js";
export * from "@earendil-works/pi-tui/dist/keybindings.js";
export * from "@earendil-works/pi-tui/dist/keys.js";
export * from "@earendil-works/pi-tui/dist/terminal-colors.js";
export * from "@earendil-works/pi-tui/dist/terminal-image.js";
export * from "@earendil-works/pi-tui/dist/tui.js";
export * from "@earendil-works/pi-tui/dist/utils.js";
