/** Folders: listing, making and removing, whole trees included. A tree is walked one held folder at a time, and no link in it is followed. */

import type { Dirent } from "node:fs";
import { lstat, mkdir, rmdir, unlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import * as v from "valibot";
import { systemCode } from "../../src/base/errors.ts";
import { randomBytes } from "../../src/base/random.ts";
import { type CallContext, CallError, type Operations, operation } from "./broker.ts";
import { type Asked, fsError } from "./fs-errors.ts";
import { holdFolder, Moved } from "./fs-hold.ts";
import { entriesIn } from "./fs-listing.ts";
import { holdName } from "./fs-names.ts";
import { checkMode } from "./fs-open.ts";
import { type EntryType, entryType, modeParam, pathParam } from "./fs-params.ts";
import {
  attempt,
  checkMovable,
  checkNoDevice,
  demandBelow,
  holdPlace,
  locate,
  type Place,
} from "./fs-place.ts";

/** The most entries that one listing gives. */
const MAX_ENTRIES = 100_000;

export const folderOperations: Operations = {
  /**
   * The names in a folder, each with its type and, relative to the folder asked for, where it is. A recursive listing goes into
   * the folders that the extension may read, and leaves out what is in others.
   */
  "fs.readdir": operation({
    params: v.strictObject({
      path: pathParam,
      recursive: v.boolean(),
      syscall: v.picklist(["scandir", "opendir"]),
    }),
    run({ path, recursive, syscall }, context) {
      const asked = { syscall, path };
      return attempt(asked, async () => {
        const place = await locate(context, asked, path, true, "read");
        return { value: await list(context, asked, place, recursive) };
      });
    },
  }),

  /** Gives the first folder that was made when `recursive`. */
  "fs.mkdir": operation({
    params: v.strictObject({ path: pathParam, recursive: v.boolean(), mode: modeParam }),
    run({ path, recursive, mode }, context) {
      const asked = { syscall: "mkdir", path };
      return attempt(asked, async () => {
        checkMode(mode, asked);
        const place = await locate(context, asked, path, recursive, "write");
        if (recursive) return { value: await makeTree(context, asked, place.path, mode) };
        // There is always a root.
        if (basename(place.path) === "") throw fsError("EEXIST", asked);
        await using name = await holdName(place, asked);
        await mkdir(name.act, mode);
        return {};
      });
    },
  }),

  /** Makes a folder of a new name that begins with `prefix`, for the user alone, and gives the name as it was written. */
  "fs.mkdtemp": operation({
    params: v.strictObject({ prefix: pathParam }),
    run({ prefix }, context) {
      const asked = { syscall: "mkdtemp", path: `${prefix}XXXXXX` };
      return attempt(asked, async () => {
        const path = `${prefix}${randomName()}`;
        const place = await locate(context, asked, path, false, "write");
        await using name = await holdName(place, asked);
        try {
          await mkdir(name.act, 0o700);
        } catch (error) {
          if (systemCode(error) === "EEXIST") throw new Moved();
          throw error;
        }
        return { value: path };
      });
    },
  }),

  "fs.rm": operation({
    params: v.strictObject({ path: pathParam, recursive: v.boolean(), force: v.boolean() }),
    run({ path, recursive, force }, context) {
      const asked = { syscall: "rm", path };
      return attempt(asked, async () => {
        const place = await locate(context, asked, path, false, "write");
        checkNoDevice(place, asked);
        checkMovable(place, asked, context);
        try {
          await remove(context, asked, place, recursive);
        } catch (error) {
          if (!force || systemCode(error) !== "ENOENT") throw error;
        }
        return {};
      });
    },
  }),
};

async function list(
  context: CallContext,
  asked: Asked,
  place: Place,
  recursive: boolean,
): Promise<[name: string, type: EntryType, folder: string][]> {
  const found: [string, EntryType, string][] = [];
  const queue = [""];
  for (const below of queue) {
    const path = join(place.path, below);
    const entries = await entriesOf(context, asked, path, below === "" ? place : undefined);
    if (found.length + entries.length > MAX_ENTRIES) {
      throw new CallError(
        "E2BIG",
        `E2BIG: more than ${MAX_ENTRIES} entries, ${asked.syscall} '${asked.path}'`,
      );
    }
    for (const entry of entries) {
      const type = entryType(entry);
      found.push([entry.name, type, below]);
      if (recursive && type === "dir" && context.rights.has({ kind: "read", path: join(path, entry.name) })) {
        queue.push(join(below, entry.name));
      }
    }
  }
  return found;
}

/** `place` for the folder that was asked for; those below may be gone or moved by the time the walk comes to them. */
async function entriesOf(
  context: CallContext,
  asked: Asked,
  path: string,
  place: Place | undefined,
): Promise<Dirent[]> {
  if (context.signal.aborted) throw fsError("ECANCELED", asked);
  try {
    await using held = place ? await holdPlace({ place }, asked) : await holdFolder(path);
    if (!held.info.isDirectory()) throw held.info.isSymbolicLink() ? new Moved() : fsError("ENOTDIR", asked);
    return await entriesIn(held.act, context);
  } catch (error) {
    if (!place && (error instanceof Moved || /^(ENOENT|ENOTDIR|EACCES)$/.test(systemCode(error) ?? "")))
      return [];
    throw error;
  }
}

/** Makes a folder and those above it that are missing; gives the first one made. */
async function makeTree(
  context: CallContext,
  asked: Asked,
  path: string,
  mode: number,
): Promise<string | undefined> {
  const missing: string[] = [];
  let from = path;
  for (;;) {
    const info = await lstatCanonical(from);
    if (info?.isDirectory()) break;
    if (info?.isSymbolicLink()) throw new Moved();
    if (info) throw fsError(from === path ? "EEXIST" : "ENOTDIR", asked);
    missing.push(basename(from));
    if (dirname(from) === from) throw fsError("ENOENT", asked);
    from = dirname(from);
  }
  let first: string | undefined;
  for (const name of missing.reverse()) {
    const made = join(from, name);
    if (made !== path) await demandBelow(context, asked, "write", made);
    await using folder = await holdFolder(from);
    try {
      await mkdir(folder.at(name), mode);
      first ??= made;
    } catch (error) {
      // Somebody else made it. If it is no folder, the next step says so.
      if (systemCode(error) !== "EEXIST") throw error;
      if (made === path && !(await lstat(folder.at(name))).isDirectory()) throw fsError("EEXIST", asked);
    }
    from = made;
  }
  return first;
}

/** Undefined if there is nothing. The path is canonical, so what it says is checked again by holding it. */
async function lstatCanonical(path: string) {
  try {
    return await lstat(path);
  } catch (error) {
    const code = systemCode(error);
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw error;
  }
}

async function remove(context: CallContext, asked: Asked, place: Place, recursive: boolean): Promise<void> {
  await using name = await holdName(place, asked);
  const info = await lstat(name.act);
  if (place.asFolder && !info.isDirectory()) throw fsError("ENOTDIR", asked);
  if (!info.isDirectory()) return await unlink(name.act);
  if (!recursive) {
    throw new CallError(
      "ERR_FS_EISDIR",
      `Path is a directory: rm returned EISDIR (is a directory) ${asked.path}`,
      {
        syscall: "rm",
        path: asked.path,
      },
    );
  }
  await removeTree(context, asked, place.path);
}

/** Removes a folder with all that is in it. What somebody else removed first is removed. */
async function removeTree(context: CallContext, asked: Asked, path: string): Promise<void> {
  if (context.signal.aborted) throw fsError("ECANCELED", asked);
  const folders: string[] = [];
  {
    await using held = await holdFolder(path);
    for (const entry of await entriesIn(held.act, context)) {
      const below = join(path, entry.name);
      await demandBelow(context, asked, "write", below);
      if (entry.isDirectory()) folders.push(below);
      else await gone(unlink(held.at(entry.name)));
    }
  }
  for (const folder of folders) await gone(removeTree(context, asked, folder));
  await using parent = await holdFolder(dirname(path));
  await gone(rmdir(parent.at(basename(path))));
}

async function gone(removing: Promise<void>): Promise<void> {
  try {
    await removing;
  } catch (error) {
    if (systemCode(error) !== "ENOENT") throw error;
  }
}

const LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

const randomName = (): string =>
  Array.from(randomBytes(6), (byte) => LETTERS[byte % LETTERS.length]).join("");
