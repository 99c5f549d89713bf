/**
 * `xdev ext trace NAME|PATH [-- prompt…]`: what passes between the host and one extension, one JSON object a line on standard
 * output. Without a prompt it is loaded and told that a session starts; with one, a whole run is made with it.
 */
import { XdevError } from "../base/errors.ts";
import { resolvePath } from "../base/files.ts";
import { log, setVerbose } from "../base/log.ts";
import { printLong } from "../base/output.ts";
import { startFolder } from "../base/start-folder.ts";
import { dataDirectory } from "../config/datadir.ts";
import { loadSettings } from "../config/settings.ts";
import { sessionAuthority } from "../extensions/authority.ts";
import type { Channel } from "../extensions/channel.ts";
import type { ExtensionSource } from "../extensions/discovery.ts";
import { ExtensionManager, type ManagerOptions } from "../extensions/manager.ts";
import { traceChannel, traceLine } from "../extensions/trace.ts";
import type { Invocation } from "./args.ts";
import { findExtension } from "./one-extension.ts";
import { EXIT, rejectOnAbort } from "./process-guard.ts";

type TraceInvocation = Extract<Invocation, { command: "ext-trace" }>;

/** Gives the exit status: 1 if the extension did not load, died while it was greeted, or the run failed. */
export async function extTrace(invocation: TraceInvocation, interrupt: AbortSignal): Promise<number> {
  const { options } = invocation;
  setVerbose(options.verbose === true);
  const dataDir = dataDirectory(options.dataDir, process.env, startFolder());
  const source = await findExtension(invocation.extension, dataDir);
  const start = performance.now();
  const channels: Channel[] = [];
  const wrapChannel: ManagerOptions["wrapChannel"] = (channel) => {
    const traced = traceChannel(channel, (entry) => printLong("stdout", `${traceLine(entry)}\n`), start);
    channels.push(traced);
    return traced;
  };
  try {
    return await (invocation.prompt === "" && invocation.files.length === 0
      ? greet(source, options, dataDir, wrapChannel, interrupt)
      : ask(source, invocation, wrapChannel, interrupt));
  } finally {
    // A session does not wait for the end of an extension that failed; a trace shows it.
    await Promise.race([
      Promise.all(channels.map((channel) => channel.kill())),
      rejectOnAbort(interrupt).catch(() => {}),
    ]);
  }
}

/** A run with that extension and no other. */
async function ask(
  source: ExtensionSource,
  { prompt, files, options }: TraceInvocation,
  wrapChannel: ManagerOptions["wrapChannel"],
  interrupt: AbortSignal,
): Promise<number> {
  const { run } = await import("./run.ts");
  return run({ command: "run", prompt, files, options }, interrupt, {
    sources: [source],
    wrapChannel,
    answer: "stderr",
    onLoaded: requireLoaded,
  });
}

/** A session with nothing in it. */
async function greet(
  source: ExtensionSource,
  options: TraceInvocation["options"],
  dataDir: string,
  wrapChannel: ManagerOptions["wrapChannel"],
  interrupt: AbortSignal,
): Promise<number> {
  const cwd = resolvePath(options.cwd ?? ".", startFolder());
  const settings = await loadSettings(dataDir);
  let isWell = true;
  const load = ExtensionManager.load({
    sources: [source],
    settings: settings.extensionHost,
    env: process.env,
    dataDir,
    // As in a session without a terminal: what was granted, and no question.
    authority: sessionAuthority({
      dataDir,
      cwd: cwd,
      env: process.env,
      settings: settings.extensionHost,
      notice: (text) => log.debug(text),
    }),
    wrapChannel,
    host: {
      // With one extension and no tools in use, what there is to say is that it failed or died.
      notice: (text) => {
        isWell = false;
        log.warn(text);
      },
      notify: (name, message) => log.debug(`extension ${name} says: ${message}`),
      action: (name, frame) => log.debug(`extension ${name} asks for ${frame.action}`),
    },
  });
  const interrupted = rejectOnAbort(interrupt);
  const manager = await Promise.race([load, interrupted]);
  try {
    requireLoaded(manager);
    manager.emit("session_start", { cwd, sessionId: crypto.randomUUID(), model: null });
    await Promise.race([manager.stop(), interrupted]);
  } finally {
    await (interrupt.aborted ? manager.abort() : manager.stop());
  }
  return isWell ? EXIT.done : EXIT.failed;
}

/** Why it did not load has been said. */
function requireLoaded(manager: ExtensionManager): void {
  if (manager.failures().length > 0) throw new XdevError("not-loaded", "there is nothing more to trace");
}
