/** Paths that are written differently and mean the same: a denial keeps the canonical path, and people write `~/notes`. */
import { canonicalPath } from "../../src/base/files.ts";
import type { Folders } from "../broker/broker.ts";
import { expandPath } from "./match-path.ts";
import { listOf, type Permission, type Permissions, permissionsOf } from "./permissions.ts";

const isPath = ({ kind, value }: Permission): boolean =>
  (kind === "read" || kind === "write") && value !== "*";

/** These permissions, and each path among them also with its variable replaced, and as what it leads to now. */
export async function allSpellings(permissions: Permissions, folders: Folders): Promise<Permissions> {
  const list = listOf(permissions).map(async (one): Promise<Permission[]> => {
    if (!isPath(one)) return [one];
    const written = expandPath(one.value, folders);
    const target = await canonicalPath(written).catch(() => written);
    return [one.value, written, target].map((value) => ({ kind: one.kind, value }));
  });
  return permissionsOf((await Promise.all(list)).flat());
}

/**
 * What of `set` is none of those of which these are all spellings. A path with `$CWD` means one in each folder that the user works in: it
 * is not the path that it means in one of them.
 */
export function unlike(set: Permissions, spellings: Permissions, folders: Folders): Permissions {
  const isAmong = (one: Permission): boolean => {
    const values = spellings[one.kind] ?? [];
    if (values.includes(one.value)) return true;
    return isPath(one) && !one.value.startsWith("$CWD") && values.includes(expandPath(one.value, folders));
  };
  return permissionsOf(listOf(set).filter((one) => !isAmong(one)));
}
