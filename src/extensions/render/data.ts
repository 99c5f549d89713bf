/** The data of a tool result, and what of it a renderer names. All of it is an extension's: nothing here trusts its shape. */

/** What a tool gave, as far as a renderer looks at it. */
export interface ResultData {
  text: string;
  details?: unknown;
}

/** What a renderer draws: the JSON of the text, or else the details. Undefined if neither is an object or an array. */
export function structureOf({ text, details }: ResultData): object | undefined {
  const start = text.trimStart()[0];
  if (start === "{" || start === "[") {
    try {
      return JSON.parse(text) as object;
    } catch {
      // Text that only begins like JSON.
    }
  }
  return typeof details === "object" && details !== null ? details : undefined;
}

/** What a dotted path names (renderers.ts says how), or undefined. */
export function at(value: unknown, path: string): unknown {
  if (path === "") return value;
  if (hasMember(value, path)) return value[path];
  let here = value;
  for (const name of path.split(".")) {
    if (!hasMember(here, name)) return undefined;
    here = here[name];
  }
  return here;
}

function hasMember(value: unknown, name: string): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  // An array's `length` is its own, too.
  if (Array.isArray(value) && !/^\d+$/.test(name)) return false;
  return Object.hasOwn(value, name);
}

/** Longer than anything that is drawn of a nested value, in UTF-16 units. */
const MAX_COMPACT = 2000;
const MAX_DEPTH = 6;

/** One huge value may be named by every field and row. */
const shortened = new WeakMap<object, string>();

/**
 * A value as text: strings as they are, numbers, booleans and null as JSON, what is nested as short JSON. Undefined
 * is the empty text.
 */
export function display(value: unknown): string {
  if (value === undefined) return "";
  if (typeof value === "string") return value;
  if (typeof value !== "object" || value === null) return String(value);
  const known = shortened.get(value);
  if (known !== undefined) return known;
  const text = shortJson(value);
  shortened.set(value, text);
  return text;
}

function shortJson(value: object): string {
  let text = "";
  const write = (item: unknown, depth: number): void => {
    if (text.length > MAX_COMPACT) return;
    if (typeof item === "string") text += JSON.stringify(item.slice(0, MAX_COMPACT));
    else if (typeof item !== "object" || item === null) text += String(item);
    else if (depth === MAX_DEPTH) text += "…";
    else if (Array.isArray(item)) {
      text += "[";
      for (let index = 0; index < item.length && text.length <= MAX_COMPACT; index++) {
        if (index > 0) text += ", ";
        write(item[index], depth + 1);
      }
      text += "]";
    } else {
      text += "{";
      let first = true;
      for (const [name, member] of Object.entries(item)) {
        if (text.length > MAX_COMPACT) break;
        text += `${first ? "" : ", "}${name.slice(0, MAX_COMPACT)}: `;
        first = false;
        write(member, depth + 1);
      }
      text += "}";
    }
  };
  write(value, 0);
  return text;
}
