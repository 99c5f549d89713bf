/**
 * A set of permissions as plain data: for each kind a sorted list of values, every value a text in its one normal form
 * (values.ts). Declared, inferred, granted and denied ones are all of this type, so that they can be compared, stored and shown.
 */
import { coversValue } from "./values.ts";

export const KINDS = [
  "read",
  "write",
  "net",
  "run",
  "env",
  "sys",
  "model",
  "session",
  "ui",
  "provider",
  "tools",
  "wasm",
] as const;

export type Kind = (typeof KINDS)[number];

/** Kinds that are there or not: their one value is `*`. */
export const FLAG_KINDS: ReadonlySet<Kind> = new Set<Kind>(["model", "ui", "provider", "wasm"]);

/** A kind without values is left out. `*` is all of a kind. */
export type Permissions = Readonly<Partial<Record<Kind, readonly string[]>>>;

/** One permission of a set. */
export interface Permission {
  kind: Kind;
  value: string;
}

export const NONE: Permissions = Object.freeze({});

/** The set of these, each once. */
export function permissionsOf(list: Iterable<Permission>): Permissions {
  const values = new Map<Kind, Set<string>>();
  for (const { kind, value } of list) values.set(kind, (values.get(kind) ?? new Set()).add(value));
  const result: Partial<Record<Kind, readonly string[]>> = {};
  for (const kind of KINDS) {
    const found = values.get(kind);
    if (found) result[kind] = [...found].sort();
  }
  return result;
}

/** Each permission of a set, in the order of `KINDS`. */
export function listOf(permissions: Permissions): Permission[] {
  return KINDS.flatMap((kind) => (permissions[kind] ?? []).map((value) => ({ kind, value })));
}

export function isEmpty(permissions: Permissions): boolean {
  return KINDS.every((kind) => (permissions[kind]?.length ?? 0) === 0);
}

export function union(...sets: readonly Permissions[]): Permissions {
  return permissionsOf(sets.flatMap(listOf));
}

/** Whether `set` gives this permission: itself, or one that evidently contains it. When in doubt, no. */
export function includes(set: Permissions, { kind, value }: Permission): boolean {
  return (set[kind] ?? []).some((own) => coversValue(kind, own, value));
}

/** What of `wanted` is not in `had`. */
export function difference(wanted: Permissions, had: Permissions): Permissions {
  return permissionsOf(listOf(wanted).filter((one) => !includes(had, one)));
}

/** What of `set` is also in `limit`. */
export function intersection(set: Permissions, limit: Permissions): Permissions {
  return permissionsOf(listOf(set).filter((one) => includes(limit, one)));
}

export function isSubset(set: Permissions, of: Permissions): boolean {
  return listOf(set).every((one) => includes(of, one));
}
