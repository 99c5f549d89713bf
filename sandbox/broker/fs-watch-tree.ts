/**
 * Watchers of a folder and, on request, of those below it. A runtime's own recursive watch goes through the whole tree at once where
 * the kernel has none, and the agent stands still meanwhile; so here each folder gets a watcher of its own, one after the other.
 * Where the kernel watches trees, it does.
 */
import { type Dirent, type FSWatcher, watch } from "node:fs";
import { lstat } from "node:fs/promises";
import { join } from "node:path";

const WATCHES_TREES = process.platform === "darwin" || process.platform === "win32";

/** The most folders that one watch has. */
const MAX_FOLDERS = 8192;

export type EventType = "rename" | "change";

export interface TreeOptions {
  path: string;
  recursive: boolean;
  /** What is in a folder. */
  entriesIn(path: string): Promise<Dirent[]>;
  /** Whether a folder below may be watched, too. */
  mayWatch(path: string): boolean;
  /** `name` is relative to `path`, null if it is not known. */
  onEvent(type: EventType, name: string | null): void;
  onError(error: unknown): void;
}

export class TreeWatch {
  readonly #options: TreeOptions;
  /** By their place below the path. */
  readonly #watchers = new Map<string, FSWatcher>();
  #isClosed = false;

  /** Throws what `watch` throws. */
  constructor(options: TreeOptions) {
    this.#options = options;
    this.#add("");
  }

  /** Resolves when the folders that are below already are watched. */
  async start(): Promise<void> {
    if (this.#options.recursive && !WATCHES_TREES) await this.#descend("", false);
  }

  close(): void {
    this.#isClosed = true;
    for (const watcher of this.#watchers.values()) watcher.close();
    this.#watchers.clear();
  }

  #add(below: string): void {
    const { path, recursive } = this.#options;
    const watcher = watch(
      join(path, below),
      // Persistence is the worker's business: here it must not keep the agent alive.
      { recursive: recursive && WATCHES_TREES, persistent: false },
      (type, name) => this.#take(below, type === "rename" ? "rename" : "change", name),
    );
    watcher.on("error", (error) => {
      if (below === "") this.#options.onError(error);
      else this.#remove(below);
    });
    this.#watchers.set(below, watcher);
  }

  #take(below: string, type: EventType, name: unknown): void {
    if (this.#isClosed) return;
    const place = typeof name === "string" && name !== "" ? join(below, name) : null;
    this.#options.onEvent(type, place);
    if (place === null || type !== "rename" || !this.#options.recursive || WATCHES_TREES) return;
    void this.#follow(place);
  }

  /** Something has come or gone. */
  async #follow(place: string): Promise<void> {
    const info = await lstat(join(this.#options.path, place)).catch(() => undefined);
    if (!info?.isDirectory()) return this.#remove(place);
    if (this.#watchers.has(place)) return;
    await this.#open(place, true);
  }

  #remove(place: string): void {
    for (const [below, watcher] of this.#watchers) {
      if (below === "" || (below !== place && !below.startsWith(join(place, "/")))) continue;
      watcher.close();
      this.#watchers.delete(below);
    }
  }

  async #open(below: string, isNew: boolean): Promise<void> {
    if (this.#isClosed || !this.#options.mayWatch(join(this.#options.path, below))) return;
    if (this.#watchers.size >= MAX_FOLDERS) {
      return this.#options.onError(Object.assign(new Error("too many folders"), { code: "ENOSPC" }));
    }
    try {
      this.#add(below);
    } catch {
      // It is gone again.
      return;
    }
    await this.#descend(below, isNew);
  }

  /** `isNew`: what is in the folder came before it was watched, and is told now. */
  async #descend(below: string, isNew: boolean): Promise<void> {
    const path = join(this.#options.path, below);
    const entries = await this.#options.entriesIn(path).catch(() => []);
    for (const entry of entries) {
      if (this.#isClosed) return;
      const place = join(below, entry.name);
      if (isNew) this.#options.onEvent("rename", place);
      if (entry.isDirectory() && !this.#watchers.has(place)) await this.#open(place, isNew);
    }
  }
}
