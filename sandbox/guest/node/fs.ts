/** `node:fs`: each function in Node's three forms. What is not there is in `xdev docs node-modules`. */

import { constants } from "./fs_constants.ts";
import {
  appendFile as appendFileSteps,
  close as closeSteps,
  fchmod as fchmodSteps,
  fdatasync as fdatasyncSteps,
  fstat as fstatSteps,
  fsync as fsyncSteps,
  ftruncate as ftruncateSteps,
  futimes as futimesSteps,
  open as openSteps,
  readFile as readFileSteps,
  read as readSteps,
  readv as readvSteps,
  type Transfer,
  writeFile as writeFileSteps,
  writeSome as writeSteps,
  writev as writevSteps,
} from "./fs_content.ts";
import { cp as cpSteps } from "./fs_copy.ts";
import { Dir, opendir as opendirSteps } from "./fs_dir.ts";
import { openHandle } from "./fs_handle.ts";
import * as places from "./fs_places.ts";
import { type Callback, deliver, forms, runAsync, runSync, type Steps, splitCallback } from "./fs_run.ts";
import { Dirent, Stats } from "./fs_stats.ts";
import { createReadStream, createWriteStream, ReadStream, WriteStream } from "./fs_streams.ts";
import { unwatchFile, watch, watchEvents, watchFile } from "./fs_watch.ts";

export {
  constants,
  createReadStream,
  createWriteStream,
  Dir,
  Dirent,
  ReadStream,
  Stats,
  unwatchFile,
  WriteStream,
  watch,
  watchFile,
};
export const { F_OK, R_OK, W_OK, X_OK } = constants;

const all = {
  access: forms(places.access),
  appendFile: forms(appendFileSteps),
  chmod: forms(places.chmod),
  chown: forms(places.chown),
  copyFile: forms(places.copyFile),
  cp: forms(cpSteps),
  lchown: forms(places.chown),
  link: forms(places.link),
  lstat: forms(places.lstat),
  lutimes: forms(places.lutimes),
  mkdir: forms(places.mkdir),
  mkdtemp: forms(places.mkdtemp),
  opendir: forms(opendirSteps),
  readFile: forms(readFileSteps),
  readdir: forms(places.readdir),
  readlink: forms(places.readlink),
  realpath: forms(places.realpath),
  rename: forms(places.rename),
  rm: forms(places.rm),
  rmdir: forms(places.rmdir),
  stat: forms(places.stat),
  statfs: forms(places.statfs),
  symlink: forms(places.symlink),
  truncate: forms(places.truncate),
  unlink: forms(places.unlink),
  utimes: forms(places.utimes),
  writeFile: forms(writeFileSteps),
  // By descriptor.
  close: forms(closeSteps),
  fchmod: forms(fchmodSteps),
  fchown: forms(places.fchown),
  fdatasync: forms(fdatasyncSteps),
  fstat: forms(fstatSteps),
  fsync: forms(fsyncSteps),
  ftruncate: forms(ftruncateSteps),
  futimes: forms(futimesSteps),
  open: forms(openSteps),
};

export const access = all.access.callback;
export const accessSync = all.access.sync;
export const appendFile = all.appendFile.callback;
export const appendFileSync = all.appendFile.sync;
export const chmod = all.chmod.callback;
export const chmodSync = all.chmod.sync;
export const chown = all.chown.callback;
export const chownSync = all.chown.sync;
export const copyFile = all.copyFile.callback;
export const copyFileSync = all.copyFile.sync;
export const cp = all.cp.callback;
export const cpSync = all.cp.sync;
export const lchown = all.lchown.callback;
export const lchownSync = all.lchown.sync;
export const link = all.link.callback;
export const linkSync = all.link.sync;
export const lstat = all.lstat.callback;
export const lstatSync = all.lstat.sync;
export const lutimes = all.lutimes.callback;
export const lutimesSync = all.lutimes.sync;
export const mkdir = all.mkdir.callback;
export const mkdirSync = all.mkdir.sync;
export const mkdtemp = all.mkdtemp.callback;
export const mkdtempSync = all.mkdtemp.sync;
export const opendir = all.opendir.callback;
export const opendirSync = all.opendir.sync;
export const readFile = all.readFile.callback;
export const readFileSync = all.readFile.sync;
export const readdir = all.readdir.callback;
export const readdirSync = all.readdir.sync;
export const readlink = all.readlink.callback;
export const readlinkSync = all.readlink.sync;
export const realpath = withNative(all.realpath.callback);
export const realpathSync = withNative(all.realpath.sync);
export const rename = all.rename.callback;
export const renameSync = all.rename.sync;
export const rm = all.rm.callback;
export const rmSync = all.rm.sync;
export const rmdir = all.rmdir.callback;
export const rmdirSync = all.rmdir.sync;
export const stat = all.stat.callback;
export const statSync = all.stat.sync;
export const statfs = all.statfs.callback;
export const statfsSync = all.statfs.sync;
export const symlink = all.symlink.callback;
export const symlinkSync = all.symlink.sync;
export const truncate = all.truncate.callback;
export const truncateSync = all.truncate.sync;
export const unlink = all.unlink.callback;
export const unlinkSync = all.unlink.sync;
export const utimes = all.utimes.callback;
export const utimesSync = all.utimes.sync;
export const writeFile = all.writeFile.callback;
export const writeFileSync = all.writeFile.sync;
export const closeSync = all.close.sync;
export const fchmod = all.fchmod.callback;
export const fchmodSync = all.fchmod.sync;
export const fchown = all.fchown.callback;
export const fchownSync = all.fchown.sync;
export const fdatasync = all.fdatasync.callback;
export const fdatasyncSync = all.fdatasync.sync;
export const fstat = all.fstat.callback;
export const fstatSync = all.fstat.sync;
export const fsync = all.fsync.callback;
export const fsyncSync = all.fsync.sync;
export const ftruncate = all.ftruncate.callback;
export const ftruncateSync = all.ftruncate.sync;
export const futimes = all.futimes.callback;
export const futimesSync = all.futimes.sync;
export const open = all.open.callback;
export const openSync = all.open.sync;

