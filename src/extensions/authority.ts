/**
 * What the modules of a session may do: their permissions (sandbox/permissions), and the broker that acts for them
 * (sandbox/broker). Its parts load when the first module has been bundled.
 */
import { mkdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Rights } from "../../sandbox/broker/broker.ts";
import type { Broker } from "../../sandbox/broker/index.ts";
import type { LoadedBundle } from "../../sandbox/bundle/cached.ts";
import { hostModule } from "../../sandbox/guest/host/names.ts";
import { type About, MAX_CALL_BYTES, type SessionUi } from "../../sandbox/guest/protocol.ts";
import type { Denials, User } from "../../sandbox/permissions/asker.ts";
import type { RunFlags } from "../../sandbox/permissions/flags.ts";
import { sessionFolders } from "../../sandbox/permissions/folders.ts";
import { sha256 } from "../base/cache.ts";
import { errorText, systemCode } from "../base/errors.ts";
import { log } from "../base/log.ts";
import { VERSION } from "../base/version.ts";
import type { ExtensionHostSettings } from "../config/settings.ts";
import type { ExtensionSource } from "./discovery.ts";
import type { ManagerOptions } from "./manager.ts";
import type { Authority } from "./worker.ts";

export interface SessionAuthorityOptions {
  dataDir: string;
  cwd: string;
  env: Readonly<Record<string, string | undefined>>;
  settings: ExtensionHostSettings;
  /** Permissions of the command line, for this run. */
  flags?: RunFlags | undefined;
  /** Who is asked; nobody without it. */
  user?: (() => Promise<User | undefined>) | undefined;
  /** Options of the command line that may be flags of extensions. */
  given?: About["flags"] | undefined;
  /** How the session is shown. */
  ui?: SessionUi | undefined;
  /** Tells the user something once. */
  notice(text: string): void;
}

/** Modules through which an extension reaches its storage folder. */
const FILES: ReadonlySet<string> = new Set(["fs", "fs/promises"]);

/** For `ManagerOptions.authority`. */
export function sessionAuthority(options: SessionAuthorityOptions): NonNullable<ManagerOptions["authority"]> {
  const { dataDir, cwd, flags } = options;
  let user: Promise<User | undefined> | undefined;
  const grants = join(dataDir, "permissions.json");
  /** Of all modules of a package together, and of all lives of a module. */
  const denialsOf = new Map<string, Denials>();
  return async (source, bundle, hold) => {
    const { name, path } = source;
    user ??= options.user?.() ?? Promise.resolve(undefined);
    const [asked, hasGrants, folders] = await Promise.all([
      user,
      stat(grants).then(
        () => true,
        (error: unknown) => systemCode(error) !== "ENOENT",
      ),
      sessionFolders({ name, path, dataDir, cwd }),
    ]);
    if (usesFiles(bundle)) await makeStorage(folders.data);
    const denials = denialsOf.get(source.folder ?? path) ?? { count: 0 };
    denialsOf.set(source.folder ?? path, denials);
    const open = () => openSession(options, source, bundle, { user: asked, denials, hold });
    // Nothing is declared, granted or allowed, and there is nobody to ask: what decides and acts is loaded when it is asked.
    const isIdle = !bundle.declares && !hasGrants && !flags && !asked;
    const session = isIdle ? lazySession(open) : await open();
    return {
      rights: session.rights,
      broker: session.broker,
      about: {
        cwd: folders.cwd,
        // What every program looks for, and no secret: the same as `home`.
        env: { HOME: folders.home, ...session.env },
        platform: process.platform,
        arch: process.arch,
        // An extension is no process: this is the number that containers give the first one.
        pid: 1,
        home: folders.home,
        tmp: folders.tmp,
        data: folders.data,
        wasm: session.wasm,
        version: VERSION,
        ...(options.ui ? { ui: options.ui } : {}),
        ...(options.given ? { flags: options.given } : {}),
      },
    } satisfies Authority;
  };
}

/**
 * For `ManagerOptions.circumstances`: folders, interface, flags, what the user has granted the extension, and the environment as far
 * as it is shown.
 */
export function sessionCircumstances(
  options: Pick<SessionAuthorityOptions, "dataDir" | "cwd" | "env" | "flags" | "given" | "ui">,
): NonNullable<ManagerOptions["circumstances"]> {
  const { dataDir, cwd, env, flags, given, ui } = options;
  return async ({ name, path }) => {
    const [folders, record] = await Promise.all([
      sessionFolders({ name, path, dataDir, cwd }),
      storedGrants(dataDir, path),
    ]);
    const shown: string[] = [];
    if (flags || record?.granted?.env || record?.added?.env) {
      const { coversValue } = await import("../../sandbox/permissions/values.ts");
      const lists = [record?.granted?.env, record?.added?.env, flags?.permissions.env];
      const covers = (name: string) =>
        lists.some((list) => list?.some((pattern) => coversValue("env", pattern, name)));
      const isAll = flags !== undefined && flags.all.length > 0;
      for (const [variable, value] of Object.entries(env)) {
        if (isAll || covers(variable)) shown.push(`${variable}=${value}`);
      }
    }
    return sha256(JSON.stringify([folders, ui, flags, given, answersIn(record), shown.sort()]));
  };
}

