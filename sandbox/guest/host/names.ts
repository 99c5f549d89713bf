/**
 * The host's own packages under every name of the family (extension-api.md). Whatever the scope, an extension gets one
 * module: two copies would not know each other's types, components or models. Used where an extension is bundled and where
 * the guest's loader answers, so that both mean the same.
 */

/** Who publishes agents of this family. */
const SCOPES: ReadonlySet<string> = new Set(["@earendil-works", "@mariozechner", "@oh-my-pi"]);

/** The packages by their names without the scope, and the module that each is here. */
const PACKAGES = {
  "pi-coding-agent": "pi-coding-agent",
  "pi-ai": "pi-ai",
  "pi-tui": "pi-tui",
  "pi-agent-core": "pi-agent-core",
  // Older and other names.
  "pi-agent": "pi-agent-core",
  "pi-utils": "pi-utils",
} as const;

export type HostModule = (typeof PACKAGES)[keyof typeof PACKAGES];

/** The agent itself has names of its own. */
const AGENTS: ReadonlySet<string> = new Set(["xdev", "@f5-sales-demo/xcsh"]);

/**
 * The module that a specifier means, undefined if it is none of the host's packages. A sub-path is its package's module: what
 * the family moved from one file to another, or to the package's entry, is found under each of its names.
 */
export function hostModule(specifier: string): HostModule | undefined {
  const [scope, name] = specifier.split("/", 2) as [string, string | undefined];
  if (AGENTS.has(scope) || AGENTS.has(`${scope}/${name}`)) return "pi-coding-agent";
  if (name === undefined || !SCOPES.has(scope) || !Object.hasOwn(PACKAGES, name)) return undefined;
  return PACKAGES[name as keyof typeof PACKAGES];
}
