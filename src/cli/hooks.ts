/** The hooks of a run: which there are, and what they are told. Loads the bus only if there is a hook. */
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { errorText } from "../base/errors.ts";
import type { HooksBus, HooksContext } from "../hooks/bus.ts";
import type { BrokenHook } from "../hooks/hook.ts";
import type { HookSources, WorkspaceHooks } from "../hooks/sources.ts";
import { hookFiles, type TrustedWorkspace } from "./workspace.ts";

/** The bus, or undefined if nobody has defined a hook. */
export async function loadHooksBus(
  sources: Omit<HookSources, "workspace" | "notice">,
  workspace: TrustedWorkspace | undefined,
  context: HooksContext,
): Promise<HooksBus | undefined> {
  const brings = workspace?.authority.files.some(({ kind }) => kind === "hook" || kind === "settings");
  const isNone = sources.options.length === 0 && Object.keys(sources.setting).length === 0 && !brings;
  // A folder that can't be looked at is one: who may not read a policy has one.
  if (isNone && (await isMissing(join(sources.dataDir, "hooks")))) return undefined;
  const [{ hooksBus }, { loadHooks }] = await Promise.all([
    import("../hooks/bus.ts"),
    import("../hooks/sources.ts"),
  ]);
  const { hooks, broken } = workspace && brings ? await workspaceHooks(workspace) : NOTHING;
  const entries = await loadHooks({ ...sources, workspace: hooks, notice: context.notice });
  const all = [...entries, ...broken];
  return all.length === 0 ? undefined : hooksBus(all, context);
}

const NOTHING: { hooks: WorkspaceHooks | undefined; broken: BrokenHook[] } = { hooks: undefined, broken: [] };

/** The hooks of a trusted workspace, from the bytes that were compared with the record. */
async function workspaceHooks(workspace: TrustedWorkspace): Promise<typeof NOTHING> {
  const { root, folder, authority, verify } = workspace;
  const hooks: WorkspaceHooks = { root, files: hookFiles(authority, folder), setting: {}, verify };
  const settings = authority.files.find(({ path }) => path === "config.yml");
  if (!settings) return { hooks, broken: [] };
  const file = join(folder, settings.path);
  try {
    const { parseSettings } = await import("../config/settings.ts");
    return {
      hooks: { ...hooks, setting: (await parseSettings(settings.text ?? "[", file)).hooks },
      broken: [],
    };
  } catch (error) {
    return { hooks, broken: [{ name: file, problem: errorText(error), denies: true }] };
  }
}

function isMissing(path: string): Promise<boolean> {
  return stat(path).then(
    () => false,
    (error: { code?: string }) => error.code === "ENOENT" || error.code === "ENOTDIR",
  );
}
