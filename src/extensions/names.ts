import { basename, extname } from "node:path";
import { sha256Hash } from "../platform/hash.ts";

/** Commands of xdev's own, which no module can have. */
export const BUILTIN_COMMANDS: ReadonlySet<string> = new Set(["ext", "reload"]);

/** The providers' limit on a tool name, in characters. */
const MAX_TOOL_NAME = 64;

/** An extension's name from its path (wire-notes.md, "Names"): `deny-rm.py` gives `deny-rm`. */
export function extensionName(path: string): string {
  const file = basename(path);
  return safe(basename(file, extname(file)) || file) || "extension";
}

/**
 * Of two extensions that would have one name, the later gets `_2`, `_3`, …; then `duplicate` is set. A name goes first to who is called so
 * by the user: the author of a package with several modules (`isPart`) chooses their names, and so does a repository; and a name
 * stands for what the user allowed.
 */
export function assignNames(
  wanted: readonly { name: string; isPart?: boolean; origin?: string }[],
): { name: string; duplicate: boolean }[] {
  const owners = new Map<string, number>();
  for (const byOthers of [false, true]) {
    wanted.forEach(({ name, isPart, origin }, index) => {
      const isByOthers = isPart === true || origin === "project";
      if (isByOthers === byOthers && !owners.has(name)) owners.set(name, index);
    });
  }
  const taken = new Set(owners.keys());
  return wanted.map(({ name: first }, index) => {
    if (owners.get(first) === index) return { name: first, duplicate: false };
    let name = first;
    for (let number = 2; taken.has(name); number++) name = `${first}_${number}`;
    taken.add(name);
    return { name, duplicate: true };
  });
}

/**
 * The name under which a process extension's tool is registered (§3): namespaced, so that it can shadow nothing. Over
 * 64 characters it is cut and ends in six digits of a hash of the whole.
 */
export function processToolName(extension: string, tool: string): string {
  return limited(`ext_${extension}_${safe(tool)}`, `${extension}\0${tool}`);
}

/** A worker extension's tool keeps its own name, with only the characters that every provider takes. */
export function workerToolName(tool: string): string {
  return limited(safe(tool), tool);
}

function limited(name: string, whole: string): string {
  if (name.length <= MAX_TOOL_NAME) return name;
  const start = Number.parseInt(sha256Hash().update(whole).digest("hex").slice(0, 8), 16);
  const digits = String(start % 1_000_000).padStart(6, "0");
  return `${name.slice(0, MAX_TOOL_NAME - 7)}_${digits}`;
}

function safe(text: string): string {
  return text.replace(/[^A-Za-z0-9_-]/g, "_");
}
