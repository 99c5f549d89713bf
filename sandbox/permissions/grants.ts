/**
 * `<dataDir>/permissions.json` (0600): what the user granted and denied for good, by the canonical path of each extension's entry.
 *
 * A record is bound to the digest of the bundle that it was made for. The rule for other code at that path:
 * - What it asks for and the code before asked for as well is not asked again: what was granted of it stays granted, what was not
 *   stays so. That is what an update must be able to do, and it is the trust that a grant puts into the author of later versions.
 * - What it asks for beyond that is asked, and only that, with what it has already in view.
 * - What it does not ask for any more is forgotten, so that a version which asks for nothing is no way for the next one to get
 *   something back unseen. What the user granted by himself, on the command line or when he was asked at the point of use, was never
 *   asked for by the code; it stays until it is revoked.
 * - What is denied for good stays denied, whatever the code.
 *
 * A file that can't be used grants nothing, is said, and is never written over.
 */
import { chmod, mkdir, open } from "node:fs/promises";
import { join } from "node:path";
import { errorText, systemCode, XdevError } from "../../src/base/errors.ts";
import { writeFileAtomic } from "../../src/base/files.ts";
import { isRecord } from "./json.ts";
import { withLock } from "./lock.ts";
import {
  difference,
  intersection,
  isEmpty,
  KINDS,
  NONE,
  type Permission,
  type Permissions,
  permissionsOf,
  union,
} from "./permissions.ts";
import { MAX_VALUE, parseCommand, parseHost, parseValue } from "./values.ts";

export interface GrantRecord {
  /** The extension's name when this was written: for whoever reads the file. */
  name: string;
  /** Of the bundle that the user was last asked about; undefined before the first question. */
  digest?: string | undefined;
  /** What that bundle asked for. */
  asked: Permissions;
  /** Granted of what was asked for. */
  granted: Permissions;
  /** Granted by the user without being asked for it when the extension was loaded. */
  added: Permissions;
  /** Denied for good. */
  denied: Permissions;
}

export const NO_RECORD: GrantRecord = { name: "", asked: NONE, granted: NONE, added: NONE, denied: NONE };

/** A larger file is none of ours, in bytes. */
const MAX_FILE = 4 * 1024 * 1024;
/** Canonical paths may be longer than what a person may write. */
const MAX_STORED_VALUE = Math.max(MAX_VALUE, 4200);

export function grantsFile(dataDir: string): string {
  return join(dataDir, "permissions.json");
}

/** All that is granted by a record. */
export function grantedBy(record: GrantRecord): Permissions {
  return union(record.granted, record.added);
}

/** What a bundle has by a record, and what there is to ask: see above. */
export function judge(
  record: GrantRecord,
  digest: string,
  requested: Permissions,
): { record: GrantRecord; toAsk: Permissions } {
  if (record.digest === digest) return { record, toAsk: NONE };
  const kept = common(record.granted, requested);
  const known = union(record.digest === undefined ? NONE : record.asked, record.added, record.denied);
  return { record: { ...record, granted: kept }, toAsk: difference(requested, known) };
}

/** The record after the user has answered: `granted` are those of `toAsk` that he allowed. */
export function afterAnswer(
  record: GrantRecord,
  answer: { name: string; digest: string; requested: Permissions; granted: Permissions },
): GrantRecord {
  const { name, digest, requested } = answer;
  const granted = common(union(record.granted, answer.granted), requested);
  return { ...record, name, digest, asked: requested, granted };
}

/** What two sets both give, whichever of them has the narrower word for it. */
function common(a: Permissions, b: Permissions): Permissions {
  return union(intersection(a, b), intersection(b, a));
}

export type GrantRecords = ReadonlyMap<string, GrantRecord>;

/** All records by path. Throws `XdevError` `bad-settings` for a file that can't be used; who goes on then grants nothing. */
export async function readGrants(dataDir: string): Promise<GrantRecords> {
  const file = grantsFile(dataDir);
  try {
    return parse(await readPrivate(file));
  } catch (error) {
    if (systemCode(error) === "ENOENT") return new Map();
    if (error instanceof XdevError) throw error;
    throw new XdevError("bad-settings", `${file} can't be used, so nothing is granted: ${errorText(error)}`, {
      hint: `mend it, or remove it and grant anew: rm ${file}`,
    });
  }
}

