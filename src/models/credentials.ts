/**
 * `<dataDir>/auth.json` (0600): what `xdev login` got, by the provider and the extension that registered it. Credentials are given to
 * that extension alone: another one at another path that registers a provider of the same name has none. Nothing of them is ever
 * printed or logged.
 */
import { constants } from "node:fs";
import { chmod, mkdir, open } from "node:fs/promises";
import { join } from "node:path";
import * as v from "valibot";
import { withLock } from "../../sandbox/permissions/lock.ts";
import { errorText, systemCode, XdevError } from "../base/errors.ts";
import { writeFileAtomic } from "../base/files.ts";
import { hideCredentials } from "./hide.ts";

/** What an extension's `login` gave. `expires` is ms since 1970. */
export interface Credentials {
  access: string;
  refresh: string;
  expires: number;
  [member: string]: unknown;
}

export interface StoredCredentials {
  provider: string;
  /** For whoever reads the file. */
  extension: string;
  /** The canonical path of its entry: who it is. */
  path: string;
  credentials: Credentials;
}

/** Who asks. */
export type Owner = Pick<StoredCredentials, "provider" | "extension" | "path">;

const text = v.pipe(v.string(), v.maxLength(64 * 1024));
const credentialsSchema = v.looseObject({
  access: text,
  refresh: v.optional(text, ""),
  expires: v.pipe(v.number(), v.finite()),
});
const fileSchema = v.object({
  version: v.literal(1),
  logins: v.array(
    v.object({
      provider: v.string(),
      extension: v.string(),
      path: v.string(),
      credentials: credentialsSchema,
    }),
  ),
});

const MAX_CREDENTIALS = 256 * 1024;
const MAX_FILE = 16 * 1024 * 1024;

/** Credentials as an extension gave them, checked; their secrets are hidden from here on. Throws what is wrong. */
export function parseCredentials(value: unknown, { path }: Pick<Owner, "path">): Credentials {
  const result = v.safeParse(credentialsSchema, value, { abortEarly: true });
  if (!result.success) {
    throw new Error("gave no credentials: they are {access, refresh, expires}, texts and ms since 1970");
  }
  if (JSON.stringify(value).length > MAX_CREDENTIALS) throw new Error("gave credentials that are too long");
  hideCredentials(path, result.output);
  return result.output;
}

export class CredentialStore {
  readonly #dataDir: string;

  constructor(dataDir: string) {
    this.#dataDir = dataDir;
  }

  get file(): string {
    return join(this.#dataDir, "auth.json");
  }

  /** Throws `XdevError` `bad-settings` for a file that can't be used. */
  async read({ provider, path }: Owner): Promise<Credentials | undefined> {
    return (await this.#all()).find((one) => one.provider === provider && one.path === path)?.credentials;
  }

  /** Whose there are, without the credentials. Throws like `read`. */
  async list(): Promise<Owner[]> {
    return (await this.#all()).map(({ provider, extension, path }) => ({ provider, extension, path }));
  }

  /** Keeps credentials in the place of those that were there. Throws like `read`, and `busy`. */
  async write(owner: Owner, credentials: Credentials): Promise<void> {
    const { provider, extension, path } = owner;
    await this.#change((all) => [
      ...all.filter((one) => one.provider !== provider || one.path !== path),
      { provider, extension, path, credentials },
    ]);
  }

  /** Forgets a provider's credentials, whoever registered it. Gives how many there were. Throws like `write`. */
  async remove(provider: string): Promise<number> {
    let removed = 0;
    await this.#change((all) => {
      const rest = all.filter((one) => one.provider !== provider);
      removed = all.length - rest.length;
      return rest;
    });
    return removed;
  }

  /**
   * Credentials that have not expired: those that are kept, or what `renew` makes of them, which is kept then. One process does that
   * at a time, and who waited for it takes what it got. Undefined without any.
   */
  async fresh(
    owner: Owner,
    renew: (expired: Credentials) => Promise<Credentials>,
  ): Promise<Credentials | undefined> {
    const kept = await this.read(owner);
    if (!kept || Date.now() < kept.expires) return kept;
    return withLock(`${this.file}.${owner.provider}.lock`, async () => {
      const now = await this.read(owner);
      if (!now || Date.now() < now.expires) return now;
      const renewed = await renew(now);
      await this.write(owner, renewed);
      return renewed;
    });
  }

  async #change(change: (all: StoredCredentials[]) => StoredCredentials[]): Promise<void> {
    const { file } = this;
    await mkdir(this.#dataDir, { recursive: true, mode: 0o700 });
    await withLock(`${file}.lock`, async () => {
      const before = await this.#all();
      const logins = change(before);
      if (logins.length === 0 && before.length === 0) return;
      // An old file keeps its mode, so that is set first.
      await chmod(file, 0o600).catch(() => {});
      await writeFileAtomic(file, `${JSON.stringify({ version: 1, logins }, null, 2)}\n`, { mode: 0o600 });
    });
  }

  async #all(): Promise<StoredCredentials[]> {
    const { file } = this;
    try {
      const found = v.safeParse(fileSchema, JSON.parse(await readPrivate(file)), { abortEarly: true });
      // A parser's words could quote what is in it.
      if (!found.success) throw new Error("it is damaged, or of another version of xdev");
      for (const { path, credentials } of found.output.logins) hideCredentials(path, credentials);
      return found.output.logins as StoredCredentials[];
    } catch (error) {
      if (systemCode(error) === "ENOENT") return [];
      if (error instanceof XdevError) throw error;
      const why = error instanceof SyntaxError ? "it is damaged" : errorText(error);
      throw new XdevError("bad-settings", `${file} can't be used: ${why}`, {
        hint: `remove it and log in again: rm ${file}`,
      });
    }
  }
}

async function readPrivate(file: string): Promise<string> {
  const handle = await open(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    const info = await handle.stat();
    if (!info.isFile() || info.size > MAX_FILE) throw new Error("it is too large, or no file");
    const own = process.getuid?.();
    // Whoever can read or write here has the user's logins, or gives him others.
    if (own !== undefined && ((info.mode & 0o077) !== 0 || (info.uid !== own && info.uid !== 0))) {
      throw new XdevError("bad-settings", `${file} is open to other users, so it is not used`, {
        hint: `if its content is yours: chmod 600 ${file}`,
      });
    }
    return await handle.readFile("utf8");
  } finally {
    await handle.close();
  }
}
