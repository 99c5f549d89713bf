/** The errors of file operations, in Node's codes and words, and with nothing in them that the extension did not write itself. */
import { constants } from "node:os";
import { systemCode } from "../../src/base/errors.ts";
import { CallError } from "./broker.ts";

/** What a call is named in its errors: paths as the extension wrote them. */
export interface Asked {
  syscall: string;
  path?: string;
  dest?: string;
}

const TEXTS: Readonly<Record<string, string>> = {
  EACCES: "permission denied",
  EAGAIN: "resource temporarily unavailable",
  EBADF: "bad file descriptor",
  EBUSY: "resource busy or locked",
  ECANCELED: "operation canceled",
  EDQUOT: "disk quota exceeded",
  EEXIST: "file already exists",
  EFBIG: "file too large",
  EINVAL: "invalid argument",
  EIO: "i/o error",
  EISDIR: "illegal operation on a directory",
  ELOOP: "too many symbolic links encountered",
  EMFILE: "too many open files",
  EMLINK: "too many links",
  ENAMETOOLONG: "name too long",
  ENODEV: "no such device",
  ENOENT: "no such file or directory",
  ENOSPC: "no space left on device",
  ENOSYS: "function not implemented",
  ENOTDIR: "not a directory",
  ENOTEMPTY: "directory not empty",
  ENOTSUP: "operation not supported on socket",
  ENXIO: "no such device or address",
  EPERM: "operation not permitted",
  EROFS: "read-only file system",
  ESPIPE: "invalid seek",
  ETXTBSY: "text file is busy",
  EXDEV: "cross-device link not permitted",
};

/** Node's error: `ENOENT: no such file or directory, open 'x'`. `hint` follows it. */
export function fsError(code: string, asked: Asked, hint = ""): CallError {
  const { syscall, path, dest } = asked;
  const places = path === undefined ? "" : dest === undefined ? ` '${path}'` : ` '${path}' -> '${dest}'`;
  const number = (constants.errno as Record<string, number>)[code];
  return new CallError(code, `${code}: ${TEXTS[code] ?? "unknown error"}, ${syscall}${places}${hint}`, {
    ...(number === undefined ? {} : { errno: -number }),
    code,
    syscall,
    ...(path === undefined ? {} : { path }),
    ...(dest === undefined ? {} : { dest }),
  });
}

/** What the extension is told of something thrown by the runtime: its code alone; its message has paths that we act through. */
export function toCallError(error: unknown, asked: Asked): unknown {
  if (error instanceof CallError) return error;
  const code = systemCode(error);
  return code !== undefined && /^E[A-Z0-9]{1,20}$/.test(code) ? fsError(code, asked) : error;
}
