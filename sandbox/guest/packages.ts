/**
 * The texts that boot evaluates inside a compartment besides the extension: our API and the packages that extensions
 * import from the host. Each is one script whose value is its exports. A build puts them into the executable; from
 * source they are made on first use.
 */
export const GUEST_SOURCES: Readonly<Record<string, { entry: string }>> = {
  api: { entry: "sandbox/guest/api/index.ts" },
  typebox: { entry: "typebox" },
  "@sinclair/typebox": { entry: "@sinclair/typebox" },
};