const ANSWERS = ["granted", "added", "denied"] as const;
type StoredGrants = Partial<Record<(typeof ANSWERS)[number], { [kind: string]: string[] }>>;

/** The user's answers in a record, whatever the order in which they were written. */
function answersIn(record: StoredGrants | null): unknown {
  return ANSWERS.map((answer) =>
    Object.entries(record?.[answer] ?? {})
      .map(([kind, values]) => [kind, ...[...values].sort()])
      .sort(),
  );
}

/** What permissions.json has for an extension; null for nothing. */
async function storedGrants(dataDir: string, path: string): Promise<StoredGrants | null> {
  try {
    const all = JSON.parse(await readFile(join(dataDir, "permissions.json"), "utf8")) as {
      extensions?: Record<string, StoredGrants>;
    };
    return all.extensions?.[path] ?? null;
  } catch (error) {
    if (systemCode(error) === "ENOENT") return null;
    throw error;
  }
}

/** What one extension has in a session. */
interface Session {
  rights: Rights;
  broker: Broker;
  env: Record<string, string>;
  wasm: boolean;
}

async function openSession(
  options: SessionAuthorityOptions,
  { name, path }: ExtensionSource,
  bundle: LoadedBundle,
  { user, denials, hold }: { user: User | undefined; denials: Denials; hold: () => () => void },
): Promise<Session> {
  const { dataDir, cwd, env, settings, flags, notice } = options;
  const [{ extensionRights }, declared, { createBroker }] = await Promise.all([
    import("../../sandbox/permissions/session.ts"),
    bundle.declares
      ? import("../../sandbox/permissions/declared.ts").then((module) => module.declaredPermissions(path))
      : undefined,
    import("../../sandbox/broker/index.ts"),
  ]);
  let release: (() => void) | undefined;
  const session = await extensionRights({
    name,
    path,
    bundleSource: bundle.source,
    imports: [...bundle.imports],
    declared,
    dataDir,
    cwd,
    flags,
    user,
    denials,
    env,
    onWaiting: (isWaiting) => {
      release?.();
      release = isWaiting ? hold() : undefined;
    },
    notice,
  });
  const { folders } = session;
  const rights = user
    ? session.rights
    : told(session.rights, (text) => notice(`extension ${name} was denied something: ${text}`));
  const own = settings.overrides[name];
  const broker = createBroker({
    extension: name,
    rights,
    folders,
    limits: {
      pendingCalls: own?.maxPendingCalls ?? settings.maxPendingCalls,
      openFiles: own?.maxOpenFiles ?? settings.maxOpenFiles,
      maxCallBytes: MAX_CALL_BYTES,
    },
    env,
    onFault: (operation, error) => log.debug(`extension ${name}: ${operation} failed: ${errorText(error)}`),
  });
  return {
    rights,
    broker: {
      call: (operation, text, bytes) => broker.call(operation, text, bytes),
      async close() {
        await broker.close();
        await session.close();
      },
    },
    env: session.env,
    wasm: session.wasm,
  };
}

/** The same rights, with the first denial told: where nobody is asked, nobody would know why something does not work. */
function told(rights: Rights, tell: (text: string) => void): Rights {
  let isTold = false;
  return {
    has: (request) => rights.has(request),
    keepsBelow: (path) => rights.keepsBelow?.(path) ?? true,
    async demand(request) {
      try {
        await rights.demand(request);
      } catch (error) {
        if (!isTold) tell(errorText(error));
        isTold = true;
        throw error;
      }
    },
  };
}

/** One that is opened when something is demanded, or called. Until then nothing is granted, and after it what is. */
function lazySession(open: () => Promise<Session>): Session {
  let opened: Promise<Session> | undefined;
  let known: Session | undefined;
  let isClosed = false;
  const session = (): Promise<Session> => {
    if (isClosed) return Promise.reject(new Error("the extension has ended"));
    opened ??= open().then((one) => {
      known = one;
      return one;
    });
    return opened;
  };
  return {
    rights: {
      demand: async (request) => (await session()).rights.demand(request),
      has: (request) => known?.rights.has(request) === true,
      // Nobody but the broker of an open session asks.
      keepsBelow: (path) => known?.rights.keepsBelow?.(path) ?? true,
    },
    broker: {
      async call(operation, text, bytes) {
        const refusal = (error: unknown) => JSON.stringify({ code: "EIO", message: errorText(error) });
        try {
          return await (await session()).broker.call(operation, text, bytes);
        } catch (error) {
          return { error: refusal(error) };
        }
      },
      async close() {
        isClosed = true;
        await opened?.then(
          (one) => one.broker.close(),
          () => {},
        );
      },
    },
    env: {},
    wasm: false,
  };
}

/** The agent's package keeps sessions, and output that is too long, in the storage. */
function usesFiles({ imports }: LoadedBundle): boolean {
  return imports.some(
    (specifier) => FILES.has(specifier.replace(/^node:/, "")) || hostModule(specifier) === "pi-coding-agent",
  );
}

/** Its own folder. A link in its place is none of ours: it is not followed, and the extension is without one. */
async function makeStorage(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 }).catch((error: unknown) =>
    log.debug(`no storage at ${folder}: ${errorText(error)}`),
  );
}
