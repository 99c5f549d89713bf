/**
 * A session: a tree of entries, kept in a JSONL file to which one line is added for each entry. Memory holds where entries are,
 * not what they say, so that a session of any length can be opened.
 */

import { dirname, join, resolve } from "node:path";
import { XdevError } from "../base/errors.ts";
import { canonicalPath } from "../base/files.ts";
import { randomHex } from "../base/random.ts";
import { BlobStore } from "./blobs.ts";
import { type Branch, buildContext, contextEntries } from "./context.ts";
import { EntryIndex } from "./entry-index.ts";
import { checkType, entryLine, type Known, parseJson, readEntry, readRaw } from "./entry-text.ts";
import { SessionFile } from "./file.ts";
import { newHeader, placeholderHeader } from "./header.ts";
import { scanLines } from "./lines.ts";
import { Outbox } from "./outbox.ts";
import { sessionFileName, sessionFolder } from "./paths.ts";
import { HEAD, TAIL } from "./preview.ts";
import { SessionReader } from "./read.ts";
import { hasAnswer, type RawEntry } from "./schema.ts";
import { treeOf } from "./tree.ts";
import type {
  NewEntry,
  SessionContext,
  SessionEntry,
  SessionHeader,
  SessionProblem,
  TreeNode,
} from "./types.ts";
import { SESSION_VERSION } from "./types.ts";
import { upgradeFile } from "./upgrade.ts";

export interface SessionOptions {
  dataDir: string;
  /** Absolute. */
  cwd: string;
  /** Where the file is to be, instead of the folder for the cwd. */
  sessionDir?: string;
  /** The file itself, instead of a name made of time and id in a folder. */
  file?: string;
  /** Letters, digits, `.`, `_` and `-`; a new UUID without it. */
  id?: string;
  parentSession?: string;
}

export interface OpenOptions {
  dataDir: string;
  /** `read` needs no lock; such a store takes no entries. */
  access?: "read" | "write";
  signal?: AbortSignal;
  /** The path is canonical, and must be it still: throws `not-a-session` otherwise. */
  isCanonical?: boolean;
}

/** What all custom entries may hold that are added to an open session, in characters of JSON: extensions are not trusted. */
const CUSTOM_LIMIT = 32 * 1024 * 1024;
const MEMORY_ONLY = "";

export class SessionStore {
  readonly header: SessionHeader;
  readonly dataDir: string;
  /** Told of what is found out later than `open`. */
  onProblem: ((problem: SessionProblem) => void) | undefined;
  readonly #problems: SessionProblem[] = [];
  readonly #index = new EntryIndex((problem) => this.#report(problem));
  readonly #reader = new SessionReader(this.#index, (problem) => this.#report(problem));
  readonly #blobs: BlobStore | undefined;
  /** Where the file is, or will be; "" for a session in memory. */
  readonly #path: string;
  readonly #access: "read" | "write";
  /** Undefined for a session in memory. */
  readonly #outbox: Outbox | undefined;
  #leaf = -1;
  #customSize = 0;
  #isClosed = false;

  private constructor(
    path: string,
    dataDir: string,
    access: "read" | "write",
    header: SessionHeader | undefined,
    file?: SessionFile,
  ) {
    this.#path = path;
    this.dataDir = dataDir;
    this.#access = access;
    this.header = header ?? placeholderHeader(path);
    if (path === MEMORY_ONLY) return;
    this.#blobs = new BlobStore(dataDir);
    const parts = { path, header: this.header, index: this.#index, reader: this.#reader, blobs: this.#blobs };
    this.#outbox = new Outbox({ ...parts, report: (problem) => this.#report(problem) }, file);
  }

  /** A session without a file, until there is an answer of a model. Throws `XdevError` `bad-session-id`. */
  static create(options: SessionOptions): SessionStore {
    const header = newHeader(options);
    const folder = options.sessionDir ?? sessionFolder(options.dataDir, options.cwd);
    const path = resolve(options.file ?? join(folder, sessionFileName(header.timestamp, header.id)));
    return new SessionStore(path, options.dataDir, "write", header);
  }

  /** A session that is never written anywhere. */
  static inMemory(options: { cwd: string; id?: string; dataDir?: string }): SessionStore {
    return new SessionStore(MEMORY_ONLY, options.dataDir ?? "", "write", newHeader(options));
  }

  /**
   * Opens the session in a file; its last entry is the leaf. Throws `XdevError` `session-in-use` if another process has it (to
   * write), `not-a-session` if nothing in it can be read, and what the system says. An older version is read as it is; before it
   * is written to, it is made one of version 3.
   */
  static async open(
    path: string,
    { dataDir, access = "write", signal, isCanonical }: OpenOptions,
  ): Promise<SessionStore> {
    const canonical = await canonicalPath(path);
    if (isCanonical && canonical !== path)
      throw new XdevError("not-a-session", `${path} is not what it was a moment ago`);
    const file = SessionFile.open(canonical, access);
    let store = new SessionStore(file.path, dataDir, access, undefined, file);
    try {
      await store.#read(file, signal);
      if (access === "write" && store.header.version < SESSION_VERSION) {
        await upgradeFile(store, file);
        store = new SessionStore(file.path, dataDir, access, undefined, file);
        await store.#read(file, signal);
      }
      return store;
    } catch (error) {
      file.close();
      throw error;
    }
  }

  async #read(file: SessionFile, signal: AbortSignal | undefined): Promise<void> {
    file.end = await scanLines(file.fd, 0, this.#reader.onLine, signal);
    file.isLineEnded = this.#reader.isEnded;
    const { header } = this.#reader;
    if (header) Object.assign(this.header, header);
    else if (this.#index.length === 0) {
      throw new XdevError("not-a-session", `${file.path} holds no session`);
    } else this.#report({ kind: "garbage", line: 1, message: "the header is missing: a new one stands in" });
    this.#index.settle();
    this.#leaf = this.#index.length - 1;
  }

  get #file(): SessionFile | undefined {
    return this.#outbox?.file;
  }

