/** `node:path/win32`. */
import { win32 } from "node:path";

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
  posix,
} = win32;
export { win32 };

export default win32;
