/**
 * The permissions of one extension in one session: what it asks for, what it was granted, and the question if there is something
 * new. Nothing here loads a schema, a parser or a prompt unless there is something to look at or somebody to ask.
 */
import { basename, isAbsolute, join, sep } from "node:path";
import { sha256 } from "../../src/base/cache.ts";
import { errorText } from "../../src/base/errors.ts";
import { isInside } from "../../src/base/files.ts";
import { addSecret, log } from "../../src/base/log.ts";
import type { Folders, Rights } from "../broker/broker.ts";
import type { Denials, User } from "./asker.ts";
import { openAudit } from "./audit.ts";
import { looksSecret } from "./danger.ts";
import { type Declaration, declarationOf, NOTHING_DECLARED, needingGrant } from "./declaration.ts";
import type { RunFlags } from "./flags.ts";
import { sessionFolders } from "./folders.ts";
import {
  afterAnswer,
  changeGrants,
  type GrantRecord,
  grantedBy,
  judge,
  NO_RECORD,
  readGrants,
} from "./grants.ts";
import {
  difference,
  isEmpty,
  NONE,
  type Permission,
  type Permissions,
  permissionsOf,
  union,
} from "./permissions.ts";
import { createRights } from "./rights.ts";
import { allSpellings, unlike } from "./spellings.ts";

export interface SessionOptions {
  /** The name that the session has for it. */
  name: string;
  /** Canonical path of its entry. */
  path: string;
  /** The text of its bundle, and what it imports of the host's modules. */
  bundleSource: string;
  imports: readonly string[];
  /** `xdev.permissions` of its package.json as `declaredPermissions` gives it; undefined if it declares none. */
  declared: unknown;
  dataDir: string;
  cwd: string;
  /** For this run, by the command line; `all` has the names that may do everything. */
  flags?: RunFlags | undefined;
  /** Nobody is asked without one. One for all extensions of a session (`oneAtATime`). */
  user?: User | undefined;
  env: Readonly<Record<string, string | undefined>>;
  /** Told when the extension begins and ends to wait for the user: no clock of its runs meanwhile. */
  onWaiting?: (isWaiting: boolean) => void;
  /** Those of the package that it is a part of. */
  denials?: Denials | undefined;
  /** What the user should know, one line. */
  notice?: (text: string) => void;
}

export interface SessionRights {
  rights: Rights;
  folders: Folders;
  /** The environment variables that it may see, by their values. */
  env: Record<string, string>;
  wasm: boolean;
  /** Ends open questions and writes the rest of the audit. */
  close(): Promise<void>;
}

export async function extensionRights(options: SessionOptions): Promise<SessionRights> {
  const { name, path, dataDir, flags, user, env, onWaiting, notice = log.warn } = options;
  const folders = await sessionFolders(options);
  const ending = new AbortController();
  const stored = await storedRecord(dataDir, path, notice);
  const canonical = { ...options, dataDir: folders.dataDir };
  const { record, session } = await settle(canonical, folders, stored, ending.signal);
  const audit = openAudit(folders.dataDir, basename(folders.data));
  const grantName = grantNameOf(path, name, folders.dataDir);
  const rights = await createRights({
    extension: name,
    grantName,
    folders,
    dataDir,
    searchPath: env.PATH,
    granted: grantedBy(record),
    denied: record.denied,
    declared: options.declared === undefined ? NONE : declarationOf(options.declared).permissions,
    session,
    flags: flags?.permissions ?? NONE,
    allowAll: isAllowedAll(canonical),
    asker: user,
    audit,
    signal: ending.signal,
    denials: options.denials,
    ...(onWaiting ? { onWaiting } : {}),
    ...(stored.usable ? { remember: (answer, permission) => keep(options, answer, permission) } : {}),
  });
  const visible: Record<string, string> = {};
  for (const [variable, value] of Object.entries(env)) {
    if (value === undefined || !rights.has({ kind: "env", name: variable })) continue;
    visible[variable] = value;
    audit.record({ kind: "env", what: variable, allowed: true, by: "grant" });
    if (looksSecret(variable)) addSecret(value);
  }
  return {
    rights,
    folders,
    env: visible,
    wasm: rights.has({ kind: "wasm" }),
    close() {
      ending.abort();
      return audit.close();
    },
  };
}

/** What `xdev ext grant` takes for an extension: by its name it only finds those of the data dir. */
export function grantNameOf(path: string, name: string, dataDir: string): string {
  return isInside(path, join(dataDir, "extensions")) ? name : path;
}

interface Stored {
  record: GrantRecord;
  /** Whether answers can be kept. */
  usable: boolean;
}

