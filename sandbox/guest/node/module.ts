/** `node:module`: what there is to be required, and `createRequire` for it and for JSON files beside the extension. */
import { requireModule } from "xdev:system";
import { SOURCE_NAMES } from "../source-names.ts";
import { codedError, invalidValue } from "./errors.ts";

declare const require: (name: string) => unknown;

/** Those that this sandbox has. */
export const builtinModules: readonly string[] = Object.freeze(
  SOURCE_NAMES.filter(
    (name) => name !== "api" && !name.endsWith("typebox") && !/^(?:internal\/|web:)/.test(name),
  ).sort(),
);

export function isBuiltin(name: string): boolean {
  return builtinModules.includes(name.startsWith("node:") ? name.slice(5) : name);
}

interface Required {
  (specifier: string): unknown;
  resolve(specifier: string): string;
  cache: Record<string, unknown>;
  main: undefined;
}

/**
 * A `require` for the file that `from` (a path, or a `file:` URL) names. It finds modules of Node's, the packages that the host gives, and,
 * with the permission to read, JSON files; everything else was bundled already, or is not there (MODULE_NOT_FOUND).
 */
export function createRequire(from: string | URL): Required {
  const isUrl = typeof from === "object" || `${from}`.startsWith("file:");
  if (!isUrl && !(typeof from === "string" && /^(?:[\\/]|[A-Za-z]:)/.test(from))) {
    throw invalidValue(
      "filename",
      from,
      "must be a file URL object, file URL string, or absolute path string",
    );
  }
  const file = isUrl
    ? (require("node:url") as typeof import("node:url")).fileURLToPath(from)
    : (from as string);

  const pathOf = (specifier: string): string | undefined => {
    if (!/^(?:\.{0,2}[\\/]|[A-Za-z]:[\\/])/.test(specifier)) return undefined;
    const { dirname, resolve } = require("node:path") as typeof import("node:path");
    return resolve(file.endsWith("/") ? file : dirname(file), specifier);
  };
  const cache: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
  const load = (specifier: string): unknown => {
    const path = pathOf(specifier);
    if (path === undefined) return requireModule(specifier);
    if (Object.hasOwn(cache, path)) return cache[path];
    if (!path.endsWith(".json")) throw notFound(specifier, file);
    const { readFileSync } = requireModule("node:fs") as typeof import("node:fs");
    cache[path] = JSON.parse(readFileSync(path, "utf8"));
    return cache[path];
  };
  const resolve = (specifier: string): string => {
    const path = pathOf(specifier) ?? (isBuiltin(specifier) ? specifier : undefined);
    if (path === undefined) throw notFound(specifier, file);
    return path;
  };
  return Object.assign(load, { resolve, cache, main: undefined });
}

function notFound(specifier: string, file: string): Error {
  return codedError(
    Error,
    "MODULE_NOT_FOUND",
    `Cannot find module '${specifier}'\nRequire stack:\n- ${file}\n(in the sandbox only JSON files can be required after an extension was bundled)`,
  );
}

export const syncBuiltinESMExports = (): void => {};
export const findSourceMap = (): undefined => undefined;
export const enableCompileCache = (): object => ({ status: 3 });

class Module {}
const exports = Object.assign(Module, {
  Module,
  builtinModules,
  createRequire,
  enableCompileCache,
  findSourceMap,
  isBuiltin,
  syncBuiltinESMExports,
});

export { Module };

export default exports;
