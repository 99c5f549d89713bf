/** The terminal library, whole, in the compartment: what it would spawn, read or write goes through our shims. */
export * from "@earendil-works/pi-tui";
