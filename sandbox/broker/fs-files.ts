/** The content of files: whole ones, and in pieces by handle. */
import * as v from "valibot";
import { type CallContext, type Operations, operation } from "./broker.ts";
import { type Asked, fsError } from "./fs-errors.ts";
import { checkMode, closing, OpenFile, openAt, openPlace } from "./fs-open.ts";
import {
  flagsParam,
  idParam,
  modeParam,
  pathParam,
  positionParam,
  sizeParam,
  statData,
  timeParam,
} from "./fs-params.ts";
import { attempt, checkChangeable, locate } from "./fs-place.ts";
import { chmodFd, readFd, statFd, syncFd, truncateFd, utimesFd, writeFd } from "./fs-raw.ts";

/** What is read at first of a file that does not say how large it is. */
const UNKNOWN_SIZE = 65_536;

const FILE = "file";

/** What an operation does with an open file of the extension. */
const use = <T>(
  context: CallContext,
  id: number,
  syscall: string,
  run: (fd: number, asked: Asked) => Promise<T>,
): Promise<T> => {
  const asked: Asked = { syscall };
  return attempt(asked, () => fileOf(context, id, asked).use((fd) => run(fd, asked)));
};

function fileOf(context: CallContext, id: number, asked: Asked): OpenFile {
  try {
    return context.resources.get<OpenFile>(FILE, id);
  } catch {
    throw fsError("EBADF", asked);
  }
}

export const fileOperations: Operations = {
  /** The whole of a file as bytes. One that is larger than a call may carry is left open, as `id`, to be read in pieces. */
  "fs.readFile": operation({
    params: v.strictObject({ path: pathParam, flags: flagsParam }),
    run({ path, flags }, context) {
      const asked = { syscall: "open", path };
      return attempt(asked, async () => {
        const file = new OpenFile(await openAt(context, asked, path, flags));
        let bytes: Uint8Array | undefined;
        try {
          bytes = await file.use((fd) => readWhole(fd, context.limits.maxCallBytes));
        } catch (error) {
          await file.close();
          throw error;
        }
        if (!bytes) return { value: { id: context.resources.add(FILE, file, () => file.close()) } };
        await file.close();
        return { value: {}, bytes };
      });
    },
  }),

  /** Writes the bytes to a file; how is in `flags`. */
  "fs.writeFile": operation({
    params: v.strictObject({ path: pathParam, flags: flagsParam, mode: modeParam, flush: v.boolean() }),
    run({ path, flags, mode, flush }, context, bytes = new Uint8Array()) {
      const asked = { syscall: "open", path };
      return attempt(asked, async () => {
        await using file = closing(await openAt(context, asked, path, flags, mode));
        await writeFd(file.fd, bytes, null);
        if (flush) await syncFd(file.fd, false);
        return {};
      });
    },
  }),

  "fs.open": operation({
    params: v.strictObject({ path: pathParam, flags: flagsParam, mode: modeParam }),
    run({ path, flags, mode }, context) {
      const asked = { syscall: "open", path };
      return attempt(asked, async () => {
        const file = new OpenFile(await openAt(context, asked, path, flags, mode));
        return { value: context.resources.add(FILE, file, () => file.close()) };
      });
    },
  }),

  "fs.close": operation({
    params: v.strictObject({ id: idParam }),
    async run({ id }, context) {
      fileOf(context, id, { syscall: "close" });
      await context.resources.remove(FILE, id);
      return {};
    },
  }),

  /** At most `length` bytes, and at most what a call may carry; none at the end. */
  "fs.read": operation({
    params: v.strictObject({ id: idParam, length: sizeParam, position: positionParam }),
    run({ id, length, position }, context) {
      return use(context, id, "read", async (fd) => {
        const buffer = new Uint8Array(Math.min(length, context.limits.maxCallBytes));
        const count = await readFd(fd, buffer, position);
        return { value: count, bytes: buffer.slice(0, count) };
      });
    },
  }),

  "fs.write": operation({
    params: v.strictObject({ id: idParam, position: positionParam }),
    run({ id, position }, context, bytes = new Uint8Array()) {
      return use(context, id, "write", async (fd) => {
        await writeFd(fd, bytes, position);
        return { value: bytes.byteLength };
      });
    },
  }),

  "fs.fstat": operation({
    params: v.strictObject({ id: idParam }),
    run: ({ id }, context) =>
      use(context, id, "fstat", async (fd) => ({ value: statData(await statFd(fd)) })),
  }),

  "fs.ftruncate": operation({
    params: v.strictObject({ id: idParam, length: sizeParam }),
    run: ({ id, length }, context) =>
      use(context, id, "ftruncate", async (fd) => {
        await truncateFd(fd, length);
        return {};
      }),
  }),

  "fs.fsync": operation({
    params: v.strictObject({ id: idParam, dataOnly: v.boolean() }),
    run: ({ id, dataOnly }, context) =>
      use(context, id, dataOnly ? "fdatasync" : "fsync", async (fd) => {
        await syncFd(fd, dataOnly);
        return {};
      }),
  }),

  "fs.fchmod": operation({
    params: v.strictObject({ id: idParam, mode: modeParam }),
    run: ({ id, mode }, context) =>
      use(context, id, "fchmod", async (fd, asked) => {
        checkMode(mode, asked);
        checkChangeable(await statFd(fd), asked);
        await chmodFd(fd, mode);
        return {};
      }),
  }),

  "fs.futimes": operation({
    params: v.strictObject({ id: idParam, atime: timeParam, mtime: timeParam }),
    run: ({ id, atime, mtime }, context) =>
      use(context, id, "futime", async (fd, asked) => {
        checkChangeable(await statFd(fd), asked);
        await utimesFd(fd, atime, mtime);
        return {};
      }),
  }),

  "fs.truncate": operation({
    params: v.strictObject({ path: pathParam, length: sizeParam }),
    run({ path, length }, context) {
      const asked = { syscall: "open", path };
      return attempt(asked, async () => {
        const flags = v.parse(flagsParam, { write: true });
        await using file = closing(await openAt(context, asked, path, flags));
        await truncateFd(file.fd, length);
        return {};
      });
    },
  }),

  "fs.copyFile": operation({
    params: v.strictObject({ path: pathParam, dest: pathParam, exclusive: v.boolean() }),
    run({ path, dest, exclusive }, context) {
      const asked = { syscall: "copyfile", path, dest };
      return attempt(asked, () => copy(context, asked, path, dest, exclusive));
    },
  }),
};

