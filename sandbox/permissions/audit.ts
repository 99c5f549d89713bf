/**
 * `<dataDir>/audit/<name>.jsonl`: what an extension did and what it was denied, one JSON object a line, so that its user can see
 * what his permissions were used for. Only paths, hosts, programs and names; no contents, no arguments.
 *
 * Memory and disk are bounded, and no allowed call waits. Repeats within a moment become one line with a count; of too many
 * different allowed calls the rest becomes a line with a count for each kind. Denials are all written; an extension that
 * is denied very often waits for its denials.
 */
import { join } from "node:path";
import { errorText, systemCode } from "../../src/base/errors.ts";
import { readSmallFile } from "../../src/base/files.ts";
import { log, redact } from "../../src/base/log.ts";
import { RotatingFile } from "../../src/base/rotating-file.ts";
import { ellipsis, visible } from "../../src/base/text.ts";
import { sleep, withTimeout } from "../../src/base/time.ts";
import type { Request } from "./request.ts";

export interface Decision {
  kind: Request["kind"];
  what: string;
  allowed: boolean;
  /**
   * Who decided: what no grant can lift (`floor`), what needs no grant (`free`), the command line (`flag`), a grant, a denial for good
   * (`never`), the user when he was asked (`user`, `once`), nobody was there to ask (`nobody`), too many denials (`flood`).
   */
  by: "floor" | "free" | "flag" | "grant" | "never" | "user" | "once" | "nobody" | "flood";
}

export interface Audit {
  /** Returns at once for what was allowed; for what was denied it resolves at once unless there is a flood. Never rejects. */
  record(decision: Decision): Promise<void> | undefined;
  /** Writes what is waiting. */
  close(): Promise<void>;
}

/** A line of the file. */
export interface AuditEntry extends Decision {
  /** ISO 8601: of the first of `count`. */
  time: string;
  count: number;
}

const FILE_BYTES = 5 * 1024 * 1024;
const WHAT_CHARS = 2000;
/** Within this time repeats become one line, in ms. */
const GATHER_MS = 200;
/**
 * Lines that need not wait or be counted together, and how fast they come back. Slow enough that a flood of lines takes an hour or
 * so to push out of the file what was there before; a line counts the more, the longer it is.
 */
const ALLOWED = { burst: 500, perSecond: 10 };
const DENIED = { burst: 1000, perSecond: 20 };
const LINE_CHARS = 200;
const CLOSE_MS = 2000;
/** What is kept while the file can't be written. */
const LEFT_BYTES = 1024 * 1024;

/** The audit of the extension whose storage folder has this name. Makes nothing before the first decision. */
export function openAudit(dataDir: string, folderName: string): Audit {
  return new AuditWriter(auditFile(dataDir, folderName));
}

export function auditFile(dataDir: string, folderName: string): string {
  if (!/^[A-Za-z0-9_@-]+$/.test(folderName)) throw new Error("not the name of an extension");
  return join(dataDir, "audit", `${folderName}.jsonl`);
}

/** Audits with something to write; what they hold when the program exits is written then. */
const unwritten = new Set<AuditWriter>();
let exitHandler = false;

class AuditWriter implements Audit {
  readonly #path: string;
  readonly #file: RotatingFile;
  #waiting = new Map<string, AuditEntry>();
  readonly #allowed = new Bucket(ALLOWED);
  readonly #denied = new Bucket(DENIED);
  #timer: ReturnType<typeof setTimeout> | undefined;
  #writing: Promise<void> = Promise.resolve();
  readonly #closing = new AbortController();
  /** What could not be written yet. */
  #left: Buffer = Buffer.alloc(0);

  constructor(path: string) {
    this.#path = path;
    this.#file = new RotatingFile(path, FILE_BYTES);
  }

  record(decision: Decision): Promise<void> | undefined {
    this.#note(decision);
    if (!this.#timer) {
      remember(this);
      this.#timer = setTimeout(() => this.#flush(), GATHER_MS);
      this.#timer.unref?.();
    }
    return decision.allowed ? undefined : this.#takeTurn(Math.min(decision.what.length, WHAT_CHARS));
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#flush();
    const work = this.#writing.then(() => this.#file.close());
    await withTimeout(work, CLOSE_MS, "writing the audit").catch(() => {});
  }

