/**
 * What `import` and `require` of a name give in the sandbox: our own modules and the host's packages (under every name of the
 * family: ../host/names.ts), evaluated in the compartment when they are first asked for, and for everything else an error
 * that says why not.
 */

import { ABSENT_MODULES, NATIVE_LOADERS } from "../absent-names.ts";
import type { BundleLinks, GuestHost } from "../protocol.ts";
import { guestSourceName, SYSTEM } from "../source-names.ts";

/** What `require` gives whole; Node's modules are their default export. */
const isPackage = (name: string): boolean =>
  name.startsWith("pi-") || /^(?:@sinclair\/)?typebox|^zod/.test(name);

export interface Modules extends Pick<BundleLinks, "import" | "dynamicImport" | "require"> {
  /** A module for our own code: by any name that `GUEST_SOURCES` has. */
  own(name: string): Record<string, unknown>;
}

/** `system` is what our own modules get as `xdev:system`; extensions can't import it. */
export function createModules(
  host: Pick<GuestHost, "evaluateSource">,
  system: Record<string, unknown>,
): Modules {
  const loaded = new Map<string, { exports: unknown }>();

  const load = (name: string): Record<string, unknown> | undefined => {
    const known = loaded.get(name);
    if (known) return known.exports as Record<string, unknown>;
    const fill = host.evaluateSource(name);
    if (!fill) return undefined;
    // There before it is filled: two modules may require each other.
    const module = { exports: {} as unknown };
    loaded.set(name, module);
    try {
      fill(own, module);
    } catch (error) {
      loaded.delete(name);
      throw error;
    }
    return module.exports as Record<string, unknown>;
  };

  const own = (specifier: string): Record<string, unknown> => {
    if (specifier === SYSTEM) return system;
    const name = guestSourceName(specifier);
    const exports = name === undefined ? undefined : load(name);
    if (!exports) throw new Error(`this build has no module ${specifier}`);
    return exports;
  };

  const find = (specifier: string): Record<string, unknown> => {
    const name = guestSourceName(specifier);
    const exports = name === undefined || isInternal(name) ? absent(specifier) : load(name);
    if (!exports) throw missing(specifier);
    return exports;
  };

  const absent = (specifier: string): Record<string, unknown> | undefined => {
    const name = specifier.startsWith("node:") ? specifier.slice(5) : specifier;
    if (!ABSENT_MODULES.has(name)) return undefined;
    return (own("internal/absent").modules as Record<string, Record<string, unknown>>)[name];
  };

  const importNames = (specifier: string, names: readonly string[]): Record<string, unknown> => {
    const exports = find(specifier);
    const lacking = names.filter((name) => name !== "*" && !(name in exports));
    if (lacking.length === 0) return exports;
    // Where these agents load modules, what is not there is no error before it is used: a part of an extension, at worst.
    const standIns = lacking.map(
      (name) => [name, { value: standIn(specifier, name), enumerable: true }] as const,
    );
    return Object.create(exports, Object.fromEntries(standIns)) as Record<string, unknown>;
  };

  return {
    own,
    import: importNames,
    require: (specifier) => {
      const exports = find(String(specifier));
      const name = guestSourceName(String(specifier));
      return name !== undefined && isPackage(name) ? exports : forRequire(exports);
    },
    dynamicImport: async (specifier) => find(String(specifier)),
  };
}

/** In the place of an export that is not there: a function, and a class, that says so. */
function standIn(specifier: string, name: string): () => never {
  function lacking(): never {
    throw new TypeError(`"${specifier}" has no export "${name}" in this version of xdev`);
  }
  return lacking;
}

/** Ours alone: the API's own text, and the sources of globals. */
function isInternal(name: string): boolean {
  return name === "api" || name.startsWith("web:") || name.startsWith("internal/");
}

/** What `require` gives of a module of ours: Node's modules are their default export. */
function forRequire(exports: Record<string, unknown>): unknown {
  const { default: main } = exports;
  return typeof main === "function" || (typeof main === "object" && main !== null) ? main : exports;
}

function missing(specifier: string): Error {
  return Object.assign(new Error(whyMissing(specifier)), { code: "ERR_MODULE_NOT_FOUND" });
}

function whyMissing(specifier: string): string {
  if (specifier.startsWith("node:")) {
    return `module "${specifier}" is not available to a sandboxed extension in this version of xdev`;
  }
  if (NATIVE_LOADERS.has(specifier) || specifier.endsWith(".node")) {
    return `"${specifier}": native addons can't run in the sandbox; use a pure JavaScript package instead`;
  }
  if (/^[./]/.test(specifier)) return `"${specifier}": there is no such file in the extension's bundle`;
  return `package "${specifier}" was not found: it must be in the node_modules folder of the extension itself`;
}
