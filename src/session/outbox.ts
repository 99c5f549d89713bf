/** The entries that are not in the file yet: because there is no file before there is an answer, or because the disk took none. */
import { rmSync } from "node:fs";
import { errorText, XdevError } from "../base/errors.ts";
import type { BlobStore } from "./blobs.ts";
import type { EntryIndex } from "./entry-index.ts";
import { SessionFile } from "./file.ts";
import { digestsOf, LARGE, mayBeLarge, moveOut } from "./large.ts";
import { scanLinesNow } from "./lines.ts";
import { previewOf } from "./preview.ts";
import type { SessionReader } from "./read.ts";
import type { RawEntry } from "./schema.ts";
import type { SessionHeader, SessionProblem } from "./types.ts";

/** What it works with: the parts of a session. */
export interface OutboxParts {
  /** Where the file is, or will be. */
  path: string;
  header: SessionHeader;
  index: EntryIndex;
  reader: SessionReader;
  blobs: BlobStore;
  report(problem: SessionProblem): void;
}

export class Outbox {
  readonly #parts: OutboxParts;
  #file: SessionFile | undefined;
  /** Places of entries, in their order. */
  #pending: number[] = [];
  /** Whether the session is worth a file. */
  #isKept: boolean;

  constructor(parts: OutboxParts, file: SessionFile | undefined) {
    this.#parts = parts;
    this.#file = file;
    this.#isKept = file !== undefined;
  }

  get file(): SessionFile | undefined {
    return this.#file;
  }

  get size(): number {
    return this.#pending.length;
  }

  /** Takes an entry of the index. From the first one on that is an answer, there is a file. */
  add(place: number, isAnswer: boolean): void {
    this.#pending.push(place);
    if (isAnswer) this.#isKept = true;
  }

  /** Writes what is here. What the disk does not take stays for the next time. */
  write(): void {
    if (!this.#isKept || this.#pending.length === 0) return;
    let written = 0;
    try {
      const file = this.#file ?? this.#makeFile();
      this.#readForeign(file);
      for (const place of this.#pending) {
        const at = file.append(this.#lineForFile(place));
        this.#parts.index.placed(place, { at, size: file.end - at - 1 });
        written++;
      }
    } catch (error) {
      this.#parts.report({ kind: "unwritten", message: `an entry was not written: ${errorText(error)}` });
    }
    this.#pending.splice(0, written);
  }

  #makeFile(): SessionFile {
    const { path, header, index } = this.#parts;
    const file = SessionFile.create(path);
    try {
      const preview = previewOf(
        header,
        this.#pending.map((place) => index.whereAt(place).line!),
      );
      if (preview !== undefined) header.preview = preview;
      file.append(JSON.stringify(header));
    } catch (error) {
      file.close();
      rmSync(path, { force: true });
      throw error;
    }
    this.#file = file;
    return file;
  }

  #lineForFile(place: number): string {
    const line = this.#parts.index.whereAt(place).line!;
    const { blobs, path } = this.#parts;
    // A copy of an entry has its references already.
    const isCopy = line.includes('"blobs":[');
    if (line.length < LARGE && !isCopy) return line;
    const entry = JSON.parse(line) as RawEntry;
    if (isCopy) for (const digest of digestsOf(entry)) blobs.refer(digest, path);
    if (!mayBeLarge(entry) || entry.blobs !== undefined) return line;
    moveOut(entry, blobs, path);
    return JSON.stringify(entry);
  }

  /** Reads what another program has added meanwhile: it stays a branch of its own. */
  #readForeign(file: SessionFile): void {
    const size = file.size();
    if (size === file.end) return;
    if (size < file.end) throw new XdevError("session-changed", "another program has shortened the file");
    const { reader, index, report } = this.#parts;
    file.end = scanLinesNow(file.fd, file.end, reader.onLine);
    file.isLineEnded = reader.isEnded;
    index.settle();
    report({ kind: "foreign-write", message: "another program has written to the session's file" });
  }
}
