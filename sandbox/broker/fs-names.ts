/**
 * Giving, changing and taking names: links, rename, unlink.
 *
 * What an extension may link: a symbolic link may lead only where the extension itself may read and write, since others (the
 * agent, the user's programs) follow it with their rights. Its target is kept absolute if it goes up (`..`): a relative one
 * would lead elsewhere once the link, or a folder around it, is moved. A hard link needs to read and write both, and is made of
 * plain files alone, and not between the extension's storage and other places. What is renamed needs to be read, too: its content becomes readable where it arrives.
 */

import { link, lstat, readlink, rename, rmdir, symlink, unlink } from "node:fs/promises";
import { basename, dirname, resolve } from "node:path";
import * as v from "valibot";
import { isInside } from "../../src/base/files.ts";
import { randomHex } from "../../src/base/random.ts";
import { type CallContext, type Operations, operation } from "./broker.ts";
import { type Asked, fsError } from "./fs-errors.ts";
import { type Held, holdFolder, Moved, sameFile } from "./fs-hold.ts";
import { pathParam } from "./fs-params.ts";
import {
  attempt,
  checkMovable,
  checkNoDevice,
  checkOpenable,
  holdPlace,
  locate,
  type Place,
} from "./fs-place.ts";

/** Decides on a name that is to be acted on itself, and gives its folder, held, and a path to it there. */
export async function holdName(
  place: Place,
  asked: Asked,
): Promise<AsyncDisposable & { readonly folder: Held; readonly act: string }> {
  const name = basename(place.path);
  // The root has no name.
  if (name === "") throw fsError("EBUSY", asked);
  const folder = await holdFolder(dirname(place.path));
  return { folder, act: folder.at(name), [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose]() };
}

async function checkFolder(place: Place, act: string, asked: Asked): Promise<void> {
  if (place.asFolder && !(await lstat(act)).isDirectory()) throw fsError("ENOTDIR", asked);
}

/** Throws the refusal if a link at `place` with this target would lead where the extension may not write. */
async function checkTarget(context: CallContext, asked: Asked, place: Place, target: string): Promise<void> {
  await locate(context, asked, resolve(dirname(place.path), target), true, "read", "write");
}

export const nameOperations: Operations = {
  "fs.unlink": operation({
    params: v.strictObject({ path: pathParam }),
    run({ path }, context) {
      const asked = { syscall: "unlink", path };
      return attempt(asked, async () => {
        const place = await locate(context, asked, path, false, "write");
        checkNoDevice(place, asked);
        await using name = await holdName(place, asked);
        await checkFolder(place, name.act, asked);
        await unlink(name.act);
        return {};
      });
    },
  }),

  "fs.rmdir": operation({
    params: v.strictObject({ path: pathParam }),
    run({ path }, context) {
      const asked = { syscall: "rmdir", path };
      return attempt(asked, async () => {
        const place = await locate(context, asked, path, false, "write");
        checkMovable(place, asked, context);
        await using name = await holdName(place, asked);
        await rmdir(name.act);
        return {};
      });
    },
  }),

  "fs.rename": operation({
    params: v.strictObject({ path: pathParam, dest: pathParam }),
    run({ path, dest }, context) {
      const asked = { syscall: "rename", path, dest };
      return attempt(asked, () => move(context, asked, path, dest));
    },
  }),

  "fs.link": operation({
    params: v.strictObject({ path: pathParam, dest: pathParam }),
    run({ path, dest }, context) {
      const asked = { syscall: "link", path, dest };
      return attempt(asked, () => linkFile(context, asked, path, dest));
    },
  }),

  /** `target` as it was written; `folder` says on Windows what it is. */
  "fs.symlink": operation({
    params: v.strictObject({ target: pathParam, path: pathParam, folder: v.boolean() }),
    run({ target, path, folder }, context) {
      const asked = { syscall: "symlink", path: target, dest: path };
      return attempt(asked, async () => {
        const place = await locate(context, asked, path, false, "write");
        checkNoDevice(place, asked);
        if (target === "") throw fsError("ENOENT", asked);
        await checkTarget(context, asked, place, target);
        const goesUp = target.split(/[/\\]/).includes("..");
        const kept = goesUp ? resolve(dirname(place.path), target) : target;
        await using name = await holdName(place, asked);
        await symlink(kept, name.act, folder ? "dir" : "file");
        return {};
      });
    },
  }),

  "fs.readlink": operation({
    params: v.strictObject({ path: pathParam }),
    run({ path }, context) {
      const asked = { syscall: "readlink", path };
      return attempt(asked, async () => {
        const place = await locate(context, asked, path, false, "read");
        await using name = await holdName(place, asked);
        return { value: await readlink(name.act) };
      });
    },
  }),
};

