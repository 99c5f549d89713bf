/** What an extension asks for: what it declares, or what its code was seen to use. */
import { isRecord } from "./json.ts";
import {
  FLAG_KINDS,
  KINDS,
  type Kind,
  NONE,
  type Permission,
  type Permissions,
  permissionsOf,
} from "./permissions.ts";
import { BadValue, parseValue } from "./values.ts";

export interface Declaration {
  /** `inferred`: from its code; `none`: it neither declares nor seems to use anything. */
  source: "declared" | "inferred" | "none";
  permissions: Permissions;
  /** The author's words, by `reasonKey`: hostile text. */
  reasons: ReadonlyMap<string, string>;
}

export const NOTHING_DECLARED: Declaration = { source: "none", permissions: NONE, reasons: new Map() };

export function reasonKey({ kind, value }: Permission): string {
  return `${kind} ${value}`;
}

/** `value` is `xdev.permissions` of a manifest that its schema let through; anything in it that is no permission is left out. */
export function declarationOf(value: unknown): Declaration {
  const list: Permission[] = [];
  const reasons = new Map<string, string>();
  const add = (kind: Kind, text: unknown, reason: unknown): void => {
    if (typeof text !== "string") return;
    try {
      const permission = { kind, value: parseValue(kind, text) };
      list.push(permission);
      if (typeof reason === "string") reasons.set(reasonKey(permission), reason);
    } catch (error) {
      if (!(error instanceof BadValue)) throw error;
    }
  };
  const declared = isRecord(value) ? value : {};
  for (const kind of KINDS) {
    const given = declared[kind];
    if (given === undefined || given === false) continue;
    if (FLAG_KINDS.has(kind)) add(kind, "*", isRecord(given) ? given.reason : undefined);
    else {
      for (const entry of Array.isArray(given) ? given : [given]) {
        if (!isRecord(entry)) add(kind, entry, undefined);
        else
          for (const one of Object.values(entry).filter(Array.isArray).flat()) add(kind, one, entry.reason);
      }
    }
  }
  return { source: "declared", permissions: permissionsOf(list), reasons };
}

/** What of a declaration takes a grant: its own storage, `ui` and `session: read` don't. */
export function needingGrant(permissions: Permissions): Permissions {
  const list: Permission[] = [];
  for (const kind of KINDS) {
    for (const value of permissions[kind] ?? []) {
      const isFree =
        kind === "ui" ||
        (kind === "session" && value === "read") ||
        ((kind === "read" || kind === "write") && /^\$DATA(?:\/|$)/.test(value));
      if (!isFree) list.push({ kind, value });
    }
  }
  return permissionsOf(list);
}
