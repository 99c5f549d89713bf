/**
 * Programs: found once, by the same rules for the permission and for the call. What must hold: who was granted `git` runs the
 * `git` that the user has, not one that a repository or the extension put somewhere.
 */
import { access, constants, stat } from "node:fs/promises";
import { delimiter, isAbsolute, join } from "node:path";
import { canonicalPath, isInside } from "../../src/base/files.ts";
import type { Folders } from "../broker/broker.ts";
import { isShell, parseCommand, programName } from "./values.ts";

export interface ProgramPlace {
  folders: Pick<Folders, "cwd" | "tmp" | "data" | "home">;
  /** The user's PATH. */
  searchPath: string | undefined;
}

/**
 * The canonical path of a program: an absolute one as it is, a name as PATH has it, leaving out relative folders and those below
 * the working folder, `$TMP` and the extension's storage. Undefined for a name that leads to no executable file, and for a
 * relative path.
 */
export async function findProgram(
  name: string,
  { folders, searchPath }: ProgramPlace,
): Promise<string | undefined> {
  if (name === "" || name.includes("\0")) return undefined;
  if (isAbsolute(name)) return executable(name);
  if (/[/\\]/.test(name)) return undefined;
  const strangers = [folders.cwd, folders.tmp, folders.data];
  for (const folder of (searchPath ?? "").split(delimiter)) {
    if (!isAbsolute(folder)) continue;
    const real = await canonicalPath(folder).catch(() => undefined);
    // A user who works in his home folder or in `/` still has his programs.
    if (real === undefined || strangers.some((one) => isInside(real, one) && !isInside(folders.home, one)))
      continue;
    const found = await executable(join(folder, name));
    if (found !== undefined) return found;
  }
  return undefined;
}

async function executable(path: string): Promise<string | undefined> {
  try {
    const real = await canonicalPath(path);
    if (!(await stat(real)).isFile()) return undefined;
    await access(real, constants.X_OK);
    return real;
  } catch {
    return undefined;
  }
}

/** A permission `run` with the program that it means. */
export interface CommandPattern {
  /** As it is written: `git`, `/usr/bin/git`, `*`. */
  name: string;
  /** Canonical; undefined if there is no such program. */
  path: string | undefined;
  args: readonly string[];
}

export async function resolveCommands(
  values: readonly string[],
  place: ProgramPlace,
): Promise<CommandPattern[]> {
  return Promise.all(
    values.map(async (value) => {
      const [name = "", ...args] = parseCommand(value);
      return { name, args, path: name === "*" ? undefined : await findProgram(name, place) };
    }),
  );
}

export interface Command {
  name: string;
  path: string;
  args: readonly string[];
}

/**
 * Whether one of the patterns means this call. The name counts besides the path: many names may lead to one program that does
 * what its name says (busybox, rustup, coreutils), and `ls` is then no permission for `sh`.
 */
export function coversCommand(patterns: Iterable<CommandPattern>, command: Command): boolean {
  const runsShell = isShell(command.name) || isShell(command.path);
  for (const { name, path, args } of patterns) {
    if (name === "*") {
      if (!runsShell) return true;
      continue;
    }
    if (path !== command.path || programName(name) !== programName(command.name)) continue;
    if (baseName(name) !== baseName(command.name)) continue;
    if (args.every((word, index) => word === command.args[index])) return true;
  }
  return false;
}

/** Whether one of the denials means this call: by its name or by its path, a shell by either. */
export function deniesCommand(patterns: Iterable<CommandPattern>, command: Command): boolean {
  for (const { name, path, args } of patterns) {
    const isProgram = name === "*" || path === command.path || baseName(name) === baseName(command.name);
    if (isProgram && args.every((word, index) => word === command.args[index])) return true;
  }
  return false;
}

const baseName = (program: string): string => program.split(/[/\\]/).pop()!;
