/** The larger components of pi-tui, and colours. */
export * from "@earendil-works/pi-tui/dist/colors.js";
export * from "@earendil-works/pi-tui/dist/components/editor.js";
export * from "@earendil-works/pi-tui/dist/components/h-stack.js";
export * from "@earendil-works/pi-tui/dist/components/image.js";
export * from "@earendil-works/pi-tui/dist/components/input.js";
export * from "@earendil-works/pi-tui/dist/components/scroll-view.js";
export * from "@earendil-works/pi-tui/dist/components/settings-list.js";
export * from "@earendil-works/pi-tui/dist/components/stack.js";
export * from "@earendil-works/pi-tui/dist/components/v-stack.js";
export * from "@earendil-works/pi-tui/dist/layout-node.js";
export * from "@earendil-works/pi-tui/dist/oklab.js";
