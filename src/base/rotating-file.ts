/**
 * A file that several processes append to and that never grows much beyond a limit: at the limit it becomes `<path>.1`, in
 * the place of the one before, and a new one begins. Nothing is made before the first append.
 */
import { closeSync, constants, mkdirSync, openSync, writeSync } from "node:fs";
import { type FileHandle, mkdir, open, rename, stat, unlink } from "node:fs/promises";
import { dirname } from "node:path";
import { systemCode } from "./errors.ts";

/** O_APPEND: the kernel puts each write behind all others. O_NONBLOCK: a FIFO without a reader is an error, not a wait. */
const FLAGS = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | (constants.O_NONBLOCK ?? 0);
const FILE_MODE = 0o600;
const FOLDER_MODE = 0o700;
/** A rotation takes milliseconds; a lock of this age, in ms, was left by a process that was killed in one. */
const STALE_LOCK_MS = 10_000;
const NEWLINE = Buffer.from("\n");

export class RotatingFile {
  readonly #path: string;
  readonly #limit: number;
  #handle: FileHandle | undefined;
  /** Device and inode of what `#handle` writes to: another process may have rotated it, or somebody removed it. */
  #identity = "";
  /** The last write stopped within a line: the next one begins a new line. */
  #torn = false;

  /** @param limit bytes after which it is rotated */
  constructor(path: string, limit: number) {
    this.#path = path;
    this.#limit = limit;
  }

  /**
   * Appends whole lines with one write. Rejects with the system's error, or with ENOSPC when only a part of it was
   * written; the next call starts anew (it makes the folder and the file again if they are gone). One call at a time.
   */
  async append(lines: Buffer): Promise<void> {
    try {
      const handle = await this.#current(lines.length);
      const bytes = this.#torn ? Buffer.concat([NEWLINE, lines]) : lines;
      const { bytesWritten } = await handle.write(bytes, 0, bytes.length, null);
      this.#torn = bytesWritten > 0 && bytesWritten < bytes.length;
      if (bytesWritten < bytes.length) {
        throw Object.assign(new Error("no space left on the device"), { code: "ENOSPC" });
      }
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  /** The same for a process that is about to exit: at once, without a look at the limit. Throws the system's error. */
  appendSync(lines: Buffer): void {
    mkdirSync(dirname(this.#path), { recursive: true, mode: FOLDER_MODE });
    const file = openSync(this.#path, FLAGS, FILE_MODE);
    try {
      writeSync(file, this.#torn ? Buffer.concat([NEWLINE, lines]) : lines);
    } finally {
      closeSync(file);
    }
  }

  async close(): Promise<void> {
    const handle = this.#handle;
    this.#handle = undefined;
    await handle?.close().catch(() => {});
  }

  /** The open file with room for `length` more bytes. */
  async #current(length: number): Promise<FileHandle> {
    const there = await status(this.#path);
    if (there && isFull(there.size, length, this.#limit)) {
      await this.#rotate(length);
      await this.close();
    } else if (there?.identity !== this.#identity) {
      await this.close();
    }
    if (this.#handle) return this.#handle;
    await mkdir(dirname(this.#path), { recursive: true, mode: FOLDER_MODE });
    const handle = await open(this.#path, FLAGS, FILE_MODE);
    this.#handle = handle;
    const { dev, ino } = await handle.stat();
    this.#identity = `${dev}:${ino}`;
    return handle;
  }

  /**
   * Under a lock: of two processes that rotate at once, the second would put the new and empty file in the place of the
   * old one. Who does not get the lock goes on with the file that is there.
   */
  async #rotate(length: number): Promise<void> {
    const lock = `${this.#path}.lock`;
    if (!(await takeLock(lock))) return;
    try {
      const there = await status(this.#path);
      if (there && isFull(there.size, length, this.#limit)) await rename(this.#path, `${this.#path}.1`);
    } finally {
      await unlink(lock).catch(() => {});
    }
  }
}

/** One append that is longer than the limit goes into an empty file. */
function isFull(size: number, length: number, limit: number): boolean {
  return size > 0 && size + length > limit;
}

async function status(path: string): Promise<{ size: number; identity: string } | undefined> {
  try {
    const { size, dev, ino } = await stat(path);
    return { size, identity: `${dev}:${ino}` };
  } catch (error) {
    if (systemCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

async function takeLock(path: string): Promise<boolean> {
  try {
    await (await open(path, "wx", FILE_MODE)).close();
    return true;
  } catch (error) {
    if (systemCode(error) !== "EEXIST") throw error;
    const made = await stat(path).catch(() => undefined);
    // The next append finds it gone.
    if (made && Date.now() - made.mtimeMs > STALE_LOCK_MS) await unlink(path).catch(() => {});
    return false;
  }
}
