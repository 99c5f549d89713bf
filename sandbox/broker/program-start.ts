/** From what an extension wants to run to what is run: every decision is made here, before anything starts. */
import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { systemCode } from "../../src/base/errors.ts";
import { canonicalPath } from "../../src/base/files.ts";
import { programStarter } from "../../src/base/process.ts";
import type { Program } from "../../src/platform/program.ts";
import { type CallContext, CallError } from "./broker.ts";
import { splitCommand } from "./command-line.ts";
import { programEnvironment } from "./program-environment.ts";
import { isExposed, SHELL } from "./program-exposed.ts";
import { assertExecutable, findProgram, spawnError } from "./program-path.ts";
import { turn } from "./turns.ts";

/** A file with arguments, or a command line for a shell, which is `sh` unless it is named. */
export type What = { file: string; args: string[] } | { command: string; shell?: string | undefined };

export interface PreparedProgram {
  name: string;
  path: string;
  argv0: string;
  args: readonly string[];
  cwd: string;
  env: Record<string, string>;
}

/** Throws a `CallError` for what may not, or can't, be run. */
export async function prepareProgram(
  what: What,
  where: { cwd?: string | undefined; env: Record<string, string> },
  context: CallContext,
): Promise<PreparedProgram> {
  const cwd = await workingFolder(where.cwd, "file" in what ? what.file : (what.shell ?? SHELL), context);
  const env = await programEnvironment(where.env, context);
  const { name, args, path, argv0 } =
    "file" in what ? await named(what.file, what.args, cwd, context) : await command(what, cwd, context);
  await context.rights.demand({ kind: "run", name, path, args });
  await checkFolder(cwd, { name, path }, context);
  await assertExecutable(path, name);
  return { name, path, argv0, args, cwd, env };
}

async function named(name: string, args: readonly string[], cwd: string, context: CallContext) {
  return { name, args, ...(await findProgram(name, cwd, context)) };
}

/** The shell if it may run this; else, if no shell is needed, the program itself; else the shell, which is to be asked about. */
async function command(
  what: { command: string; shell?: string | undefined },
  cwd: string,
  context: CallContext,
) {
  const shell = await named(what.shell ?? SHELL, ["-c", what.command], cwd, context);
  const { name, path, args } = shell;
  if (context.rights.has({ kind: "run", name, path, args })) return shell;
  const words = splitCommand(what.command);
  return words ? named(words[0] as string, words.slice(1), cwd, context) : shell;
}

/** The session's folder needs no permission: programs work there. Another one is one that the extension may read. */
async function workingFolder(
  given: string | undefined,
  program: string,
  { folders, rights }: CallContext,
): Promise<string> {
  if (given === undefined) return folders.cwd;
  const path = await canonicalPath(resolve(folders.cwd, given)).catch(() => {
    throw spawnError("ENOENT", program);
  });
  if (path !== folders.cwd) await rights.demand({ kind: "read", path });
  const info = await stat(path).catch(() => undefined);
  if (!info?.isDirectory()) throw spawnError(info ? "ENOTDIR" : "ENOENT", program);
  return path;
}

/**
 * Throws for a folder that the extension fills itself, unless it may run the program whatever its arguments: programs take
 * settings from where they work, and by those `git status`, for one, runs any command. The session's folder is the user's: who may write
 * there was given that.
 */
async function checkFolder(
  cwd: string,
  { name, path }: { name: string; path: string },
  context: CallContext,
): Promise<void> {
  if (cwd === context.folders.cwd || context.rights.has({ kind: "run", name, path, args: [] })) return;
  if (!(await isExposed(cwd, context))) return;
  throw new CallError(
    "EACCES",
    `EACCES: spawn ${name.slice(0, 200)}: the extension may write the folder ${cwd.slice(0, 200)} itself, so that a permission with arguments would be one for all that the program can do: it takes the permission run for the program without arguments, or another folder`,
    { syscall: `spawn ${name.slice(0, 200)}` },
  );
}

/** Gives a function that starts it at once, so that nothing comes between the last question and the start. */
export async function startPrepared(
  prepared: PreparedProgram,
  wanted: ReadonlySet<"stdout" | "stderr">,
): Promise<() => Promise<Program & { pid: number }>> {
  const start = await programStarter();
  await turn();
  return async () => {
    const { path, args, cwd, env, argv0, name } = prepared;
    const discard = (["stdout", "stderr"] as const).filter((output) => !wanted.has(output));
    const program = start(path, args, { cwd, env, argv0, discard });
    if (program.pid !== undefined) return program as Program & { pid: number };
    const error = await program.exited.catch((problem: unknown) => problem);
    throw spawnError(systemCode(error) ?? "EIO", name);
  };
}
