/** `Dir`: what `opendir` gives. It is read when it is opened. */
import { codedError } from "./errors.ts";
import { toOptions, toPath } from "./fs_arguments.ts";
import { entries } from "./fs_places.ts";
import { type Callback, deliver, type Steps } from "./fs_run.ts";
import type { Dirent } from "./fs_stats.ts";

export class Dir {
  readonly path: string;
  #left: Dirent[] | undefined;

  constructor(path: string, found: Dirent[]) {
    this.path = path;
    this.#left = found.reverse();
  }

  #open(): Dirent[] {
    if (!this.#left) throw codedError(Error, "ERR_DIR_CLOSED", "Directory handle was closed");
    return this.#left;
  }

  readSync(): Dirent | null {
    return this.#open().pop() ?? null;
  }
  read(callback?: Callback): Promise<Dirent | null> | undefined {
    if (callback === undefined) return (async () => this.readSync())();
    deliver(callback, null, this.readSync());
    return undefined;
  }
  closeSync(): void {
    this.#open();
    this.#left = undefined;
  }
  close(callback?: Callback): Promise<void> | undefined {
    if (callback === undefined) return (async () => this.closeSync())();
    this.closeSync();
    deliver(callback, null);
    return undefined;
  }
  async *entries(): AsyncGenerator<Dirent, void> {
    try {
      for (let entry = this.readSync(); entry !== null; entry = this.readSync()) yield entry;
    } finally {
      this.#left = undefined;
    }
  }
  [Symbol.asyncIterator](): AsyncGenerator<Dirent, void> {
    return this.entries();
  }
  async [Symbol.asyncDispose](): Promise<void> {
    this.#left = undefined;
  }
  [Symbol.dispose](): void {
    this.#left = undefined;
  }
}

export function* opendir(given: unknown, options?: unknown): Steps<Dir> {
  const path = toPath(given);
  const { encoding, recursive } = toOptions(options);
  const found = yield* entries(path, "opendir", encoding, true, Boolean(recursive));
  return new Dir(path, found as Dirent[]);
}
