/**
 * `<dataDir>/logs/ext-<name>.log`: what an extension says, for whoever wants to know later. The text is a stranger's and
 * may come as fast as a pipe carries it, so that memory, time and disk are bounded here: what is too much is
 * dropped, counted, and the count is written.
 */
import { join } from "node:path";
import { errorText } from "../base/errors.ts";
import { log, redact } from "../base/log.ts";
import { RotatingFile } from "../base/rotating-file.ts";
import { ellipsis, stripControls } from "../base/text.ts";
import { withTimeout } from "../base/time.ts";

export interface ExtensionLog {
  /**
   * Adds a text, one line in the file for each of its lines. Returns at once and never throws; false if it was dropped
   * because there is too much. `level` is `debug`, `info`, `warn` or `error`; anything else counts as `info`.
   */
  write(level: string, line: string): boolean;
  /** Writes what is waiting, for at most two seconds. Later lines are dropped. */
  close(): Promise<void>;
}

/** The file's size at which it becomes `.log.1`, in bytes, whoever wrote it and whenever. */
const FILE_BYTES = 5 * 1024 * 1024;
/** A longer line is cut, in characters. */
const LINE_CHARS = 16 * 1024;
/** What waits to be written, or is being written, in bytes. */
const WAITING_BYTES = 256 * 1024;
/** What one extension may say in a second. A flood then takes minutes, not seconds, to push out what was before it. */
const SECOND_BYTES = 256 * 1024;
const SECOND_LINES = 3000;
/** Lines that come within this time are written together, in ms. */
const GATHER_MS = 20;
/** How long a file that could not be written is left alone, in ms. */
const RETRY_MS = 1000;
const CLOSE_MS = 2000;
const LEVELS: ReadonlySet<string> = new Set(["debug", "info", "warn", "error"]);

/** The log of the extension `name`. Makes nothing before the first line. Throws for a name that is not one of names.ts. */
export function openExtensionLog(dataDir: string, name: string): ExtensionLog {
  if (!/^[A-Za-z0-9_-]+$/.test(name)) throw new Error("not the name of an extension");
  return new LogWriter(join(dataDir, "logs", `ext-${name}.log`));
}

/** The logs of a session's extensions, each opened with its first line. */
export class ExtensionLogs {
  readonly #dataDir: string;
  readonly #open = new Map<string, ExtensionLog>();

  constructor(dataDir: string) {
    this.#dataDir = dataDir;
  }

  /** As `ExtensionLog.write`. */
  write(name: string, level: string, line: string): boolean {
    let found = this.#open.get(name);
    if (!found) {
      found = openExtensionLog(this.#dataDir, name);
      this.#open.set(name, found);
    }
    return found.write(level, line);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open.values()].map((one) => one.close()));
  }
}

/** Logs with something to write; what they hold when the program exits is written then. */
const unwritten = new Set<LogWriter>();
let exitHandler = false;

class LogWriter implements ExtensionLog {
  readonly #path: string;
  readonly #file: RotatingFile;
  #waiting: string[] = [];
  /** Bytes of `#waiting` and of what is being written. */
  #bytes = 0;
  #dropped = 0;
  #second = { start: Number.NEGATIVE_INFINITY, bytes: 0, lines: 0 };
  #writing: Promise<void> | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #failing = false;
  #closed: Promise<void> | undefined;

  constructor(path: string) {
    this.#path = path;
    this.#file = new RotatingFile(path, FILE_BYTES);
  }

  write(level: string, line: string): boolean {
    if (this.#closed) return false;
    // First of all: of a flood, most lines get no further than this.
    if (!this.#hasRoom()) {
      this.#dropped++;
      this.#schedule();
      return false;
    }
    this.#addNotice();
    const label = LEVELS.has(level) ? level : "info";
    // Each of its lines gets a time and a level: a text can't pretend to be another line of the log.
    for (const part of harmless(line).split("\n")) {
      if (this.#hasRoom()) this.#add(label, part);
      else this.#dropped++;
    }
    this.#schedule();
    return true;
  }

  close(): Promise<void> {
    this.#closed ??= this.#finish();
    return this.#closed;
  }

  /** Writes what is waiting before the program is gone. */
  writeNow(): void {
    this.#addNotice();
    if (this.#waiting.length === 0) return;
    try {
      this.#file.appendSync(Buffer.from(this.#waiting.join("")));
    } catch {
      // There is nobody left to tell.
    }
    this.#waiting = [];
  }

  #hasRoom(): boolean {
    const now = performance.now();
    if (now - this.#second.start >= 1000) this.#second = { start: now, bytes: 0, lines: 0 };
    const { bytes, lines } = this.#second;
    return bytes < SECOND_BYTES && lines < SECOND_LINES && this.#bytes < WAITING_BYTES;
  }

  #add(level: string, text: string): void {
    const line = `${new Date().toISOString()} ${level} ${text}\n`;
    const bytes = Buffer.byteLength(line);
    this.#waiting.push(line);
    this.#bytes += bytes;
    this.#second.bytes += bytes;
    this.#second.lines++;
  }

  #addNotice(): void {
    if (this.#dropped === 0) return;
    this.#add("warn", `… ${this.#dropped} line${this.#dropped === 1 ? "" : "s"} dropped`);
    this.#dropped = 0;
  }

  /** Sees to it that what waits is written: soon, or, where writing fails or a flood has to end first, a second later. */
  #schedule(): void {
    remember(this);
    if (this.#timer || this.#writing || this.#closed) return;
    const soon = this.#waiting.length > 0 && !this.#failing;
    this.#timer = setTimeout(() => this.#tick(), soon ? GATHER_MS : RETRY_MS);
    this.#timer.unref?.();
  }

  #tick(): void {
    this.#timer = undefined;
    if (this.#hasRoom()) this.#addNotice();
    this.#writing = this.#flush().then(() => {
      this.#writing = undefined;
      if (this.#waiting.length > 0 || this.#dropped > 0) this.#schedule();
      else unwritten.delete(this);
    });
  }

  /** Never rejects. */
  async #flush(): Promise<void> {
    if (this.#waiting.length === 0) return;
    const batch = this.#waiting;
    const bytes = Buffer.from(batch.join(""));
    this.#waiting = [];
    try {
      await this.#file.append(bytes);
      this.#failing = false;
    } catch (error) {
      this.#dropped += batch.length;
      if (!this.#failing) log.debug(`cannot write ${this.#path}: ${errorText(error)}`);
      this.#failing = true;
    }
    this.#bytes -= bytes.length;
  }

  async #finish(): Promise<void> {
    clearTimeout(this.#timer);
    const work = async () => {
      await this.#writing;
      this.#addNotice();
      await this.#flush();
      await this.#file.close();
    };
    await withTimeout(work(), CLOSE_MS, "writing a log").catch(() => {});
    unwritten.delete(this);
  }
}

/** A text as it may stand in the log. Controls go first: one within a key would hide the key. */
function harmless(text: string): string {
  return ellipsis(redact(stripControls(text.slice(0, 4 * LINE_CHARS))).trimEnd(), LINE_CHARS);
}

function remember(writer: LogWriter): void {
  unwritten.add(writer);
  if (exitHandler) return;
  exitHandler = true;
  process.on("exit", () => {
    for (const one of unwritten) one.writeNow();
  });
}
