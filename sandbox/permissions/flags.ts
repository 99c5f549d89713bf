/** The permissions that the command line gives for one run. */
import { XdevError } from "../../src/base/errors.ts";
import { KINDS, type Kind, type Permission, type Permissions, permissionsOf } from "./permissions.ts";
import { BadValue, parseValue } from "./values.ts";

/** As they were written: `--allow-read=a,b` gives `{ read: ["a", "b"] }`, `--allow-read` alone `["*"]`. */
export type RawPermissions = Partial<Record<Kind, readonly string[]>>;

export interface AllowFlags {
  permissions: RawPermissions;
  /** Names of extensions that may do everything but what no permission can allow. */
  all: readonly string[];
}

/**
 * What flags mean. Relative paths are relative to `base`, the folder that the program was started in. `option` names the option of
 * a kind in messages. Throws `XdevError` with code `usage`.
 */
export function parsePermissionOptions(
  raw: RawPermissions,
  base: string,
  option: (kind: Kind) => string,
): Permissions {
  const list: Permission[] = [];
  for (const kind of KINDS) {
    for (const text of raw[kind] ?? []) {
      try {
        list.push({ kind, value: parseValue(kind, text, base) });
      } catch (error) {
        if (!(error instanceof BadValue)) throw error;
        throw new XdevError("usage", `${option(kind)}: ${JSON.stringify(text)} ${error.message}`);
      }
    }
  }
  return permissionsOf(list);
}