  get id(): string {
    return this.header.id;
  }

  get cwd(): string {
    return this.header.cwd;
  }

  /** The file; undefined for a session in memory. It may not exist yet. */
  get file(): string | undefined {
    return this.#path === MEMORY_ONLY ? undefined : this.#path;
  }

  /** Whether the file is there. */
  get isOnDisk(): boolean {
    return this.#file !== undefined;
  }

  get folder(): string | undefined {
    return this.#path === MEMORY_ONLY ? undefined : dirname(this.#path);
  }

  /** What is not as it should be, in the order in which it was found. */
  get problems(): readonly SessionProblem[] {
    return this.#problems;
  }

  get entryCount(): number {
    return this.#index.length;
  }

  /** The entry that the next one will follow; null at the beginning. */
  get leafId(): string | null {
    return this.#index.idAt(this.#leaf) ?? null;
  }

  /** The name that the user or the agent gave; the later one of the last `session_info` and the title line. */
  get name(): string | undefined {
    const { name } = this.#index;
    const { title } = this.#reader;
    const isNewer = title?.title && (!name || title.updatedAt > name.timestamp);
    return isNewer ? title.title.trim() || undefined : name?.name;
  }

  /**
   * Adds an entry behind the leaf, which it becomes, and gives its id. A compaction that keeps nothing has "" as its
   * `firstKeptEntryId`. Throws `XdevError` `bad-entry`, or `read-only`. A disk that
   * takes nothing is no error: the entry stays in memory, `problems` says so, and the next one tries again.
   */
  append(entry: NewEntry): string {
    if (this.#access === "read" || this.#isClosed) {
      throw new XdevError("read-only", "the session was not opened to be written to");
    }
    const id = this.#index.freeId(() => randomHex(4));
    const { type, ...members } = entry as RawEntry;
    const raw: RawEntry = {
      type,
      id,
      parentId: this.leafId,
      timestamp: new Date().toISOString(),
      ...members,
    };
    if (type === "compaction" && raw.firstKeptEntryId === "") raw.firstKeptEntryId = id;
    const line = entryLine(raw);
    if (type === "custom") this.#countCustom(line.length);
    this.#index.add(id, this.#leaf, raw, { at: -1, size: 0, line });
    this.#leaf = this.#index.length - 1;
    const isAnswer = hasAnswer(raw);
    this.#outbox?.add(this.#leaf, isAnswer);
    this.#outbox?.write();
    if (isAnswer) this.#file?.syncLater();
    return id;
  }

