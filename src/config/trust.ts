/**
 * Which workspaces the user trusts: `<dataDir>/trust.json` (0600), by canonical path, with the digest of every file that
 * carries authority. Trust is in those bytes and no others: a file that is new, changed or gone ends it until the user has
 * looked again. A record that can't be read, or that others can write, trusts nothing.
 */
import { chmod, mkdir, open } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { errorText, systemCode, XdevError } from "../base/errors.ts";
import { writeFileAtomic } from "../base/files.ts";
import type { Authority } from "./authority.ts";

const recordSchema = z.strictObject({
  version: z.literal(1),
  workspaces: z.record(
    z.string(),
    z.strictObject({ trustedAt: z.string(), files: z.record(z.string(), z.string()) }),
  ),
});

export interface TrustedRecord {
  /** ISO 8601. */
  trustedAt: string;
  /** Digests by path, as `AuthorityFile` has them. */
  files: Record<string, string>;
}

export type TrustRecords = ReadonlyMap<string, TrustedRecord>;

/** The file's path. */
export function trustFile(dataDir: string): string {
  return join(dataDir, "trust.json");
}

/** All records. Throws `XdevError` `bad-settings` for a file that can't be used; who goes on then trusts nothing. */
export async function readTrust(dataDir: string): Promise<TrustRecords> {
  const file = trustFile(dataDir);
  try {
    const text = await readPrivate(file);
    const { workspaces } = recordSchema.parse(JSON.parse(text), { jitless: true });
    return new Map(Object.entries(workspaces));
  } catch (error) {
    if (systemCode(error) === "ENOENT") return new Map();
    if (error instanceof XdevError) throw error;
    const reason =
      error instanceof z.ZodError || error instanceof SyntaxError ? "it is damaged" : errorText(error);
    throw new XdevError("bad-settings", `${file} can't be used, so no workspace is trusted: ${reason}`, {
      hint: `remove it, and trust your workspaces again: rm ${file}`,
    });
  }
}

async function readPrivate(file: string): Promise<string> {
  const handle = await open(file, "r");
  try {
    const { mode, uid } = await handle.stat();
    const own = process.getuid?.();
    // Whoever can write here could trust anything for us.
    if (own !== undefined && ((mode & 0o022) !== 0 || (uid !== own && uid !== 0))) {
      throw new XdevError(
        "bad-settings",
        `${file} can be written by other users, so no workspace is trusted`,
        { hint: `if its content is yours: chmod 600 ${file}` },
      );
    }
    return await handle.readFile("utf8");
  } finally {
    await handle.close();
  }
}

/**
 * Sets or, with undefined, removes the record of one workspace. Two at the same time: the last one wins, and the other's
 * workspace is not trusted. Throws like `readTrust`.
 */
export async function writeTrust(
  dataDir: string,
  root: string,
  record: TrustedRecord | undefined,
): Promise<void> {
  const records = new Map(await readTrust(dataDir));
  if (record) records.set(root, record);
  else if (!records.delete(root)) return;
  const file = trustFile(dataDir);
  const workspaces = Object.fromEntries([...records].sort(([a], [b]) => (a < b ? -1 : 1)));
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  // An old file keeps its mode, so that is set first.
  await chmod(file, 0o600).catch(() => {});
  await writeFileAtomic(file, `${JSON.stringify({ version: 1, workspaces }, null, 2)}\n`, { mode: 0o600 });
}

/** What the user trusts when he says yes to what he was shown. */
export function recordOf(authority: Authority, now: Date): TrustedRecord {
  return { trustedAt: now.toISOString(), files: digests(authority) };
}

/** What differs from the record, as `new hooks/x.yml`, `changed …`, `gone …`; empty if nothing does. */
export function differences({ files: trusted }: TrustedRecord, authority: Authority): string[] {
  const found = digests(authority);
  const differing = Object.keys(found).flatMap((path) => {
    if (!Object.hasOwn(trusted, path)) return [`new ${path}`];
    return trusted[path] === found[path] ? [] : [`changed ${path}`];
  });
  const gone = Object.keys(trusted).filter((path) => !Object.hasOwn(found, path));
  return [...differing, ...gone.map((path) => `gone ${path}`)];
}

function digests({ files }: Authority): Record<string, string> {
  return Object.fromEntries(files.map(({ path, digest }) => [path, digest]));
}
