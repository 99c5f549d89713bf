/** Gives extensions of a test the rights that it names, by the real broker and the real rules. */
import { createBroker } from "../../sandbox/broker/index.ts";
import type { Asker } from "../../sandbox/permissions/asker.ts";
import type { Permissions } from "../../sandbox/permissions/permissions.ts";
import { createRights } from "../../sandbox/permissions/rights.ts";
import type { ManagerOptions } from "../../src/extensions/manager.ts";

export interface AuthorityOptions {
  /** Existing folders. Each extension's storage is `<dataDir>/storage/<name>`. */
  cwd: string;
  home: string;
  tmp: string;
  dataDir: string;
  /** By the extension's name; nothing for others. */
  granted?: Readonly<Record<string, Permissions>>;
  env?: Readonly<Record<string, string | undefined>>;
  asker?: Asker;
  /** Is told of what the broker did not foresee. */
  onFault?: (operation: string, error: unknown) => void;
}

const LIMITS = { pendingCalls: 64, openFiles: 32, maxCallBytes: 16 * 1024 * 1024 };

export function authorityOf(options: AuthorityOptions): NonNullable<ManagerOptions["authority"]> {
  const { cwd, home, tmp, dataDir, env = {}, asker, onFault } = options;
  return async ({ name }, _bundle, hold) => {
    const granted = options.granted?.[name] ?? {};
    const folders = { cwd, home, tmp, dataDir, data: `${dataDir}/storage/${name}` };
    let release: (() => void) | undefined;
    const rights = await createRights({
      extension: name,
      folders,
      searchPath: env.PATH,
      granted,
      denied: {},
      asker,
      onWaiting: (isWaiting) => {
        release?.();
        release = isWaiting ? hold() : undefined;
      },
    });
    const broker = createBroker({
      extension: name,
      rights,
      folders,
      limits: LIMITS,
      env,
      ...(onFault ? { onFault } : {}),
    });
    const about = {
      cwd,
      env: {},
      platform: process.platform,
      arch: process.arch,
      pid: 1,
      home,
      tmp,
      data: folders.data,
      wasm: rights.has({ kind: "wasm" }),
    };
    return { rights, broker, about };
  };
}
