/**
 * What `import` and `require` of a name give in the sandbox: host packages evaluated in the compartment, our own API
 * module under every name of the family, and for everything else an error that says what it would take.
 */
import type { BundleLinks, GuestHost } from "../protocol.ts";
import { ExtensionRuntimeNotInitializedError } from "./registry.ts";

/** The API module: its names are in extension-api.md. */
const API_NAMES: ReadonlySet<string> = new Set([
  "xdev",
  "@f5-sales-demo/xcsh",
  "@oh-my-pi/pi-coding-agent",
  "@mariozechner/pi-coding-agent",
  "@earendil-works/pi-coding-agent",
]);

/** Packages that the host can send (sandbox/guest/packages.ts), by the names under which they are imported. */
const PACKAGES: ReadonlySet<string> = new Set(["typebox", "@sinclair/typebox"]);

/** The permission that a module of Node's would need. */
const PERMISSIONS: Readonly<Record<string, string>> = {
  fs: "read or write",
  "fs/promises": "read or write",
  child_process: "run",
  http: "net",
  https: "net",
  http2: "net",
  net: "net",
  tls: "net",
  dgram: "net",
  dns: "net",
  "dns/promises": "net",
  os: "sys",
  process: "env",
  tty: "ui",
  readline: "ui",
};

/** Modules of Node's that need no permission, and are not there yet. */
const NODE_MODULES: ReadonlySet<string> = new Set([
  "assert",
  "async_hooks",
  "buffer",
  "constants",
  "crypto",
  "events",
  "module",
  "path",
  "perf_hooks",
  "querystring",
  "stream",
  "stream/promises",
  "string_decoder",
  "timers",
  "timers/promises",
  "url",
  "util",
  "zlib",
]);

export function createModules(
  host: GuestHost,
  pi: unknown,
): Pick<BundleLinks, "import" | "dynamicImport" | "require"> {
  const loaded = new Map<string, Record<string, unknown>>();

  const find = (specifier: string): Record<string, unknown> => {
    const known = loaded.get(specifier);
    if (known) return known;
    const exports = API_NAMES.has(specifier)
      ? { ExtensionRuntimeNotInitializedError, default: pi }
      : PACKAGES.has(specifier)
        ? (host.evaluatePackage(specifier) as Record<string, unknown> | undefined)
        : undefined;
    if (!exports) throw new Error(refusal(specifier));
    loaded.set(specifier, exports);
    return exports;
  };

  const importNames = (specifier: string, names: readonly string[]): Record<string, unknown> => {
    const exports = find(specifier);
    for (const name of names) {
      if (name === "*" || name in exports) continue;
      throw new Error(`"${specifier}" has no export "${name}" in this version of xdev`);
    }
    return exports;
  };

  return {
    import: importNames,
    require: (specifier) => find(String(specifier)),
    dynamicImport: async (specifier) => find(String(specifier)),
  };
}

function refusal(specifier: string): string {
  const name = specifier.startsWith("node:") ? specifier.slice(5) : specifier;
  const permission = Object.hasOwn(PERMISSIONS, name) ? PERMISSIONS[name] : undefined;
  if (permission) {
    return `module "${specifier}" needs the permission ${permission}, which this version of xdev cannot grant to a sandboxed extension`;
  }
  if (NODE_MODULES.has(name)) {
    return `module "${specifier}" is not available to a sandboxed extension in this version of xdev`;
  }
  return `package "${specifier}" was not found: it must be in the node_modules folder of the extension itself`;
}
