/**
 * What a package.json says about its files: `exports` with conditions and patterns, else `module` and `main`, as Node.js
 * resolves them (https://nodejs.org/api/packages.html). The result is a relative path and no more than a wish:
 * whether the file may be read is decided elsewhere.
 */

export type ImportKind = "import" | "require";

/**
 * The relative path (`./…`) of `subpath` (`.` or `./…`), undefined if the package does not export it, and `"fallback"`
 * if it has no `exports` and the path itself counts.
 */
export function exportedPath(
  json: Record<string, unknown> | undefined,
  subpath: string,
  kind: ImportKind,
): string | undefined | "fallback" {
  const map = json?.exports;
  if (map !== undefined && map !== null) return fromExports(map, subpath, kind);
  if (subpath !== "." || !json) return "fallback";
  const fields = kind === "import" ? [json.module, json.main] : [json.main];
  const main = fields.find((field) => typeof field === "string" && field !== "");
  return typeof main === "string" ? `./${main.replace(/^\.?\/+/, "")}` : "fallback";
}

/**
 * What the `imports` map of a package.json says about `#name`: a relative path (`./…`), a bare specifier of a package or of the
 * host, or undefined.
 */
export function importedTarget(
  json: Record<string, unknown> | undefined,
  specifier: string,
  kind: ImportKind,
): string | undefined {
  const map = json?.imports;
  if (typeof map !== "object" || map === null || Array.isArray(map)) return undefined;
  if (specifier === "#" || specifier.startsWith("#/")) return undefined;
  return fromMap(map as Record<string, unknown>, specifier, conditionsOf(kind), true);
}

function conditionsOf(kind: ImportKind): Set<string> {
  return new Set([kind, "node", "module-sync", "default"]);
}

function fromExports(map: unknown, subpath: string, kind: ImportKind): string | undefined {
  const conditions = conditionsOf(kind);
  const isSubpathMap =
    typeof map === "object" &&
    map !== null &&
    !Array.isArray(map) &&
    Object.keys(map).some((key) => key.startsWith("."));
  if (!isSubpathMap) return subpath === "." ? target(map, "", conditions) : undefined;

  return fromMap(map as Record<string, unknown>, subpath, conditions, false);
}

/** `bare`: whether a target may be the name of a package. */
function fromMap(
  entries: Record<string, unknown>,
  subpath: string,
  conditions: Set<string>,
  bare: boolean,
): string | undefined {
  if (Object.hasOwn(entries, subpath) && !subpath.includes("*")) {
    return target(entries[subpath], "", conditions, bare);
  }
  // The longest text before the `*` wins.
  const patterns = Object.keys(entries)
    .filter((key) => key.split("*").length === 2)
    .sort((a, b) => b.indexOf("*") - a.indexOf("*") || b.length - a.length);
  for (const pattern of patterns) {
    const [before = "", after = ""] = pattern.split("*");
    const fits = subpath.length > before.length + after.length;
    if (fits && subpath.startsWith(before) && subpath.endsWith(after)) {
      const star = subpath.slice(before.length, subpath.length - after.length);
      return target(entries[pattern], star, conditions, bare);
    }
  }
  return undefined;
}

function target(
  value: unknown,
  star: string,
  conditions: Set<string>,
  bare = false,
  depth = 0,
): string | undefined {
  if (depth > 20) return undefined;
  if (typeof value === "string") {
    // One star, as Node has it: many of them times a long name is a path that fills the memory.
    if (value.split("*").length > 2) return undefined;
    if (!value.startsWith("./") && !(bare && /^[a-z@]/i.test(value))) return undefined;
    return value.replace("*", () => star);
  }
  if (Array.isArray(value)) {
    for (const item of value) {
      const found = target(item, star, conditions, bare, depth + 1);
      if (found !== undefined) return found;
    }
    return undefined;
  }
  if (typeof value !== "object" || value === null) return undefined;
  for (const [condition, item] of Object.entries(value)) {
    if (!conditions.has(condition)) continue;
    const found = target(item, star, conditions, bare, depth + 1);
    // `null` ends the search: "not exported under this condition".
    if (found !== undefined || item === null) return found;
  }
  return undefined;
}
