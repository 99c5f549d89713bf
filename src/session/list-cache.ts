/**
 * What the last list of all sessions said, in `<dataDir>/sessions/.list.json`: of a file that has the same length and time, no more
 * than these is asked. It can be deleted at any time, and goes when a session is deleted: what was said in that one is in it.
 */
import { readFileSync, rmSync } from "node:fs";
import { join, relative } from "node:path";
import { writeFileAtomic } from "../base/files.ts";
import { sessionsFolder } from "./paths.ts";
import type { SessionSummary } from "./summary.ts";

/** So many files are read again rather than that the cache is written again. */
const FEW = 64;
const VERSION = 1;

type Row = [path: string, Omit<SessionSummary, "path">];

export class ListCache {
  readonly #folder: string;
  #old: ReadonlyMap<string, Omit<SessionSummary, "path">>;
  readonly #rows: Row[] = [];
  #misses = 0;

  constructor(dataDir: string) {
    this.#folder = sessionsFolder(dataDir);
    this.#old = readRows(fileOf(this.#folder));
  }

  /** What was said of a file, if it is still so. */
  get(path: string, modified: number, size: number): SessionSummary | undefined {
    const key = path.slice(this.#folder.length + 1);
    const known = this.#old.get(key);
    if (known === undefined || known.modified !== modified || known.size !== size) return undefined;
    this.#rows.push([key, known]);
    // JSON has no members that are undefined.
    return { path, ...{ name: undefined, firstMessage: undefined, parentSession: undefined }, ...known };
  }

  add(summary: SessionSummary): void {
    const { path, ...rest } = summary;
    this.#rows.push([relative(this.#folder, path), rest]);
    this.#misses++;
  }

  /** Keeps it for the next time, if that is worth it. Never throws: it is only a cache. */
  async save(): Promise<void> {
    if (this.#misses <= FEW && this.#old.size - this.#rows.length <= FEW) return;
    const text = JSON.stringify({ version: VERSION, rows: this.#rows });
    await writeFileAtomic(fileOf(this.#folder), text, { mode: 0o600 }).catch(() => {});
  }
}

export function forgetLists(dataDir: string): void {
  rmSync(fileOf(sessionsFolder(dataDir)), { force: true });
}

function fileOf(folder: string): string {
  return join(folder, ".list.json");
}

function readRows(file: string): Map<string, Omit<SessionSummary, "path">> {
  try {
    const { version, rows } = JSON.parse(readFileSync(file, "utf8")) as { version: unknown; rows: Row[] };
    if (version === VERSION && rows.every(isRow)) return new Map(rows);
  } catch {
    // There is none, or it is no longer one.
  }
  return new Map();
}

function isRow(row: unknown): row is Row {
  const [path, summary] = row as [unknown, Partial<SessionSummary> | null];
  return typeof path === "string" && typeof summary?.id === "string" && typeof summary.cwd === "string";
}