  /** Writes what is waiting before the program is gone. */
  writeNow(): void {
    const lines = this.#take();
    if (lines.length === 0) return;
    try {
      this.#file.appendSync(lines);
    } catch {
      // There is nobody left to tell.
    }
  }

  #note({ kind, what, allowed, by }: Decision): void {
    const text = ellipsis(redact(visible(what.slice(0, 2 * WHAT_CHARS))).replace(/[\n\t]/g, " "), WHAT_CHARS);
    let key = `${kind}\0${text}\0${allowed}\0${by}`;
    let entry: Decision = { kind, what: text, allowed, by };
    if (allowed && !this.#waiting.has(key) && !this.#allowed.has(1 + text.length / LINE_CHARS)) {
      key = `${kind}\0\0${by}`;
      entry = { kind, what: "… and others", allowed, by };
    }
    const known = this.#waiting.get(key);
    if (known) known.count++;
    else this.#waiting.set(key, { time: new Date().toISOString(), ...entry, count: 1 });
  }

  /** Resolves when this denial's turn has come: at once, as long as there are not too many. */
  #takeTurn(length: number): Promise<void> | undefined {
    const ms = this.#denied.take(1 + length / LINE_CHARS);
    return ms <= 0 ? undefined : sleep(ms, this.#closing.signal).catch(() => {});
  }

  #take(): Buffer {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const lines = [...this.#waiting.values()].map((entry) => `${JSON.stringify(entry)}\n`);
    this.#waiting = new Map();
    unwritten.delete(this);
    return Buffer.from(lines.join(""));
  }

  #flush(): void {
    const lines = this.#take();
    if (lines.length === 0 && this.#left.length === 0) return;
    this.#writing = this.#writing.then(async () => {
      const all = Buffer.concat([this.#left, lines]);
      try {
        await this.#file.append(all);
        this.#left = Buffer.alloc(0);
      } catch (error) {
        if (this.#left.length === 0) log.warn(`cannot write ${this.#path}: ${errorText(error)}`);
        // The next time it may work: a disk that was full, a folder that was not there.
        this.#left = all.length <= LEFT_BYTES ? all : this.#left;
      }
    });
  }
}

/** Tokens that come back with time. */
class Bucket {
  readonly #size: { burst: number; perSecond: number };
  #tokens: number;
  #at = performance.now();

  constructor(size: { burst: number; perSecond: number }) {
    this.#size = size;
    this.#tokens = size.burst;
  }

  /** Takes tokens, be they there or not; gives the time until they would be, in ms, or less than 0. */
  take(count: number): number {
    const now = performance.now();
    const { burst, perSecond } = this.#size;
    this.#tokens = Math.min(burst, this.#tokens + ((now - this.#at) / 1000) * perSecond) - count;
    this.#at = now;
    return (-this.#tokens / perSecond) * 1000;
  }

  /** Takes tokens only if they are there. */
  has(count: number): boolean {
    if (this.take(count) <= 0) return true;
    this.#tokens += count;
    return false;
  }
}

function remember(writer: AuditWriter): void {
  unwritten.add(writer);
  if (exitHandler) return;
  exitHandler = true;
  process.on("exit", () => {
    for (const one of unwritten) one.writeNow();
  });
}

/** The entries of an extension, oldest first. Lines that are none are left out. */
export async function readAudit(dataDir: string, folderName: string): Promise<AuditEntry[]> {
  const path = auditFile(dataDir, folderName);
  const texts = await Promise.all(
    [`${path}.1`, path].map(async (file) => {
      try {
        return (await readSmallFile(file, 4 * FILE_BYTES)).toString("utf8");
      } catch (error) {
        if (systemCode(error) === "ENOENT") return "";
        throw error;
      }
    }),
  );
  return texts.flatMap((text) => text.split("\n")).flatMap(parseEntry);
}

function parseEntry(line: string): AuditEntry[] {
  try {
    const entry = JSON.parse(line) as AuditEntry;
    const isEntry =
      typeof entry.time === "string" &&
      typeof entry.kind === "string" &&
      typeof entry.what === "string" &&
      typeof entry.allowed === "boolean" &&
      typeof entry.by === "string" &&
      typeof entry.count === "number";
    return isEntry ? [entry] : [];
  } catch {
    return [];
  }
}
