/** `xdev ext list` and `xdev ext inspect PATH`: loads extensions as a session would and prints what they register. */

import { canonicalPath, resolvePath } from "../base/files.ts";
import { log, setVerbose } from "../base/log.ts";
import { print } from "../base/output.ts";
import { startFolder } from "../base/start-folder.ts";
import { escapeControls, oneLine } from "../base/text.ts";
import { dataDirectory } from "../config/datadir.ts";
import { loadSettings } from "../config/settings.ts";
import { sessionAuthority, sessionCircumstances } from "../extensions/authority.ts";
import type { ExtensionSource } from "../extensions/discovery.ts";
import type { Extension } from "../extensions/extension.ts";
import { ExtensionLogs } from "../extensions/log-file.ts";
import { ExtensionManager } from "../extensions/manager.ts";
import { processToolName, workerToolName } from "../extensions/names.ts";
import type { Invocation } from "./args.ts";
import { extensionSources } from "./ext-sources.ts";
import { shownState } from "./ext-status.ts";
import { findExtension } from "./one-extension.ts";
import { EXIT, rejectOnAbort } from "./process-guard.ts";
import { trustedWorkspace } from "./workspace.ts";

/** What `inspect --json` prints, and an element of what `list --json` prints. Lists hold names, sorted. */
export interface Inspection {
  name: string;
  path: string;
  kind: "process" | "worker";
  /** Where it runs: a process, a worker of the agent's, or an extension host. */
  level: "process" | "worker" | "host";
  state: string;
  error?: string;
  tools: string[];
  commands: string[];
  flags: string[];
  shortcuts: string[];
  events: string[];
  renderers: string[];
  messageRenderers: string[];
  providers: string[];
}

/** Gives the exit status: 1 if the inspected extension did not load. */
export async function ext(
  invocation: Extract<Invocation, { command: "ext-list" | "ext-inspect" }>,
  interrupt: AbortSignal,
): Promise<number> {
  const { options } = invocation;
  setVerbose(options.verbose === true);
  const dataDir = dataDirectory(options.dataDir, process.env, startFolder());
  const settings = await loadSettings(dataDir);
  const { sources, disabled } =
    invocation.command === "ext-inspect"
      ? { sources: [await findExtension(invocation.path, dataDir)], disabled: [] }
      : await extensionSources(
          invocation.options,
          dataDir,
          startFolder(),
          settings,
          await trustedWorkspace(resolvePath(options.cwd ?? ".", startFolder()), dataDir),
        );
  const logs = new ExtensionLogs(dataDir);
  const cwd = await canonicalPath(resolvePath(options.cwd ?? ".", startFolder()));
  const place = { dataDir, cwd, env: process.env };
  const ui = { mode: "print", hasUI: false } as const;
  const load = ExtensionManager.load({
    sources,
    settings: settings.extensionHost,
    env: process.env,
    dataDir,
    // Who wants to look at one wants it started.
    ...(invocation.command === "ext-list" ? { circumstances: sessionCircumstances({ ...place, ui }) } : {}),
    // As in a session without a terminal: what was granted, and no question.
    authority: sessionAuthority({
      ...place,
      ui,
      settings: settings.extensionHost,
      notice: (text) => log.debug(text),
    }),
    host: {
      notice: (text) => log.debug(text),
      notify: (name, message) => log.debug(`extension ${name} says: ${message}`),
      action: (name, frame) => log.debug(`extension ${name} asks for ${frame.action}`),
      log: (name, level, text) => logs.write(name, level, text),
    },
  });
  // What has started ends with the program if the user does not want to wait.
  const manager = await Promise.race([load, rejectOnAbort(interrupt)]);
  const inspections = [...manager.extensions.map(inspect), ...disabled.map(turnedOff)];
  await manager.stop();
  await logs.close();

  const isList = invocation.command === "ext-list";
  if (invocation.json) {
    print("stdout", `${escapeControls(JSON.stringify(isList ? inspections : inspections[0], null, 2))}\n`);
  } else if (isList && inspections.length === 0) {
    print("stdout", `no extensions: put one into ${dataDir}/extensions, or name one with -e PATH\n`);
  } else {
    print("stdout", inspections.map(isList ? line : page).join(""));
  }
  const failed = inspections.some(({ error }) => error !== undefined);
  return failed && !isList ? EXIT.failed : EXIT.done;
}

/** What an extension registers, and how its load went. */
export function inspect(extension: Extension): Inspection {
  const found = extension.capabilities;
  const toolName = (name: string) =>
    extension.kind === "process" ? processToolName(extension.name, name) : workerToolName(name);
  const rendererName = (renderer: Record<string, unknown>) =>
    String(renderer.tool ?? renderer.name ?? renderer.kind ?? renderer.type ?? "renderer");
  const names = (list: readonly string[] | undefined) => [...new Set(list)].map(oneLine).sort();
  return {
    name: extension.name,
    path: extension.path,
    kind: extension.kind,
    level: extension.level,
    state: shownState(extension),
    ...(extension.reason === undefined ? {} : { error: extension.reason }),
    tools: names(found?.tools.map(({ name }) => toolName(name))),
    commands: names(found?.commands.map(({ name }) => name)),
    flags: names(found?.flags.map(({ name }) => name)),
    shortcuts: names(found?.shortcuts.map(({ name }) => name)),
    events: names(found?.events),
    renderers: names(found?.renderers.map(rendererName)),
    messageRenderers: names(found?.messageRenderers),
    providers: names(found?.providers),
  };
}

/** One that is not loaded because the user has turned it off. */
function turnedOff({ name, path, kind }: ExtensionSource): Inspection {
  const nothing = { tools: [], commands: [], flags: [], shortcuts: [], events: [], renderers: [] };
  const level = kind;
  return { name, path, kind, level, state: "disabled", ...nothing, messageRenderers: [], providers: [] };
}

function line({ name, level, state, error, tools, commands, path }: Inspection): string {
  const what =
    state === "disabled"
      ? "by config.yml"
      : (error ?? `${count(tools.length, "tool")}, ${count(commands.length, "command")}`);
  return `${name}  ${level}  ${state}  ${oneLine(what)}  ${oneLine(path)}\n`;
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}

/** The same for a person, in lines. */
export function page(inspection: Inspection): string {
  const { name, path, kind: _, level, state, error, ...lists } = inspection;
  const rows = [`${name}  ${level}  ${state}`, `  path: ${oneLine(path)}`];
  if (error !== undefined) rows.push(`  error: it ${oneLine(error)}`);
  for (const [title, names] of Object.entries(lists)) {
    if (names.length > 0) rows.push(`  ${title}: ${names.join(", ")}`);
  }
  return `${rows.join("\n")}\n`;
}
