/** The permissions that the command line gives for one run. */
import { isAbsolute } from "node:path";
import { XdevError } from "../../src/base/errors.ts";
import { canonicalPath, resolvePath } from "../../src/base/files.ts";
import { KINDS, type Kind, listOf, type Permission, type Permissions, permissionsOf } from "./permissions.ts";
import { BadValue, parseValue } from "./values.ts";

/** As they were written: `--allow-read=a,b` gives `{ read: ["a", "b"] }`, `--allow-read` alone `["*"]`. */
export type RawPermissions = Partial<Record<Kind, readonly string[]>>;

export interface AllowFlags {
  permissions: RawPermissions;
  /** Names of extensions that may do everything but what no permission can allow. */
  all: readonly string[];
}

/** What `SessionOptions.flags` takes. */
export interface RunFlags {
  permissions: Permissions;
  /** Names and canonical paths. */
  all: readonly string[];
}

/** The flags of a run, ready for `extensionRights`. Throws like `parsePermissionOptions`. */
export async function runFlags(given: AllowFlags | undefined, base: string): Promise<RunFlags | undefined> {
  if (!given) return undefined;
  const parsed = parsePermissionOptions(given.permissions, base, (kind) => `--allow-${kind}`);
  const permissions = await canonicalPaths(parsed);
  const isPath = (name: string) => /[/\\]/.test(name);
  const all = given.all.map((name) => (isPath(name) ? canonicalPath(resolvePath(name, base)) : name));
  return { permissions, all: await Promise.all(all) };
}

/**
 * What options mean. Relative paths are relative to `base`, the folder that the program was started in. `option` names the option of
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

/** The same, with absolute paths as what they lead to now: that is what the user means by them (match-path.ts). */
export async function canonicalPaths(permissions: Permissions): Promise<Permissions> {
  const list = listOf(permissions).map(async ({ kind, value }): Promise<Permission> => {
    const isPath = (kind === "read" || kind === "write") && isAbsolute(value);
    return { kind, value: isPath ? await canonicalPath(value).catch(() => value) : value };
  });
  return permissionsOf(await Promise.all(list));
}
