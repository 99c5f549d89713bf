/**
 * Watches what a session's extensions are made of: the files that went into them, and the folders in which others may appear.
 * Folders are watched and not files, since editors put a new file in the place of the old one.
 */
import { existsSync, type FSWatcher, readdirSync, statSync, watch } from "node:fs";
import { basename, dirname, join } from "node:path";
import { errorText } from "../base/errors.ts";
import { log } from "../base/log.ts";

export interface WatchOptions {
  /** Canonical paths of what went into the extensions; asked again after each change. */
  files(): readonly string[];
  /** Folders in which extensions may appear, each with the folders in it; they need not be there. */
  folders: readonly string[];
  /** Something has changed, and nothing more for a while. The next call waits until this one is done. It may reject: that is the caller's to tell. */
  changed(): Promise<void>;
  /** How long nothing must change, in ms. */
  quietMs?: number;
}

/** An editor or a package manager writes many files in a row. */
const QUIET_MS = 150;
/** So many folders are watched: an extension with more is one with a large `node_modules`. */
const MAX_FOLDERS = 200;

export class ExtensionWatch {
  readonly #options: WatchOptions;
  readonly #watchers = new Map<string, { watcher: FSWatcher; identity: string }>();
  /** By folder, the names of interest; undefined for all. */
  #wanted = new Map<string, Set<string> | undefined>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #working: Promise<void> | undefined;
  #isDirty = false;
  #isClosed = false;

  constructor(options: WatchOptions) {
    this.#options = options;
    this.refresh();
  }

  /** How many folders are watched. */
  get size(): number {
    return this.#watchers.size;
  }

  /** What is to be watched may be another by now. */
  refresh(): void {
    if (this.#isClosed) return;
    const wanted = new Map<string, Set<string> | undefined>();
    const add = (folder: string, name?: string): void => {
      const names = wanted.get(folder);
      if (name === undefined || (wanted.has(folder) && names === undefined)) wanted.set(folder, undefined);
      else wanted.set(folder, (names ?? new Set()).add(name));
    };
    for (const folder of this.#options.folders) {
      if (existsSync(folder)) {
        add(folder);
        for (const name of foldersIn(folder)) add(join(folder, name));
      } else if (existsSync(dirname(folder))) {
        add(dirname(folder), basename(folder));
      }
    }
    for (const file of this.#options.files()) add(dirname(file), basename(file));
    const kept = [...wanted].slice(0, MAX_FOLDERS);
    if (kept.length < wanted.size) log.debug(`only ${MAX_FOLDERS} folders of extensions are watched`);
    this.#wanted = new Map(kept);
    for (const [folder, { identity }] of this.#watchers) {
      // One that was removed and made again is another.
      if (this.#wanted.has(folder) && identityOf(folder) === identity) continue;
      this.#unwatch(folder);
    }
    for (const folder of this.#wanted.keys()) this.#watch(folder);
  }

  /** Nothing is watched any more; resolves when what goes on is done. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    for (const { watcher } of this.#watchers.values()) watcher.close();
    this.#watchers.clear();
    await this.#working;
  }

  #watch(folder: string): void {
    if (this.#watchers.has(folder)) return;
    const identity = identityOf(folder);
    if (identity === undefined) return;
    try {
      const watcher = watch(folder, { persistent: false }, (_event, name) => this.#seen(folder, name));
      watcher.on("error", () => {
        watcher.close();
        if (this.#watchers.get(folder)?.watcher === watcher) this.#watchers.delete(folder);
      });
      this.#watchers.set(folder, { watcher, identity });
    } catch (error) {
      log.debug(`${folder} can't be watched: ${errorText(error)}`);
    }
  }

  #unwatch(folder: string): void {
    this.#watchers.get(folder)?.watcher.close();
    this.#watchers.delete(folder);
  }

  #seen(folder: string, name: string | null): void {
    if (this.#isClosed || !this.#wanted.has(folder)) return;
    const inner = name === null ? undefined : join(folder, name);
    if (inner !== undefined && this.#watchers.has(inner)) {
      // It may be another from now on: not every file system tells one from the other.
      this.#unwatch(inner);
      return this.#later();
    }
    const names = this.#wanted.get(folder);
    if (name !== null && names && !names.has(name) && !MODULE.test(name)) return;
    this.#later();
  }

  #later(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#work(), this.#options.quietMs ?? QUIET_MS);
    this.#timer.unref?.();
  }

  #work(): void {
    if (this.#working) {
      this.#isDirty = true;
      return;
    }
    // A folder that has just appeared is watched before it is looked into.
    this.refresh();
    this.#working = this.#options
      .changed()
      .catch(() => {})
      .then(() => {
        this.#working = undefined;
        this.refresh();
        if (!this.#isDirty || this.#isClosed) return;
        this.#isDirty = false;
        this.#later();
      });
  }
}

/** What a module may be looked for as, if it was not there before. */
const MODULE = /\.(?:[cm]?[jt]sx?|json)$/;

/** Another for another folder at that place; numbers of folders that are gone are used again. */
function identityOf(folder: string): string | undefined {
  const info = statSync(folder, { throwIfNoEntry: false });
  return info && `${info.ino} ${info.birthtimeMs}`;
}

function foldersIn(folder: string): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && !entry.name.startsWith(".") && entry.name !== "node_modules")
      .map(({ name }) => name);
  } catch {
    return [];
  }
}
