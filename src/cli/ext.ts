/** `xdev ext list` and `xdev ext inspect PATH`: loads extensions as a session would and prints what they register. */

import { XdevError } from "../base/errors.ts";
import { resolvePath } from "../base/files.ts";
import { log, setVerbose } from "../base/log.ts";
import { startFolder } from "../base/start-folder.ts";
import { stripControls } from "../base/text.ts";
import { dataDirectory } from "../config/datadir.ts";
import { loadSettings } from "../config/settings.ts";
import { type ExtensionSource, identifyExtensions } from "../extensions/discovery.ts";
import type { Extension } from "../extensions/extension.ts";
import { ExtensionManager } from "../extensions/manager.ts";
import { processToolName, workerToolName } from "../extensions/names.ts";
import type { Invocation } from "./args.ts";
import { extensionSources } from "./ext-sources.ts";
import { EXIT } from "./process-guard.ts";

/** What `inspect --json` prints, and an element of what `list --json` prints. Lists hold names, sorted. */
export interface Inspection {
  name: string;
  path: string;
  kind: "process" | "worker";
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
): Promise<number> {
  const { options } = invocation;
  setVerbose(options.verbose === true);
  const dataDir = dataDirectory(options.dataDir, process.env, startFolder());
  const settings = await loadSettings(dataDir);
  const sources =
    invocation.command === "ext-inspect"
      ? [await onlyExtension(invocation.path)]
      : await extensionSources(invocation.options, dataDir, startFolder());
  const manager = await ExtensionManager.load({
    sources,
    settings: settings.extensionHost,
    env: process.env,
    reservedTools: [],
    host: {
      notice: (text) => log.debug(text),
      notify: (name, message) => log.debug(`extension ${name} says: ${message}`),
      action: (name, frame) => log.debug(`extension ${name} asks for ${frame.action}`),
    },
  });
  const inspections = manager.extensions.map(inspect);
  await manager.stop();

  const isList = invocation.command === "ext-list";
  if (invocation.json) {
    process.stdout.write(`${JSON.stringify(isList ? inspections : inspections[0], null, 2)}\n`);
  } else if (isList && inspections.length === 0) {
    process.stdout.write(`no extensions: put one into ${dataDir}/extensions, or name one with -e PATH\n`);
  } else {
    process.stdout.write(inspections.map(isList ? line : page).join(""));
  }
  const failed = inspections.some(({ error }) => error !== undefined);
  return failed && !isList ? EXIT.failed : EXIT.done;
}

async function onlyExtension(path: string): Promise<ExtensionSource> {
  const found = await identifyExtensions(resolvePath(path, startFolder()));
  if (found.length === 1) return found[0]!;
  throw new XdevError("not-an-extension", `${path} has ${found.length} extensions`, {
    hint: `inspect one of them: ${found.map((source) => source.path).join(", ")}`,
  });
}

function inspect(extension: Extension): Inspection {
  const found = extension.capabilities;
  const toolName = (name: string) =>
    extension.kind === "process" ? processToolName(extension.name, name) : workerToolName(name);
  const rendererName = (renderer: Record<string, unknown>) =>
    String(renderer.name ?? renderer.tool ?? renderer.type ?? "renderer");
  const names = (list: readonly string[] | undefined) => [...new Set(list)].map(stripControls).sort();
  return {
    name: extension.name,
    path: extension.path,
    kind: extension.kind,
    state: extension.state,
    ...(extension.reason === undefined ? {} : { error: extension.reason }),
    tools: names(found?.tools.map(({ name }) => toolName(name))),
    commands: names(found?.commands.map(({ name }) => name)),
    flags: names(found?.flags),
    shortcuts: names(found?.shortcuts),
    events: names(found?.events),
    renderers: names(found?.renderers.map(rendererName)),
    messageRenderers: names(found?.messageRenderers),
    providers: names(found?.providers),
  };
}

function line({ name, kind, state, error, tools, commands, path }: Inspection): string {
  const what = error ?? `${count(tools.length, "tool")}, ${count(commands.length, "command")}`;
  return `${name}  ${kind}  ${state}  ${what}  ${path}\n`;
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}

function page(inspection: Inspection): string {
  const { name, path, kind, state, error, ...lists } = inspection;
  const rows = [`${name}  ${kind}  ${state}`, `  path: ${path}`];
  if (error !== undefined) rows.push(`  error: it ${error}`);
  for (const [title, names] of Object.entries(lists)) {
    if (names.length > 0) rows.push(`  ${title}: ${names.join(", ")}`);
  }
  return `${rows.join("\n")}\n`;
}
