/**
 * The runtime's file calls that we use with descriptors, as promises. Descriptors and not `FileHandle`: what is held is named by
 * number in `/proc/self/fd`, and when it is closed is ours to say.
 */
import * as fs from "node:fs";

type Done<T> = (error: Error | null, value: T) => void;

const promised = <T>(start: (done: Done<T>) => void): Promise<T> =>
  new Promise((resolve, reject) => start((error, value) => (error ? reject(error) : resolve(value))));

export const openFd = (path: string, flags: number, mode = 0o666): Promise<number> =>
  promised((done) => fs.open(path, flags, mode, done));

export const closeFd = (fd: number): Promise<void> => promised<void>((done) => fs.close(fd, done as never));

export const statFd = (fd: number): Promise<fs.BigIntStats> =>
  promised((done) => fs.fstat(fd, { bigint: true }, done));

/** Reads at most `buffer.length` bytes; at the descriptor's own position if `position` is null. */
export const readFd = (fd: number, buffer: Uint8Array, position: number | null): Promise<number> =>
  promised((done) => fs.read(fd, buffer, 0, buffer.byteLength, position, done));

/** Writes all of `buffer`. */
export async function writeFd(fd: number, buffer: Uint8Array, position: number | null): Promise<void> {
  let done = 0;
  while (done < buffer.byteLength) {
    const from = done;
    done += await promised<number>((finish) =>
      fs.write(
        fd,
        buffer,
        from,
        buffer.byteLength - from,
        position === null ? null : position + from,
        finish,
      ),
    );
  }
}

export const truncateFd = (fd: number, length: number): Promise<void> =>
  promised<void>((done) => fs.ftruncate(fd, length, done as never));

export const syncFd = (fd: number, dataOnly: boolean): Promise<void> =>
  promised<void>((done) => (dataOnly ? fs.fdatasync : fs.fsync)(fd, done as never));

export const chmodFd = (fd: number, mode: number): Promise<void> =>
  promised<void>((done) => fs.fchmod(fd, mode, done as never));

export const utimesFd = (fd: number, atime: number, mtime: number): Promise<void> =>
  promised<void>((done) => fs.futimes(fd, atime, mtime, done as never));
