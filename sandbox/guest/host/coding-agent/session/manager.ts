/**
 * `SessionManager`: session files of the extension's own, and those that it may read. The session that runs is
 * `ctx.sessionManager`; its file lies in the agent's data dir, which nothing that is granted opens.
 */
import { appendFileSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import process from "node:process";
import { randomHex } from "../../../../../src/base/random.ts";
import { cwdSlug, sessionFileName } from "../../../../../src/session/paths.ts";
import type { NewEntry, TreeNode } from "../../../../../src/session/types.ts";
import { getAgentDir } from "../config.ts";
import {
  branchOf,
  buildContextEntries,
  buildSessionContext,
  buildSessionProjection,
  CURRENT_SESSION_VERSION,
  type FileEntry,
  migrateSessionEntries,
  parseSessionEntries,
  type SessionEntry,
  type SessionHeader,
} from "./entries.ts";

interface NewSession {
  id?: string;
  parentSession?: string;
}

export interface SessionInfo {
  path: string;
  id: string;
  cwd: string;
  name?: string;
  parentSessionPath?: string;
  created: Date;
  modified: Date;
  messageCount: number;
  firstMessage: string;
  allMessagesText: string;
}

const sessionsDir = (): string => join(getAgentDir(), "sessions");
const defaultDir = (cwd: string): string => join(sessionsDir(), cwdSlug(cwd));

export class SessionManager {
  readonly #cwd: string;
  readonly #dir: string;
  #file: string | undefined;
  #header: SessionHeader;
  #entries: SessionEntry[] = [];
  #byId = new Map<string, SessionEntry>();
  #leaf: string | null = null;
  /** Of the entries, how many are in the file; undefined while there is no file yet. */
  #written: number | undefined;

  private constructor(cwd: string, dir: string, file: string | undefined, header: SessionHeader) {
    this.#cwd = cwd;
    this.#dir = dir;
    this.#file = file;
    this.#header = header;
  }

  /** A new session, in a file of `sessionDir` (in the extension's storage, if that is not given) from the first message on. */
  static create(cwd: string, sessionDir: string = defaultDir(cwd), options: NewSession = {}): SessionManager {
    const header = newHeader(cwd, options);
    const file = join(sessionDir, sessionFileName(header.timestamp, header.id));
    return new SessionManager(cwd, sessionDir, file, header);
  }

  /** A session in no file, empty or with the entries of another. */
  static inMemory(
    cwd: string = process.cwd(),
    options: NewSession = {},
    entries: FileEntry[] = [],
  ): SessionManager {
    const session = new SessionManager(cwd, "", undefined, newHeader(cwd, options));
    session.#take(entries);
    return session;
  }

  /** The session in a file. Needs the permission `read` for it; `write` only if something is added. */
  static open(path: string, sessionDir?: string, cwdOverride?: string): SessionManager {
    const file = resolve(path);
    const entries = parseSessionEntries(readFileSync(file, "utf8"));
    const header = entries.find((entry): entry is SessionHeader => entry.type === "session");
    if (!header) throw new Error(`${path} is no session file: it has no header`);
    const version = header.version ?? 1;
    const cwd = cwdOverride ?? header.cwd ?? "";
    const session = new SessionManager(cwd, sessionDir ?? dirname(file), file, header);
    session.#take(entries);
    // A file of an older version is written anew when something is added.
    session.#written = version < CURRENT_SESSION_VERSION ? -1 : session.#entries.length;
    return session;
  }

  /** The session that was written to last, or a new one. */
  static continueRecent(cwd: string, sessionDir: string = defaultDir(cwd)): SessionManager {
    const [last] = infosOf(sessionDir);
    return last ? SessionManager.open(last.path, sessionDir) : SessionManager.create(cwd, sessionDir);
  }

  /** A new session of `targetCwd` with all that another one has. */
  static forkFrom(
    sourcePath: string,
    targetCwd: string,
    sessionDir?: string,
    options?: NewSession,
  ): SessionManager {
    const source = SessionManager.open(sourcePath);
    const fork = SessionManager.create(targetCwd, sessionDir, {
      ...options,
      parentSession: resolve(sourcePath),
    });
    fork.#take(source.getEntries());
    fork.#write();
    return fork;
  }

  static findById(cwd: string, id: string, sessionDir: string = defaultDir(cwd)): string | undefined {
    return infosOf(sessionDir).find((info) => info.id === id)?.path;
  }

  /** The sessions of a folder, the latest first; none where the extension may not look. */
  static async list(cwd: string, sessionDir: string = defaultDir(cwd)): Promise<SessionInfo[]> {
    return infosOf(sessionDir);
  }

  /** Those of all folders below the sessions' folder, or those of `sessionDir`. */
  static async listAll(sessionDir?: unknown): Promise<SessionInfo[]> {
    if (typeof sessionDir === "string") return infosOf(sessionDir);
    const folders = namesIn(sessionsDir()).map((name) => join(sessionsDir(), name));
    return folders.flatMap(infosOf).sort((a, b) => b.modified.getTime() - a.modified.getTime());
  }

  isPersisted(): boolean {
    return this.#file !== undefined;
  }
  getCwd(): string {
    return this.#cwd;
  }
  getSessionDir(): string {
    return this.#dir;
  }
  getSessionId(): string {
    return this.#header.id;
  }
  getSessionFile(): string | undefined {
    return this.#file;
  }
  getHeader(): SessionHeader {
    return this.#header;
  }
  getLeafId(): string | null {
    return this.#leaf;
  }
  getLeafEntry(): SessionEntry | undefined {
    return this.#leaf === null ? undefined : this.#byId.get(this.#leaf);
  }
  getEntry(id: string): SessionEntry | undefined {
    return this.#byId.get(id);
  }
  getEntries(): SessionEntry[] {
    return [...this.#entries];
  }
  getEntryCount(): number {
    return this.#entries.length;
  }
  getChildren(parentId: string): SessionEntry[] {
    return this.#entries.filter((entry) => entry.parentId === parentId);
  }
  getBranch(fromId: string | null = this.#leaf): SessionEntry[] {
    return branchOf(this.#entries, fromId, this.#byId);
  }
  buildSessionContext() {
    return buildSessionContext(this.#entries, this.#leaf, this.#byId);
  }
  buildContextEntries() {
    return buildContextEntries(this.#entries, this.#leaf, this.#byId);
  }
  buildSessionProjection() {
    return buildSessionProjection(this.#entries, this.#leaf, this.#byId);
  }

  getLabel(id: string): string | undefined {
    const last = this.#entries.findLast((entry) => entry.type === "label" && entry.targetId === id);
    return last?.type === "label" ? last.label : undefined;
  }

  getSessionName(): string | undefined {
    const last = this.#entries.findLast((entry) => entry.type === "session_info");
    return last?.type === "session_info" ? last.name?.trim() || undefined : undefined;
  }

  getTree(): TreeNode[] {
    const nodes = new Map<string, TreeNode>();
    for (const entry of this.#entries) {
      const label = this.getLabel(entry.id);
      nodes.set(entry.id, { entry, children: [], ...(label === undefined ? {} : { label }) });
    }
    const roots: TreeNode[] = [];
    for (const node of nodes.values()) {
      const { id, parentId } = node.entry;
      const parent = parentId === null || parentId === id ? undefined : nodes.get(parentId);
      (parent ? parent.children : roots).push(node);
    }
    return roots;
  }

  /** From here on what is added follows the entry. */
  branch(fromId: string): void {
    if (!this.#byId.has(fromId)) throw new Error(`no entry ${fromId} in this session`);
    this.#leaf = fromId;
  }
  resetLeaf(): void {
    this.#leaf = null;
  }
  branchWithSummary(fromId: string | null, summary: string, details?: unknown, fromHook?: boolean): string {
    const left = this.#leaf ?? "root";
    if (fromId === null) this.resetLeaf();
    else this.branch(fromId);
    return this.#add({
      type: "branch_summary",
      fromId: left,
      summary,
      ...(details === undefined ? {} : { details }),
      ...(fromHook === undefined ? {} : { fromHook }),
    });
  }

  appendMessage(message: Extract<NewEntry, { type: "message" }>["message"]): string {
    return this.#add({ type: "message", message });
  }
  appendThinkingLevelChange(thinkingLevel: string): string {
    return this.#add({ type: "thinking_level_change", thinkingLevel });
  }
  appendModelChange(provider: string, modelId: string): string {
    return this.#add({ type: "model_change", provider, modelId });
  }
  appendCompaction(
    summary: string,
    firstKeptEntryId: string | null,
    tokensBefore: number,
    details?: unknown,
    fromHook?: boolean,
  ): string {
    return this.#add({
      type: "compaction",
      summary,
      firstKeptEntryId: firstKeptEntryId ?? "",
      tokensBefore,
      ...(details === undefined ? {} : { details }),
      ...(fromHook === undefined ? {} : { fromHook }),
    });
  }
  appendCustomEntry(customType: string, data?: unknown): string {
    return this.#add({ type: "custom", customType, data });
  }
  appendCustomMessageEntry(
    customType: string,
    content: Extract<NewEntry, { type: "custom_message" }>["content"],
    display: boolean,
    details?: unknown,
  ): string {
    return this.#add({ type: "custom_message", customType, content, display, details });
  }
  appendSessionInfo(name: string): string {
    return this.#add({ type: "session_info", name: name.trim() });
  }
  appendLabelChange(targetId: string, label: string | undefined): string {
    if (!this.#byId.has(targetId)) throw new Error(`no entry ${targetId} in this session`);
    return this.#add({ type: "label", targetId, ...(label ? { label } : {}) });
  }

  #add(made: NewEntry): string {
    let id = randomHex(4);
    while (this.#byId.has(id)) id = randomHex(4);
    const entry = { ...made, id, parentId: this.#leaf, timestamp: new Date().toISOString() } as SessionEntry;
    this.#entries.push(entry);
    this.#byId.set(id, entry);
    this.#leaf = id;
    this.#write();
    return id;
  }

  /** Without a message there is nothing to keep. */
  #write(): void {
    if (this.#file === undefined) return;
    if (this.#written === undefined && !this.#entries.some(({ type }) => type === "message")) return;
    if (this.#written === undefined || this.#written < 0) {
      mkdirSync(dirname(this.#file), { recursive: true });
      const lines = [this.#header, ...this.#entries].map((entry) => `${JSON.stringify(entry)}\n`);
      writeFileSync(this.#file, lines.join(""), { mode: 0o600 });
    } else {
      const lines = this.#entries.slice(this.#written).map((entry) => `${JSON.stringify(entry)}\n`);
      if (lines.length > 0) appendFileSync(this.#file, lines.join(""));
    }
    this.#written = this.#entries.length;
  }

  #take(entries: FileEntry[]): void {
    migrateSessionEntries(entries);
    const header = entries.find((entry): entry is SessionHeader => entry.type === "session");
    if (header) this.#header = header;
    this.#entries = entries.filter((entry): entry is SessionEntry => entry.type !== "session");
    this.#byId = new Map(this.#entries.map((entry) => [entry.id, entry]));
    this.#leaf = this.#entries.at(-1)?.id ?? null;
  }
}

function newHeader(cwd: string, { id = crypto.randomUUID(), parentSession }: NewSession): SessionHeader {
  const timestamp = new Date().toISOString();
  const header: SessionHeader = { type: "session", version: CURRENT_SESSION_VERSION, id, timestamp, cwd };
  return parentSession === undefined ? header : { ...header, parentSession };
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function infosOf(folder: string): SessionInfo[] {
  return namesIn(folder)
    .filter((name) => name.endsWith(".jsonl"))
    .flatMap((name) => {
      try {
        return [infoOf(join(folder, name))];
      } catch {
        return [];
      }
    })
    .sort((a, b) => b.modified.getTime() - a.modified.getTime());
}

function infoOf(path: string): SessionInfo {
  const session = SessionManager.open(path);
  const header = session.getHeader();
  const texts = session.getEntries().flatMap((entry) => {
    if (entry.type !== "message" || !["user", "assistant"].includes(entry.message.role)) return [];
    const { content, role } = entry.message as {
      role: string;
      content: string | { type: string; text?: string }[];
    };
    const text =
      typeof content === "string"
        ? content
        : content.flatMap((block) => (block.type === "text" ? [block.text ?? ""] : [])).join(" ");
    return [{ role, text }];
  });
  const name = session.getSessionName();
  return {
    path,
    id: header.id,
    cwd: header.cwd ?? "",
    ...(name === undefined ? {} : { name }),
    ...(header.parentSession === undefined ? {} : { parentSessionPath: header.parentSession }),
    created: new Date(header.timestamp),
    modified: statSync(path).mtime,
    messageCount: session.getEntries().filter(({ type }) => type === "message").length,
    firstMessage: texts.find(({ role }) => role === "user")?.text || "(no messages)",
    allMessagesText: texts.map(({ text }) => text).join(" "),
  };
}
