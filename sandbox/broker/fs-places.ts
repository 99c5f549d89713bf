/** What is known about places, and set on them, without their content: stat, access, chmod, utimes, realpath, statfs. */
import { constants } from "node:fs";
import { access, chmod, lutimes, statfs, utimes } from "node:fs/promises";
import { basename, dirname } from "node:path";
import * as v from "valibot";
import { type CallContext, type Operations, operation } from "./broker.ts";
import { type Asked, fsError } from "./fs-errors.ts";
import { type Held, hold, holdFolder, Moved, sameFile } from "./fs-hold.ts";
import { checkMode } from "./fs-open.ts";
import { modeParam, pathParam, statData, timeParam } from "./fs-params.ts";
import {
  attempt,
  checkChangeable,
  checkNoDevice,
  checkOpenable,
  find,
  holdPlace,
  locate,
} from "./fs-place.ts";

/** Acts on what is at a path when every link is followed. */
function onPlace<T>(
  context: CallContext,
  asked: Asked,
  rights: readonly ("read" | "write")[],
  run: (held: Held) => T | Promise<T>,
): Promise<T> {
  return attempt(asked, async () => {
    await using held = await holdPlace(
      await find(context, asked, asked.path as string, true, ...rights),
      asked,
    );
    // A canonical path has no link in it, so this one is new.
    if (held.info.isSymbolicLink()) throw new Moved();
    return await run(held);
  });
}

/** By its name in its folder: some runtimes look at the mode of a link itself, and a descriptor's is that of how it was opened. */
async function accessHeld(held: Held, mode: number): Promise<void> {
  const name = basename(held.path);
  if (name === "" || mode === 0) return access(held.act, mode);
  await using folder = await holdFolder(dirname(held.path));
  await access(folder.at(name), mode);
  await using now = await hold(held.path);
  if (!sameFile(now.info, held.info)) throw new Moved();
}

export const placeOperations: Operations = {
  "fs.stat": operation({
    params: v.strictObject({ path: pathParam }),
    run: ({ path }, context) =>
      onPlace(context, { syscall: "stat", path }, ["read"], ({ info }) => ({ value: statData(info) })),
  }),

  "fs.lstat": operation({
    params: v.strictObject({ path: pathParam }),
    run({ path }, context) {
      const asked = { syscall: "lstat", path };
      return attempt(asked, async () => {
        const found = await find(context, asked, path, /[/\\]$/.test(path), "read");
        await using held = await holdPlace(found, asked);
        return { value: statData(held.info) };
      });
    },
  }),

  /** `mode`: Node's bits of `R_OK`, `W_OK`, `X_OK`. Both the rights and the system must allow it. */
  "fs.access": operation({
    params: v.strictObject({
      path: pathParam,
      mode: v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(7)),
    }),
    run({ path, mode }, context) {
      const rights: ("read" | "write")[] = mode & constants.W_OK ? ["write"] : [];
      if (mode === 0 || mode & (constants.R_OK | constants.X_OK)) rights.unshift("read");
      return onPlace(context, { syscall: "access", path }, rights, async (held) => {
        await accessHeld(held, mode);
        return {};
      });
    },
  }),

  "fs.realpath": operation({
    params: v.strictObject({ path: pathParam }),
    run: ({ path }, context) =>
      onPlace(context, { syscall: "realpath", path }, ["read"], (held) => ({ value: held.path })),
  }),

  "fs.chmod": operation({
    params: v.strictObject({ path: pathParam, mode: modeParam }),
    run({ path, mode }, context) {
      const asked = { syscall: "chmod", path };
      return onPlace(context, asked, ["write"], async (held) => {
        checkMode(mode, asked);
        checkChangeable(held.info, asked);
        await checkOpenable(held, asked, context);
        await chmod(held.act, mode);
        return {};
      });
    },
  }),

  "fs.utimes": operation({
    params: v.strictObject({ path: pathParam, atime: timeParam, mtime: timeParam }),
    run({ path, atime, mtime }, context) {
      const asked = { syscall: "utime", path };
      return onPlace(context, asked, ["write"], async (held) => {
        checkChangeable(held.info, asked);
        await checkOpenable(held, asked, context);
        await utimes(held.act, atime, mtime);
        return {};
      });
    },
  }),

  "fs.lutimes": operation({
    params: v.strictObject({ path: pathParam, atime: timeParam, mtime: timeParam }),
    run({ path, atime, mtime }, context) {
      const asked = { syscall: "lutime", path };
      return attempt(asked, async () => {
        const place = await locate(context, asked, path, false, "write");
        checkNoDevice(place, asked);
        await using folder = await holdFolder(dirname(place.path));
        const name = basename(place.path);
        if (name === "") throw fsError("EPERM", asked);
        await lutimes(folder.at(name), atime, mtime);
        return {};
      });
    },
  }),

  "fs.statfs": operation({
    params: v.strictObject({ path: pathParam }),
    run: ({ path }, context) =>
      onPlace(context, { syscall: "statfs", path }, ["read"], async (held) => {
        const info = await statfs(held.act);
        const { type, bsize, blocks, bfree, bavail, files, ffree } = info;
        return { value: { type, bsize, blocks, bfree, bavail, files, ffree } };
      }),
  }),
};
