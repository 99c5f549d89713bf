/** `node:path`: pure, but for the folder that relative paths start at, which is the session's. */
import { about } from "xdev:system";
import { makePosix } from "./path_posix_part.ts";
import { makeWin32 } from "./path_win32_part.ts";

// What the process module tells is what counts, since an extension may have changed it there.
const cwd = (): string => {
  const { process } = globalThis as { process?: { cwd?: () => string } };
  return process?.cwd?.() ?? about.cwd;
};

export const posix = makePosix(cwd);
export const win32 = makeWin32(cwd);
posix.posix = win32.posix = posix;
posix.win32 = win32.win32 = win32;

const own: typeof posix | typeof win32 = about.platform === "win32" ? win32 : posix;

export const {
  resolve,
  normalize,
  isAbsolute,
  join,
  relative,
  toNamespacedPath,
  dirname,
  basename,
  extname,
  format,
  parse,
  matchesGlob,
  sep,
  delimiter,
} = own;

export default own;
