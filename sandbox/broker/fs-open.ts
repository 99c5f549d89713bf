/** Opening files, and those that stay open between calls. */
import { basename, dirname } from "node:path";
import { systemCode } from "../../src/base/errors.ts";
import type { CallContext } from "./broker.ts";
import { CallError } from "./broker.ts";
import { type Asked, fsError } from "./fs-errors.ts";
import { type Held, hold, holdFolder, Moved } from "./fs-hold.ts";
import { accessFlags, type OpenFlags } from "./fs-params.ts";
import { checkOpenable, type Found, find } from "./fs-place.ts";
import { closeFd, truncateFd } from "./fs-raw.ts";

const SET_ID_BITS = 0o6000;

/** Throws `EPERM` for the bits that make others run a program with the user's rights. */
export function checkMode(mode: number, asked: Asked): void {
  if (mode & SET_ID_BITS) throw fsError("EPERM", asked, ": set-user-ID and set-group-ID are not given");
}

/** Demands what `flags` need, and opens. The descriptor is the caller's to close. Run it in `attempt`. */
export async function openAt(
  context: CallContext,
  asked: Asked,
  path: string,
  flags: OpenFlags,
  mode = 0o666,
): Promise<number> {
  checkMode(mode, asked);
  const isWriting = flags.write || flags.create || flags.truncate;
  const rights: ("read" | "write")[] = flags.read || !isWriting ? ["read"] : [];
  if (isWriting) rights.push("write");
  // Who insists on a new file must not make one at the end of a link.
  const follow = !flags.noFollow && !(flags.create && flags.exclusive);
  return openPlace(context, asked, await find(context, asked, path, follow, ...rights), flags, mode);
}

/** Opens a place that was allowed. Nothing is truncated before it is known to be that place. */
export async function openPlace(
  context: CallContext,
  asked: Asked,
  { place, held: there }: Found,
  flags: OpenFlags,
  mode: number,
): Promise<number> {
  const held = there ?? (await holdIfThere(place.path, flags.create));
  if (!held) {
    if (place.asFolder) throw fsError("EISDIR", asked);
    await using folder = await holdFolder(dirname(place.path));
    try {
      return await folder.create(basename(place.path), accessFlags(flags), mode & 0o777);
    } catch (error) {
      // Somebody else made it meanwhile.
      if (systemCode(error) === "EEXIST") throw new Moved();
      throw error;
    }
  }
  await using file = held;
  if (flags.create && flags.exclusive) throw fsError("EEXIST", asked);
  if (file.info.isSymbolicLink() && flags.noFollow) throw fsError("ELOOP", asked);
  const isFolder = file.info.isDirectory();
  if (isFolder && (flags.write || flags.create)) throw fsError("EISDIR", asked);
  if (!isFolder && (flags.folder || place.asFolder)) throw fsError("ENOTDIR", asked);
  await checkOpenable(file, asked, context);
  const fd = await file.open(accessFlags(flags));
  if (!flags.truncate || !file.info.isFile()) return fd;
  try {
    await truncateFd(fd, 0);
    return fd;
  } catch (error) {
    await closeFd(fd);
    throw error;
  }
}

async function holdIfThere(path: string, mayBeMissing: boolean): Promise<Held | undefined> {
  try {
    return await hold(path);
  } catch (error) {
    if (mayBeMissing && systemCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** A descriptor for the time of one call. */
export const closing = (fd: number): AsyncDisposable & { fd: number } => ({
  fd,
  [Symbol.asyncDispose]: () => closeFd(fd),
});

/**
 * A file that stays open. Its uses happen one after the other, and it is closed after the last of them: a descriptor that is
 * closed under a read would be another file's by then.
 */
export class OpenFile {
  readonly #fd: number;
  #last: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  constructor(fd: number) {
    this.#fd = fd;
  }

  use<T>(run: (fd: number) => Promise<T>): Promise<T> {
    if (this.#isClosed) return Promise.reject(new CallError("EBADF", "EBADF: bad file descriptor"));
    const result = this.#last.then(() => run(this.#fd));
    this.#last = result.catch(() => {});
    return result;
  }

  close(): Promise<void> {
    const closed = this.use(closeFd);
    this.#isClosed = true;
    return closed;
  }
}
