/**
 * What can be told about imports from the author's text alone, which may be TypeScript: attributes, and where a specifier
 * stands. Neither decides about safety (the linkers are given a loader for every file and never obey an attribute); it
 * is for messages that name the line.
 */
import { XdevError } from "../../src/base/errors.ts";
import { lineAndColumn } from "./syntax.ts";

// Bounded: in a hostile text every line could begin one that never ends.
const ATTRIBUTES =
  /^[ \t]*(?:import|export)\b[^;"'`]{0,400}?(["'])([^"'\n]{0,400})\1\s*(?:with|assert)\s*\{([^}]{0,400})\}/gm;

/** Refuses `with { type: "text" }` and the like; `type: "json"` for a JSON file changes nothing and passes. */
export function checkAttributes(path: string, text: string): void {
  for (const found of text.matchAll(ATTRIBUTES)) {
    const [all, , specifier = "", attributes = ""] = found;
    if (/^\s*$/.test(attributes)) continue;
    const isJson = /^\s*(?:type|["']type["'])\s*:\s*(["'])json\1\s*,?\s*$/.test(attributes);
    if (isJson && specifier.endsWith(".json")) continue;
    const at = lineAndColumn(text, found.index + all.search(/\S/));
    throw new XdevError(
      "bundle-refused",
      `${path}:${at.line}:${at.column}: import attributes { ${attributes.trim()} } are not supported`,
      { hint: "Import code and JSON plainly, and read other files at run time with node:fs." },
    );
  }
}

/** Where `specifier` first stands as a string in `text`: the import, unless the same string comes before it. */
export function placeOfImport(text: string, specifier: string): { line: number; column: number } | undefined {
  if (specifier.length > 1000) return undefined;
  const escaped = specifier.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const quoted = `["'\`]${escaped}["'\`]`;
  const inStatement = new RegExp(`(?:from|import|require)[\\s(]*(${quoted})`).exec(text);
  if (inStatement)
    return lineAndColumn(text, inStatement.index + inStatement[0].length - inStatement[1]!.length);
  const anywhere = new RegExp(quoted).exec(text);
  return anywhere ? lineAndColumn(text, anywhere.index) : undefined;
}
