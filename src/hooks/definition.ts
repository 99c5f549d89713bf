/** From what a user wrote to a hook, or to a broken one that says why. */
import { basename } from "node:path";
import { errorText } from "../base/errors.ts";
import { stripControls } from "../base/text.ts";
import { parseFile } from "../config/parse.ts";
import { didYouMean } from "../config/suggest.ts";
import { parseCondition } from "./condition.ts";
import { HOOK_EVENTS, isHookEvent, isToolEvent } from "./events.ts";
import type { BrokenHook, Hook, HookEntry } from "./hook.ts";
import { compileMatcher } from "./matcher.ts";
import { hookEventSchema, hookFileSchema } from "./schema.ts";

/** A file of a hooks folder, as it was read. */
export interface HookFile {
  /** The name alone. */
  name: string;
  /** The absolute path. */
  path: string;
  executable: boolean;
  /** What is in it; undefined with `problem` if it could not be read. Programs are not read. */
  text?: string;
  problem?: string;
}

export interface DefinitionContext {
  /** Where the hooks start. */
  cwd: string;
  verify?: Hook["verify"];
  /** Tells the user of something that is odd and changes nothing. */
  notice(text: string): void;
}

/** Whether a file of a hooks folder is a definition (`*.yml`, `*.yaml`, `*.json`). */
export function isDefinition(name: string): boolean {
  return /\.(?:ya?ml|json)$/i.test(name);
}

/** Whether it is a program that is named after its event. */
export function isScript(name: string): boolean {
  return /\.sh$/i.test(name);
}

/** What the files of one folder define, in their order: for each file a hook, or nothing for a helper. */
export async function hooksOfFiles(
  files: readonly HookFile[],
  context: DefinitionContext,
): Promise<Map<HookFile, HookEntry>> {
  const found = new Map<HookFile, HookEntry>();
  for (const file of files) {
    if (isDefinition(file.name)) found.set(file, await parseDefinition(file, context));
  }
  const commands = [...found.values()].flatMap((entry) => ("command" in entry ? [entry.command] : []));
  // A script that a definition of this folder runs is a helper, unless it is named after an event: then it is a hook.
  const words = new Set(
    commands.flatMap((command) => command.split(/[\s;&|()<>'"`]+/)).map((word) => basename(word)),
  );
  const isHelper = ({ name }: HookFile) => !isHookEvent(name.slice(0, -3)) && words.has(name);
  for (const file of files) {
    if (isScript(file.name) && !isHelper(file)) found.set(file, scriptHook(file, context));
  }
  return new Map(files.flatMap((file) => (found.has(file) ? [[file, found.get(file)!]] : [])));
}

async function parseDefinition(file: HookFile, context: DefinitionContext): Promise<HookEntry> {
  if (file.text === undefined) return broken(file, file.problem ?? "it could not be read", true);
  let parsed: Awaited<ReturnType<typeof parseFile<typeof hookFileSchema>>>;
  try {
    parsed = await parseFile(file.text, hookFileSchema, file.path, "bad-hook");
  } catch (error) {
    return broken(file, withoutPath(errorText(error), file.path), await mayBePolicy(file));
  }
  const { name = file.name, event, command, matcher, if: condition } = parsed.value;
  const hook: Hook = { name: harmless(name), event, command, cwd: context.cwd };
  if (context.verify) hook.verify = context.verify;
  try {
    if (matcher !== undefined) hook.matcher = compileMatcher(matcher);
  } catch (error) {
    return broken(file, `its matcher can't be used: ${errorText(error)}`, event === "tool_call");
  }
  if (condition !== undefined) {
    try {
      if (!isToolEvent(event)) throw new Error(`${event} has no tool that it could be about`);
      hook.condition = parseCondition(condition);
    } catch (error) {
      // Without its condition the hook is asked about every call: too often is safe.
      context.notice(`hook ${file.path}: its "if" is left out, so it always runs: ${errorText(error)}`);
    }
  }
  return hook;
}

/** Whether a definition that is wrong may have been meant for `tool_call`: unless it plainly names another event. */
async function mayBePolicy(file: HookFile): Promise<boolean> {
  try {
    const { value } = await parseFile(file.text ?? "", hookEventSchema, file.path, "bad-hook");
    return value.event === "tool_call";
  } catch {
    return true;
  }
}

function scriptHook(file: HookFile, context: DefinitionContext): HookEntry {
  const event = file.name.slice(0, -3);
  if (!isHookEvent(event)) {
    const guess = didYouMean(event, HOOK_EVENTS);
    const hint =
      "Name it after its event, name it in the command of a .yml file, or move it to another folder.";
    return broken(file, `"${event}" is no event.${guess} ${hint}`, true);
  }
  if (file.problem !== undefined) return broken(file, file.problem, event === "tool_call");
  if (!file.executable)
    return broken(file, `it is not executable: chmod +x ${file.path}`, event === "tool_call");
  const hook: Hook = { name: harmless(file.name), event, command: quoted(file.path), cwd: context.cwd };
  if (context.verify) hook.verify = context.verify;
  return hook;
}

function broken(file: HookFile, problem: string, denies: boolean): BrokenHook {
  return { name: harmless(file.path), problem: harmless(problem), denies };
}

/** The parser's messages begin with the file, which the broken hook is named after. */
function withoutPath(message: string, path: string): string {
  return message.replaceAll(`${path}:`, "line ").replace(/^line (?=\D)/, "");
}

/** On one line, and nothing that a terminal obeys. */
function harmless(text: string): string {
  return stripControls(text).replace(/\s+/g, " ").trim();
}

/** A path as one word of a shell. */
function quoted(path: string): string {
  return `'${path.replaceAll("'", "'\\''")}'`;
}
