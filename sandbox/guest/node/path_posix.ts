/** `node:path/posix`. */
import { posix } from "node:path";

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
  win32,
} = posix;
export { posix };

export default posix;