async function copy(context: CallContext, asked: Asked, path: string, dest: string, exclusive: boolean) {
  // Both are decided before anything of either is told.
  const source = await locate(context, asked, path, true, "read");
  const target = await locate(context, asked, dest, !exclusive, "write");
  const reading = v.parse(flagsParam, { read: true });
  await using from = closing(await openPlace(context, asked, { place: source }, reading, 0));
  const info = await statFd(from.fd);
  if (!info.isFile()) throw fsError(info.isDirectory() ? "EISDIR" : "EINVAL", asked);
  const mode = Number(info.mode) & 0o777;
  const writing = v.parse(flagsParam, { write: true, create: true, exclusive });
  await using to = closing(await openPlace(context, asked, { place: target }, writing, mode));
  const there = await statFd(to.fd);
  if (there.dev === info.dev && there.ino === info.ino) return {};
  if (there.isFile()) await truncateFd(to.fd, 0);
  const buffer = new Uint8Array(UNKNOWN_SIZE * 4);
  for (;;) {
    if (context.signal.aborted) throw fsError("ECANCELED", asked);
    const count = await readFd(from.fd, buffer, null);
    if (count === 0) break;
    await writeFd(to.fd, buffer.subarray(0, count), null);
  }
  if (there.isFile()) await chmodFd(to.fd, mode);
  return {};
}

/** All bytes; undefined if there are more than `limit`, or no end. The file's own position stays at its start. */
async function readWhole(fd: number, limit: number): Promise<Uint8Array | undefined> {
  const info = await statFd(fd);
  if (info.isDirectory()) throw fsError("EISDIR", { syscall: "read" });
  if (info.size > limit || !info.isFile()) return undefined;
  const size = Number(info.size);
  // One byte more shows the end; some files say that their size is 0.
  let buffer = new Uint8Array(Math.min(size === 0 ? UNKNOWN_SIZE : size, limit) + 1);
  let length = 0;
  for (;;) {
    const count = await readFd(fd, buffer.subarray(length), length);
    length += count;
    if (count === 0) return buffer.slice(0, length);
    if (length > limit) return undefined;
    if (length === buffer.byteLength) {
      const larger = new Uint8Array(Math.min(buffer.byteLength * 2, limit + 1));
      larger.set(buffer);
      buffer = larger;
    }
  }
}