/**
 * Whether one of two places is in the extension's storage and the other is not. What has a name in both would be the extension's for
 * good, whatever the user takes back later: such a name is not given, and folders, in which there may be some, are copied
 * by who is told `EXDEV`.
 */
function isCrossing({ folders: { data } }: CallContext, a: Place, b: Place): boolean {
  return isInside(a.path, data) !== isInside(b.path, data);
}

/** Whether something is, or may have in it, a file with other names. */
async function mayHaveNames(act: string): Promise<boolean> {
  const info = await lstat(act);
  return info.isDirectory() || info.nlink > 1;
}

async function move(context: CallContext, asked: Asked, path: string, dest: string) {
  const from = await locate(context, asked, path, false, "read", "write");
  const to = await locate(context, asked, dest, false, "write");
  for (const place of [from, to]) {
    checkNoDevice(place, asked);
    checkMovable(place, asked, context);
  }
  await using source = await holdName(from, asked);
  await using target = await holdName(to, asked);
  await checkFolder(from, source.act, asked);
  const crossing = isCrossing(context, from, to);
  if (crossing && (await mayHaveNames(source.act))) throw fsError("EXDEV", asked);
  // A relative link leads elsewhere from its new place.
  const led = await linkTarget(source.act);
  if (led !== undefined) await checkTarget(context, asked, to, led);
  await rename(source.act, target.act);
  if (crossing && (await mayHaveNames(target.act))) {
    // Another thing was put there between the check and the act; by now there may be one in its old place, too.
    await rename(target.act, source.act).catch(() =>
      rename(target.act, source.folder.at(`moved-${randomHex(6)}`)),
    );
    throw fsError("EXDEV", asked);
  }
  const leads = await linkTarget(target.act);
  if (leads === undefined || leads === led) return {};
  // Another link was put there between the check and the act.
  try {
    await checkTarget(context, asked, to, leads);
  } catch (error) {
    await unlink(target.act).catch(() => {});
    throw error;
  }
  return {};
}

/** Undefined if it is no link, or nothing. */
const linkTarget = (act: string): Promise<string | undefined> => readlink(act).catch(() => undefined);

async function linkFile(context: CallContext, asked: Asked, path: string, dest: string) {
  const from = await locate(context, asked, path, true, "read", "write");
  const to = await locate(context, asked, dest, false, "read", "write");
  if (isCrossing(context, from, to)) throw fsError("EXDEV", asked);
  await using held = await holdPlace({ place: from }, asked);
  if (held.info.isDirectory()) throw fsError("EPERM", asked);
  if (!held.info.isFile() && !held.info.isSymbolicLink()) throw fsError("EPERM", asked);
  await checkOpenable(held, asked, context);
  await using source = await holdName(from, asked);
  await using target = await holdName(to, asked);
  await link(source.act, target.act);
  const made = await lstat(target.act, { bigint: true });
  if (made.isFile() && sameFile(made, held.info)) return {};
  // Another thing was put there between the check and the act.
  await unlink(target.act).catch(() => {});
  throw new Moved();
}
