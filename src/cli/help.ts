/** `xdev --help`: the options of xdev, and those that its extensions add. */
import { resolvePath } from "../base/files.ts";
import { log, setVerbose } from "../base/log.ts";
import { print } from "../base/output.ts";
import { startFolder } from "../base/start-folder.ts";
import { sleep } from "../base/time.ts";
import { dataDirectory } from "../config/datadir.ts";
import { loadSettings } from "../config/settings.ts";
import type { OfferedFlag } from "../extensions/offers.ts";
import { type Invocation, ownOptions } from "./args.ts";
import { EXIT, rejectOnAbort } from "./process-guard.ts";
import { trustedWorkspace } from "./workspace.ts";

/** Whoever asks for help does not wait longer for extensions, in ms. */
const PATIENCE_MS = 3000;

export async function help(
  { text, options }: Extract<Invocation, { command: "help" }>,
  interrupt: AbortSignal,
): Promise<number> {
  setVerbose(options.verbose === true);
  let flags: readonly OfferedFlag[] = [];
  try {
    flags = await Promise.race([
      extensionFlags(options),
      rejectOnAbort(interrupt),
      sleep(PATIENCE_MS, interrupt).then(() => []),
    ]);
  } catch (error) {
    // Help is given whatever is wrong with an extension, or the settings.
    if (interrupt.aborted) throw error;
    log.debug(`no options of extensions: ${String(error)}`);
  }
  print("stdout", text + section(flags));
  return EXIT.done;
}

async function extensionFlags(
  options: Extract<Invocation, { command: "help" }>["options"],
): Promise<readonly OfferedFlag[]> {
  const dataDir = dataDirectory(options.dataDir, process.env, startFolder());
  const settings = await loadSettings(dataDir);
  const cwd = resolvePath(options.cwd ?? ".", startFolder());
  const [{ extensionSources }, workspace] = await Promise.all([
    import("./ext-sources.ts"),
    trustedWorkspace(cwd, dataDir),
  ]);
  const { sources } = await extensionSources(options, dataDir, startFolder(), settings, workspace);
  if (sources.length === 0) return [];
  const [{ ExtensionManager }, { sessionAuthority }] = await Promise.all([
    import("../extensions/manager.ts"),
    import("../extensions/authority.ts"),
  ]);
  const notice = (text: string): void => log.debug(text);
  const manager = await ExtensionManager.load({
    sources,
    settings: settings.extensionHost,
    env: process.env,
    dataDir,
    // What was granted, and no question.
    authority: sessionAuthority({ dataDir, cwd, env: process.env, settings: settings.extensionHost, notice }),
    host: { notice, notify() {}, action() {} },
  });
  const flags = manager.offers.flags(new Set(ownOptions()));
  await manager.abort();
  return flags;
}

function section(flags: readonly OfferedFlag[]): string {
  if (flags.length === 0) return "";
  const rows = flags.map(({ name, type, description, extension }) => {
    const option = `--${name}${type === "string" ? " <text>" : ""}`;
    return `  ${option.padEnd(28)}  ${description}${description === "" ? "" : " "}(${extension.name})\n`;
  });
  return `\nOptions of extensions:\n${rows.join("")}`;
}
