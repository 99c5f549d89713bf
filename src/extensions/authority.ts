/**
 * What the modules of a session may do: their permissions (sandbox/permissions), and the broker that acts for them
 * (sandbox/broker). Its parts load when the first module has been bundled.
 */
import { mkdir } from "node:fs/promises";
import type { LoadedBundle } from "../../sandbox/bundle/cached.ts";
import { MAX_CALL_BYTES } from "../../sandbox/guest/protocol.ts";
import type { Denials, User } from "../../sandbox/permissions/asker.ts";
import type { RunFlags } from "../../sandbox/permissions/flags.ts";
import { errorText } from "../base/errors.ts";
import { log } from "../base/log.ts";
import type { ExtensionHostSettings } from "../config/settings.ts";
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
  /** Tells the user something once. */
  notice(text: string): void;
}

/** Modules through which an extension reaches its storage folder. */
const FILES: ReadonlySet<string> = new Set(["fs", "fs/promises"]);

/** For `ManagerOptions.authority`. */
export function sessionAuthority(options: SessionAuthorityOptions): NonNullable<ManagerOptions["authority"]> {
  const { dataDir, cwd, env, settings, flags, notice } = options;
  let user: Promise<User | undefined> | undefined;
  /** Of all modules of a package together, and of all lives of a module. */
  const denialsOf = new Map<string, Denials>();
  return async (source, bundle, hold) => {
    const [{ extensionRights }, { declaredPermissions }, { createBroker }] = await Promise.all([
      import("../../sandbox/permissions/session.ts"),
      import("../../sandbox/permissions/declared.ts"),
      import("../../sandbox/broker/index.ts"),
    ]);
    const { name, path } = source;
    user ??= options.user?.();
    const denials = denialsOf.get(source.folder ?? path) ?? { count: 0 };
    denialsOf.set(source.folder ?? path, denials);
    let release: (() => void) | undefined;
    const session = await extensionRights({
      name,
      path,
      bundleSource: bundle.source,
      imports: [...bundle.imports],
      declared: await declaredPermissions(path),
      dataDir,
      cwd,
      flags,
      user: await user,
      denials,
      env,
      onWaiting: (isWaiting) => {
        release?.();
        release = isWaiting ? hold() : undefined;
      },
      notice,
    });
    const { rights, folders } = session;
    if (usesFiles(bundle)) await makeStorage(folders.data);
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
      },
    } satisfies Authority;
  };
}

function usesFiles({ imports }: LoadedBundle): boolean {
  return imports.some((specifier) => FILES.has(specifier.replace(/^node:/, "")));
}

/** Its own folder. A link in its place is none of ours: it is not followed, and the extension is without one. */
async function makeStorage(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 }).catch((error: unknown) =>
    log.debug(`no storage at ${folder}: ${errorText(error)}`),
  );
}