/** The one function whose callback may be left out. */
export const close = (fd: unknown, callback: Callback = () => {}): void => all.close.callback(fd, callback);

function withNative<F extends object>(run: F): F & { native: F } {
  return Object.assign(run, { native: run });
}

const PROMISIFIED = Symbol.for("nodejs.util.promisify.custom");

function promisified<F extends object>(run: F, promise: unknown): F {
  return Object.defineProperty(run, PROMISIFIED, { value: promise });
}

export const existsSync = (path: unknown): boolean => runSync(places.exists(path));

/** Its callback gets no error. */
export const exists = promisified(
  (...given: unknown[]): void => {
    const [args, callback] = splitCallback(given);
    void runAsync(places.exists(args[0])).then((isThere) => deliver(callback, isThere));
  },
  (path: unknown) => runAsync(places.exists(path)),
);

type TransferSteps = (fd: unknown, data: unknown, ...rest: unknown[]) => Steps<Transfer>;

/** Functions whose callback gets a count and what was given. */
function transfers(start: TransferSteps, countName: string, dataName: string) {
  const { callback, sync } = forms(start, ({ count, buffer }) => [count, buffer]);
  return {
    sync: (...args: Parameters<TransferSteps>): number => sync(...args).count,
    callback: promisified(callback, async (...args: Parameters<TransferSteps>) => {
      const { count, buffer } = await runAsync(start(...args));
      return { [countName]: count, [dataName]: buffer };
    }),
  };
}

const byBuffer = {
  read: transfers(readSteps, "bytesRead", "buffer"),
  write: transfers(writeSteps, "bytesWritten", "buffer"),
  readv: transfers(readvSteps, "bytesRead", "buffers"),
  writev: transfers(writevSteps, "bytesWritten", "buffers"),
};
export const read = byBuffer.read.callback;
export const readSync = byBuffer.read.sync;
export const write = byBuffer.write.callback;
export const writeSync = byBuffer.write.sync;
export const readv = byBuffer.readv.callback;
export const readvSync = byBuffer.readv.sync;
export const writev = byBuffer.writev.callback;
export const writevSync = byBuffer.writev.sync;

/** `node:fs/promises`. */
export const promises = {
  access: all.access.promise,
  appendFile: all.appendFile.promise,
  chmod: all.chmod.promise,
  chown: all.chown.promise,
  constants,
  copyFile: all.copyFile.promise,
  cp: all.cp.promise,
  lchown: all.lchown.promise,
  link: all.link.promise,
  lstat: all.lstat.promise,
  lutimes: all.lutimes.promise,
  mkdir: all.mkdir.promise,
  mkdtemp: all.mkdtemp.promise,
  open: forms(openHandle).promise,
  opendir: all.opendir.promise,
  readFile: all.readFile.promise,
  readdir: all.readdir.promise,
  readlink: all.readlink.promise,
  realpath: all.realpath.promise,
  rename: all.rename.promise,
  rm: all.rm.promise,
  rmdir: all.rmdir.promise,
  stat: all.stat.promise,
  statfs: all.statfs.promise,
  symlink: all.symlink.promise,
  truncate: all.truncate.promise,
  unlink: all.unlink.promise,
  utimes: all.utimes.promise,
  watch: watchEvents,
  writeFile: all.writeFile.promise,
};

export default {
  Dir,
  Dirent,
  F_OK,
  R_OK,
  ReadStream,
  Stats,
  W_OK,
  WriteStream,
  X_OK,
  access,
  accessSync,
  appendFile,
  appendFileSync,
  chmod,
  chmodSync,
  chown,
  chownSync,
  close,
  closeSync,
  constants,
  copyFile,
  copyFileSync,
  cp,
  cpSync,
  createReadStream,
  createWriteStream,
  exists,
  existsSync,
  fchmod,
  fchmodSync,
  fchown,
  fchownSync,
  fdatasync,
  fdatasyncSync,
  fstat,
  fstatSync,
  fsync,
  fsyncSync,
  ftruncate,
  ftruncateSync,
  futimes,
  futimesSync,
  lchown,
  lchownSync,
  link,
  linkSync,
  lstat,
  lstatSync,
  lutimes,
  lutimesSync,
  mkdir,
  mkdirSync,
  mkdtemp,
  mkdtempSync,
  open,
  openSync,
  opendir,
  opendirSync,
  promises,
  read,
  readFile,
  readFileSync,
  readSync,
  readdir,
  readdirSync,
  readlink,
  readlinkSync,
  readv,
  readvSync,
  realpath,
  realpathSync,
  rename,
  renameSync,
  rm,
  rmSync,
  rmdir,
  rmdirSync,
  stat,
  statSync,
  statfs,
  statfsSync,
  symlink,
  symlinkSync,
  truncate,
  truncateSync,
  unlink,
  unlinkSync,
  unwatchFile,
  utimes,
  utimesSync,
  watch,
  watchFile,
  write,
  writeFile,
  writeFileSync,
  writeSync,
  writev,
  writevSync,
};
