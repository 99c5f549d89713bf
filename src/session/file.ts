/** A session's file, open: whole lines are added at its end, and nothing that is in it is ever changed. */
import {
  closeSync,
  constants,
  fchmodSync,
  fdatasync,
  fdatasyncSync,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import { XdevError } from "../base/errors.ts";
import { readAt } from "./lines.ts";
import { lockSession, type SessionLock } from "./lock.ts";

/** Between two times that the disk is told to take what the system has. */
const SYNC_MS = 5000;

export class SessionFile {
  readonly path: string;
  #fd: number;
  readonly isWritable: boolean;
  /** The end of what we know of the file, in bytes. */
  end = 0;
  /** Whether its last line has an end; without one we give it one before we write. */
  isLineEnded = true;
  readonly #lock: SessionLock | undefined;
  #isSyncing = false;
  #syncedAt = performance.now();
  #isClosed = false;

  private constructor(path: string, fd: number, lock: SessionLock | undefined) {
    this.path = path;
    this.#fd = fd;
    this.#lock = lock;
    this.isWritable = lock !== undefined;
  }

  /** A new file (0600) in a folder that is made (0700), with its lock. Throws if there is one of that name. */
  static create(path: string): SessionFile {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    const lock = lockSession(path);
    try {
      const { O_RDWR, O_APPEND, O_CREAT, O_EXCL } = constants;
      const fd = openSync(path, O_RDWR | O_APPEND | O_CREAT | O_EXCL, 0o600);
      return new SessionFile(path, fd, lock);
    } catch (error) {
      lock.release();
      throw error;
    }
  }

  /** Throws `XdevError` `session-in-use` for writing if another process has it, and what the system says. */
  static open(path: string, access: "read" | "write"): SessionFile {
    const lock = access === "write" ? lockSession(path) : undefined;
    let fd: number | undefined;
    try {
      const { O_RDWR, O_RDONLY, O_APPEND } = constants;
      // A FIFO would be waited for; the path is canonical, and a link that has come into its place since is not meant.
      const { O_NONBLOCK = 0, O_NOFOLLOW = 0 } = constants;
      const flags = (lock ? O_RDWR | O_APPEND : O_RDONLY) | O_NONBLOCK | O_NOFOLLOW;
      fd = openSync(path, flags);
      const info = fstatSync(fd);
      if (!info.isFile()) throw new XdevError("not-a-session", `${path} is not a regular file`);
      if (lock && (info.mode & 0o077) !== 0) makePrivate(fd);
      return new SessionFile(path, fd, lock);
    } catch (error) {
      if (fd !== undefined) closeSync(fd);
      lock?.release();
      throw error;
    }
  }

  get fd(): number {
    return this.#fd;
  }

  /** Goes on with the file that has been put in this one's place. */
  reopen(): void {
    const old = this.#fd;
    this.#fd = openSync(this.path, constants.O_RDWR | constants.O_APPEND);
    closeSync(old);
  }

  /** Throws `XdevError` `closed` afterwards: the descriptor's number may be another file's by then. */
  read(at: number, size: number): Buffer {
    if (this.#isClosed) throw new XdevError("closed", "the session's file is closed");
    return readAt(this.#fd, at, size);
  }

  /** How long the file is by now; another program may have written to it. */
  size(): number {
    return fstatSync(this.#fd).size;
  }

  /**
   * Adds a line with one write, and gives the place of its first byte. When the system does not take all of it, none of it
   * stays, and this throws what the system said.
   */
  append(line: string): number {
    const before = this.end;
    const at = before + (this.isLineEnded ? 0 : 1);
    const bytes = Buffer.from(`${this.isLineEnded ? "" : "\n"}${line}\n`);
    let written = 0;
    try {
      while (written < bytes.length) {
        const count = writeSync(this.#fd, bytes, written);
        if (count === 0) throw Object.assign(new Error("nothing was written"), { code: "EIO" });
        written += count;
      }
    } catch (error) {
      this.#takeBack(before, bytes.length);
      throw error;
    }
    this.end = before + bytes.length;
    this.isLineEnded = true;
    return at;
  }

  /** How much the system took is asked of the file: a runtime does not always say. */
  #takeBack(before: number, length: number): void {
    try {
      const taken = this.size() - before;
      if (taken > 0 && taken <= length) ftruncateSync(this.#fd, before);
    } catch {
      // Then the half line stays, and is read as what it is.
    }
  }

  /**
   * Has the disk take what the system has, in the background, if that was some time ago. It takes a disk longer than all else that a
   * short run does: the system does it without being told, too, within half a minute or so.
   */
  syncLater(): void {
    if (this.#isSyncing || this.#isClosed || performance.now() - this.#syncedAt < SYNC_MS) return;
    this.#isSyncing = true;
    this.#syncedAt = performance.now();
    fdatasync(this.#fd, () => {
      this.#isSyncing = false;
      if (this.#isClosed) closeSync(this.#fd);
    });
  }

  sync(): void {
    if (this.isWritable && !this.#isClosed) fdatasyncSync(this.#fd);
  }

  close(): void {
    if (this.#isClosed) return;
    if (this.isWritable) this.syncLater();
    this.#isClosed = true;
    this.#lock?.release();
    // The descriptor's number must not become another file's while the system works on it.
    if (!this.#isSyncing) closeSync(this.#fd);
  }
}

/** Others have nothing to read in it; a file that is not ours stays as it is. */
function makePrivate(fd: number): void {
  try {
    fchmodSync(fd, 0o600);
  } catch {
    // The folder of a session that we made is closed to others anyway.
  }
}
