/** The extensions of a session, loaded for the model providers that they register: for `xdev models`, `login` and `logout`. */
import type { User } from "../../sandbox/permissions/asker.ts";
import { resolvePath } from "../base/files.ts";
import { log } from "../base/log.ts";
import { startFolder } from "../base/start-folder.ts";
import { loadSettings } from "../config/settings.ts";
import type { CallServices } from "../extensions/calls.ts";
import type { ProviderDesk } from "../extensions/providers.ts";
import type { RegisteredProvider } from "../models/registered.ts";
import type { ExtensionOptions } from "./args.ts";
import { extensionSources } from "./ext-sources.ts";
import { rejectOnAbort } from "./process-guard.ts";
import { RunProviders } from "./run-providers.ts";
import { trustedWorkspace } from "./workspace.ts";

export interface LoadedProviders {
  providers: RegisteredProvider[];
  /** Undefined if no extension registers a provider. */
  desk: ProviderDesk | undefined;
}

export interface ProviderHost {
  interrupt: AbortSignal;
  /** Who is asked for permissions; nobody without it. */
  user?: () => Promise<User | undefined>;
  loginQuestion?: CallServices["loginQuestion"];
}

/** Loads the extensions that a session would, gives `use` what they register, and ends them. */
export async function withProviders<T>(
  options: ExtensionOptions,
  dataDir: string,
  { interrupt, user, loginQuestion }: ProviderHost,
  use: (loaded: LoadedProviders) => Promise<T>,
): Promise<T> {
  const settings = await loadSettings(dataDir);
  const cwd = resolvePath(options.cwd ?? ".", startFolder());
  const workspace = await trustedWorkspace(cwd, dataDir);
  const { sources } = await extensionSources(options, dataDir, startFolder(), settings, workspace);
  if (sources.length === 0) return use({ providers: [], desk: undefined });
  const [{ ExtensionManager }, { sessionAuthority }, { ExtensionLogs }] = await Promise.all([
    import("../extensions/manager.ts"),
    import("../extensions/authority.ts"),
    import("../extensions/log-file.ts"),
  ]);
  const notice = (text: string) => log.warn(text);
  const registered = new RunProviders({
    dataDir,
    settings: settings.extensionHost,
    mayAsk: user !== undefined,
    notice,
  });
  const logs = new ExtensionLogs(dataDir);
  const load = ExtensionManager.load({
    sources,
    settings: settings.extensionHost,
    env: process.env,
    dataDir,
    authority: sessionAuthority({
      ...{ dataDir, cwd, env: process.env, settings: settings.extensionHost, notice },
      ...(user ? { user } : {}),
    }),
    host: {
      notice,
      notify: (name, message) => log.debug(`extension ${name} says: ${message}`),
      action: (name, frame, rights, isProjects, extension) => {
        if (registered.take(extension, frame, rights, isProjects)) return;
        log.debug(`extension ${name} asks for ${frame.action}`);
      },
      log: (name, level, text) => logs.write(name, level, text),
      ...(loginQuestion ? { loginQuestion } : {}),
    },
  });
  // What has started ends with the program if the user does not want to wait.
  const manager = await Promise.race([load, rejectOnAbort(interrupt)]);
  try {
    const desk = await registered.begin(manager.extensions);
    return await use({ providers: registered.list(), desk });
  } finally {
    await (interrupt.aborted ? manager.abort() : manager.stop());
    await logs.close();
  }
}
