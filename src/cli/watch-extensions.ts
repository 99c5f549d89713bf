/** `xdev --watch`: extensions are loaded anew when what they are made of changes, or when one appears or is gone. */
import type { AgentSession } from "../agent/agent-session-types.ts";
import type { ExtensionManager } from "../extensions/manager.ts";
import { ExtensionWatch } from "../extensions/watch.ts";
import { reloadAndTell } from "./session-actions.ts";
import { extensionFolders } from "./workspace.ts";

export interface WatchedRun {
  session: AgentSession;
  manager: ExtensionManager;
  dataDir: string;
  cwd: string;
  /** Whether extensions are looked for (`--no-extensions`). */
  discover: boolean;
  notice(text: string): void;
}

/** Watches until it is closed. What can't be loaded is told. */
export async function watchExtensions(run: WatchedRun): Promise<ExtensionWatch> {
  const { session, manager, dataDir, cwd, discover, notice } = run;
  const watch = new ExtensionWatch({
    files: () => manager.files(),
    folders: discover ? await extensionFolders(dataDir, cwd) : [],
    changed: () => reloadAndTell(session, notice, { onlyIfChanged: true }),
  });
  // Whoever asked for the reload: the files may be others.
  session.subscribe((event) => {
    if (event.type === "session_start" && event.reason === "reload") watch.refresh();
  });
  return watch;
}