async function storedRecord(dataDir: string, path: string, notice: (text: string) => void): Promise<Stored> {
  try {
    return { record: (await readGrants(dataDir)).get(path) ?? NO_RECORD, usable: true };
  } catch (error) {
    notice(errorText(error));
    return { record: NO_RECORD, usable: false };
  }
}

/** What the extension has in this session, after the question if there is one. */
async function settle(
  options: SessionOptions,
  folders: Folders,
  { record, usable }: Stored,
  signal: AbortSignal,
): Promise<{ record: GrantRecord; session: Permissions }> {
  const { name, path, dataDir, flags, user, notice = log.warn } = options;
  const nobody = !user || !usable;
  // Nothing is granted of what it asked for, and nobody can be asked: what that is makes no difference.
  if (nobody && isEmpty(record.granted)) return { record, session: NONE };
  const digest = codeDigest(options);
  if (record.digest === digest) return { record, session: NONE };
  const declaration = await requestOf(options);
  const requested = needingGrant(declaration.permissions);
  const { record: kept, toAsk } = judge(record, digest, requested);
  const store = async (granted: Permissions): Promise<GrantRecord> => {
    const answer = { name, digest, requested, granted };
    // A later yes counts more than an earlier no to the same thing.
    const lifted = await allSpellings(granted, folders);
    const change = (latest: GrantRecord) => {
      const changed = afterAnswer(judge(latest, digest, requested).record, answer);
      return { ...changed, denied: unlike(changed.denied, lifted, folders) };
    };
    await changeGrants(dataDir, path, change).catch((error: unknown) =>
      notice(`what was granted to ${name} could not be kept: ${errorText(error)}`),
    );
    return change(record);
  };
  if (isEmpty(toAsk)) {
    // One that has nothing to scan and never asked for anything leaves no record.
    const isNews = record.digest !== undefined || declaration.source !== "none";
    return { record: isNews && usable ? await store(NONE) : kept, session: NONE };
  }
  const open = isAllowedAll(options) ? NONE : difference(toAsk, flags?.permissions ?? NONE);
  if (nobody || isEmpty(open)) return { record: kept, session: NONE };
  options.onWaiting?.(true);
  const answer = await user
    .askAtLoad({
      extension: name,
      path,
      declaration,
      toAsk,
      had: grantedBy(kept),
      isChanged: record.digest !== undefined,
      signal,
      ...(options.denials ? { denials: options.denials } : {}),
    })
    .catch(() => undefined)
    .finally(() => options.onWaiting?.(false));
  if (options.denials && isEmpty(answer?.granted ?? NONE)) options.denials.count++;
  if (!answer) return { record: kept, session: NONE };
  if (answer.lasts === "session") {
    const denied = unlike(kept.denied, await allSpellings(answer.granted, folders), folders);
    return { record: { ...kept, denied }, session: answer.granted };
  }
  return { record: await store(answer.granted), session: NONE };
}

/** Of an extension's code and its declaration: what a record is bound to. */
export function codeDigest({
  bundleSource,
  declared,
}: Pick<SessionOptions, "bundleSource" | "declared">): string {
  return sha256(JSON.stringify([sha256(bundleSource), declared ?? null]));
}

/** By its name, or by its path or a folder that it is in; what a repository brings can call itself what it wants and is meant by its path alone. */
function isAllowedAll({ flags, name, path, dataDir }: SessionOptions): boolean {
  const isOfRepository = !isInside(path, dataDir) && path.includes(`${sep}.xdev${sep}`);
  const means = (one: string) => (isAbsolute(one) ? isInside(path, one) : one === name && !isOfRepository);
  return flags?.all.some(means) === true;
}

/** What an extension asks for. */
export async function requestOf({
  declared,
  bundleSource,
  imports,
}: Pick<SessionOptions, "declared" | "bundleSource" | "imports">): Promise<Declaration> {
  if (declared !== undefined) return declarationOf(declared);
  const { looksIdle, scanBundle } = await import("./scan.ts");
  if (looksIdle(bundleSource, imports)) return NOTHING_DECLARED;
  return { source: "inferred", permissions: scanBundle(bundleSource, imports), reasons: new Map() };
}

/** Keeps an answer at the point of use. */
async function keep(
  { dataDir, path, name, notice = log.warn }: SessionOptions,
  answer: "granted" | "denied",
  permission: Permission,
): Promise<void> {
  const one = permissionsOf([permission]);
  const member = answer === "granted" ? "added" : "denied";
  await changeGrants(dataDir, path, (record) => ({
    ...record,
    name,
    [member]: union(record[member], one),
  })).catch((error: unknown) => notice(`the answer could not be kept: ${errorText(error)}`));
}
