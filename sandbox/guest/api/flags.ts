/** Flags of extensions (`pi.registerFlag`): what the command line says of them. */
import type { About } from "../protocol.ts";

export interface Flag {
  description: string | undefined;
  type: "boolean" | "string";
  default: boolean | string | undefined;
}

/** What was registered, made plain. Throws for what is no flag. */
export function flagOf(name: string, options: unknown): Flag {
  const given = (options ?? {}) as { description?: unknown; type?: unknown; default?: unknown };
  const type = given.type ?? (typeof given.default === "string" ? "string" : "boolean");
  if (type !== "boolean" && type !== "string") {
    throw new TypeError(`pi.registerFlag("${name}"): the type is boolean or string`);
  }
  if (given.default !== undefined && typeof given.default !== type) {
    throw new TypeError(`pi.registerFlag("${name}"): the default is no ${type}`);
  }
  return {
    description: given.description === undefined ? undefined : String(given.description),
    type,
    default: given.default as boolean | string | undefined,
  };
}

/** The value of a flag: what the command line says, or the default. `--no-NAME` is a boolean's no. */
export function flagValue(name: string, flag: Flag, given: About["flags"]): boolean | string | undefined {
  const said = (key: string) => (given && Object.hasOwn(given, key) ? given[key] : undefined);
  const one = said(name);
  if (flag.type === "string") return one?.value ?? one?.next ?? flag.default;
  if (one) return one.value === null || !/^(?:false|no|off|0)$/i.test(one.value);
  return said(`no-${name}`) ? false : flag.default;
}
