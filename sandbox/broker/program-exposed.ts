import { lstat } from "node:fs/promises";
import { dirname } from "node:path";
import { findProgram } from "../permissions/match-run.ts";
import type { CallContext } from "./broker.ts";

/**
 * Whether the extension could put something of its own at this canonical path: by its permission to write there, and because
 * the system would let the user do it, at the path itself or at a folder above. A program there is the extension's program,
 * whatever the user granted it for. False if it may run a shell: nothing is kept from it then.
 */
export async function isExposed(path: string, context: CallContext): Promise<boolean> {
  const { rights } = context;
  for (let each = path; ; each = dirname(each)) {
    // All the way up: who may write a folder can put another in the place of what he was denied in it.
    if (rights.has({ kind: "write", path: each }) && (await isWritable(each))) {
      return !(await mayRunShell(context));
    }
    if (each === dirname(each)) return false;
  }
}

/** Whether the user may write it, or may make it so. What does not exist is for the folder above to say. */
async function isWritable(path: string): Promise<boolean> {
  const info = await lstat(path).catch(() => undefined);
  if (!info) return false;
  const user = process.getuid?.();
  if (user === undefined || user === 0 || info.uid === user) return true;
  const groups = process.getgroups?.() ?? [];
  return (info.mode & 0o002) !== 0 || ((info.mode & 0o020) !== 0 && groups.includes(info.gid));
}

/** The shell that runs command lines. */
export const SHELL = "sh";

/** Whether it may run any command. */
async function mayRunShell({ rights, folders, env }: CallContext): Promise<boolean> {
  const path = await findProgram(SHELL, { folders, searchPath: env.PATH });
  return path !== undefined && rights.has({ kind: "run", name: SHELL, path, args: [] });
}
