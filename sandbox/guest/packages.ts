/**
 * The texts that boot evaluates inside a compartment besides the extension: our API, the modules of Node's that we have
 * (node/), the web's globals (web/) and the packages that extensions import from the host. Each is one script that fills
 * `module.exports`, and `require`s the others by these names. A build puts them into the executable; from source they
 * are made on first use.
 */
export const GUEST_SOURCES: Readonly<Record<string, { entry: string }>> = {
  api: { entry: "sandbox/guest/api/index.ts" },
  typebox: { entry: "typebox" },
  "@sinclair/typebox": { entry: "@sinclair/typebox" },
};

/** One of these, built. */
export interface GuestSource {
  /** A script; its value is a function of `require` and `module`. */
  text: string;
  /** The names of others that it requires, sorted. */
  requires: string[];
}

/** The name in `GUEST_SOURCES` that a specifier means, undefined for none. */
export function guestSourceName(specifier: string): string | undefined {
  const name = specifier.startsWith("node:") ? specifier.slice(5) : specifier;
  return Object.hasOwn(GUEST_SOURCES, name) ? name : undefined;
}

/** The module by which ours reach the host: no text, the API makes it. */
export const SYSTEM = "xdev:system";