  #countCustom(size: number): void {
    if (this.#customSize + size > CUSTOM_LIMIT) {
      const limit = `${CUSTOM_LIMIT / 1024 / 1024} MB`;
      throw new XdevError("bad-entry", `a session holds at most ${limit} of entries`);
    }
    this.#customSize += size;
  }

  /** A new name, or none (""). */
  setName(name: string): string {
    return this.append({ type: "session_info", name: name.replace(/\s+/g, " ").trim() });
  }

  /** Puts a label on an entry, or takes it away. Throws `XdevError` `no-entry`. */
  setLabel(targetId: string, label: string | undefined): string {
    this.#mustBeThere(targetId);
    return this.append({ type: "label", targetId, ...(label ? { label } : {}) });
  }

  /** The next entry follows this one; null: it begins a tree of its own. Throws `XdevError` `no-entry`. */
  branch(entryId: string | null): void {
    this.#leaf = entryId === null ? -1 : this.#mustBeThere(entryId);
  }

  #mustBeThere(id: string): number {
    const place = this.#index.placeOf(id);
    if (place === undefined)
      throw new XdevError("no-entry", `the session has no entry ${JSON.stringify(id)}`);
    return place;
  }

  getEntry(id: string): SessionEntry | undefined {
    const place = this.#index.placeOf(id);
    return place === undefined ? undefined : this.#entryAt(place);
  }

  /** The type of an entry, without reading it. */
  typeOf(id: string): { type: string; role: string | undefined } | undefined {
    const place = this.#index.placeOf(id);
    if (place === undefined) return undefined;
    return { type: this.#index.typeAt(place), role: this.#index.roleAt(place) };
  }

  /** All entries in the order of the file, each read when its turn comes. */
  *entries(): Generator<SessionEntry> {
    for (let place = 0; place < this.#index.length; place++) yield this.#entryAt(place);
  }

  /** All entries at once: for a session of which the whole is wanted. */
  getEntries(): SessionEntry[] {
    return [...this.entries()];
  }

  /** The entries from the beginning of a branch to `fromId` (the leaf without it). Throws `XdevError` `no-entry`. */
  getBranch(fromId: string | null = this.leafId): SessionEntry[] {
    return this.#places(fromId).map((place) => this.#entryAt(place));
  }

  /** The same, ids only: nothing is read. */
  getBranchIds(fromId: string | null = this.leafId): string[] {
    return this.#places(fromId).map((place) => this.#index.idAt(place)!);
  }

  getLabel(id: string): string | undefined {
    return this.#index.labels.get(id)?.label;
  }

  /** The trees of the session: more than one if something was branched from before the beginning. */
  getTree(): TreeNode[] {
    return treeOf(this.#index, (place) => this.#entryAt(place));
  }

  /** What a request begins with that follows `leafId`. Throws `XdevError` `no-entry`. */
  buildContext(leafId: string | null = this.leafId): SessionContext {
    return buildContext(this.#branchTo(leafId));
  }

  /** The entries behind that context. */
  contextEntries(leafId: string | null = this.leafId): SessionEntry[] {
    return contextEntries(this.#branchTo(leafId));
  }

  #branchTo(leafId: string | null): Branch {
    const places = this.#places(leafId);
    return {
      length: places.length,
      typeAt: (at) => this.#index.typeAt(places[at]!),
      roleAt: (at) => this.#index.roleAt(places[at]!),
      entryAt: (at) => this.#entryAt(places[at]!),
    };
  }

  #places(leafId: string | null): number[] {
    const places: number[] = [];
    let place = leafId === null ? -1 : this.#mustBeThere(leafId);
    for (; place >= 0; place = this.#index.parentAt(place)) places.push(place);
    return places.reverse();
  }

  #entryAt(place: number): SessionEntry {
    const { text, known } = this.#lineAt(place);
    return readEntry(text, known, this.#blobs, (count) => {
      const message = `${count} large ${count === 1 ? "output is" : "outputs are"} no longer in the blob store`;
      if (!this.#problems.some((problem) => problem.message === message)) {
        this.#report({ kind: "missing-blob", message });
      }
    });
  }

  #lineAt(place: number): { text: string; known: Known } {
    const { at, size, line } = this.#index.whereAt(place);
    const known: Known = {
      id: this.#index.idAt(place)!,
      parentId: this.#index.idAt(this.#index.parentAt(place)) ?? null,
      version: line === undefined ? this.header.version : SESSION_VERSION,
      idAt: (other) => this.#index.idAt(other),
    };
    return { text: line ?? this.#file!.read(at, size).toString("utf8"), known };
  }

  /** An entry for a copy: nothing of it is put back or left out. Throws `XdevError` `no-entry`. */
  rawEntry(id: string): RawEntry {
    const { text, known } = this.#lineAt(this.#mustBeThere(id));
    return readRaw(text, known);
  }

  /** The ids of all entries in the order of the file. */
  *ids(): Generator<string> {
    for (let place = 0; place < this.#index.length; place++) yield this.#index.idAt(place)!;
  }

  /** Takes lines that another session's file has, with their ids: a copy. */
  adopt(lines: Iterable<string>): void {
    for (const line of lines) {
      const raw = parseJson(line) as RawEntry;
      checkType(raw);
      this.#index.addRead(raw, { at: -1, size: 0, line }, this.header);
      this.#leaf = this.#index.length - 1;
      this.#outbox?.add(this.#leaf, hasAnswer(raw));
      if (this.#outbox && this.#outbox.size >= 256) this.#outbox.write();
    }
    this.#index.settle();
    this.#outbox?.write();
  }

  #report(problem: SessionProblem): void {
    // A file of garbage is no reason to fill the memory.
    const isRepeated = problem.kind === "unwritten" && this.#problems.at(-1)?.message === problem.message;
    if (isRepeated) return;
    if (this.#problems.length < 1000) this.#problems.push(problem);
    this.onProblem?.(problem);
  }

  /** Waits until the disk itself has what was written. */
  sync(): void {
    this.#file?.sync();
  }

  /**
   * Ends the work with the session: writes what was not written, and the name once more if a list would not find it at the
   * file's ends; gives up the lock. Entries can still be read from memory only.
   */
  close(): void {
    if (this.#isClosed) return;
    if (this.#access === "write") {
      this.#outbox?.write();
      const { name } = this.#index;
      const file = this.#file;
      if (file && name && name.at > HEAD - TAIL && file.end - name.at > TAIL) {
        this.append({ type: "session_info", name: name.name ?? "" });
      }
    }
    this.#isClosed = true;
    this.#file?.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}