/**
 * Changes the record of one extension; `change` gives undefined to remove it. Under a lock: two at the same time, in whatever
 * process, both count. Throws like `readGrants`, and `XdevError` `busy` if the lock is not to be had.
 */
export async function changeGrants(
  dataDir: string,
  path: string,
  change: (record: GrantRecord) => GrantRecord | undefined,
): Promise<void> {
  const file = grantsFile(dataDir);
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  await withLock(`${file}.lock`, async () => {
    const records = new Map(await readGrants(dataDir));
    const changed = change(records.get(path) ?? NO_RECORD);
    if (changed) records.set(path, changed);
    else if (!records.delete(path)) return;
    const extensions = Object.fromEntries([...records].sort(([a], [b]) => (a < b ? -1 : 1)));
    // An old file keeps its mode, so that is set first.
    await chmod(file, 0o600).catch(() => {});
    await writeFileAtomic(file, `${JSON.stringify({ version: 1, extensions }, null, 2)}\n`, { mode: 0o600 });
  });
}

/** Whether a record holds nothing worth keeping. */
export function isBlank(record: GrantRecord): boolean {
  return record.digest === undefined && [record.granted, record.added, record.denied].every(isEmpty);
}

async function readPrivate(file: string): Promise<string> {
  const handle = await open(file, "r");
  try {
    const info = await handle.stat();
    const own = process.getuid?.();
    // Whoever can write here could grant anything for us.
    if (own !== undefined && ((info.mode & 0o022) !== 0 || (info.uid !== own && info.uid !== 0))) {
      throw new XdevError("bad-settings", `${file} can be written by other users, so nothing is granted`, {
        hint: `if its content is yours: chmod 600 ${file}`,
      });
    }
    if (!info.isFile() || info.size > MAX_FILE) throw new Error("it is too large, or no file");
    return await handle.readFile("utf8");
  } finally {
    await handle.close();
  }
}

/** Written out, since it is read at every start: a schema library would take longer than all the rest. */
function parse(text: string): GrantRecords {
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch {
    throw new Error("it is damaged");
  }
  if (!isRecord(content) || content.version !== 1 || !isRecord(content.extensions))
    throw new Error("it is damaged");
  return new Map(Object.entries(content.extensions).map(([path, record]) => [path, parseRecord(record)]));
}

const MEMBERS = new Set(["name", "digest", "asked", "granted", "added", "denied"]);

function parseRecord(value: unknown): GrantRecord {
  if (!isRecord(value) || typeof value.name !== "string") throw new Error("it is damaged");
  if (value.digest !== undefined && typeof value.digest !== "string") throw new Error("it is damaged");
  // A member that this version does not know could be a denial.
  if (Object.keys(value).some((key) => !MEMBERS.has(key)))
    throw new Error("it is of another version of xdev");
  const { name, digest } = value;
  return {
    name,
    digest,
    asked: parsePermissions(value.asked),
    granted: parsePermissions(value.granted),
    added: parsePermissions(value.added),
    denied: parsePermissions(value.denied),
  };
}

function parsePermissions(value: unknown): Permissions {
  if (!isRecord(value)) throw new Error("it is damaged");
  const list: Permission[] = [];
  for (const [key, values] of Object.entries(value)) {
    const kind = KINDS.find((one) => one === key);
    if (!kind || !Array.isArray(values)) throw new Error("it is damaged");
    for (const one of values as unknown[]) {
      if (typeof one !== "string" || one === "" || one.length > MAX_STORED_VALUE)
        throw new Error("it is damaged");
      checkStored({ kind, value: one });
      list.push({ kind, value: one });
    }
  }
  return permissionsOf(list);
}

/** Throws for a value that nothing here writes. Paths may hold anything that a file's name may. */
function checkStored({ kind, value }: Permission): void {
  switch (kind) {
    case "read":
    case "write":
      if (value !== "*" && !/^(?:\$[A-Z]+(?:\/|$)|\/|[A-Za-z]:)/.test(value))
        throw new Error("it is damaged");
      if (value.includes("\0")) throw new Error("it is damaged");
      break;
    case "net":
      parseHost(value);
      break;
    case "run":
      parseCommand(value);
      break;
    default:
      parseValue(kind, value);
  }
}
